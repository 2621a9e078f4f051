// PlaneZip: some lanes of a rotated byte vector.
//
// Function: `lanes_o[p] = lanes_i[(p + amount_i) mod Lanes]` for p < Outs. With Place = 1 only in lanes that `keep_i`
//   marks, else zero, and the last lane is or-ed with the rotated lane that `top_i` marks and with `fill_i`.
//   The largest step comes first, so that each stage keeps only the lanes later ones can reach.
//   The complement of the amount is a port: logic that the module boundary hides as such lets the mapper use inverting
//   and-or cells, which are smaller than multiplexers.
// Latency: none (combinational).
// Parameters: Lanes = input lanes, a power of two; Outs = output lanes, 1..Lanes; Place = 1 needs Outs > 9.

module planezip_lane_rotate #(
  parameter  int unsigned Lanes = 32,
  parameter  int unsigned Outs  = 16,
  parameter  bit          Place = 1'b0,
  localparam int unsigned AmtW  = $clog2(Lanes)
) (
  input  logic [Lanes-1:0][7:0]  lanes_i,
  input  logic [AmtW-1:0]        amount_i,
  input  logic [AmtW-1:0]        amount_ni,
  input  logic [Outs-1:0]        keep_i,
  input  logic [Outs-1:Outs-9]   top_i,     // one-hot or none
  input  logic                   fill_i,
  output logic [Outs-1:0][7:0]   lanes_o
);

  if (Lanes != (1 << AmtW) || Outs < 9 || Outs > Lanes) begin : gen_bad_lanes
    $error("planezip_lane_rotate: Lanes must be a power of two and Outs 9..Lanes");
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
        // Lanes from `Before` on are never read by this stage.
        assign in = {{(Lanes - Before) * 8{1'b0}}, gen_stage[s+1].out};
      end else begin : gen_full
        assign in = gen_stage[s+1].out;
      end
    end
    for (genvar i = 0; i < Keep; i++) begin : gen_lane
      assign out[i] = ({8{amount_i[s-1]}} & in[(i + Step) % Lanes]) | ({8{amount_ni[s-1]}} & in[i]);
    end
  end

  if (Place) begin : gen_place
    always_comb begin : p_place
      logic [7:0] top;
      top = {8{fill_i}};
      for (int i = Outs - 9; i < Outs; i++) top |= {8{top_i[i]}} & gen_stage[1].out[i];
      for (int i = 0; i < Outs; i++) lanes_o[i] = {8{keep_i[i]}} & gen_stage[1].out[i];
      lanes_o[Outs-1] |= top;
    end
  end else begin : gen_all
    assign lanes_o = gen_stage[1].out;
    logic unused_place;
    assign unused_place = ^{keep_i, top_i, fill_i};
  end

endmodule : planezip_lane_rotate
