// PlaneZip: beat FIFO.
//
// Function    Data of beats in order; no flags.
// Latency     A pushed beat is at the head in the next cycle.
// Throughput  One push and one pop per cycle, also when full.
// Handshake   The caller counts: it pushes only while there is room (or it pops in the same cycle) and pops only
//             what it has pushed.
// Parameters  Width: bits per beat, >= 1. Depth: beats, >= 2.

module planezip_beat_fifo #(
  parameter int unsigned Width = 256,
  parameter int unsigned Depth = 5
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             push_i,
  input  logic [Width-1:0] data_i,
  input  logic             pop_i,
  output logic [Width-1:0] data_o
);

  if (Width < 1 || Depth < 2) begin : gen_bad_size
    $error("planezip_beat_fifo: Width must be >= 1, Depth >= 2");
  end

  // One-hot pointers: they serve as write enables and read selects as they are.
  logic [Depth-1:0]            wr_q, rd_q;
  logic [Depth-1:0][Width-1:0] mem_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : pointers
    if (!rst_ni) begin
      wr_q <= Depth'(1);
      rd_q <= Depth'(1);
    end else begin
      if (push_i) wr_q <= {wr_q[Depth-2:0], wr_q[Depth-1]};
      if (pop_i) rd_q <= {rd_q[Depth-2:0], rd_q[Depth-1]};
    end
  end

  always_ff @(posedge clk_i) begin : store
    for (int i = 0; i < int'(Depth); i++) begin
      if (push_i && wr_q[i]) mem_q[i] <= data_i;
    end
  end

  always_comb begin : read
    data_o = '0;
    for (int i = 0; i < int'(Depth); i++) data_o |= mem_q[i] & {Width{rd_q[i]}};
  end

endmodule : planezip_beat_fifo
