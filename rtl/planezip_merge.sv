// PlaneZip: merge of the compressor's unit.
//
// Function    Lane by lane the half-word from the network, the one that waits in the unit register, a zero code word
//             (all 0 but E = e_max), or DBP's code; the enables are exclusive. The unit comes out inverted, as S1 stores it.
// Latency     Combinational.
// Parameters  Lanes: half-words per unit.
//
// Only AND-OR here, for the reason given in planezip_rotate.

module planezip_merge #(
  parameter int unsigned Lanes = 16
) (
  input  logic [Lanes-1:0][15:0] net_i,
  input  logic [Lanes-1:0][15:0] wait_i,
  input  logic [Lanes-1:0][15:0] delta_i,
  input  logic [Lanes-1:0]       delta_en_i,
  input  logic [Lanes-1:0]       net_en_i,
  input  logic [Lanes-1:0]       wait_en_i,
  input  logic [Lanes-1:0]       pad_i,      // the lane takes e_max at E's place
  input  logic [7:0]             e_max_i,
  output logic [Lanes-1:0][15:0] unit_n_o
);

  always_comb begin : merge
    for (int c = 0; c < int'(Lanes); c++) begin
      unit_n_o[c] = ~((net_i[c] & {16{net_en_i[c]}}) | (wait_i[c] & {16{wait_en_i[c]}}) |
                      (delta_i[c] & {16{delta_en_i[c]}}) | ({1'b0, e_max_i, 7'd0} & {16{pad_i[c]}}));
    end
  end

endmodule : planezip_merge
