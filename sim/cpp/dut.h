// The abstract device under test that the Rust side holds, and its factories.
#pragma once

#include <cstdint>
#include <memory>

#include "rust/cxx.h"

namespace planezip_sim {

// Defined by the cxx bridge (src/lib.rs).
struct Inputs;
struct Outputs;

// One instance of a verilated top with the engine's ports. Methods throw std::exception; the bridge turns that
// into an error.
class Dut {
 public:
  virtual ~Dut() = default;

  // One clock cycle: drives the inputs, samples the outputs before the rising edge, then clocks.
  virtual void cycle(const Inputs& inputs, Outputs& outputs) = 0;
  // Drives the reset pin (true: in reset) from the next cycle on, and lets its asynchronous effect settle.
  virtual void set_reset(bool active) = 0;
  virtual void open_trace(rust::Str path) = 0;
  virtual void close_trace() = 0;
  // Simulated time in picoseconds.
  virtual std::uint64_t time_ps() const = 0;
};

// The engine, or the port loop-back with the same ports. `beat_bytes` is 16, 32 or 64, else std::invalid_argument.
std::unique_ptr<Dut> new_engine(std::uint32_t beat_bytes, std::uint32_t seed);
std::unique_ptr<Dut> new_loopback(std::uint32_t beat_bytes, std::uint32_t seed);

}  // namespace planezip_sim
