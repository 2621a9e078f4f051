#include "dut.h"

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "verilated.h"
#include "verilated_fst_c.h"

#include "Vengine16.h"
#include "Vengine32.h"
#include "Vengine64.h"
#include "Vloopback16.h"
#include "Vloopback32.h"
#include "Vloopback64.h"

#include "planezip-sim/src/lib.rs.h"

// Replaces Verilator's handlers, which end the process: a failed assertion or $fatal becomes an exception, and so
// an error on the Rust side.
void vl_fatal(const char* file, int line, const char* /*hier*/, const char* msg) {
  const std::string where = (file && file[0]) ? std::string(file) + ":" + std::to_string(line) + ": " : "";
  throw std::runtime_error(where + (msg ? msg : "fatal error"));
}

void vl_stop(const char* file, int line, const char* hier) {
  vl_fatal(file, line, hier, "the RTL stopped ($stop, $fatal or a failed assertion; message above)");
}

void vl_finish(const char* file, int line, const char* hier) {
  vl_fatal(file, line, hier, "the RTL called $finish");
}

namespace planezip_sim {
namespace {

// Port marshalling: one set of overloads for every width, used by the engine and the loop-back alike. Verilator
// holds a port of up to 64 bits in the next larger integer and wider ones in an array of 32-bit words.

template <std::size_t N>
void drive_bytes(VlWide<N>& port, const std::array<std::uint8_t, 64>& bytes) {
  static_assert(N * 4 <= 64, "the bridge's data array is too narrow for this port");
  for (std::size_t i = 0; i < N; ++i) {
    port[i] = static_cast<std::uint32_t>(bytes[4 * i]) | static_cast<std::uint32_t>(bytes[4 * i + 1]) << 8 |
              static_cast<std::uint32_t>(bytes[4 * i + 2]) << 16 | static_cast<std::uint32_t>(bytes[4 * i + 3]) << 24;
  }
}

template <std::size_t N>
void sample_bytes(std::array<std::uint8_t, 64>& bytes, const VlWide<N>& port) {
  static_assert(N * 4 <= 64, "the bridge's data array is too narrow for this port");
  for (std::size_t i = 0; i < N; ++i) {
    const std::uint32_t word = port[i];
    bytes[4 * i] = static_cast<std::uint8_t>(word);
    bytes[4 * i + 1] = static_cast<std::uint8_t>(word >> 8);
    bytes[4 * i + 2] = static_cast<std::uint8_t>(word >> 16);
    bytes[4 * i + 3] = static_cast<std::uint8_t>(word >> 24);
  }
  for (std::size_t i = 4 * N; i < 64; ++i) bytes[i] = 0;
}

template <std::size_t N>
void sample_words(std::array<std::uint32_t, 8>& words, const VlWide<N>& port) {
  static_assert(N == 8, "the status port and the bridge's status array differ in width");
  for (std::size_t i = 0; i < N; ++i) words[i] = port[i];
}

template <class T>
void drive_scalar(T& port, std::uint64_t value) {
  port = static_cast<T>(value);
}

// The seed Verilator accepts is a positive int; 0 would mean "pick one".
int verilator_seed(std::uint32_t seed) { return static_cast<int>(seed % 0x7ffffffeU) + 1; }

template <class Model>
class DutOf final : public Dut {
 public:
  explicit DutOf(std::uint32_t seed) {
    context_.randSeed(verilator_seed(seed));
    context_.randReset(2);
    context_.traceEverOn(true);
    use_context();
    model_ = std::make_unique<Model>(&context_, "planezip");
    drive(Inputs{});
    model_->clk_i = 0;
    // The reset pin starts high so that its fall is an edge whatever the random initial state was.
    model_->rst_ni = 1;
    model_->eval();
  }

  ~DutOf() override {
    use_context();
    try {
      close_trace();
    } catch (...) {
      // Nobody is left to tell.
    }
  }

  void cycle(const Inputs& inputs, Outputs& outputs) override {
    use_context();
    drive(inputs);
    model_->clk_i = 0;
    step();
    sample(outputs);
    model_->clk_i = 1;
    step();
  }

