// PlaneZip: block framing, running analysis and form decision of the compressor.
//
// Function    Watches the beats that enter the beat FIFO and keeps, for the block being received, what the form
//             decision needs: largest E, smallest E of the non-zero words (block and group), OR of the words, widths of
//             the groups' differences, the mask of non-zero words and their number. From these registers it computes
//             the block's description.
// Latency     The description is registered in the second cycle after the block's last beat, or when the one before
//             it is done.
// Throughput  One beat per cycle; a tail or null block that has to wait steps aside, so that it does not keep the
//             next block out of the accumulators.
// Handshake   The caller fires a beat only while `ready_o`; `sum_free_i` says that it is done with `sum_o`.
// Parameters  Beat: bytes per beat, 32 or 64.

module planezip_analysis
  import planezip_pkg::*;
  import planezip_comp_pkg::*;
#(
  parameter int unsigned Beat = 32
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  // Beat that enters the FIFO.
  input  logic              fire_i,
  input  logic [8*Beat-1:0] data_i,
  input  logic [Beat-1:0]   keep_i,
  input  logic              last_i,
  input  logic              wide_i,  // tuser bit 1, read on a packet's first beat
  output logic              ready_o,
  // Block that is being coded.
  output logic              sum_valid_o,
  output desc_t             sum_o,
  input  logic              sum_free_i
);

  localparam int unsigned Beats = BlockBytes / Beat;
  localparam int unsigned Lanes = Beat / 2;
  localparam int unsigned Segs = Beat / 16;  // 8 half-words, 16 bytes each
  localparam int unsigned LaneW = $clog2(Lanes);
  localparam int unsigned KeepW = $clog2(Beat) + 1;
  localparam logic [Lanes-1:0] OddLanes = {Segs{8'hAA}};

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_analysis: Beat must be 32 or 64");
  end

  // ---------------------------------------------------------------------------------------------------------
  // Framing
  // ---------------------------------------------------------------------------------------------------------
  logic [1:0]       beat_q;       // index of the next beat in its block
  logic             done_q;
  logic             pkt_first_q;  // the next beat is its packet's first
  logic             wide_q, wide;
  logic [1:0]       last_beat_q;
  logic             last_q;
  logic [KeepW-1:0] keep_cnt, keep_q;
  logic             first, complete;
  logic             take, acc_leaves, aside;
  logic             side_valid_q, sum_valid_q;
  desc_t            desc, sum_d, sum_q;

  assign first = beat_q == 2'd0;
  assign complete = last_i || beat_q == 2'(Beats - 1);
  assign wide = pkt_first_q ? wide_i : wide_q;

  // Ones in a keep that is contiguous from bit 0: binary search for its end.
  always_comb begin : keep_count
    logic [2*Beat-1:0] rest;
    keep_cnt = '0;
    keep_cnt[KeepW-1] = keep_i[Beat-1];
    rest = {{Beat{1'b0}}, keep_i};
    for (int b = int'(KeepW) - 2; b >= 0; b--) begin
      if (rest[(1 << b) - 1]) begin
        keep_cnt[b] = !keep_i[Beat-1];
        rest = rest >> (1 << b);
      end
    end
    if (!last_i) keep_cnt = KeepW'(Beat);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : framing
    if (!rst_ni) begin
      beat_q      <= '0;
      done_q      <= 1'b0;
      pkt_first_q <= 1'b1;
    end else begin
      if (fire_i) begin
        beat_q      <= complete ? 2'd0 : beat_q + 2'd1;
        pkt_first_q <= last_i;
      end
      if (fire_i && complete) done_q <= 1'b1;
      else if (acc_leaves) done_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin : framing_data
    if (fire_i) begin
      wide_q      <= wide;
      last_beat_q <= beat_q;
      last_q      <= last_i;
      keep_q      <= keep_cnt;
    end
  end

  // ---------------------------------------------------------------------------------------------------------
  // One beat
  // ---------------------------------------------------------------------------------------------------------
  logic [Lanes-1:0][15:0] lane;
  logic [Lanes-1:0]       nz_half, nz;   // half-word, its word is not zero
  logic [Lanes-1:0]       is_word;       // lanes that hold a word's sign and exponent
  logic [15:0]            or_even;
  logic [7:0]             or_odd;        // without E
  logic                   sign_all;      // every non-zero word is negative
  logic [LaneW:0]         nz_cnt;
  logic [7:0]             e_max, e_min;
  logic [Segs-1:0][7:0]   seg_min;

  // Accumulators.
  logic [15:0]           or_even_q;
  logic [7:0]            or_odd_q;
  logic                  sign_all_q;
  logic [6:0]            nz_cnt_q;
  logic [7:0]            e_max_q, e_min_q;
  logic [7:0][7:0]       seg_min_q;
  logic [63:0]           mask_q;

  assign lane = data_i;
  assign is_word = wide ? OddLanes : '1;

  always_comb begin : reduce
    for (int l = 0; l < int'(Lanes); l++) nz_half[l] = |lane[l];
    for (int l = 0; l < int'(Lanes); l++) nz[l] = nz_half[l] || (wide && nz_half[l ^ 1]);
    or_even  = '0;
    or_odd   = '0;
    for (int l = 0; l < int'(Lanes); l += 2) begin
      or_even  |= lane[l];
      or_odd  |= {lane[l+1][15], lane[l+1][6:0]};
    end
    sign_all = 1'b1;
    nz_cnt = '0;
    for (int l = 0; l < int'(Lanes); l++) begin
      sign_all &= lane[l][15] || !nz[l] || !is_word[l];
      nz_cnt += (LaneW + 1)'(nz[l] && is_word[l]);
    end
  end

  // Largest and smallest E, most significant bit first: candidates that lose a bit drop out. The running value is
  // one more candidate.
  always_comb begin : extremes
    logic [Lanes:0]             cand_max;
    logic [Segs-1:0][7:0]       cand_min;
    logic [Segs:0]              cand_top;
    logic [Lanes-1:0]           col;
    logic [Segs:0]              top;
    cand_max = {!first, is_word};
    cand_min = nz & is_word;
    cand_top = {!first, {Segs{1'b1}}};
    for (int b = 7; b >= 0; b--) begin
      for (int l = 0; l < int'(Lanes); l++) col[l] = lane[l][7+b];
      e_max[b] = |({e_max_q[b], col} & cand_max);
      if (e_max[b]) cand_max &= {e_max_q[b], col};
      for (int s = 0; s < int'(Segs); s++) begin
        seg_min[s][b] = ~|(~col[8*s+:8] & cand_min[s]);
        if (!seg_min[s][b]) cand_min[s] &= ~col[8*s+:8];
        top[s] = seg_min[s][b];
      end
      top[Segs] = e_min_q[b];
      e_min[b] = ~|(~top & cand_top);
      if (!e_min[b]) cand_top &= ~top;
    end
  end

  // Differences: the bits that a segment's code words have (W32: of the group, lower halves in the even segment). Their
  // widths are worked out in the cycle after, which the decision still sees.
  logic [Lanes-1:0][15:0] code;
  logic [1:0][15:0]       prior, prior_q;
  logic [Segs-1:0][15:0]  any, any_q;
  logic                   fresh_q;    // any_q is not in width_q yet
  logic [1:0]             fresh_beat_q;

  always_comb begin : predecessors
    prior[0] = first ? lane[0] : prior_q[0];
    prior[1] = !first ? prior_q[1] : wide ? lane[1] : lane[0];
  end

  planezip_delta #(
    .Lanes (Lanes)
  ) u_delta (
    .data_i   (lane),
    .before_i (prior),
    .w32_i    (wide),
    .code_o   (code)
  );

  always_comb begin : code_bits
    any = '0;
    for (int s = 0; s < int'(Segs); s++) begin
      for (int l = 0; l < 8; l++) any[s] |= wide ? code[16*(s/2)+2*l+s%2] : code[8*s+l];
    end
  end

  // As DBP's width field has them: all ones for the whole word.
  logic [Segs-1:0][4:0] fresh_width;  // W32: of the group, in its even segment
  logic [7:0]           fresh_sum;    // planes of the beat's groups

  always_comb begin : widths
    fresh_sum = '0;
    for (int s = 0; s < int'(Segs); s++) begin
      logic [31:0] bits;
      bits = wide_q ? {any_q[s|1], any_q[s&~1]} : {16'd0, any_q[s]};
      // Bit length; the whole word and one bit less give all ones.
      fresh_width[s] = wide_q ? {5{|bits[31:30]}} : {1'b0, {4{|bits[15:14]}}};
      for (int b = 0; b < 30; b++) begin
        if (bits[b] && (bits >> (b + 1)) == 32'd0 && (wide_q || b < 14)) fresh_width[s] = 5'(b + 1);
      end
      if (!wide_q || s % 2 == 0) begin
        fresh_sum += 8'(fresh_width[s]) + 8'(wide_q ? &fresh_width[s] : &fresh_width[s][3:0]);
      end
    end
  end

  logic [7:0]      width_sum, width_sum_q;
  logic [31:0]     width_field;
  logic [7:0][4:0] width, width_q;

  always_comb begin : width_fields
    width = width_q;
    for (int b = 0; b < int'(Beats); b++) begin
      if (fresh_q && fresh_beat_q == 2'(b)) width[b*Segs+:Segs] = fresh_width;
    end
    width_sum = (fresh_q ? fresh_sum : 8'd0) + (fresh_q && fresh_beat_q == 2'd0 ? 8'd0 : width_sum_q);
    for (int g = 0; g < 8; g++) width_field[4*g+:4] = width[g][3:0];
    if (wide_q) begin
      width_field = '0;
      for (int g = 0; g < 4; g++) width_field[5*g+:5] = width[2*g];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : width_state
    if (!rst_ni) fresh_q <= 1'b0;
    else fresh_q <= fire_i;
  end

  always_ff @(posedge clk_i) begin : width_data
    if (fire_i) begin
      any_q        <= any;
      fresh_beat_q <= beat_q;
      prior_q      <= lane[Lanes-1:Lanes-2];
    end
    if (fresh_q) begin
      width_sum_q <= width_sum;
      width_q     <= width;
    end
  end

  always_ff @(posedge clk_i) begin : accumulate
    if (fire_i) begin
      or_even_q  <= or_even | (first ? 16'h0 : or_even_q);
      or_odd_q   <= or_odd | (first ? 8'h0 : or_odd_q);
      sign_all_q <= sign_all && (first || sign_all_q);
      nz_cnt_q   <= 7'(nz_cnt) + (first ? 7'd0 : nz_cnt_q);
      e_max_q    <= e_max;
      e_min_q    <= e_min;
    end
    for (int b = 0; b < int'(Beats); b++) begin
      if (fire_i && beat_q == 2'(b)) begin
        mask_q[b*Lanes+:Lanes]  <= nz;
        seg_min_q[b*Segs+:Segs] <= seg_min;
      end
    end
  end

  // Decision
  // ---------------------------------------------------------------------------------------------------------
  planezip_decide #(
    .Beat (Beat)
  ) u_decide (
    .wide_i      (wide_q),
    .last_i      (last_q),
    .last_beat_i (last_beat_q),
    .keep_i      (keep_q),
    .or_i        ({or_odd_q, or_even_q}),
    .sign_all_i  (sign_all_q),
    .nz_cnt_i    (nz_cnt_q),
    .e_max_i     (e_max_q),
    .e_min_i     (e_min_q),
    .seg_min_i   (seg_min_q),
    .mask_i      (mask_q),
    .widths_i    (width_field),
    .delta_sum_i (width_sum),
    .desc_o      (desc)
  );

  // A block of less than 128 bytes (b0 bit 7) is described by its length alone.
  short_t side_q;

  assign take = !sum_valid_q || sum_free_i;
  assign acc_leaves = done_q && !side_valid_q && (take || desc.b0[7]);
  assign aside = acc_leaves && !take;
  assign ready_o = !done_q || acc_leaves;
  assign sum_valid_o = sum_valid_q;
  assign sum_o = sum_q;

  always_comb begin : sum_next
    sum_d = desc;
    if (side_valid_q) begin
      sum_d.last      = side_q.last;
      sum_d.masked    = 1'b0;
      sum_d.last_beat = side_q.last_beat;
      sum_d.b0        = side_q.b0;
      sum_d.hdr_len   = {2'd0, side_q.b0 != 8'h80, 1'b0};
      sum_d.pads      = '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : sum_state
    if (!rst_ni) begin
      side_valid_q <= 1'b0;
      sum_valid_q  <= 1'b0;
    end else begin
      if (aside) side_valid_q <= 1'b1;
      else if (take) side_valid_q <= 1'b0;
      if (take) sum_valid_q <= side_valid_q || done_q;
    end
  end

  always_ff @(posedge clk_i) begin : sum_data
    if (take) sum_q <= sum_d;
    if (aside) side_q <= '{last: desc.last, last_beat: desc.last_beat, b0: desc.b0};
  end

endmodule : planezip_analysis
