// The area flow's own test design: lanes with running statistics, a rotator, a holding register and a byte counter.
//
// BEAT_BYTES: bytes per beat, power of two, 4 to 64.

module area_sample_top
  import area_sample_pkg::*;
#(
  parameter int unsigned BEAT_BYTES = 16
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          valid_i,
  input  logic                          first_i,
  input  logic [8*BEAT_BYTES-1:0]       data_i,
  input  logic [$clog2(BEAT_BYTES)-1:0] amount_i,
  output logic [8*BEAT_BYTES-1:0]       data_o,
  output stats_t [BEAT_BYTES/2-1:0]     stats_o,
  output logic [CounterW-1:0]           count_o
);

  logic [8*BEAT_BYTES-1:0] delta, rotated, hold_q;
  logic [CounterW-1:0] count_q;
  logic valid_q;

  for (genvar i = 0; i < BEAT_BYTES / 2; i++) begin : g_lane
    area_sample_lane u_lane (
      .clk_i,
      .rst_ni,
      .valid_i,
      .first_i,
      .word_i (data_i[16*i+:16]),
      .prev_i (i == 0 ? 16'h0 : data_i[16*((i+BEAT_BYTES/2-1)%(BEAT_BYTES/2))+:16]),
      .delta_o(delta[16*i+:16]),
      .stats_o(stats_o[i])
    );
  end : g_lane

  area_sample_rotate #(
    .BEAT_BYTES(BEAT_BYTES)
  ) u_rotate (
    .data_i  (delta),
    .amount_i(amount_i),
    .data_o  (rotated)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin : p_ctrl
    if (!rst_ni) begin
      valid_q <= 1'b0;
      count_q <= '0;
    end else begin
      valid_q <= valid_i;
      if (valid_q) begin
        count_q <= count_q + CounterW'(BEAT_BYTES) - CounterW'(amount_i);
      end
    end
  end : p_ctrl

  always_ff @(posedge clk_i) begin : p_data
    if (valid_q) begin
      hold_q <= rotated;
    end
  end : p_data

  assign data_o = hold_q;
  assign count_o = count_q;

endmodule : area_sample_top
