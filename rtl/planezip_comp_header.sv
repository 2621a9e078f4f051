// PlaneZip: a block's header bytes.
//
// Function    The header (docs/format.md, section 2) in two parts: up to three bytes from `a_o`, then what follows from
//             `b_o`. Bytes behind the header's end do not matter.
// Latency     Combinational.

module planezip_comp_header
  import planezip_pkg::*;
(
  input  logic [7:0]       b0_i,     // see planezip_comp_pkg
  input  logic             w32_i,
  input  logic [1:0]       style_i,
  input  logic [1:0]       mode_i,
  input  logic [4:0]       z_i,
  input  logic [7:0]       e_max_i,
  input  logic [31:0]      field_i,
  input  logic [63:0]      mask_i,   // per half-word
  input  logic [1:0][15:0] word0_i,
  output logic [2:0][7:0]  a_o,
  output logic [7:0][7:0]  b_o,
  output logic [1:0]       split_o   // bytes from a_o: 1..3
);

  logic tail, bp, dbp, planes;
  assign tail = b0_i[7];
  assign bp = b0_i[6:4] == FormBp;
  assign dbp = b0_i[6:4] == FormDbp;
  assign planes = !tail && (bp || b0_i[6:4] == FormZbp);

  logic [7:0] code;
  always_comb begin : code_byte
    code = bp ? {1'b0, style_i, mode_i, b0_i[2:0]} : {3'(CodeZbp) + 3'(style_i), mode_i, b0_i[2:0]};
    if (!planes) begin
      unique case (form_e'(b0_i[6:4]))
        FormRaw: code = CodeRaw;
        FormDbp: code = CodeDbp;
        default: code = b0_i[0] ? CodeAllZero : CodeZv + {6'd0, style_i};
      endcase
    end
  end

  always_comb begin : first_bytes
    if (tail) begin
      a_o = {8'd0, 1'b0, b0_i[6:0], CodeTail};
      split_o = 2'd2;
    end else if (planes && z_i != 5'd0) begin
      a_o = {e_max_i, code, 3'(CodePrefix), z_i};
      split_o = 2'd3;
    end else begin
      a_o = {8'd0, e_max_i, code};
      split_o = planes ? 2'd2 : 2'd1;
    end
  end

  // Mask: whole, or the presence byte and the bytes that it marks.
  logic [7:0][7:0] mask;
  logic [6:0][7:0] some;
  logic [7:0]      presence;

  always_comb begin : mask_bytes
    logic [7:0] filler;
    filler = {8{style_i == MaskWithoutOnes}};
    mask = mask_i;
    if (w32_i) begin
      mask = '0;
      for (int i = 0; i < 32; i++) mask[i/8][i%8] = mask_i[2*i];
    end
    for (int b = 0; b < 8; b++) presence[b] = mask[b] != filler && !(w32_i && b >= 4);
    some = '0;
    for (int b = 7; b >= 0; b--) begin
      if (presence[b]) some = {some[5:0], mask[b]};
    end
  end

  always_comb begin : other_bytes
    if (bp) b_o = {48'd0, field_i[15:0]};
    else if (dbp) b_o = w32_i ? {8'd0, word0_i, field_i[23:0]} : {16'd0, word0_i[0], field_i};
    else b_o = style_i == MaskWhole ? mask : {some, presence};
  end

endmodule : planezip_comp_header
