// PlaneZip: block header decoder.
//
// Function: from the first bytes of a block, its form, header length and parameters, and the checks of
//   docs/format.md, section 4: `first_ok_o` step 1, `code_ok_o` step 2 (true without a prefix), `presence_ok_o`
//   step 4, `fields_ok_o` step 6. Bytes beyond the header do not matter.
// Latency: none (combinational).
//
// Lengths are worked out for a header with prefix and for one without, side by side: the choice comes late.

module planezip_header (
  input  logic [11:0][7:0]        bytes_i,
  input  logic                    wide_i,         // 32-bit layout

  output logic                    first_ok_o,
  output logic                    prefix_o,
  output logic                    code_ok_o,
  output logic [3:0]              base_len_o,     // bytes of the header, written bytes of a thinned mask apart
  output logic                    presence_ok_o,
  output logic [3:0]              len_o,          // bytes of the header
  output logic                    fields_ok_o,
  output planezip_pkg::form_e     form_o,         // meaningless for a tail
  output logic                    tail_o,
  output logic                    masked_o,       // a mask is present
  output logic                    zero_o,         // all words are zero
  output planezip_pkg::sign_e     sign_o,
  output logic [4:0]              lo_o,           // lowest planelet of BP and ZBP
  output logic [5:0]              hi_o,           // planelet after the highest of a whole group, the sign's apart
  output logic [5:0]              planes_o,       // planelets of a whole group
  output logic [7:0]              e_max_o,        // a tail's byte count
  output logic [63:0]             side_o          // mask: flag of each half-word; BP: from bit 32 on two bits a group,
                                                  // its drop; DBP: width field and, in bits 31..0, word 0
);

  import planezip_pkg::*;

  function automatic logic is_planes(logic [7:3] code, logic wide);
    return code[7:5] < 3'(CodeOther) && code[4:3] != 2'd3 && !(wide && code[7:5] == 3'(CodeBp + 1));
  endfunction

  function automatic logic [3:0] count(logic [7:0] v);
    count = '0;
    for (int i = 0; i < 8; i++) count += 4'(v[i]);
  endfunction

  // Header of BP or ZBP without its prefix: bytes, those of a thinned mask apart; whether it has one.
  function automatic logic thinned(logic [2:0] field);
    return field > 3'(CodeZbp);
  endfunction
  function automatic logic [3:0] planes_len(logic [2:0] field, logic wide);
    unique case (field)
      3'(CodeBp):     return 4'd2;
      3'(CodeBp + 1): return 4'd3;
      3'(CodeBp + 2): return wide ? 4'd3 : 4'd4;
      3'(CodeZbp):    return wide ? 4'd6 : 4'd10;
      default:        return 4'd3;
    endcase
  endfunction

  logic [7:0] b0, b1, code;
  assign b0 = bytes_i[0];
  assign b1 = bytes_i[1];

  logic [4:0] mant;
  assign mant = wide_i ? 5'(MantBits32) : 5'(MantBits16);

  logic plain, raw, zv, zv_thin, dbp, planes, bp, zbp;
  assign prefix_o = b0[7:5] == 3'(CodePrefix);
  assign raw      = b0 == CodeRaw;
  assign zero_o   = b0 == CodeAllZero;
  assign tail_o   = b0 == CodeTail;
  assign dbp      = b0 == CodeDbp;
  assign zv       = b0[7:2] == CodeZv[7:2] && b0[1:0] != 2'd3;
  assign zv_thin  = zv && b0[1:0] != 2'd0;
  assign plain    = raw || zero_o || tail_o || dbp || zv;

  assign first_ok_o = prefix_o ? b0[4:0] != 5'd0 && b0[4:0] <= mant : plain || is_planes(b0[7:3], wide_i);
  assign code_ok_o  = !prefix_o || is_planes(b1[7:3], wide_i);

  // A prefix in front of something else than BP and ZBP is refused above.
  assign planes = prefix_o || b0[7:5] < 3'(CodeOther);
  assign code   = prefix_o ? b1 : b0;
  assign bp     = planes && code[7:5] < 3'(CodeZbp);
  assign zbp    = planes && !bp;
  assign masked_o = zv || zbp;

  always_comb begin : p_form
    form_o = bp ? FormBp : FormZbp;
    if (!planes) form_o = raw ? FormRaw : dbp ? FormDbp : FormZv;
  end

  // Lengths.
  logic [3:0] plain_len, bare_len, pre_len;
  logic [3:0] plain_thin, bare_thin, pre_thin;
  always_comb begin : p_len
    plain_len = 4'd1;
    if (tail_o || zv_thin) plain_len = 4'd2;
    else if (zv) plain_len = wide_i ? 4'd5 : 4'd9;
    else if (dbp) plain_len = wide_i ? 4'd8 : 4'd7;
    bare_len   = planes_len(b0[7:5], wide_i);
    pre_len    = planes_len(b1[7:5], wide_i) + 4'd1;
    plain_thin = zv_thin ? count(b1) : 4'd0;
    bare_thin  = thinned(b0[7:5]) ? count(bytes_i[2]) : 4'd0;
    pre_thin   = thinned(b1[7:5]) ? count(bytes_i[3]) : 4'd0;
    if (prefix_o) begin
      base_len_o = pre_len;
      len_o      = pre_len + pre_thin;
    end else if (plain) begin
      base_len_o = plain_len;
      len_o      = plain_len + plain_thin;
    end else begin
      base_len_o = bare_len;
      len_o      = bare_len + bare_thin;
    end
  end

  // What follows the code byte and, in BP and ZBP, e_max: mask or drop field.
  logic [8:0][7:0] after;
  assign after = prefix_o ? bytes_i[11:3] : plain ? bytes_i[9:1] : bytes_i[10:2];

  logic thin;
  assign thin          = zv_thin || (zbp && thinned(code[7:5]));
  assign presence_ok_o = !(thin && wide_i && after[0][7:4] != 4'd0);

  // Mask.
  logic [7:0][7:0] mask;
  logic            mask_ok;
  always_comb begin : p_mask
    logic [7:0][7:0] left;
    logic [7:0]      filler;
    filler = {8{planes ? code[5] : b0[1]}};  // style without ones: CodeZbp + 2, CodeZv + 2
    left   = after[8:1];
    for (int b = 0; b < 8; b++) begin
      mask[b] = after[0][b] ? left[0] : filler;
      if (after[0][b]) left = {8'd0, left[7:1]};
    end
    if (!thin) mask = after[7:0];
    if (wide_i) mask[7:4] = '0;
    mask_ok = mask != '0;
  end

  // Drop field.
  logic [7:0][1:0] drop;
  logic            drop_ok;
  logic [2:0]      k;
  assign k = code[2:0];
  always_comb begin : p_drop
    for (int g = 0; g < 8; g++) begin
      drop[g] = code[6] ? after[g/4][2*(g%4)+:2] : {1'b0, code[5] && after[0][g]};
      if (wide_i && g >= 4) drop[g] = '0;
    end
    drop_ok = 1'b1;
    for (int g = 0; g < 8; g++) if ({1'b0, drop[g]} > k) drop_ok = 1'b0;
  end

  logic [31:0] word0, widths;
  assign word0  = wide_i ? bytes_i[7:4] : {16'd0, bytes_i[6:5]};
  assign widths = wide_i ? {8'd0, bytes_i[3:1]} : bytes_i[4:1];

  always_comb begin : p_side
    for (int i = 0; i < 64; i++) side_o[i] = wide_i ? mask[i/16][(i/2)%8] : mask[i/8][i%8];
    if (!masked_o) side_o = {dbp ? widths : {16'd0, drop}, word0};
  end

  assign sign_o   = sign_e'(code[4:3]);
  assign lo_o     = prefix_o ? b0[4:0] : 5'd0;
  assign e_max_o  = prefix_o ? bytes_i[2] : b1;
  assign hi_o     = {1'b0, mant} + {3'd0, k};
  assign planes_o = hi_o - {1'b0, lo_o} + 6'(sign_o == SignKept);

  assign fields_ok_o = !(masked_o && !mask_ok) && !(bp && !drop_ok) && !(tail_o && (b1 == 8'd0 || b1[7])) &&
                       !(dbp && wide_i && bytes_i[3][7:4] != 4'd0);

endmodule : planezip_header
