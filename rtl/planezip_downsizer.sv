// PlaneZip: 32-byte beats to 16-byte beats.
//
// Function: shows a core beat's lower, then its upper half; the upper half of a packet's last beat only if it has
//   bytes. `tlast` and the status come with a packet's final half. Cycle by cycle as in docs/microarchitecture.md,
//   section 5.
// Latency: none (combinational but for the half counter). Throughput: one output beat per cycle.
// Handshake: `s_tready_o` depends combinationally on `m_tready_i`. The payload is zero while not valid because the
//   core's is.

module planezip_downsizer (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [255:0]          s_tdata_i,
  input  logic [31:0]           s_tkeep_i,
  input  logic                  s_tlast_i,
  input  planezip_pkg::status_t s_tuser_i,
  input  logic                  s_tvalid_i,
  output logic                  s_tready_o,

  output logic [127:0]          m_tdata_o,
  output logic [15:0]           m_tkeep_o,
  output logic                  m_tlast_o,
  output planezip_pkg::status_t m_tuser_o,
  output logic                  m_tvalid_o,
  input  logic                  m_tready_i
);

  logic high_q, final_half;
  assign final_half = high_q || (s_tlast_i && !s_tkeep_i[16]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) high_q <= 1'b0;
    else if (s_tvalid_i && m_tready_i) high_q <= !final_half;
  end

  assign m_tdata_o  = high_q ? s_tdata_i[255:128] : s_tdata_i[127:0];
  assign m_tkeep_o  = high_q ? s_tkeep_i[31:16] : s_tkeep_i[15:0];
  assign m_tlast_o  = s_tlast_i && final_half;
  assign m_tuser_o  = final_half ? s_tuser_i : '0;
  assign m_tvalid_o = s_tvalid_i;
  assign s_tready_o = m_tready_i && final_half;

endmodule : planezip_downsizer
