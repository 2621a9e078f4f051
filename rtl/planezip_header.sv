// PlaneZip: block header decoder.
//
// Function: from the first bytes of a block, its form, header length and parameters, and the checks of
//   docs/format.md, section 4, steps 1 (`form_ok_o`, from byte 0) and 3 (`fields_ok_o`, from the whole
//   header). Bytes beyond the header do not matter.
// Latency: none (combinational).

module planezip_header (
  input  logic [10:0][7:0]        bytes_i,
  input  logic                    wide_i,      // 32-bit layout

  output logic [3:0]              len_o,       // bytes of the header
  output logic                    form_ok_o,
  output logic                    fields_ok_o,
  output planezip_pkg::form_e     form_o,      // meaningless for a tail
  output logic                    tail_o,
  output logic                    masked_o,    // a mask is present
  output logic                    zero_o,      // all words are zero
  output planezip_pkg::sign_e     sign_o,
  output logic [4:0]              lo_o,        // lowest planelet
  output logic [5:0]              hi_o,        // planelet after the highest, the sign's apart
  output logic [5:0]              planes_o,    // planelets of a group
  output logic [7:0]              e_max_o,     // a tail's byte count in bits 6..0
  output logic [63:0]             side_o       // flag of each half-word; BP: groups with a dropped plane
                                               // (bit 16i + g: g-th of the i-th eight half-words); DBP: word 0
);

  import planezip_pkg::*;

  logic [7:0] b0, b1;
  assign b0 = bytes_i[0];
  assign b1 = bytes_i[1];

  logic raw, zv, bp, dbp, zbp, zero, k_ok;
  assign tail_o = b0[7];
  assign raw    = b0[7:4] == {1'b0, FormRaw};
  assign zv     = b0[7:4] == {1'b0, FormZv};
  assign bp     = b0[7:4] == {1'b0, FormBp};
  assign dbp    = b0[7:4] == {1'b0, FormDbp};
  assign zbp    = b0[7:4] == {1'b0, FormZbp};
  assign zero   = zv && b0[0];
  assign k_ok   = !b0[3] || b0[2:0] == 0;
  assign form_o = form_e'(b0[6:4]);

  assign form_ok_o = (tail_o && b0[6:0] != 0) || (raw && b0[3:0] == 0) || (zv && b0[3:1] == 0) ||
                     ((bp || zbp) && k_ok) || dbp;

  assign zero_o   = zero;
  assign masked_o = zbp || (zv && !zero);
  always_comb begin : p_len
    unique case (1'b1)
      bp:      len_o = 4'd4;
      dbp:     len_o = wide_i ? 4'd6 : 4'd4;
      zbp:     len_o = wide_i ? 4'd7 : 4'd11;
      zv:      len_o = zero ? 4'd1 : wide_i ? 4'd5 : 4'd9;
      default: len_o = 4'd1;
    endcase
  end

  assign sign_o  = sign_e'(b1[6:5]);
  assign lo_o    = b1[4:0];
  assign e_max_o = tail_o ? b0 : bytes_i[2];

  logic [4:0] mant;
  assign mant     = wide_i ? 5'(MantBits32) : 5'(MantBits16);
  assign hi_o     = dbp ? {1'b0, lo_o} + {1'b0, b0[3:0], b1[7]} : {1'b0, mant} + {2'b00, b0[3:0]};
  assign planes_o = dbp ? {1'b0, b0[3:0], b1[7]} : hi_o - {1'b0, lo_o} + 6'(sign_o == SignKept);

  logic [63:0] mask, flags;
  assign mask = zbp ? bytes_i[10:3] : bytes_i[8:1];
  always_comb begin : p_flags
    for (int i = 0; i < 64; i++) flags[i] = wide_i ? mask[i/2] : mask[i];
  end

  logic [7:0]  dropped;
  logic [63:0] drops;
  assign dropped = (b0[3:0] != 0) ? ~bytes_i[3] : '0;
  always_comb begin : p_drops
    drops = '0;
    for (int i = 0; i < 4; i++) begin
      if (wide_i) begin
        drops[16*i] = dropped[i];
      end else begin
        drops[16*i]   = dropped[2*i];
        drops[16*i+1] = dropped[2*i+1];
      end
    end
  end
  assign side_o = bp ? drops : dbp ? {32'b0, bytes_i[5:2]} : flags;

  logic plane_ok, mask_ok, presence_ok, delta_ok;
  assign plane_ok    = !b1[7] && sign_o != sign_e'(2'd3) && lo_o <= mant;
  // By byte, not by flag: the mask's place is known later than its bytes.
  logic [10:1] some;
  always_comb begin : p_some
    for (int i = 1; i < 11; i++) some[i] = bytes_i[i] != '0;
    if (wide_i) mask_ok = zbp ? |some[6:3] : |some[4:1];
    else        mask_ok = zbp ? |some[10:3] : |some[8:1];
  end
  assign presence_ok = !(wide_i && bytes_i[3][7:4] != 0) && !(b0[3:0] == 0 && bytes_i[3] != 0);
  assign delta_ok    = b1[6:5] == 0 && hi_o <= (wide_i ? 6'd32 : 6'd16);
  assign fields_ok_o = !((bp || zbp) && !plane_ok) && !(masked_o && !mask_ok) && !(bp && !presence_ok) &&
                       !(dbp && !delta_ok);

endmodule : planezip_header
