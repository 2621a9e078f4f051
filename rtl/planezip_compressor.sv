// PlaneZip: compressor core.
//
// Function    Turns a packet of raw bytes (a tensor) into its block stream (docs/format.md). Behaviour per cycle:
//             docs/microarchitecture.md, section 3.
// Latency     The beat that completes a block fires in cycle 0; the first output beat that its first slot fills is
//             valid in cycle 4.
// Throughput  One input beat per cycle while the output does not stall and data does not expand; packets of a block
//             or more follow each other without a bubble.
// Handshake   AXI4-Stream on both sides. `s_tready_o` does not depend combinationally on `m_tready_i`.
// Parameters  Beat: bytes per beat, 32 or 64.

module planezip_compressor
  import planezip_pkg::*;
  import planezip_comp_pkg::*;
#(
  parameter int unsigned Beat = 32
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  // Raw bytes.
  input  logic [8*Beat-1:0] s_tdata_i,
  input  logic [Beat-1:0]   s_tkeep_i,
  input  logic              s_tlast_i,
  input  dtype_e            s_tuser_i,
  input  logic              s_tvalid_i,
  output logic              s_tready_o,
  // Block stream.
  output logic [8*Beat-1:0] m_tdata_o,
  output logic [Beat-1:0]   m_tkeep_o,
  output logic              m_tlast_o,
  output status_t           m_tuser_o,
  output logic              m_tvalid_o,
  input  logic              m_tready_i
);

  localparam int unsigned Beats = BlockBytes / Beat;
  localparam int unsigned Lanes = Beat / 2;
  localparam int unsigned LaneW = $clog2(Lanes);
  localparam int unsigned Segs = Beat / 16;
  localparam int unsigned CntW = $clog2(Beat) + 2;
  localparam int unsigned KeepW = $clog2(Beat) + 1;
  localparam int unsigned FifoDepth = Beats + 1;

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_compressor: Beat must be 32 or 64");
  end

  // ---------------------------------------------------------------------------------------------------------
  // Input
  // ---------------------------------------------------------------------------------------------------------
  logic                   s_fire, pop, acc_ready;
  logic [2:0]             fifo_cnt_q;
  logic [Lanes-1:0][15:0] head;
  logic                   sum_valid, sum_free;
  desc_t                  sum;
  logic                   unused_dtype;

  assign s_tready_o = acc_ready && (fifo_cnt_q < 3'(FifoDepth) || pop);
  assign s_fire = s_tvalid_i && s_tready_o;
  assign unused_dtype = s_tuser_i[0];  // both 16-bit types share a layout

  always_ff @(posedge clk_i or negedge rst_ni) begin : fifo_count
    if (!rst_ni) fifo_cnt_q <= '0;
    else fifo_cnt_q <= fifo_cnt_q + 3'(s_fire) - 3'(pop);
  end

  planezip_beat_fifo #(
    .Width (8 * Beat),
    .Depth (FifoDepth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .push_i (s_fire),
    .data_i (s_tdata_i),
    .pop_i  (pop),
    .data_o (head)
  );

  planezip_analysis #(
    .Beat (Beat)
  ) u_analysis (
    .clk_i,
    .rst_ni,
    .fire_i      (s_fire),
    .data_i      (s_tdata_i),
    .keep_i      (s_tkeep_i),
    .last_i      (s_tlast_i),
    .wide_i      (s_tuser_i[1]),
    .ready_o     (acc_ready),
    .sum_valid_o (sum_valid),
    .sum_o       (sum),
    .sum_free_i  (sum_free)
  );

  // ---------------------------------------------------------------------------------------------------------
  // S0
  // ---------------------------------------------------------------------------------------------------------
  logic [1:0]                beat_q;        // beat of the block in sum
  logic [LaneW-1:0]          start_q, start, start_next;
  logic                      unit_first_q, unit_first;
  logic                      block_first, block_last, dbp, full;
  logic [Lanes-1:0]          take;
  logic [Lanes-1:0][15:0]    unit_n;
  logic                      s1_valid_q, s1_fire;

  assign pop = sum_valid && (!s1_valid_q || s1_fire);
  assign block_first = beat_q == 2'd0;
  assign block_last = beat_q == sum.last_beat;
  assign sum_free = pop && block_last;
  assign dbp = !sum.b0[7] && sum.b0[6:4] == FormDbp;
  assign start = block_first ? sum.pads[LaneW-1:0] : start_q;
  assign unit_first = block_first || unit_first_q;

  always_comb begin : beat_mask
    take = {Lanes{!sum.masked}};
    for (int b = 0; b < int'(Beats); b++) begin
      if (beat_q == 2'(b)) take |= sum.mask[b*Lanes+:Lanes];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : s0_beat
    if (!rst_ni) beat_q <= '0;
    else if (pop) beat_q <= block_last ? 2'd0 : beat_q + 2'd1;
  end

  always_ff @(posedge clk_i) begin : s0_position
    if (pop) begin
      start_q      <= start_next;
      unit_first_q <= unit_first && !full;
    end
  end

  planezip_compact #(
    .Beat (Beat)
  ) u_compact (
    .clk_i,
    .fire_i        (pop),
    .beat_i        (head),
    .take_i        (take),
    .start_i       (start),
    .pads_i        (unit_first ? sum.pads[LaneW-1:0] : '0),
    .e_max_i       (sum.e_max),
    .w32_i         (sum.w32),
    .dbp_i         (dbp),
    .block_first_i (block_first),
    .full_o        (full),
    .next_o        (start_next),
    .unit_n_o      (unit_n)
  );

  logic [3:0]                hdr_len;
  logic [Segs-1:0]           seg_verb, seg_half;
  logic [Segs-1:0][1:0]      seg_drop;
  logic [Segs-1:0][3:0]      seg_rot;
  logic [Segs-1:0][CntW-1:0] seg_end;

  planezip_slot #(
    .Beat (Beat)
  ) u_slot (
    .b0_i         (sum.b0),
    .w32_i        (sum.w32),
    .z_i          (sum.z),
    .top_i        (sum.top),
    .field_i      (sum.field),
    .style_i      (sum.style),
    .pads_i       (sum.pads),
    .part_i       (sum.part),
    .hdr_len_i    (sum.hdr_len),
    .beat_i       (beat_q),
    .full_i       (full),
    .unit_first_i (unit_first),
    .hdr_len_o    (hdr_len),
    .verb_o       (seg_verb),
    .half_o       (seg_half),
    .drop_o       (seg_drop),
    .rot_o        (seg_rot),
    .end_o        (seg_end)
  );

  // ---------------------------------------------------------------------------------------------------------
  // S1
  // ---------------------------------------------------------------------------------------------------------
  logic [Lanes-1:0][15:0]    s1_unit_n_q;  // inverted, as the cells before and behind it like it
  xform_t                    s1_xform_q;
  logic                      s1_w32_q;
  logic [Segs-1:0]           s1_verb_q, s1_narrow_q, s1_wide_q, s1_half16_q, s1_half32_q;
  logic [Segs-1:0][1:0]      s1_drop_q;
  logic [Segs-1:0][3:0]      s1_rot_q;
  logic [Segs-1:0][CntW-1:0] s1_end_q;
  logic [3:0]                s1_hdr_len_q;
  logic [7:0]                s1_b0_q;
  logic                      s1_blk_last_q, s1_pkt_last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : s1_state
    if (!rst_ni) s1_valid_q <= 1'b0;
    else if (pop || s1_fire) s1_valid_q <= pop;
  end

  always_ff @(posedge clk_i) begin : s1_data
    if (pop) begin
      s1_unit_n_q          <= unit_n;
      s1_xform_q.first_dbp <= dbp && block_first;
      s1_xform_q.kept      <= sum.kept;
      s1_xform_q.sign_pos  <= dbp ? 4'd8 : sum.b0[3:0];
      s1_xform_q.e_max     <= sum.e_max;
      s1_w32_q             <= sum.w32;
      s1_verb_q            <= seg_verb;
      s1_narrow_q          <= ~(seg_verb | seg_half) & {Segs{!sum.w32}};
      s1_wide_q            <= ~(seg_verb | seg_half) & {Segs{sum.w32}};
      s1_half16_q          <= seg_half & {Segs{!sum.w32}};
      s1_half32_q          <= seg_half & {Segs{sum.w32}};
      s1_drop_q            <= seg_drop;
      s1_rot_q             <= seg_rot;
      s1_end_q             <= seg_end;
      s1_hdr_len_q         <= hdr_len;
      s1_b0_q              <= sum.b0;
      s1_blk_last_q        <= block_last;
      s1_pkt_last_q        <= block_last && sum.last;
    end
  end

  logic [Segs-1:0][15:0][7:0] seg_bytes;

  planezip_planes #(
    .Beat (Beat)
  ) u_planes (
    .unit_n_i (s1_unit_n_q),
    .xform_i  (s1_xform_q),
    .verb_i   (s1_verb_q),
    .narrow_i (s1_narrow_q),
    .wide_i   (s1_wide_q),
    .half16_i (s1_half16_q),
    .half32_i (s1_half32_q),
    .drop_i   (s1_drop_q),
    .seg_o    (seg_bytes)
  );

  // Header. A full block has two beats or more: while its slot 0 is in S1, sum still describes it. A tail's header is in
  // S1 alone.
  logic [2:0][7:0] hdr_a;
  logic [7:0][7:0] hdr_b;
  logic [1:0]      hdr_split;

  planezip_comp_header u_header (
    .b0_i    (s1_b0_q),
    .w32_i   (s1_w32_q),
    .style_i (sum.style),
    .mode_i  (sum.mode),
    .z_i     (sum.z),
    .e_max_i (s1_xform_q.e_max),
    .field_i (sum.field),
    .mask_i  (sum.mask),
    .word0_i (~s1_unit_n_q[1:0]),
    .a_o     (hdr_a),
    .b_o     (hdr_b),
    .split_o (hdr_split)
  );

  // ---------------------------------------------------------------------------------------------------------
  // Output
  // ---------------------------------------------------------------------------------------------------------
  logic             late;
  logic [KeepW-1:0] m_bytes;

  planezip_packer #(
    .Beat (Beat)
  ) u_packer (
    .clk_i,
    .rst_ni,
    .valid_i     (s1_valid_q),
    .hold_i      (late && s1_blk_last_q),
    .fire_o      (s1_fire),
    .pkt_last_i  (s1_pkt_last_q),
    .hdr_a_i     (hdr_a),
    .hdr_b_i     (hdr_b),
    .hdr_split_i (hdr_split),
    .hdr_len_i   (s1_hdr_len_q),
    .seg_i       (seg_bytes),
    .rot_i       (s1_rot_q),
    .end_i       (s1_end_q),
    .m_tdata_o,
    .m_tkeep_o,
    .m_tlast_o,
    .m_tvalid_o,
    .m_tready_i,
    .m_bytes_o   (m_bytes)
  );

  planezip_comp_status #(
    .Beat (Beat)
  ) u_status (
    .clk_i,
    .rst_ni,
    .blk_i      (s1_fire && s1_blk_last_q),
    .b0_i       (s1_b0_q),
    .pkt_last_i (s1_pkt_last_q),
    .late_o     (late),
    .leave_i    (m_tvalid_o && m_tready_i),
    .last_i     (m_tlast_o),
    .bytes_i    (m_bytes),
    .status_o   (m_tuser_o)
  );

endmodule : planezip_compressor
