// PlaneZip: S0 control of the compressor: which bytes a slot writes.
//
// Function    For beat `beat_i` of a block: per segment (8 half-words, 16 bytes) the range of bytes that go out and
//             from it where they go relative to the slot's first byte.
// Latency     Combinational.
// Parameters  Beat: bytes per beat, 32 or 64.

module planezip_slot
  import planezip_pkg::*;
  import planezip_comp_pkg::*;
#(
  parameter  int unsigned Beat = 32,
  localparam int unsigned Segs = Beat / 16,
  localparam int unsigned CntW = $clog2(Beat) + 2
) (
  // Of the block's description.
  input  logic [7:0]                b0_i,
  input  logic                      w32_i,
  input  logic [4:0]                z_i,
  input  logic [5:0]                top_i,
  input  logic [31:0]               field_i,
  input  logic [1:0]                style_i,
  input  logic [4:0]                pads_i,
  input  part_e                     part_i,
  input  logic [3:0]                hdr_len_i,
  // The beat.
  input  logic [1:0]                beat_i,
  input  logic                      full_i,        // the beat completes a unit
  input  logic                      unit_first_i,  // it is, or will be, the block's first
  output logic [3:0]                hdr_len_o,
  output logic [Segs-1:0]           verb_o,        // the segment goes as it is,
  output logic [Segs-1:0]           half_o,        // or as half planelets (W16: behind words as they are)
  output logic [Segs-1:0][1:0]      drop_o,
  output logic [Segs-1:0][3:0]      rot_o,         // lane of segment byte 0, mod 16
  output logic [Segs-1:0][CntW-1:0] end_o          // first byte of the slot behind the segment
);

  logic form_zv, form_bp, form_dbp, form_zbp, tail, plain, payload;

  assign tail = b0_i[7];
  assign form_zv = !tail && b0_i[6:4] == FormZv;
  assign form_bp = !tail && b0_i[6:4] == FormBp;
  assign form_dbp = !tail && b0_i[6:4] == FormDbp;
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

  // Per group of the block, what the field says: planes dropped, width.
  logic [7:0][1:0] drop;
  logic [7:0][4:0] width;

  always_comb begin : field
    for (int g = 0; g < 8; g++) begin
      drop[g] = style_i[1] ? field_i[2*g+:2] : {1'b0, style_i[0] && field_i[g]};
      width[g] = {1'b0, field_i[4*g+:4]};
      if (w32_i && g < 4) width[g] = field_i[5*g+:5];
    end
  end

  // Half planelets of a partial group.
  logic [4:0] half_lo, half_hi;
  assign half_lo = {1'b0, z_i[4:1]};
  assign half_hi = 5'((top_i + 6'd1) >> 1);

  always_comb begin : ranges
    logic [CntW-1:0] pos;
    pos = CntW'(hdr_len_o);
    for (int s = 0; s < int'(Segs); s++) begin
      logic [2:0] seg, group;      // segment and group of the block, in unmasked forms
      logic       some_pad, all_pad, few, partial, whole_width;
      logic [3:0] skip;
      logic [5:0] g_lo, g_hi;      // range of the group's bytes
      logic [4:0] lo, hi;
      seg = 3'(beat_i * Segs) + 3'(s);
      group = w32_i ? seg >> 1 : seg;
      // Pads of this segment, and of its group: none, some, all. Few words: four or less.
      skip = pads[4:3] > 2'(s) ? 4'd8 : pads[4:3] == 2'(s) ? {1'b0, pads[2:0]} : 4'd0;
      if (w32_i) begin
        all_pad = pads[4] && s < 2;
        some_pad = (pads[4] ? s >= 2 : s < 2) && pads[3:0] != 4'd0;
        few = pads[3];
      end else begin
        all_pad = skip[3];
        some_pad = skip[2:0] != 3'd0;
        few = skip[2];
      end
      partial = form_zbp && some_pad;
      verb_o[s] = plain || (partial && (part_i == PartVerbatim || (part_i == PartHalves && w32_i && s % 2 == 0)));
      half_o[s] = partial && part_i == PartHalves && !(w32_i && s % 2 == 0);
      drop_o[s] = drop[group] & {2{form_bp}};
      // All ones stand for the whole word.
      whole_width = w32_i ? &width[group] : &width[group][3:0];
      g_lo = {1'b0, z_i};
      g_hi = form_dbp ? {1'b0, width[group]} + {5'd0, whole_width} : top_i - {4'd0, drop_o[s]};
      if (partial && part_i == PartHalves) begin
        g_lo = few ? (w32_i ? 6'd16 : 6'd8) + {1'b0, half_lo} : w32_i ? {1'b0, pads[3:0], 1'b0} : {1'b0, skip, 1'b0};
        g_hi = (w32_i ? 6'd16 : 6'd8) + {1'b0, half_hi};
      end
      if (plain || (partial && part_i == PartVerbatim)) begin
        lo = {skip, 1'b0};
        hi = 5'd16;
        if (tail) hi = part16(b0_i[6:0], seg);
      end else if (w32_i) begin
        lo = part16({1'b0, g_lo}, 3'(s % 2));
        hi = part16({1'b0, g_hi}, 3'(s % 2));
      end else begin
        lo = g_lo[4:0];
        hi = g_hi[4:0];
      end
      rot_o[s] = pos[3:0] - lo[3:0];
      if (payload && !(all_pad && !verb_o[s])) pos = pos + CntW'(hi) - CntW'(lo);
      end_o[s] = pos;
    end
  end

endmodule : planezip_slot
