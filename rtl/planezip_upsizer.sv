// PlaneZip: 16-byte beats to 32-byte beats.
//
// Function: joins two beats of an AXI4-Stream packet; a packet's last beat may stand alone in the lower half. The
//   dtype is that of the first half. Cycle by cycle as in docs/microarchitecture.md, section 5.
// Latency: one cycle from the beat that completes the output beat. Throughput: one input beat per cycle.
// Handshake: `s_tready_o` depends combinationally on `m_tready_i`, which inside the engine comes from registers.
//   The output payload is meaningless while not valid.

module planezip_upsizer (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic [127:0]         s_tdata_i,
  input  logic [15:0]          s_tkeep_i,
  input  logic                 s_tlast_i,
  input  planezip_pkg::dtype_e s_tuser_i,
  input  logic                 s_tvalid_i,
  output logic                 s_tready_o,

  output logic [255:0]         m_tdata_o,
  output logic [31:0]          m_tkeep_o,
  output logic                 m_tlast_o,
  output planezip_pkg::dtype_e m_tuser_o,
  output logic                 m_tvalid_o,
  input  logic                 m_tready_i
);

  import planezip_pkg::*;

  logic         h_valid_q, o_valid_q, o_last_q;
  logic [127:0] h_data_q;
  logic [255:0] o_data_q;
  logic [31:0]  o_keep_q;
  dtype_e       h_dtype_q, o_dtype_q;

  logic s_fire, load_h, load_o;
  assign s_tready_o = !o_valid_q || m_tready_i;
  assign s_fire     = s_tvalid_i && s_tready_o;
  assign load_h     = s_fire && !h_valid_q && !s_tlast_i;
  assign load_o     = s_fire && (h_valid_q || s_tlast_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      h_valid_q <= 1'b0;
      o_valid_q <= 1'b0;
    end else begin
      if (s_fire) h_valid_q <= load_h;
      if (load_o) o_valid_q <= 1'b1;
      else if (m_tready_i) o_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_h) begin
      h_data_q  <= s_tdata_i;
      h_dtype_q <= s_tuser_i;
    end
  end

  // Beats that are not last are full whatever their `tkeep`; a lone lower half leaves the upper one empty.
  logic [15:0] keep;
  assign keep = s_tkeep_i | {16{!s_tlast_i}};
  always_ff @(posedge clk_i) begin
    if (load_o) begin
      o_data_q  <= {s_tdata_i, h_valid_q ? h_data_q : s_tdata_i};
      o_keep_q  <= h_valid_q ? {keep, 16'hffff} : {16'h0000, keep};
      o_last_q  <= s_tlast_i;
      o_dtype_q <= h_valid_q ? h_dtype_q : s_tuser_i;
    end
  end

  assign m_tdata_o  = o_data_q;
  assign m_tkeep_o  = o_keep_q;
  assign m_tlast_o  = o_last_q;
  assign m_tuser_o  = o_dtype_q;
  assign m_tvalid_o = o_valid_q;

endmodule : planezip_upsizer
