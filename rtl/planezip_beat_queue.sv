// PlaneZip: input queue of the decompressor, a FIFO whose whole contents stay readable.
//
// Function: stores up to four beats of AXI4-Stream packets with their byte count, `tlast` and the
//   layout bit of their packet's first beat. Readers see every entry; up to two are freed per cycle.
// Latency: a beat that fires is an entry in the next cycle. Throughput: one beat per cycle.
// Handshake: `s_tready_o` is a function of registers only (entries < 4).
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_beat_queue #(
  parameter  int unsigned Beat = 32,
  localparam int unsigned OffW = $clog2(Beat)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic [Beat-1:0][7:0]   s_tdata_i,
  input  logic [Beat-1:0]        s_tkeep_i,
  input  logic                   s_tlast_i,
  input  logic                   s_layout_i,  // 1: 32-bit words; read on a packet's first beat
  input  logic                   s_tvalid_i,
  output logic                   s_tready_o,

  output logic [3:0][Beat-1:0][7:0] data_o,
  output logic [3:0]                layout_o,
  output logic [3:0]                last_o,
  output logic [3:0][OffW:0]        bytes_o,  // of a last beat; meaningless for others
  output logic [1:0]                head_o,   // oldest entry
  output logic [3:0]                held_o,   // bit i: the queue holds more than i entries
  input  logic [1:0]                free_i    // entries to free, 0..2, at most those held
);

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_beat_queue: Beat must be 32 or 64");
  end

  logic [1:0] head_q, tail_q;
  logic [3:0] held_q;
  logic       inside_q;  // the next beat is not its packet's first
  logic       layout_q;

  logic push, layout;
  assign s_tready_o = !held_q[3];
  assign push       = s_tvalid_i && !held_q[3];
  assign layout     = inside_q ? layout_q : s_layout_i;

  // Ones in the contiguous `s_tkeep_i`: a binary search for its end.
  logic [OffW:0] bytes;
  always_comb begin : p_bytes
    logic [OffW-1:0] n;
    n = '0;
    for (int b = OffW - 1; b >= 0; b--) begin
      n[b] = s_tkeep_i[n | OffW'((1 << b) - 1)];
    end
    bytes = s_tkeep_i[Beat-1] ? (OffW + 1)'(Beat) : {1'b0, n};
  end

  for (genvar e = 0; e < 4; e++) begin : gen_entry
    logic we;
    assign we = push && tail_q == 2'(e);

    logic [Beat-1:0][7:0] data_q;
    logic [OffW:0]        bytes_q;
    logic                 last_q, lay_q;
    always_ff @(posedge clk_i) begin
      if (we) begin
        data_q  <= s_tdata_i;
        bytes_q <= bytes;
        last_q  <= s_tlast_i;
        lay_q   <= layout;
      end
    end

    assign data_o[e]   = data_q;
    assign bytes_o[e]  = bytes_q;
    assign last_o[e]   = last_q;
    assign layout_o[e] = lay_q;
  end

  // `free_i` comes late.
  logic [3:0] held, held_d;
  assign held = push ? {held_q[2:0], 1'b1} : held_q;
  always_comb begin : p_held
    unique case (free_i)
      2'd0:    held_d = held;
      2'd1:    held_d = held >> 1;
      default: held_d = held >> 2;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q   <= '0;
      tail_q   <= '0;
      held_q   <= '0;
      inside_q <= 1'b0;
    end else begin
      head_q  <= head_q + free_i;
      held_q  <= held_d;
      if (push) begin
        tail_q   <= tail_q + 2'd1;
        inside_q <= !s_tlast_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) layout_q <= layout;
  end

  assign head_o  = head_q;
  assign held_o = held_q;

endmodule : planezip_beat_queue
