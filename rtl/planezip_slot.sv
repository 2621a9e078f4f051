// PlaneZip: S0 control of the compressor: which bytes a slot writes.
//
// Function    For beat `beat_i` of a block: per segment (8 half-words, 16 bytes) the range of bytes that go out and
//             from it where they go relative to the slot's first byte.
// Latency     Combinational.
// Parameters  Beat: bytes per beat, 32 or 64.

module planezip_slot
  import planezip_pkg::*;
#(
  parameter  int unsigned Beat = 32,
  localparam int unsigned Segs = Beat / 16,
  localparam int unsigned CntW = $clog2(Beat) + 2
) (
  // Of the block's description.
  input  logic [7:0]                b0_i,
  input  logic                      w32_i,
  input  logic [4:0]                plane_lo_i,
  input  logic [5:0]                planes_i,
  input  logic [7:0]                pres_i,
  input  logic [4:0]                pads_i,
  input  logic                      verb_part_i,
  input  logic [3:0]                hdr_len_i,
  // The beat.
  input  logic [1:0]                beat_i,
  input  logic                      full_i,        // the beat completes a unit
  input  logic                      unit_first_i,  // it is, or will be, the block's first
  output logic [3:0]                hdr_len_o,
  output logic [Segs-1:0]           verb_o,
  output logic [Segs-1:0]           pres_o,
  output logic [Segs-1:0][3:0]      rot_o,         // lane of segment byte 0, mod 16
  output logic [Segs-1:0][CntW-1:0] end_o          // first byte of the slot behind the segment
);

  logic form_zv, form_bp, form_zbp, tail, plain, payload;

  assign tail = b0_i[7];
  assign form_zv = !tail && b0_i[6:4] == FormZv;
  assign form_bp = !tail && b0_i[6:4] == FormBp;
  assign form_zbp = !tail && b0_i[6:4] == FormZbp;
  assign plain = tail || b0_i[6:4] == FormRaw || form_zv;
  assign payload = full_i && !(form_zv && b0_i[0]);
  assign hdr_len_o = beat_i == 2'd0 ? hdr_len_i : 4'd0;

  // Pad half-words of the unit under construction.
  logic [4:0] pads;
  assign pads = unit_first_i ? pads_i : 5'd0;

  // min(v, 16 (i + 1)) - 16 i, at least 0.
  function automatic logic [4:0] part16(input logic [6:0] v, input logic [2:0] i);
    if (v[6:4] > i) return 5'd16;
    if (v[6:4] == i) return {1'b0, v[3:0]};
    return 5'd0;
  endfunction

  always_comb begin : ranges
    logic [CntW-1:0] pos;
    pos = CntW'(hdr_len_o);
    for (int s = 0; s < int'(Segs); s++) begin
      logic [2:0] block_seg;  // segment of the block, in unmasked forms
      logic       pres, some_pad, all_pad;
      logic [3:0] skip;
      logic [5:0] last;
      logic [4:0] lo, hi;
      block_seg = 3'(beat_i * Segs) + 3'(s);
      // Pads of this segment, and of its group: none, some, all.
      skip = pads[4:3] > 2'(s) ? 4'd8 : pads[4:3] == 2'(s) ? {1'b0, pads[2:0]} : 4'd0;
      if (w32_i) begin
        all_pad = pads[4] && s < 2;
        some_pad = (pads[4] ? s >= 2 : s < 2) && pads[3:0] != 4'd0;
      end else begin
        all_pad = skip[3];
        some_pad = skip[2:0] != 3'd0;
      end
      pres = !form_bp || b0_i[3:0] == 4'd0 || pres_i[w32_i ? block_seg / 2 : block_seg];
      verb_o[s] = plain || (form_zbp && some_pad && verb_part_i);
      pres_o[s] = pres;
      last = {1'b0, plane_lo_i} + planes_i - {5'd0, !pres};
      if (verb_o[s]) begin
        lo = {skip, 1'b0};
        hi = 5'd16;
        if (tail) hi = part16(b0_i[6:0], block_seg);
      end else if (w32_i) begin
        lo = part16({2'd0, plane_lo_i}, 3'(s % 2));
        hi = part16({1'b0, last}, 3'(s % 2));
      end else begin
        lo = plane_lo_i;
        hi = last[4:0];
      end
      rot_o[s] = pos[3:0] - lo[3:0];
      if (payload && !(all_pad && !verb_o[s])) pos = pos + CntW'(hi) - CntW'(lo);
      end_o[s] = pos;
    end
  end

endmodule : planezip_slot
