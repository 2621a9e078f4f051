// PlaneZip: S0 data path of the compressor: compaction of half-words into units, differences.
//
// Function    The half-words of the beat that `take_i` marks go, in order, to the lanes start, start + 1, ... (mod
//             Lanes); those that a unit still lacks wait in the unit register. `~unit_n_o` is the unit under
//             construction with this beat's half-words in place, complete if `full_o`. Unmasked forms take every
//             half-word with start 0: the network is then the identity and each beat one unit.
//             With `dbp_i` each word but a block's first is replaced by its code (see planezip_delta), E inverted: S1 takes
//             e_max - E with e_max all ones, which restores it.
// Latency     Combinational from beat to unit; state changes with `fire_i`.
// Throughput  One beat per cycle.
// Parameters  Beat: bytes per beat, 32 or 64.
//
// The controls of planezip_exchange: one number per pair of blocks, the destination of the right block's first half-word,
// sets all its exchanges.

module planezip_compact #(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned Lanes = Beat / 2,
  localparam int unsigned LaneW = $clog2(Lanes),
  localparam int unsigned Segs  = Lanes / 8
) (
  input  logic                   clk_i,
  input  logic                   fire_i,
  input  logic [Lanes-1:0][15:0] beat_i,
  input  logic [Lanes-1:0]       take_i,
  input  logic [LaneW-1:0]       start_i,
  input  logic [LaneW-1:0]       pads_i,     // lanes below it become zero code words (all 0, E = e_max)
  input  logic [7:0]             e_max_i,
  input  logic                   w32_i,
  input  logic                   dbp_i,
  input  logic                   block_first_i,  // first beat of its block
  output logic                   full_o,
  output logic [LaneW-1:0]       next_o,         // start of the next beat
  output logic [Lanes-1:0][15:0] unit_n_o
);

  // ---------------------------------------------------------------------------------------------------------
  // Exchange controls
  // ---------------------------------------------------------------------------------------------------------
  logic [LaneW-1:0][Lanes/2-1:0] swap;  // stage k: pair (c, c + 2^k), pairs counted from lane 0

  always_comb begin : controls
    logic [LaneW:0] cnt [2*Lanes];    // marked half-words of a block: node Lanes/2^k + b is block b of 2^k lanes
    logic [LaneW:0] first [2*Lanes];  // destination of its first half-word
    swap = '0;
    for (int c = 0; c < int'(Lanes); c++) cnt[int'(Lanes)+c] = (LaneW + 1)'(take_i[c]);
    for (int n = int'(Lanes) - 1; n >= 1; n--) cnt[n] = cnt[2*n] + cnt[2*n+1];
    cnt[0] = '0;
    first[0] = '0;
    first[1] = {1'b0, start_i};
    for (int n = 1; n < int'(Lanes); n++) begin
      first[2*n]   = first[n];
      first[2*n+1] = first[n] + cnt[2*n];
    end
    for (int k = 0; k < int'(LaneW); k++) begin
      for (int b = 0; b < (int'(Lanes) >> (k + 1)); b++) begin
        logic [LaneW:0] dest;
        dest = first[(int'(Lanes) >> k) + 2*b + 1];
        for (int i = 0; i < (1 << k); i++) begin
          swap[k][(b<<k)+i] = !dest[k] ^ (LaneW'(i) < (dest[LaneW-1:0] & LaneW'((1 << k) - 1)));
        end
      end
    end
    {full_o, next_o} = {1'b0, start_i} + cnt[1];
  end

  // ---------------------------------------------------------------------------------------------------------
  // Data path. Unit register: lanes at or above the next start are written before they are used, so they may take
  // anything. In DBP, where nothing waits, it holds the beat before.
  // ---------------------------------------------------------------------------------------------------------
  logic [Lanes-1:0][15:0] net, code, delta;
  logic [Lanes-1:0][15:0] unit_q;
  logic [Lanes-1:0]       below;      // lane < start
  logic [Lanes-1:0]       pad;        // lane < pads
  logic [Lanes-1:0]       diff;       // lane takes a code
  logic [1:0][15:0]       prior;

  planezip_exchange #(
    .Lanes (Lanes)
  ) u_exchange (
    .data_i   (beat_i),
    .swap_i   (swap),
    .swap_n_i (~swap),
    .data_o   (net)
  );

  // A block's first word passes unchanged, and predicts the second.
  always_comb begin : lane_selects
    for (int c = 0; c < int'(Lanes); c++) begin
      below[c] = LaneW'(c) < start_i;
      pad[c]   = LaneW'(c) < pads_i;
      diff[c]  = dbp_i && !(block_first_i && (c == 0 || (w32_i && c == 1)));
    end
    prior[0] = block_first_i ? beat_i[0] : unit_q[Lanes-2];
    prior[1] = !block_first_i ? unit_q[Lanes-1] : w32_i ? beat_i[1] : beat_i[0];
  end

  always_ff @(posedge clk_i) begin : wait_for_unit
    for (int c = 0; c < int'(Lanes); c++) begin
      if (fire_i && (full_o || !below[c])) unit_q[c] <= net[c];
    end
  end

  planezip_delta #(
    .Lanes (Lanes)
  ) u_delta (
    .data_i   (beat_i),
    .before_i (prior),
    .w32_i,
    .code_o   (code)
  );

  // In W32 the even lanes hold no E.
  always_comb begin : invert_e
    for (int c = 0; c < int'(Lanes); c++) delta[c] = code[c] ^ {1'b0, {8{c % 2 != 0 || !w32_i}}, 7'd0};
  end

  planezip_merge #(
    .Lanes (Lanes)
  ) u_merge (
    .net_i      (net),
    .wait_i     (unit_q),
    .delta_i    (delta),
    .delta_en_i (diff),
    .net_en_i   (~below & ~diff),
    .wait_en_i  (below & ~pad),
    .pad_i      (pad & {Segs{w32_i ? 8'hAA : 8'hFF}}),
    .e_max_i,
    .unit_n_o
  );

endmodule : planezip_compact
