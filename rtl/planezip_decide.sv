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
  input  logic [31:0]      or_i,         // over the half-words: {odd, even}
  input  logic [31:0]      and_i,
  input  logic             sign_all_i,   // every non-zero word is negative
  input  logic [6:0]       nz_cnt_i,     // non-zero words
  input  logic [7:0]       e_max_i,
  input  logic [7:0]       e_min_i,      // over the non-zero words
  input  logic [7:0][7:0]  seg_min_i,    // the same per 8 half-words
  input  logic [63:0]      mask_i,       // per half-word
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

  function automatic logic [31:0] flip(input logic [31:0] v);
    for (int i = 0; i < 32; i++) flip[i] = v[31-i];
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
  logic [15:0] or16, and16;
  logic        sign_any, keep_bp, keep_zbp;
  logic [1:0]  mode_bp, mode_zbp;
  logic [4:0]  z;
  logic [4:0]  mant_left;  // mantissa planes that are kept

  assign all_zero = nz_cnt_i == 7'd0;
  assign any_zero = !(wide_i ? nz_cnt_i[5] : nz_cnt_i[6]);
  assign or16 = or_i[31:16] | or_i[15:0];
  assign and16 = and_i[31:16] & and_i[15:0];
  assign sign_any = wide_i ? or_i[31] : or16[15];
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

  // Presence: does a group reach into the upper half of the range?
  logic [7:0] seg_pres, pres;
  logic [3:0] drops;

  always_comb begin : presence
    logic [7:0] limit;
    limit = e_max_i - lead_bp;
    for (int s = 0; s < 8; s++) begin
      seg_pres[s] = k_bp != 4'd0 && (seg_min_i[s] <= limit || !(&mask_i[8*s+:8]));
    end
    pres = seg_pres;
    if (wide_i) begin
      pres = '0;
      for (int g = 0; g < 4; g++) pres[g] = seg_pres[2*g] || seg_pres[2*g+1];
    end
    drops = '0;
    for (int s = 0; s < 8; s++) drops += 4'(!pres[s] && !(wide_i && s >= 4));
    if (k_bp == 4'd0) drops = '0;
  end

  // DBP's range.
  logic [31:0] vary;
  logic [4:0]  dbp_lo, dbp_top;
  logic [5:0]  dbp_p;

  assign vary = wide_i ? or_i & ~and_i : {16'd0, or16 & ~and16};
  assign dbp_lo = vary == 32'd0 ? 5'd0 : lowest(vary);
  assign dbp_top = ~lowest(flip(vary));
  assign dbp_p = vary == 32'd0 ? 6'd0 : {1'b0, dbp_top} - {1'b0, dbp_lo} + 6'd1;

  // Lengths.
  logic [5:0] planes_bp, planes_zbp;
  logic [5:0] part_bytes;
  logic       verb_part;
  logic [7:0] len_zv, len_bp, len_dbp, len_zbp;

  assign planes_bp = {1'b0, mant_left} + {2'd0, k_bp} + {5'd0, keep_bp};
  assign planes_zbp = {1'b0, mant_left} + {2'd0, k_zbp} + {5'd0, keep_zbp};
  assign part_bytes = wide_i ? {1'b0, nz_cnt_i[2:0], 2'd0} : {2'd0, nz_cnt_i[2:0], 1'b0};
  assign verb_part = part_bytes < planes_zbp;

  always_comb begin : lengths
    len_zv = wide_i ? 8'd5 + {nz_cnt_i[5:0], 2'd0} : 8'd9 + {nz_cnt_i, 1'b0};
    len_bp = (wide_i ? {planes_bp, 2'd0} : {planes_bp[4:0], 3'd0}) + 8'd4 - {4'd0, drops};
    len_dbp = wide_i ? {dbp_p, 2'd0} + 8'd6 : {dbp_p[4:0], 3'd0} + 8'd4;
    len_zbp = (wide_i ? 8'd7 : 8'd11) + {2'd0, verb_part ? part_bytes : planes_zbp};
    for (int i = 0; i < 4; i++) begin
      if (nz_cnt_i[3+i]) len_zbp += 8'(planes_zbp) << i;
    end
  end

  // The smallest, by comparisons side by side; each prefers the lower form code.
  logic       zv_wins, dbp_ok, dbp_wins, planes_win, zbp_wins;
  logic [7:0] len_left;  // RAW or ZV
  form_e      form;

  assign dbp_ok = !dbp_p[5];
  assign zv_wins = len_zv < 8'd129;
  assign len_left = all_zero ? 8'd1 : zv_wins ? len_zv : 8'd129;
  assign dbp_wins = dbp_ok && len_dbp < len_bp;
  assign planes_win = len_bp < len_left || (dbp_ok && len_dbp < len_left);
  assign zbp_wins = !all_zero && len_zbp < len_left && len_zbp < len_bp && (!dbp_ok || len_zbp < len_dbp);

  always_comb begin : select_form
    if (zbp_wins) form = FormZbp;
    else if (planes_win) form = dbp_wins ? FormDbp : FormBp;
    else if (zv_wins) form = FormZv;
    else form = FormRaw;
  end

  // Description.
  always_comb begin : describe
    logic [1:0] mode;
    logic [6:0] halves;
    mode = form == FormZbp ? mode_zbp : mode_bp;
    halves = wide_i ? {nz_cnt_i[5:0], 1'b0} : nz_cnt_i;

    desc_o = '0;
    desc_o.last      = last_i;
    desc_o.last_beat = last_beat_i;
    desc_o.w32       = wide_i;
    desc_o.mask      = mask_i;
    desc_o.pres      = pres;
    desc_o.verb_part = verb_part;
    desc_o.kept      = form == FormDbp || mode[1];
    desc_o.e_max     = form == FormDbp ? 8'hFF : e_max_i;
    desc_o.b1        = form == FormDbp ? {dbp_p[0], 2'd0, dbp_lo} : {1'b0, mode, z};
    if (tail) begin
      desc_o.b0 = {1'b1, bytes[6:0]};
      desc_o.hdr_len = {3'd0, bytes != 8'd0};
    end else begin
      desc_o.b0[6:4] = form;
      unique case (form)
        FormZv: begin
          desc_o.b0[0] = all_zero;
          desc_o.hdr_len = all_zero ? 4'd1 : wide_i ? 4'd5 : 4'd9;
        end
        FormBp: begin
          desc_o.b0[3:0] = k_bp;
          desc_o.hdr_len = 4'd4;
        end
        FormDbp: begin
          desc_o.b0[3:0] = dbp_p[4:1];
          desc_o.hdr_len = wide_i ? 4'd6 : 4'd4;
        end
        FormZbp: begin
          desc_o.b0[3:0] = k_zbp;
          desc_o.hdr_len = wide_i ? 4'd7 : 4'd11;
        end
        default: desc_o.hdr_len = 4'd1;
      endcase
    end
    desc_o.masked = !tail && (form == FormZbp || (form == FormZv && !all_zero));
    desc_o.pads = desc_o.masked ? 5'(LaneW'(-halves)) : 5'd0;
    unique case (form)
      FormDbp: desc_o.planes = dbp_p;
      FormZbp: desc_o.planes = planes_zbp;
      default: desc_o.planes = planes_bp;
    endcase
  end

endmodule : planezip_decide
