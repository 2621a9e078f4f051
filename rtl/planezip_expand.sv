// PlaneZip: puts a run of half-words onto the flagged lanes of a beat.
//
// Function: the run starts in lane `first_i` and goes around; its r-th half-word is routed to the
//   r-th lane whose flag is set. Other output lanes hold anything.
//   The network is the compaction network backwards. Compacting, a half-word in lane p with
//   destination d takes on d's bit b in stage b; before stage b the half-words of each half of a
//   block of 2^(b+1) lanes sit at their destinations mod 2^b. With D the destination of the first
//   half-word of the upper half, the one in its lane x has bit b of its destination equal to
//   D[b] ^ (x < D mod 2^b), and the one in lane x of the lower half the opposite: so a pair of lanes
//   is straight or crossed by that bit alone, whichever of the two is in use.
// Latency: none (combinational).
// Parameters: Lanes = half-words per beat, a power of two from 4 on.

module planezip_expand #(
  parameter  int unsigned Lanes = 16,
  localparam int unsigned Bits  = $clog2(Lanes)
) (
  input  logic [Lanes-1:0]       flags_i,
  input  logic [Bits-1:0]        first_i,
  input  logic [Lanes-1:0][15:0] lanes_i,
  output logic [Lanes-1:0][15:0] lanes_o
);

  if (Lanes < 4 || Lanes != (1 << Bits)) begin : gen_bad_lanes
    $error("planezip_expand: Lanes must be a power of two, at least 4");
  end

  // Destination of the first half-word at or after each lane: `dest[mid]` is the D above.
  logic [Bits-1:0] dest [Lanes];
  always_comb begin : p_dest
    dest[0] = first_i;
    for (int b = Bits - 1; b >= 0; b--) begin
      for (int m = 0; m < Lanes; m += (2 << b)) begin
        logic [Bits-1:0] ones;
        ones = '0;
        for (int i = 0; i < (1 << b); i++) ones = ones + Bits'(flags_i[m+i]);
        dest[m+(1<<b)] = dest[m] + ones;
      end
    end
  end

  for (genvar b = 0; b < Bits; b++) begin : gen_stage
    localparam int unsigned Half = 1 << b;
    logic [Lanes-1:0][15:0] in, out;
    if (b == Bits - 1) begin : gen_first
      assign in = lanes_i;
    end else begin : gen_later
      assign in = gen_stage[b+1].out;
    end
    for (genvar m = 0; m < Lanes; m += 2 * Half) begin : gen_block
      logic [Half-1:0] below;  // lane x < D mod 2^b
      logic [Half-1:0] crossed;
      if (b == 0) begin : gen_pair
        assign below = '0;
      end else begin : gen_wide
        assign below = ~({Half{1'b1}} << dest[m+Half][b-1:0]);
      end
      assign crossed = dest[m+Half][b] ? below : ~below;
      for (genvar x = 0; x < Half; x++) begin : gen_lane
        assign out[m+x]      = crossed[x] ? in[m+Half+x] : in[m+x];
        assign out[m+Half+x] = crossed[x] ? in[m+x] : in[m+Half+x];
      end
    end
  end

  assign lanes_o = gen_stage[0].out;

endmodule : planezip_expand
