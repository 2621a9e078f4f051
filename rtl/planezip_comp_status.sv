// PlaneZip: status counters of the compressor.
//
// Function    Counts blocks, raw and compressed bytes of the packet whose last beat leaves next. While that packet has
//             been counted whole, one block of the next one waits in `late`.
// Latency     The status shown with a `tlast` beat is that of its packet.
// Throughput  One block per cycle as long as `late_o` allows.
// Handshake   The caller offers no block (`blk_i`) while `late_o`.
// Parameters  Beat: bytes per beat, 32 or 64.

module planezip_comp_status
  import planezip_pkg::*;
#(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned KeepW = $clog2(Beat) + 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  // Block whose last slot fires.
  input  logic             blk_i,
  input  logic [7:0]       b0_i,        // header byte 0; null block: 0x80
  input  logic             pkt_last_i,
  output logic             late_o,
  // Output beat.
  input  logic             leave_i,     // it leaves
  input  logic             last_i,      // it is a valid packet end
  input  logic [KeepW-1:0] bytes_i,     // bytes of a last beat
  output status_t          status_o
);

  localparam int unsigned BeatsW = BytesW - (KeepW - 1);

  logic               late_q, late_last_q;
  logic [7:0]         late_b0_q;
  logic               pend_q;      // the packet has been counted whole
  logic               init_q;      // first cycle after reset: clear the counters
  logic               leave, clear, open, count, count_last;
  logic [7:0]         b0;

  logic [BeatsW-1:0]  beats_q, beats;
  logic [BlocksW-1:0] full_q;
  logic [6:0]         tail_q;
  logic [NumForms-1:0][BlocksW-1:0] forms_q;

  assign late_o = late_q;
  assign leave = leave_i && last_i;
  assign clear = leave || init_q;
  assign open = !pend_q || leave;
  assign count = open && (late_q || blk_i);
  assign b0 = late_q ? late_b0_q : b0_i;
  assign count_last = late_q ? late_last_q : pkt_last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      late_q <= 1'b0;
      pend_q <= 1'b0;
      init_q <= 1'b1;
    end else begin
      init_q <= 1'b0;
      late_q <= !open && (late_q || blk_i);
      if (open) pend_q <= count && count_last;
    end
  end

  always_ff @(posedge clk_i) begin : late
    if (blk_i && !open) begin
      late_b0_q   <= b0_i;
      late_last_q <= pkt_last_i;
    end
  end

  // Full output beats that have left; a full last beat is the next one.
  assign beats = beats_q + BeatsW'(!last_i || bytes_i[KeepW-1]);

  // One incrementer for the counters by form. When they are cleared, the counted form starts with 1, the others with 0.
  logic [NumForms-1:0] form_hit;
  logic [BlocksW-1:0]  form_next;

  always_comb begin : form_count
    form_next = '0;
    for (int f = 0; f < int'(NumForms); f++) begin
      form_hit[f] = count && !b0[7] && b0[6:4] == 3'(f);
      form_next |= forms_q[f] & {BlocksW{form_hit[f]}};
    end
    form_next = (form_next & {BlocksW{!clear}}) + BlocksW'(1);
  end

  always_ff @(posedge clk_i) begin : counters
    if (leave_i || init_q) beats_q <= clear ? '0 : beats;
    if (count || clear) tail_q <= count && b0[7] ? b0[6:0] : '0;
    if (clear || (count && !b0[7])) full_q <= (clear ? '0 : full_q) + BlocksW'(count && !b0[7]);
    for (int f = 0; f < int'(NumForms); f++) begin
      if (clear || form_hit[f]) forms_q[f] <= {form_next[BlocksW-1:1], form_next[0] && form_hit[f]};
    end
  end

  status_t status;

  always_comb begin : show
    status = '0;
    status.error      = ErrNone;
    status.raw_bytes  = {full_q, tail_q};
    status.comp_bytes = {beats, bytes_i[KeepW-2:0]};
    status.blocks_raw = forms_q[FormRaw];
    status.blocks_zv  = forms_q[FormZv];
    status.blocks_bp  = forms_q[FormBp];
    status.blocks_dbp = forms_q[FormDbp];
    status.blocks_zbp = forms_q[FormZbp];
    status_o = status & {StatusW{last_i}};
  end

endmodule : planezip_comp_status
