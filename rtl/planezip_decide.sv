// PlaneZip: form decision for one block.
//
// Function    From a block's statistics the length of each form, the smallest (the lowest form code among equals) and
//             all parameters of the form (docs/format.md, sections 2 and 3).
// Latency     Combinational.
// Parameters  Beat: bytes per beat, 32 or 64.
//
// Half-words are counted where the two layouts share logic: a 16-bit word is one, a 32-bit word two.

module planezip_decide
  import planezip_pkg::*;
  import planezip_comp_pkg::*;
#(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned KeepW = $clog2(Beat) + 1
) (
  input  logic             wide_i,
  input  logic             last_i,       // the block ends its packet
  input  logic [1:0]       last_beat_i,  // index of its last beat
  input  logic [KeepW-1:0] keep_i,       // bytes in its last beat
  input  logic [23:0]      or_i,         // over the half-words: {odd without E, even}
  input  logic             sign_all_i,   // every non-zero word is negative
  input  logic [6:0]       nz_cnt_i,     // non-zero words
  input  logic [7:0]       e_max_i,
  input  logic [7:0]       e_min_i,      // over the non-zero words
  input  logic [7:0][7:0]  seg_min_i,    // the same per 8 half-words
  input  logic [63:0]      mask_i,       // per half-word
  input  logic [31:0]      widths_i,     // DBP's width field
  input  logic [7:0]       delta_sum_i,  // sum of the widths
  output desc_t            desc_o
);

  localparam int unsigned LaneW = $clog2(Beat / 2);

  // Bytes, and whether this is a full block.
  logic [7:0] bytes;
  logic       tail;

  if (Beat == 32) begin : gen_bytes32
    assign bytes = {1'b0, last_beat_i, 5'd0} + {2'd0, keep_i};
  end else begin : gen_bytes64
    assign bytes = {1'b0, last_beat_i[0], 6'd0} + {1'd0, keep_i};
  end
  assign tail = !bytes[7];

  // Index of the lowest and highest one.
  function automatic logic [4:0] lowest(input logic [31:0] v);
    logic [31:0] r;
    r = v;
    lowest = '0;
    for (int b = 4; b >= 0; b--) begin
      logic none;
      none = 1'b1;
      for (int i = 0; i < (1 << b); i++) none &= !r[i];
      lowest[b] = none;
      if (none) r = r >> (1 << b);
    end
  endfunction

  // Bit length of a byte as one-hot: bit k-1 for length k, zero for length 0.
  function automatic logic [7:0] leading(input logic [7:0] v);
    logic seen;
    seen = 1'b0;
    for (int i = 7; i >= 0; i--) begin
      leading[i] = v[i] && !seen;
      seen |= v[i];
    end
  endfunction

  function automatic logic [3:0] length(input logic [7:0] one_hot);
    length = '0;
    for (int i = 0; i < 8; i++) if (one_hot[i]) length |= 4'(i + 1);
  endfunction

  // Sums over the words.
  logic        all_zero, any_zero;
  logic [7:0]  or16;  // sign and mantissa
  logic        sign_any, keep_bp, keep_zbp;
  logic [1:0]  mode_bp, mode_zbp;
  logic [4:0]  z;
  logic [4:0]  mant_left;  // mantissa planes that are kept

  assign all_zero = nz_cnt_i == 7'd0;
  assign any_zero = !(wide_i ? nz_cnt_i[5] : nz_cnt_i[6]);
  assign or16 = or_i[23:16] | {or_i[15], or_i[6:0]};
  assign sign_any = wide_i ? or_i[23] : or16[7];
  assign keep_zbp = sign_any && !sign_all_i;
  assign keep_bp = sign_any && (!sign_all_i || any_zero);
  assign mode_bp = {keep_bp, sign_any && !keep_bp};
  assign mode_zbp = {keep_zbp, sign_any && !keep_zbp};
  // The one above the mantissa is a sentinel.
  assign z = lowest(wide_i ? 32'(1 << MantBits32) | 32'(or_i[MantBits32-1:0]) :
                    32'(1 << MantBits16) | 32'(or16[MantBits16-1:0]));
  assign mant_left = (wide_i ? 5'(MantBits32) : 5'(MantBits16)) - z;

  // Exponent ranges.
  logic [7:0] diff, lead_bp, lead_zbp;
  logic [3:0] k_bp, k_zbp;

  assign diff = e_max_i - e_min_i;
  assign lead_zbp = leading(diff);
  assign lead_bp = leading(any_zero ? e_max_i : diff);
  assign k_zbp = length(lead_zbp);
  assign k_bp = length(lead_bp);

  // Groups that stay in the lower half, quarter, eighth of the range drop one, two, three planes.
  logic [7:0][1:0] seg_drop, drop;
  logic [3:0]      drops_1;          // sum of the drops, at most one each
  logic [4:0]      drops_3;

  always_comb begin : drop_counts
    for (int s = 0; s < 8; s++) begin
      logic [7:0] reach;
      logic       free_1, free_2, free_3;
      reach = e_max_i - (seg_min_i[s] & {8{&mask_i[8*s+:8]}});
      free_1 = lead_bp != 8'd0 && (reach & lead_bp) == 8'd0;
      free_2 = lead_bp[7:1] != 7'd0 && (reach[6:0] & lead_bp[7:1]) == 7'd0;
      free_3 = lead_bp[7:2] != 6'd0 && (reach[5:0] & lead_bp[7:2]) == 6'd0;
      seg_drop[s] = {free_1 && free_2, free_1 && (!free_2 || free_3)};
    end
    drop = seg_drop;
    if (wide_i) begin
      drop = '0;
      for (int g = 0; g < 4; g++) begin
        drop[g] = seg_drop[2*g] < seg_drop[2*g+1] ? seg_drop[2*g] : seg_drop[2*g+1];
      end
    end
    drops_1 = '0;
    drops_3 = '0;
    for (int s = 0; s < 8; s++) begin
      drops_1 += 4'(drop[s] != 2'd0);
      drops_3 += 5'(drop[s]);
    end
  end

  // Drop field: what it saves beyond its own bytes.
  logic [1:0]  bp_bits;
  logic [4:0]  bp_saved;
  logic [15:0] drop_field;

  always_comb begin : drop_field_choice
    logic one_pays, two_pays;
    one_pays = !wide_i && drops_1 > 4'd1;
    two_pays = drops_3 > (wide_i ? 5'd1 : 5'd2) &&
               (!one_pays || drops_3 > 5'(drops_1) + 5'd1);
    bp_bits = two_pays ? 2'd2 : {1'b0, one_pays};
    bp_saved = two_pays ? drops_3 - (wide_i ? 5'd1 : 5'd2) : one_pays ? 5'(drops_1) - 5'd1 : 5'd0;
    drop_field = '0;
    for (int g = 0; g < 8; g++) begin
      if (two_pays) drop_field[2*g+:2] = drop[g];
      else drop_field[g] = drop[g] != 2'd0;
    end
  end

  // Mask: bytes that are all zeros or all ones.
  logic [3:0] zeros, ones, mask_len;
  logic [1:0] mask_style;

  always_comb begin : mask_bytes
    zeros = '0;
    ones = '0;
    for (int s = 0; s < 8; s++) begin
      logic none, all;
      none = mask_i[8*s+:8] == 8'd0;
      all = mask_i[8*s+:8] == 8'hFF;
      if (wide_i) begin
        none = s % 2 == 0 && none && mask_i[(8*s+8)%64+:8] == 8'd0;
        all = s % 2 == 0 && all && mask_i[(8*s+8)%64+:8] == 8'hFF;
      end
      zeros += 4'(none);
      ones += 4'(all);
    end
    mask_style = MaskWhole;
    mask_len = wide_i ? 4'd4 : 4'd8;
    if (zeros > 4'd1 && zeros >= ones) begin
      mask_style = MaskWithoutZeros;
      mask_len = (wide_i ? 4'd5 : 4'd9) - zeros;
    end else if (ones > 4'd1) begin
      mask_style = MaskWithoutOnes;
      mask_len = (wide_i ? 4'd5 : 4'd9) - ones;
    end
  end

  // Lengths.
  logic [5:0] top_bp, top_zbp, planes_bp, planes_zbp;
  logic [5:0] part_words, halves_end, halves, part_bytes;
  part_e      part;
  logic       prefix;
  logic [7:0] len_zv, len_bp, len_dbp, len_zbp;
  logic       bp_ok, zbp_ok;

  assign prefix = z != 5'd0;
  assign planes_bp = {1'b0, mant_left} + {2'd0, k_bp} + {5'd0, keep_bp};
  assign planes_zbp = {1'b0, mant_left} + {2'd0, k_zbp} + {5'd0, keep_zbp};
  assign top_bp = planes_bp + {1'b0, z};
  assign top_zbp = planes_zbp + {1'b0, z};
  assign bp_ok = !k_bp[3];
  assign zbp_ok = !k_zbp[3];

  // Partial group: of at most four words or more (then the first ones beyond four may go verbatim).
  assign halves_end = (top_zbp + 6'd1) >> 1;

  always_comb begin : partial
    logic more;
    more = nz_cnt_i[2:0] > 3'd4;
    part_words = {3'd0, nz_cnt_i[2] && !more, nz_cnt_i[1:0]};
    part_words = wide_i ? part_words << 2 : part_words << 1;
    halves = more ? halves_end + part_words : halves_end - {2'd0, z[4:1]};
    if (nz_cnt_i[2:0] == 3'd0) begin
      part = PartPlanes;
      part_bytes = '0;
    end else if (more) begin
      part = planes_zbp <= halves ? PartPlanes : PartHalves;
      part_bytes = planes_zbp <= halves ? planes_zbp : halves;
    end else begin
      part = part_words < halves ? PartVerbatim : PartHalves;
      part_bytes = part_words < halves ? part_words : halves;
    end
  end

  always_comb begin : lengths
    len_zv = (wide_i ? {nz_cnt_i[5:0], 2'd0} : {nz_cnt_i, 1'b0}) + 8'd1 + {4'd0, mask_len};
    len_bp = (wide_i ? {planes_bp, 2'd0} : {planes_bp[4:0], 3'd0}) + 8'd2 + {7'd0, prefix} - {3'd0, bp_saved};
    len_dbp = (wide_i ? 8'd8 : 8'd7) + delta_sum_i;
    len_zbp = 8'd2 + {7'd0, prefix} + {4'd0, mask_len} + {2'd0, part_bytes};
    for (int i = 0; i < 4; i++) begin
      if (nz_cnt_i[3+i]) len_zbp += 8'(planes_zbp) << i;
    end
  end

  // The smallest, by comparisons side by side; each prefers the lower form code.
  logic       zv_wins, dbp_wins, planes_win, zbp_wins;
  logic [7:0] len_left;  // RAW or ZV
  form_e      form;

  assign zv_wins = len_zv < 8'd129;
  assign len_left = all_zero ? 8'd1 : zv_wins ? len_zv : 8'd129;
  assign dbp_wins = !bp_ok || len_dbp < len_bp;
  assign planes_win = (bp_ok && len_bp < len_left) || len_dbp < len_left;
  assign zbp_wins = !all_zero && zbp_ok && len_zbp < len_left && (!bp_ok || len_zbp < len_bp) && len_zbp < len_dbp;

  always_comb begin : select_form
    if (zbp_wins) form = FormZbp;
    else if (planes_win) form = dbp_wins ? FormDbp : FormBp;
    else if (zv_wins) form = FormZv;
    else form = FormRaw;
  end

  // Description.
  always_comb begin : describe
    logic [6:0] halfwords;
    halfwords = wide_i ? {nz_cnt_i[5:0], 1'b0} : nz_cnt_i;

    desc_o = '0;
    desc_o.last      = last_i;
    desc_o.last_beat = last_beat_i;
    desc_o.w32       = wide_i;
    desc_o.mask      = mask_i;
    desc_o.part      = part;
    desc_o.mode      = form == FormZbp ? mode_zbp : mode_bp;
    desc_o.kept      = form == FormDbp || desc_o.mode[1];
    desc_o.z         = form == FormDbp ? 5'd0 : z;
    desc_o.e_max     = form == FormDbp ? 8'hFF : e_max_i;
    desc_o.field     = form == FormDbp ? widths_i : {16'd0, drop_field};
    desc_o.style     = form == FormBp ? bp_bits : mask_style;
    desc_o.top       = form == FormZbp ? top_zbp : top_bp;
    if (tail) begin
      desc_o.b0 = {1'b1, bytes[6:0]};
      desc_o.hdr_len = {2'd0, bytes != 8'd0, 1'b0};
    end else begin
      desc_o.b0[6:4] = form;
      unique case (form)
        FormZv: begin
          desc_o.b0[0] = all_zero;
          desc_o.hdr_len = 4'd1 + (all_zero ? 4'd0 : mask_len);
        end
        FormBp: begin
          desc_o.b0[3:0] = k_bp;
          desc_o.hdr_len = 4'd2 + {3'd0, prefix} + (wide_i ? {3'd0, bp_bits[1]} : {2'd0, bp_bits});
        end
        FormDbp: desc_o.hdr_len = wide_i ? 4'd8 : 4'd7;
        FormZbp: begin
          desc_o.b0[3:0] = k_zbp;
          desc_o.hdr_len = 4'd2 + {3'd0, prefix} + mask_len;
        end
        default: desc_o.hdr_len = 4'd1;
      endcase
    end
    desc_o.masked = !tail && (form == FormZbp || (form == FormZv && !all_zero));
    desc_o.pads = desc_o.masked ? 5'(LaneW'(-halfwords)) : 5'd0;
  end

endmodule : planezip_decide
