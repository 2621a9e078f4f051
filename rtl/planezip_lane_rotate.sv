// PlaneZip: some lanes of a rotated byte vector.
//
// Function: `lanes_o[p] = lanes_i[(p + amount_i) mod Lanes]` for p < Outs.
//   The largest step comes first, so that each stage keeps only the lanes later ones can reach.
// Latency: none (combinational).
// Parameters: Lanes = input lanes, a power of two; Outs = output lanes, 1..Lanes.

module planezip_lane_rotate #(
  parameter  int unsigned Lanes = 32,
  parameter  int unsigned Outs  = 16,
  localparam int unsigned AmtW  = $clog2(Lanes)
) (
  input  logic [Lanes-1:0][7:0] lanes_i,
  input  logic [AmtW-1:0]       amount_i,
  output logic [Outs-1:0][7:0]  lanes_o
);

  if (Lanes != (1 << AmtW) || Outs < 1 || Outs > Lanes) begin : gen_bad_lanes
    $error("planezip_lane_rotate: Lanes must be a power of two and Outs 1..Lanes");
  end

  for (genvar s = AmtW; s > 0; s--) begin : gen_stage
    localparam int unsigned Step  = 1 << (s - 1);
    localparam int unsigned Reach = Outs + Step - 1;  // lanes the stages after this one can reach
    localparam int unsigned Keep  = Reach < Lanes ? Reach : Lanes;
    logic [Lanes-1:0][7:0] in;
    logic [Keep-1:0][7:0]  out;
    if (s == AmtW) begin : gen_first
      assign in = lanes_i;
    end else begin : gen_later
      localparam int unsigned Before = Outs + 2 * Step - 1;
      if (Before < Lanes) begin : gen_pad
        // Lanes beyond `Before` are never read by this stage.
        assign in = {{(Lanes - Before) * 8{1'b0}}, gen_stage[s+1].out};
      end else begin : gen_full
        assign in = gen_stage[s+1].out;
      end
    end
    for (genvar i = 0; i < Keep; i++) begin : gen_lane
      assign out[i] = amount_i[s-1] ? in[(i + Step) % Lanes] : in[i];
    end
  end

  assign lanes_o = gen_stage[1].out;

endmodule : planezip_lane_rotate
