// PlaneZip: the bytes of a fetched unit to its half-words.
//
// Function: a unit is Beat/16 quarters of 16 byte lanes. As planelets, byte p of a quarter holds bit p of
//   its eight half-words; a 32-bit group is two quarters, its words' lower and upper halves. The three
//   readings of the bytes:
//   - planes of code words: E = e_max - r in the half-words that hold an exponent (lane 15 already holds the signs,
//     the planes below it r, absent ones zero);
//   - planes of differences (planezip_undelta);
//   - verbatim.
//   Half planelets stand in the upper half of a group's lanes, two planes of its last four words a byte; the lower half is
//   verbatim then. The sign, the plane `hi_i` of the upper 16 (the lowest is 0), moves to its place here.
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
  input  logic                    delta_i,     // planes of differences
  input  logic                    delta_ni,
  // Reading of each quarter of the half-words, one-hot: planes of either layout or verbatim.
  input  logic [Quarters-1:0]     is_narrow_i,
  input  logic [Quarters-1:0]     is_wide_i,
  input  logic [Quarters-1:0]     is_verbatim_i,
  input  logic [Quarters-1:0]     is_half_i,   // half planelets (of a 32-bit group: its upper quarter)
  input  logic [3:0]              hi_i,
  input  logic                    signs_i,     // half planelets: the sign is plane hi_i,
  input  logic                    all_neg_i,   // or 1
  input  logic [7:0]              e_max_i,
  input  logic [1:0][15:0]        carry_i,     // word before the first; 16-bit layout: [0] alone
  output logic [Halves-1:0][15:0] halves_o,
  output logic [Halves-1:0][15:0] masked_o     // the same where it is not differences
);

  import planezip_pkg::ExpBits;
  import planezip_pkg::GroupWords;

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_deplane: Beat must be 32 or 64");
  end

  // Planes of a half-word from half planelets. Where there is an exponent: planes from `hi` on are none, the one at `hi`
  // may be the sign.
  function automatic logic [15:0] settle(logic [15:0] half, logic exponent, logic [3:0] hi, logic signs, logic neg);
    logic sign;
    settle = half;
    sign   = neg;
    for (int p = 7; p < 16; p++) begin
      if (exponent && 4'(p) >= hi) settle[p] = 1'b0;
      if (4'(p) == hi && signs) sign |= half[p];
    end
    if (exponent) settle[15] = sign;
  endfunction

  // Half-words by quarter and place.
  logic [Quarters-1:0][GroupWords-1:0][15:0] turned;
  for (genvar h = 0; h < Quarters; h++) begin : gen_turn
    // Half planelets of the places from 4 on: of this quarter (16-bit layout), of the pair's upper one (32-bit layout:
    // planes 0..15 of the lower halves, 16..31 of the upper ones).
    localparam int unsigned Upper = h | 1;
    logic narrow_half, wide_half, any_half;
    assign narrow_half = is_half_i[h] && !wide_i;
    assign wide_half   = is_half_i[Upper] && wide_i;
    assign any_half    = narrow_half || wide_half;
    for (genvar j = 0; j < GroupWords; j++) begin : gen_half
      logic [15:0] whole;
      for (genvar p = 0; p < 16; p++) begin : gen_bit
        assign whole[p] = bytes_i[16*h+p][j];
      end
      if (j < 4) begin : gen_first
        assign turned[h][j] = whole;
      end else begin : gen_last
        logic [15:0] half;
        for (genvar p = 0; p < 16; p++) begin : gen_bit
          assign half[p] = (narrow_half && bytes_i[16*h+8+p/2][4*(p%2)+j-4]) ||
                           (wide_half && bytes_i[16*Upper+8*(h%2)+p/2][4*(p%2)+j-4]);
        end
        assign turned[h][j] = (whole & {16{!any_half}}) |
                              settle(half, !(wide_i && h % 2 == 0), hi_i, signs_i, any_half && all_neg_i);
      end
    end
  end

  function automatic logic [ExpBits-1:0] minus(logic [ExpBits-1:0] e, logic [ExpBits-1:0] e_n, logic [ExpBits-1:0] r);
    logic borrow;
    borrow = 1'b0;
    for (int i = 0; i < ExpBits; i++) begin
      minus[i] = e[i] ^ r[i] ^ borrow;
      borrow   = (e_n[i] & r[i]) | (borrow & (e_n[i] | r[i]));
    end
  endfunction

  // e_max - r as a borrow chain. Where there is no exponent, e and its complement are both 0, which lets r through.
  logic [Quarters-1:0][GroupWords-1:0][15:0] coded;
  for (genvar h = 0; h < Quarters; h++) begin : gen_exp
    logic [ExpBits-1:0] e, e_n;
    assign e   = (wide_i && h % 2 == 0) ? '0 : e_max_i;
    assign e_n = (wide_i && h % 2 == 0) ? '0 : ~e_max_i;
    for (genvar j = 0; j < GroupWords; j++) begin : gen_half
      assign coded[h][j] = {turned[h][j][15], minus(e, e_n, turned[h][j][14:7]), turned[h][j][6:0]};
    end
  end

  logic [Quarters-1:0][GroupWords-1:0][15:0] summed;
  planezip_undelta #(
    .Quarters(Quarters)
  ) u_undelta (
    .code_i (turned),
    .wide_i,
    .carry_i,
    .word_o (summed)
  );

  logic [Halves-1:0][15:0] plain;
  assign plain = bytes_i;

  for (genvar l = 0; l < Halves; l++) begin : gen_out
    // 32-bit layout: lane 16g + 2j + u is half u of word j of group g.
    localparam int unsigned WideQuarter = 2 * (l / 16) + l % 2;
    localparam int unsigned WidePlace   = (l % 16) / 2;
    logic        verbatim, narrow, wide;
    logic [15:0] differences;
    assign verbatim    = is_verbatim_i[l/8] || (l % 8 < 4 && is_half_i[l/8] && !wide_i);
    assign narrow      = is_narrow_i[l/8] && !(l % 8 < 4 && is_half_i[l/8]);
    assign wide        = is_wide_i[l/8];
    assign masked_o[l] = ({16{verbatim}} & plain[l]) | ({16{narrow && delta_ni}} & coded[l/8][l%8]) |
                         ({16{wide && delta_ni}} & coded[WideQuarter][WidePlace]);
    assign differences = ({16{narrow && delta_i}} & summed[l/8][l%8]) |
                         ({16{wide && delta_i}} & summed[WideQuarter][WidePlace]);
    assign halves_o[l] = masked_o[l] | differences;
  end

endmodule : planezip_deplane
