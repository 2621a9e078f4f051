// PlaneZip: merge of the compressor's unit, and XOR deltas.
//
// Function    Lane by lane the half-word from the network, the one that waits in the unit register, or a zero code word
//             (all 0 but E = e_max); the enables are exclusive. With `xor_1_i` (16-bit words) or `xor_2_i` (32-bit
//             words) a half-word from the network is replaced by its XOR with the same half of the word before it, E
//             inverted: S1 takes e_max - E with e_max all ones, which restores E's delta. In that use the unit register
//             holds the beat before.
// Latency     Combinational.
// Parameters  Lanes: half-words per unit, 16 or 32.
//
// Only AND-OR and XOR here, for the reason given in planezip_rotate.

module planezip_merge #(
  parameter int unsigned Lanes = 16
) (
  input  logic [Lanes-1:0][15:0] net_i,
  input  logic [Lanes-1:0][15:0] wait_i,
  input  logic [Lanes-1:0]       net_en_i,
  input  logic [Lanes-1:0]       wait_en_i,
  input  logic [Lanes-1:0]       pad_i,      // the lane takes e_max at E's place
  input  logic [7:0]             e_max_i,
  input  logic [Lanes-1:0]       xor_1_i,
  input  logic [Lanes-1:0]       xor_1_n_i,  // complements
  input  logic [Lanes-1:0]       xor_2_i,
  input  logic [Lanes-1:0]       xor_2_n_i,
  output logic [Lanes-1:0][15:0] unit_n_o
);

  always_comb begin : merge
    logic [Lanes+1:0][15:0] word;
    word = {net_i, wait_i[Lanes-1], wait_i[Lanes-2]};
    for (int c = 0; c < int'(Lanes); c++) begin
      logic [15:0] flip;
      logic [7:0]  flip_e;
      flip = (word[c+1] & {16{xor_1_i[c]}}) | (word[c] & {16{xor_2_i[c]}});
      // For E. In W32 the even lanes hold mantissa alone.
      flip_e = ~(word[c+1][14:7] | {8{xor_1_n_i[c]}});
      if (c % 2 != 0) flip_e |= ~(word[c][14:7] | {8{xor_2_n_i[c]}});
      else flip_e |= word[c][14:7] & {8{xor_2_i[c]}};
      flip[14:7] = flip_e;
      unit_n_o[c] = ~(((net_i[c] ^ flip) & {16{net_en_i[c]}}) | (wait_i[c] & {16{wait_en_i[c]}}) |
                      ({1'b0, e_max_i, 7'd0} & {16{pad_i[c]}}));
    end
  end

endmodule : planezip_merge
