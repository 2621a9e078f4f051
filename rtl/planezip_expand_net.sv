// PlaneZip: spreads a run of half-words over the flagged lanes of a beat.
//
// Function: takes each lane from `old_i` or `new_i`, sends the lanes through the network that planezip_expand_ctl
//   controls, and clears the lanes that `keep_i` does not mark.
//   The complements of the controls are ports: logic that the module boundary hides as such lets the mapper use
//   inverting and-or cells, which are smaller than multiplexers.
// Latency: none (combinational).
// Parameters: Lanes = half-words per beat, a power of two from 4 on.

module planezip_expand_net #(
  parameter  int unsigned Lanes = 16,
  localparam int unsigned Bits  = $clog2(Lanes)
) (
  input  logic [Lanes-1:0][15:0]     old_i,
  input  logic [Lanes-1:0][15:0]     new_i,
  input  logic [Lanes-1:0]           is_old_i,
  input  logic [Lanes-1:0]           is_old_ni,
  input  logic [Bits-1:0][Lanes-1:0] crossed_i,
  input  logic [Bits-1:0][Lanes-1:0] crossed_ni,
  input  logic [Lanes-1:0]           keep_i,
  output logic [Lanes-1:0][15:0]     lanes_o
);

  logic [Lanes-1:0][15:0] merged;
  for (genvar l = 0; l < Lanes; l++) begin : gen_merge
    assign merged[l] = ({16{is_old_i[l]}} & old_i[l]) | ({16{is_old_ni[l]}} & new_i[l]);
  end

  for (genvar b = 0; b < Bits; b++) begin : gen_stage
    localparam int unsigned Half = 1 << b;
    logic [Lanes-1:0][15:0] in, out;
    if (b == Bits - 1) begin : gen_first
      assign in = merged;
    end else begin : gen_later
      assign in = gen_stage[b+1].out;
    end
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      localparam int unsigned Pair = l & ~Half;
      assign out[l] = ({16{crossed_i[b][Pair]}} & in[l^Half]) | ({16{crossed_ni[b][Pair]}} & in[l]);
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_out
    assign lanes_o[l] = {16{keep_i[l]}} & gen_stage[0].out[l];
  end

  // The upper lanes of the pairs have no control of their own.
  logic unused_upper;
  assign unused_upper = ^{crossed_i, crossed_ni};

endmodule : planezip_expand_net
