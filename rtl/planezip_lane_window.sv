// PlaneZip: the bytes that follow a position in the beat queue, each in the lane it was written to.
//
// Function: takes the queue as a ring of `Segs` segments of `Lanes` bytes; lane i shows segment s if `sel_i[s][i]`
//   (one-hot, from planezip_lane_select: a module apart, as a mapper that sees how the selects come about makes more of
//   the array than and-or cells).
// Latency: none (combinational).
// Parameters: Lanes = bytes per segment; Segs = segments.

module planezip_lane_window #(
  parameter int unsigned Lanes = 32,
  parameter int unsigned Segs  = 4
) (
  input  logic [Segs-1:0][Lanes-1:0][7:0] data_i,
  input  logic [Segs-1:0][Lanes-1:0]      sel_i,
  output logic [Lanes-1:0][7:0]           lanes_o
);

  always_comb begin : p_lanes
    for (int i = 0; i < Lanes; i++) begin
      logic [7:0] lane;
      lane = '0;
      for (int s = 0; s < Segs; s++) lane |= {8{sel_i[s][i]}} & data_i[s][i];
      lanes_o[i] = lane;
    end
  end

endmodule : planezip_lane_window
