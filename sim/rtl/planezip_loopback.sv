// PlaneZip simulation bridge: port loop-back.
//
// Has exactly the ports of planezip_engine and loops them back, so that a test can walk a one through every bit
// of every port and so check the marshalling between Rust and the verilated model. Not part of the engine.
//
// Function:   each channel's output stream is its input stream, combinationally; *_s_tready_o is *_m_tready_i.
//             The two input tuser bits gate the low 124 input data bits onto the lower and upper half of the
//             status output.
// Latency:    none. Throughput: one beat per cycle. No state; the clock only times an assertion.
// Parameters: BEAT_BYTES 16, 32 or 64.

module planezip_loopback #(
  parameter int unsigned BEAT_BYTES = 32
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,

  input  logic [8*BEAT_BYTES-1:0]            comp_s_tdata_i,
  input  logic [BEAT_BYTES-1:0]              comp_s_tkeep_i,
  input  logic                               comp_s_tlast_i,
  input  logic [1:0]                         comp_s_tuser_i,
  input  logic                               comp_s_tvalid_i,
  output logic                               comp_s_tready_o,

  output logic [8*BEAT_BYTES-1:0]            comp_m_tdata_o,
  output logic [BEAT_BYTES-1:0]              comp_m_tkeep_o,
  output logic                               comp_m_tlast_o,
  output logic [planezip_pkg::StatusW-1:0]   comp_m_tuser_o,
  output logic                               comp_m_tvalid_o,
  input  logic                               comp_m_tready_i,

  input  logic [8*BEAT_BYTES-1:0]            decomp_s_tdata_i,
  input  logic [BEAT_BYTES-1:0]              decomp_s_tkeep_i,
  input  logic                               decomp_s_tlast_i,
  input  logic [1:0]                         decomp_s_tuser_i,
  input  logic                               decomp_s_tvalid_i,
  output logic                               decomp_s_tready_o,

  output logic [8*BEAT_BYTES-1:0]            decomp_m_tdata_o,
  output logic [BEAT_BYTES-1:0]              decomp_m_tkeep_o,
  output logic                               decomp_m_tlast_o,
  output logic [planezip_pkg::StatusW-1:0]   decomp_m_tuser_o,
  output logic                               decomp_m_tvalid_o,
  input  logic                               decomp_m_tready_i
);

  localparam int unsigned Half = planezip_pkg::StatusW / 2;

  assign comp_m_tdata_o    = comp_s_tdata_i;
  assign comp_m_tkeep_o    = comp_s_tkeep_i;
  assign comp_m_tlast_o    = comp_s_tlast_i;
  assign comp_m_tuser_o    = {{Half{comp_s_tuser_i[1]}} & comp_s_tdata_i[Half-1:0],
                              {Half{comp_s_tuser_i[0]}} & comp_s_tdata_i[Half-1:0]};
  assign comp_m_tvalid_o   = comp_s_tvalid_i;
  assign comp_s_tready_o   = comp_m_tready_i;

  assign decomp_m_tdata_o  = decomp_s_tdata_i;
  assign decomp_m_tkeep_o  = decomp_s_tkeep_i;
  assign decomp_m_tlast_o  = decomp_s_tlast_i;
  assign decomp_m_tuser_o  = {{Half{decomp_s_tuser_i[1]}} & decomp_s_tdata_i[Half-1:0],
                              {Half{decomp_s_tuser_i[0]}} & decomp_s_tdata_i[Half-1:0]};
  assign decomp_m_tvalid_o = decomp_s_tvalid_i;
  assign decomp_s_tready_o = decomp_m_tready_i;

  // An assertion that a test can break on purpose: tkeep has bit 0 unless it is all zero.
  always_ff @(posedge clk_i or negedge rst_ni) begin : p_check
    if (!rst_ni) begin
      // Nothing is checked in reset.
    end else begin
      assert_keep : assert (!comp_s_tvalid_i || comp_s_tkeep_i[0] || comp_s_tkeep_i == '0)
        else $error("comp_s_tkeep_i is not contiguous from bit 0");
    end
  end

endmodule : planezip_loopback
