// PlaneZip: the Beat bytes that follow a position in the beat queue, each in the lane it was written to.
//
// Function: lane i shows entry `base_i` if i >= `off_i`, else the entry after it. Read from lane
//   `off_i` on and around, the lanes are consecutive bytes of the stream.
// Latency: none (combinational).
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_lane_window #(
  parameter  int unsigned Beat = 32,
  localparam int unsigned OffW = $clog2(Beat)
) (
  input  logic [3:0][Beat-1:0][7:0] data_i,
  input  logic [1:0]                base_i,
  input  logic [OffW-1:0]           off_i,
  output logic [Beat-1:0][7:0]      lanes_o
);

  logic [Beat-1:0] here;  // lanes that still show the base entry
  assign here = {Beat{1'b1}} << off_i;

  logic [3:0][Beat-1:0] sel;
  for (genvar e = 0; e < 4; e++) begin : gen_sel
    assign sel[e] = (base_i == 2'(e)) ? here : (base_i == 2'(e + 3)) ? ~here : '0;
  end

  for (genvar i = 0; i < Beat; i++) begin : gen_lane
    assign lanes_o[i] = ({8{sel[0][i]}} & data_i[0][i]) | ({8{sel[1][i]}} & data_i[1][i]) |
                        ({8{sel[2][i]}} & data_i[2][i]) | ({8{sel[3][i]}} & data_i[3][i]);
  end

endmodule : planezip_lane_window
