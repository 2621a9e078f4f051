// PlaneZip: XOR deltas of the compressor.
//
// Function    With `xor_1_i` (16-bit words) or `xor_2_i` (32-bit words) a half-word is replaced by its XOR with the same half
//             of the word before it, E inverted: S1 takes e_max - E with e_max all ones, which restores E's delta. Both
//             come with their complements.
// Latency     Combinational.
// Parameters  Lanes: half-words per beat, even.
//
// A module of its own, so that a mapper keeps one XOR per bit. Select lines in pairs: see planezip_rotate.

module planezip_delta #(
  parameter int unsigned Lanes = 16
) (
  input  logic [Lanes-1:0][15:0] data_i,
  input  logic [1:0][15:0]       before_i,   // the last two lanes of the beat before
  input  logic [Lanes-1:0]       xor_1_i,
  input  logic [Lanes-1:0]       xor_1_n_i,
  input  logic [Lanes-1:0]       xor_2_i,
  input  logic [Lanes-1:0]       xor_2_n_i,
  output logic [Lanes-1:0][15:0] data_o
);

  always_comb begin : deltas
    logic [Lanes+1:0][15:0] word;
    word = {data_i, before_i};
    for (int c = 0; c < int'(Lanes); c++) begin
      logic [15:0] flip;
      logic [7:0]  flip_e;
      flip = (word[c+1] & {16{xor_1_i[c]}}) | (word[c] & {16{xor_2_i[c]}});
      // For E. In W32 the even lanes hold mantissa alone.
      flip_e = ~(word[c+1][14:7] | {8{xor_1_n_i[c]}});
      if (c % 2 != 0) flip_e |= ~(word[c][14:7] | {8{xor_2_n_i[c]}});
      else flip_e |= word[c][14:7] & {8{xor_2_i[c]}};
      flip[14:7] = flip_e;
      data_o[c] = data_i[c] ^ flip;
    end
  end

endmodule : planezip_delta