  void set_reset(bool active) override {
    use_context();
    model_->rst_ni = active ? 0 : 1;
    model_->clk_i = 0;
    model_->eval();
  }

  void open_trace(rust::Str path) override {
    use_context();
    close_trace();
    auto trace = std::make_unique<VerilatedFstC>();
    model_->trace(trace.get(), 99);
    const std::string name(path);
    trace->open(name.c_str());
    if (!trace->isOpen()) throw std::runtime_error("cannot open the trace file");
    trace_ = std::move(trace);
  }

  void close_trace() override {
    if (!trace_) return;
    use_context();
    trace_->close();
    trace_.reset();
  }

  std::uint64_t time_ps() const override { return context_.time(); }

 private:
  static constexpr std::uint64_t kHalfPeriodPs = 500;

  // Verilator looks the context up per thread; an instance may move between threads.
  void use_context() { Verilated::threadContextp(&context_); }

  void step() {
    model_->eval();
    if (trace_) trace_->dump(context_.time());
    context_.timeInc(kHalfPeriodPs);
  }

  void drive(const Inputs& in) {
    Model& m = *model_;
    drive_bytes(m.comp_s_tdata_i, in.comp_s.data);
    drive_scalar(m.comp_s_tkeep_i, in.comp_s.keep);
    drive_scalar(m.comp_s_tuser_i, in.comp_s.dtype & 3U);
    drive_scalar(m.comp_s_tlast_i, in.comp_s.last);
    drive_scalar(m.comp_s_tvalid_i, in.comp_s.valid);
    drive_scalar(m.comp_m_tready_i, in.comp_m_ready);
    drive_bytes(m.decomp_s_tdata_i, in.decomp_s.data);
    drive_scalar(m.decomp_s_tkeep_i, in.decomp_s.keep);
    drive_scalar(m.decomp_s_tuser_i, in.decomp_s.dtype & 3U);
    drive_scalar(m.decomp_s_tlast_i, in.decomp_s.last);
    drive_scalar(m.decomp_s_tvalid_i, in.decomp_s.valid);
    drive_scalar(m.decomp_m_tready_i, in.decomp_m_ready);
  }

  void sample(Outputs& out) const {
    const Model& m = *model_;
    out.comp_s_ready = m.comp_s_tready_o;
    sample_bytes(out.comp_m.data, m.comp_m_tdata_o);
    out.comp_m.keep = m.comp_m_tkeep_o;
    sample_words(out.comp_m.status, m.comp_m_tuser_o);
    out.comp_m.last = m.comp_m_tlast_o;
    out.comp_m.valid = m.comp_m_tvalid_o;
    out.decomp_s_ready = m.decomp_s_tready_o;
    sample_bytes(out.decomp_m.data, m.decomp_m_tdata_o);
    out.decomp_m.keep = m.decomp_m_tkeep_o;
    sample_words(out.decomp_m.status, m.decomp_m_tuser_o);
    out.decomp_m.last = m.decomp_m_tlast_o;
    out.decomp_m.valid = m.decomp_m_tvalid_o;
  }

  // Order matters: the trace goes before the model, the model before its context.
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<VerilatedFstC> trace_;
};

template <class M16, class M32, class M64>
std::unique_ptr<Dut> make(std::uint32_t beat_bytes, std::uint32_t seed) {
  switch (beat_bytes) {
    case 16: return std::make_unique<DutOf<M16>>(seed);
    case 32: return std::make_unique<DutOf<M32>>(seed);
    case 64: return std::make_unique<DutOf<M64>>(seed);
    default: throw std::invalid_argument("beat width must be 16, 32 or 64 bytes");
  }
}

}  // namespace

std::unique_ptr<Dut> new_engine(std::uint32_t beat_bytes, std::uint32_t seed) {
  return make<Vengine16, Vengine32, Vengine64>(beat_bytes, seed);
}

std::unique_ptr<Dut> new_loopback(std::uint32_t beat_bytes, std::uint32_t seed) {
  return make<Vloopback16, Vloopback32, Vloopback64>(beat_bytes, seed);
}

}  // namespace planezip_sim
