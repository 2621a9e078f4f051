// PlaneZip: S1 data path of the compressor: from a unit's half-words to its groups' bytes.
//
// Function    Per segment (8 half-words, 16 bytes) either the planelets of its code words or the bytes as they are.
//             W16: a segment is a group, byte p is planelet p. W32: a group is two segments; the even one has
//             planelets 0..15, the odd one 16..31. Partial groups may also go as half planelets behind verbatim words:
//             W16 in the upper half of the segment, W32 in the odd one.
// Latency     Combinational.
// Parameters  Beat: bytes per beat, 32 or 64.
//
// DBP comes as a plane form with e_max all ones (see planezip_compact) and the sign on its own bit.

module planezip_planes
  import planezip_comp_pkg::*;
#(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned Lanes = Beat / 2,
  localparam int unsigned Segs  = Beat / 16
) (
  input  logic [Lanes-1:0][15:0]     unit_n_i,  // inverted
  input  xform_t                     xform_i,
  input  logic [Segs-1:0]            verb_i,    // the segment goes as it is,
  input  logic [Segs-1:0]            narrow_i,  // as planelets of 16-bit words,
  input  logic [Segs-1:0]            wide_i,    // or of 32-bit words,
  input  logic [Segs-1:0]            half16_i,  // or its lower half as it is, then half planelets of 16-bit words,
  input  logic [Segs-1:0]            half32_i,  // or as half planelets of 32-bit words: one of the five is set
  input  logic [Segs-1:0][1:0]       drop_i,    // exponent planes that the segment's group drops
  output logic [Segs-1:0][15:0][7:0] seg_o
);

  logic [Lanes-1:0][15:0] unit;
  assign unit = ~unit_n_i;

  // Place of the sign in F, per segment.
  logic [8:0]           sign_at;
  logic [Segs-1:0][8:0] seg_sign_at;

  always_comb begin : sign_places
    for (int i = 0; i < 9; i++) sign_at[i] = xform_i.kept && xform_i.sign_pos == 4'(i);
    for (int s = 0; s < int'(Segs); s++) begin
      unique case (drop_i[s])
        2'd0: seg_sign_at[s] = sign_at;
        2'd1: seg_sign_at[s] = {1'b0, sign_at[8:1]};
        2'd2: seg_sign_at[s] = {2'b0, sign_at[8:2]};
        default: seg_sign_at[s] = {3'b0, sign_at[8:3]};
      endcase
    end
  end

  // Sign, E and the upper mantissa bits of a word as F and M. W32's even lanes hold lower halves: they go as they are.
  logic [Lanes-1:0][15:0] code;

  always_comb begin : code_words
    for (int c = 0; c < int'(Lanes); c++) begin
      logic [7:0] range;
      range = xform_i.e_max - unit[c][14:7];
      code[c] = {{1'b0, range} | (seg_sign_at[c/8] & {9{unit[c][15]}}), unit[c][6:0]};
    end
  end

  logic [Segs-1:0][15:0][7:0] narrow, wide;

  always_comb begin : planelets
    for (int s = 0; s < int'(Segs); s++) begin
      for (int p = 0; p < 16; p++) begin
        for (int j = 0; j < 8; j++) begin
          narrow[s][p][j] = code[8*s+j][p];
          wide[s][p][j]   = s % 2 == 0 ? unit[16*(s/2)+2*j][p] : code[16*(s/2)+2*j+1][p];
        end
        // Word 0's difference is zero; the word itself is still needed for the header.
        if (s == 0) narrow[s][p][0] = narrow[s][p][0] && !xform_i.first_dbp;
        if (s <= 1) wide[s][p][0] = wide[s][p][0] && !xform_i.first_dbp;
      end
    end
  end

  always_comb begin : segments
    for (int s = 0; s < int'(Segs); s++) begin
      for (int p = 0; p < 16; p++) begin
        logic       verb;
        logic [7:0] half;
        verb = verb_i[s] || (half16_i[s] && p < 8);
        half = '0;
        if (p >= 8) half = {narrow[s][(2*p)%16+1][7:4], narrow[s][(2*p)%16][7:4]} & {8{half16_i[s]}};
        if (s % 2 == 1) half |= {wide[s-(p<8?1:0)][(2*p)%16+1][7:4], wide[s-(p<8?1:0)][(2*p)%16][7:4]} & {8{half32_i[s]}};
        seg_o[s][p] = (narrow[s][p] & {8{narrow_i[s]}}) | (wide[s][p] & {8{wide_i[s]}}) | half |
                      (unit[8*s+p/2][8*(p%2)+:8] & {8{verb}});
      end
    end
  end

endmodule : planezip_planes
