// PlaneZip: selects of planezip_lane_window.
//
// Function: `sel_o[s][i]` = lane i shows segment s: segment `base_i` if i >= `off_i`, else the one after it (the segments
//   are a ring). Of two segments that follow each other one is even: a lane picks a parity, and which even and
//   which odd segment it is is the same for all lanes.
// Latency: none (combinational).
// Parameters: Lanes = bytes per segment, a power of two; Segs = segments, a power of two from 4 on.

module planezip_lane_select #(
  parameter  int unsigned Lanes = 32,
  parameter  int unsigned Segs  = 4,
  localparam int unsigned OffW  = $clog2(Lanes),
  localparam int unsigned SegW  = $clog2(Segs)
) (
  input  logic [SegW-1:0]            base_i,
  input  logic [OffW-1:0]            off_i,
  output logic [Segs-1:0][Lanes-1:0] sel_o
);

  if (Lanes != (1 << OffW) || Segs < 4 || Segs != (1 << SegW)) begin : gen_bad_size
    $error("planezip_lane_select: Lanes and Segs must be powers of two, Segs at least 4");
  end

  logic [Lanes-1:0] here;  // lanes that still show the base segment
  logic [Lanes-1:0] even;  // lanes that show an even segment
  logic [SegW-1:1]  even_seg, odd_seg;
  assign here     = {Lanes{1'b1}} << off_i;
  assign even     = base_i[0] ? ~here : here;
  assign odd_seg  = base_i[SegW-1:1];
  assign even_seg = base_i[SegW-1:1] + (SegW - 1)'(base_i[0]);

  for (genvar s = 0; s < Segs; s += 2) begin : gen_sel
    assign sel_o[s]   = even & {Lanes{even_seg == (SegW - 1)'(s / 2)}};
    assign sel_o[s+1] = ~even & {Lanes{odd_seg == (SegW - 1)'(s / 2)}};
  end

endmodule : planezip_lane_select
