// PlaneZip: control of the network that spreads a run of half-words over the flagged lanes of a beat.
//
// Function: planezip_expand_net is a compaction network run backwards. Compacting, a half-word in lane p with
//   destination d takes on d's bit b in stage b; before stage b the half-words of each half of a block of 2^(b+1) lanes
//   sit at their destinations mod 2^b. With D the destination of the first half-word of the upper half, the one in lane x
//   of the upper half has bit b of its destination equal to D[b] ^ (x < D mod 2^b), the one in lane x of the lower half
//   the opposite: so that bit alone says whether a pair of lanes is straight or crossed, whichever of the two is in use.
// Latency: none (combinational).
// Parameters: Lanes = half-words per beat, a power of two from 4 on.

module planezip_expand_ctl #(
  parameter  int unsigned Lanes = 16,
  localparam int unsigned Bits  = $clog2(Lanes)
) (
  input  logic [Lanes-1:0]           flags_i,
  input  logic [Bits-1:0]            first_i,   // lane of the run's first half-word
  output logic [Bits-1:0][Lanes-1:0] crossed_o  // by stage b and lower lane m of the pair m, m + 2^b; others 0
);

  if (Lanes < 4 || Lanes != (1 << Bits)) begin : gen_bad_lanes
    $error("planezip_expand_ctl: Lanes must be a power of two, at least 4");
  end

  // Destination of the first half-word at or after each lane, by binary subdivision; at the middle of a block of
  // 2^(b+1) lanes bits b..0 of it are needed.
  logic [Bits-1:0] dest [Lanes];
  always_comb begin : p_dest
    logic [Bits-1:0] ones [Lanes];  // flags in the 2^b lanes from here on
    for (int i = 0; i < Lanes; i++) ones[i] = Bits'(flags_i[i]);
    dest[0] = first_i;
    for (int i = 1; i < Lanes; i++) dest[i] = '0;
    // Partial sums of 2^b lanes at multiples of 2^b replace each other from small to large; the ones that are used
    // start at an even multiple.
    for (int b = 0; b < Bits; b++) begin
      for (int m = 0; m < Lanes; m += (2 << b)) begin
        dest[m+(1<<b)] = ones[m];
        ones[m]        = ones[m] + ones[m+(1<<b)];
      end
    end
    for (int b = Bits - 1; b >= 0; b--) begin
      for (int m = 0; m < Lanes; m += (2 << b)) dest[m+(1<<b)] = dest[m] + dest[m+(1<<b)];
    end
  end

  for (genvar b = 0; b < Bits; b++) begin : gen_stage
    localparam int unsigned Half = 1 << b;
    for (genvar m = 0; m < Lanes; m += 2 * Half) begin : gen_block
      logic [Half-1:0] below;  // lanes x < D mod 2^b
      if (b == 0) begin : gen_pair
        assign below = '0;
      end else begin : gen_wide
        assign below = ~({Half{1'b1}} << dest[m+Half][b-1:0]);
      end
      assign crossed_o[b][m+:Half]      = dest[m+Half][b] ? below : ~below;
      assign crossed_o[b][m+Half+:Half] = '0;
    end
  end

endmodule : planezip_expand_ctl
