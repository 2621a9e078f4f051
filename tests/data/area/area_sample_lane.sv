// Running maximum, minimum and sign of one 16-bit lane, and its order-preserving difference to the lane before.
//
// Latency 1 cycle, no backpressure: every beat with valid_i is taken.

module area_sample_lane
  import area_sample_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic        first_i,
  input  logic [15:0] word_i,
  input  logic [15:0] prev_i,
  output logic [15:0] delta_o,
  output stats_t      stats_o
);

  stats_t stats_q, stats_d;
  logic [15:0] delta_q, delta_d;
  logic [7:0] exp;

  assign exp = word_i[14:7];
  assign delta_d = (word_i ^ {16{word_i[15]}}) - (prev_i ^ {16{prev_i[15]}});

  always_comb begin : p_stats
    stats_d.exp_max = (first_i || exp > stats_q.exp_max) ? exp : stats_q.exp_max;
    stats_d.exp_min = (first_i || exp < stats_q.exp_min) ? exp : stats_q.exp_min;
    stats_d.any_neg = word_i[15] | (stats_q.any_neg & ~first_i);
  end : p_stats

  always_ff @(posedge clk_i or negedge rst_ni) begin : p_ctrl
    if (!rst_ni) begin
      stats_q <= '0;
    end else if (valid_i) begin
      stats_q <= stats_d;
    end
  end : p_ctrl

  always_ff @(posedge clk_i) begin : p_data
    if (valid_i) begin
      delta_q <= delta_d;
    end
  end : p_data

  assign delta_o = delta_q;
  assign stats_o = stats_q;

endmodule : area_sample_lane
