// PlaneZip: the bytes of a fetched unit to its half-words.
//
// Function: a unit is Beat/16 quarters of 16 byte lanes. As planelets, byte p of a quarter holds bit p of
//   its eight half-words; a 32-bit group is two quarters, its words' lower and upper halves. The three
//   readings of the bytes:
//   - planes of code words: E = e_max - r in the half-words that hold an exponent (lane 15 already holds the signs,
//     the planes below it r, absent ones zero);
//   - planes of XOR differences: running XOR over the words, from `carry_i` on;
//   - verbatim.
//   Selects come one-hot, a complement as a port of its own: what the module boundary hides lets the mapper use
//   inverting and-or cells, which are smaller than multiplexers.
// Latency: none (combinational).
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_deplane #(
  parameter  int unsigned Beat     = 32,
  localparam int unsigned Halves   = Beat / 2,
  localparam int unsigned Quarters = Beat / 16
) (
  input  logic [Beat-1:0][7:0]    bytes_i,
  input  logic                    wide_i,      // 32-bit layout
  input  logic                    delta_i,     // planes of XOR differences
  input  logic                    delta_ni,
  // Reading of each quarter of the half-words, one-hot: planes of either layout or verbatim.
  input  logic [Quarters-1:0]     is_narrow_i,
  input  logic [Quarters-1:0]     is_wide_i,
  input  logic [Quarters-1:0]     is_verbatim_i,
  input  logic [7:0]              e_max_i,
  input  logic [1:0][15:0]        carry_i,     // word before the first; 16-bit layout: [0] alone
  output logic [Halves-1:0][15:0] halves_o
);

  import planezip_pkg::ExpBits;
  import planezip_pkg::GroupWords;

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_deplane: Beat must be 32 or 64");
  end

  // Half-words by quarter and place.
  logic [Quarters-1:0][GroupWords-1:0][15:0] turned;
  for (genvar h = 0; h < Quarters; h++) begin : gen_turn
    for (genvar j = 0; j < GroupWords; j++) begin : gen_half
      for (genvar p = 0; p < 16; p++) begin : gen_bit
        assign turned[h][j][p] = bytes_i[16*h+p][j];
      end
    end
  end

  // e_max - r as a borrow chain. Where there is no exponent, e and its complement are both 0, which lets r through.
  logic [Quarters-1:0][GroupWords-1:0][15:0] coded;
  for (genvar h = 0; h < Quarters; h++) begin : gen_exp
    logic [ExpBits-1:0] e, e_n;
    assign e   = (wide_i && h % 2 == 0) ? '0 : e_max_i;
    assign e_n = (wide_i && h % 2 == 0) ? '0 : ~e_max_i;
    for (genvar j = 0; j < GroupWords; j++) begin : gen_half
      logic [ExpBits-1:0] r, diff;
      assign r = turned[h][j][14:7];
      always_comb begin : p_sub
        logic borrow;
        borrow = 1'b0;
        for (int i = 0; i < ExpBits; i++) begin
          diff[i] = e[i] ^ r[i] ^ borrow;
          borrow  = (e_n[i] & r[i]) | (borrow & (e_n[i] | r[i]));
        end
      end
      assign coded[h][j] = {turned[h][j][15], diff, turned[h][j][6:0]};
    end
  end

  logic [Quarters-1:0][GroupWords-1:0][15:0] summed;
  always_comb begin : p_delta
    logic [1:0][15:0] run;  // [0] alone in the 16-bit layout
    run = carry_i;
    for (int h = 0; h < Quarters; h++) begin
      logic [15:0] word;
      word = run[(wide_i && h % 2 != 0) ? 1 : 0];
      for (int j = 0; j < GroupWords; j++) begin
        word         = word ^ turned[h][j];
        summed[h][j] = word;
      end
      if (wide_i && h % 2 != 0) run[1] = word;
      else run[0] = word;
    end
  end

  logic [Quarters-1:0][GroupWords-1:0][15:0] planes;
  for (genvar h = 0; h < Quarters; h++) begin : gen_planes
    for (genvar j = 0; j < GroupWords; j++) begin : gen_half
      assign planes[h][j] = ({16{delta_i}} & summed[h][j]) | ({16{delta_ni}} & coded[h][j]);
    end
  end

  logic [Halves-1:0][15:0] plain;
  assign plain = bytes_i;

  for (genvar l = 0; l < Halves; l++) begin : gen_out
    // 32-bit layout: lane 16g + 2j + u is half u of word j of group g.
    localparam int unsigned WideQuarter = 2 * (l / 16) + l % 2;
    localparam int unsigned WidePlace   = (l % 16) / 2;
    assign halves_o[l] = ({16{is_verbatim_i[l/8]}} & plain[l]) | ({16{is_narrow_i[l/8]}} & planes[l/8][l%8]) |
                         ({16{is_wide_i[l/8]}} & planes[WideQuarter][WidePlace]);
  end

endmodule : planezip_deplane
