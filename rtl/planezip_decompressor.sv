// PlaneZip: decompress channel, block stream in, raw bytes out.
//
// Function: decodes packets of the block format (docs/format.md); cycle by cycle as in docs/microarchitecture.md,
//   section 4. A packet that is no block stream ends in a null beat with an error code after the beats that could
//   be decoded; its rest is drained and the next packet is not affected.
// Latency: with both ends willing, a beat accepted in cycle 0 gives its first output beat in cycle 5.
// Throughput: one output beat per cycle as long as the input supplies a beat per cycle; no gap between blocks or
//   packets.
// Handshake: AXI4-Stream; both `s_tready_o` and `m_tvalid_o` come from registers, the payload is stable while stalled
//   and zero while not valid. Reset must hold for at least one rising clock edge.
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_decompressor #(
  parameter int unsigned Beat = 32
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [8*Beat-1:0]     s_tdata_i,
  input  logic [Beat-1:0]       s_tkeep_i,
  input  logic                  s_tlast_i,
  input  planezip_pkg::dtype_e  s_tuser_i,
  input  logic                  s_tvalid_i,
  output logic                  s_tready_o,

  output logic [8*Beat-1:0]     m_tdata_o,
  output logic [Beat-1:0]       m_tkeep_o,
  output logic                  m_tlast_o,
  output planezip_pkg::status_t m_tuser_o,
  output logic                  m_tvalid_o,
  input  logic                  m_tready_i
);

  import planezip_pkg::*;

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_decompressor: Beat must be 32 or 64");
  end

  localparam int unsigned OffW     = $clog2(Beat);
  localparam int unsigned Halves   = Beat / 2;
  localparam int unsigned LaneW    = OffW - 1;
  localparam int unsigned Quarters = Beat / 16;
  localparam int unsigned Slots    = BlockBytes / Beat;
  localparam int unsigned SlotW    = $clog2(Slots);
  localparam int unsigned HdrMax   = 12;
  localparam int unsigned HdrLanes = 16;  // lanes that hold a header wherever it begins
  localparam int unsigned HdrSegs  = 4 * Beat / HdrLanes;
  localparam int unsigned BeatsW   = BytesW - OffW;
  localparam int unsigned PosW     = OffW + 2;  // positions up to three entries from the head

  typedef enum logic [1:0] {
    KindNone,
    KindBlock,
    KindNull,
    KindError
  } kind_e;

  // ------------------------------------------------------------------------------------------------
  // Input queue
  // ------------------------------------------------------------------------------------------------
  logic [3:0][Beat-1:0][7:0] ent_data;
  logic [3:0]                ent_wide, ent_last;
  logic [3:0][OffW:0]        ent_bytes;
  logic [1:0]                head;
  logic [3:0]                held;
  logic [1:0]                freed;

  // Bit 1 of the dtype selects the layout, bit 0 changes nothing here.
  logic unused_dtype;
  assign unused_dtype = s_tuser_i[0];

  planezip_beat_queue #(
    .Beat(Beat)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .s_tdata_i,
    .s_tkeep_i,
    .s_tlast_i,
    .s_layout_i(s_tuser_i[1]),
    .s_tvalid_i,
    .s_tready_o,
    .data_o    (ent_data),
    .layout_o  (ent_wide),
    .last_o    (ent_last),
    .bytes_o   (ent_bytes),
    .head_o    (head),
    .held_o    (held),
    .free_i    (freed)
  );

  // The three oldest entries; nothing looks further.
  logic [2:0]         valid, last;
  logic [2:0][OffW:0] bytes;
  always_comb begin : p_view
    for (int i = 0; i < 3; i++) begin
      valid[i] = held[i];
      last[i]  = valid[i] && ent_last[head+2'(i)];
      bytes[i] = ent_bytes[head+2'(i)];
    end
  end

  // The run from the head: entries up to the first last one. `run_bytes` are counted from the head's first byte.
  logic            ended;
  logic [1:0]      run_ents;   // entries of an ended run
  logic [PosW-1:0] run_bytes;
  always_comb begin : p_run
    ended = |last;
    if (last[0]) begin
      run_ents  = 2'd1;
      run_bytes = {1'b0, bytes[0]};
    end else if (last[1]) begin
      run_ents  = 2'd2;
      run_bytes = PosW'(Beat) + {1'b0, bytes[1]};
    end else if (last[2]) begin
      run_ents  = 2'd3;
      run_bytes = PosW'(2 * Beat) + {1'b0, bytes[2]};
    end else begin
      run_ents  = 2'd3;
      run_bytes = {valid[1], valid[2] || (valid[0] && !valid[1]), {OffW{1'b0}}};
    end
  end

  // ------------------------------------------------------------------------------------------------
  // Header register and slot state
  // ------------------------------------------------------------------------------------------------
  kind_e       kind_q, kind_d;
  err_e        err_q, err_d;
  logic        wide_q, tail_q, masked_q, zero_q;
  form_e       form_q;
  sign_e       sign_q;
  logic [4:0]  lo_q;
  logic [5:0]  hi_q, planes_q;
  logic [7:0]  e_max_q;
  logic [63:0] side_q;

  logic [OffW:0]    off_q;      // read position in the head entry; Beat only behind a last one's last byte
  logic [SlotW-1:0] slot_q;
  logic [LaneW-1:0] lane_q;     // lane of the next half-word (masked blocks, not in slot 0)
  logic             used_up_q;  // the units fetched so far are used up by the slots so far

  logic is_block, is_null, is_error;
  assign is_block = kind_q == KindBlock;
  assign is_null  = kind_q == KindNull;
  assign is_error = kind_q == KindError;

  // ------------------------------------------------------------------------------------------------
  // S0: what the slot needs
  // ------------------------------------------------------------------------------------------------
  logic first_slot;
  assign first_slot = slot_q == '0;

  // Zero half-words per slot of a masked block. All of a block's are as many as its pads, modulo H.
  logic [Slots-1:0][Halves-1:0] side;
  logic [Slots-1:0]             side_any;
  logic [Slots-1:0][LaneW:0]    side_zeros;
  logic [LaneW-1:0]             pads;
  assign side = side_q;
  always_comb begin : p_zeros
    logic [LaneW:0] zeros [Halves];
    for (int s = 0; s < Slots; s++) begin
      for (int i = 0; i < Halves; i++) zeros[i] = (LaneW + 1)'(!side[s][i]);
      for (int n = 1; n < Halves; n *= 2) begin
        for (int i = 0; i < Halves; i += 2 * n) zeros[i] = zeros[i] + zeros[i+n];
      end
      side_any[s]   = |side[s];
      side_zeros[s] = zeros[0];
    end
  end

  // Two by two.
  logic [Slots/2-1:0][LaneW-1:0] pair_zeros;
  for (genvar s = 0; s < Slots; s += 2) begin : gen_pair_zeros
    assign pair_zeros[s/2] = side_zeros[s][LaneW-1:0] + side_zeros[s+1][LaneW-1:0];
  end
  if (Slots == 4) begin : gen_four_slots
    assign pads = pair_zeros[0] + pair_zeros[Slots/2-1];
  end else begin : gen_two_slots
    assign pads = pair_zeros[0];
  end

  logic [Halves-1:0] here, flags;
  logic [LaneW-1:0]  lane;
  logic [LaneW:0]    lane_next;
  logic              left;  // non-zero words in this slot or later ones
  assign here      = side[slot_q];
  assign flags     = masked_q ? here : {Halves{!zero_q}};
  assign lane      = !masked_q ? '0 : first_slot ? pads : lane_q;
  // Lane + non-zero half-words: past H if the lane is not below the zero ones.
  assign lane_next = {1'b1, first_slot ? pads : lane_q} - side_zeros[slot_q];
  assign left      = |(side_any >> slot_q);

  logic unit;  // the slot fetches one
  assign unit = masked_q ? first_slot || (used_up_q && left) : !zero_q;

  // Tail: the byte count stands in e_max.
  logic [6-OffW:0] tail_beats;  // whole beats left, this slot's included
  logic [OffW:0]   tail_here;
  logic            tail_fin;
  assign tail_beats = e_max_q[6:OffW] - slot_q;
  assign tail_fin   = tail_beats == '0 || (tail_beats == (7 - OffW)'(1) && e_max_q[OffW-1:0] == '0);
  assign tail_here  = tail_beats != '0 ? (OffW + 1)'(Beat) : {1'b0, e_max_q[OffW-1:0]};

  logic fin;
  assign fin = tail_q ? tail_fin : &slot_q;

  logic plane_form, delta_form, flat_form;
  assign delta_form = !tail_q && form_q == FormDbp;
  assign plane_form = !tail_q && (form_q == FormBp || form_q == FormZbp);
  assign flat_form  = !delta_form && !plane_form;

  // Planelets of the groups of this slot and of the last one, by quarter (16-bit layout) or pair of quarters.
  logic [Quarters-1:0][5:0] grp_hi, grp_len, fin_len;
  function automatic logic [5:0] width(logic [4:0] field, logic wide);
    // All ones stand for the whole word.
    return {1'b0, field} + 6'(wide ? &field : &field[3:0]);
  endfunction

  always_comb begin : p_groups
    logic [31:0] field;
    field = side_q[63:32];
    for (int h = 0; h < Quarters; h++) begin
      logic [2:0] group, last_group;
      logic [1:0] drop, last_drop;
      logic [4:0] bits, last_bits;
      group      = 3'(slot_q * (wide_q ? Quarters / 2 : Quarters)) + 3'(h);
      last_group = 3'((Slots - 1) * (wide_q ? Quarters / 2 : Quarters)) + 3'(h);
      drop       = field[2*group+:2] & {2{form_q == FormBp}};
      last_drop  = field[2*last_group+:2] & {2{form_q == FormBp}};
      bits       = wide_q ? field[5*group[1:0]+:5] : {1'b0, field[4*group+:4]};
      last_bits  = wide_q ? field[5*last_group[1:0]+:5] : {1'b0, field[4*last_group+:4]};
      grp_hi[h]  = delta_form ? width(bits, wide_q) : hi_q - 6'(drop);
      grp_len[h] = delta_form ? width(bits, wide_q) : planes_q - 6'(drop);
      fin_len[h] = delta_form ? width(last_bits, wide_q) : planes_q - 6'(last_drop);
      if (wide_q && h >= Quarters / 2) fin_len[h] = '0;
    end
  end

  // Bytes of the unit, if any, that a full block's last slot fetches. From the header alone, and no full block has a single
  // slot: time for a register.
  logic [OffW:0] fin_len_q, fin_len_d;
  always_comb begin : p_fin_len
    fin_len_d = '0;
    for (int h = 0; h < Quarters; h++) fin_len_d = fin_len_d + (OffW + 1)'(fin_len[h]);
    if (flat_form) fin_len_d = (OffW + 1)'(Beat);
  end
  always_ff @(posedge clk_i) begin
    if (is_block) fin_len_q <= fin_len_d;
  end

  logic [OffW:0]                 unit_len;
  logic [Quarters-1:0][OffW-1:0] unit_turn;
  logic [Quarters-1:0][15:0]     unit_lanes;
  logic [Quarters-1:0][15:7]     unit_sign;
  logic [Quarters-1:0]           unit_verbatim, unit_half;

  planezip_unit_plan #(
    .Beat(Beat)
  ) u_plan (
    .wide_i    (wide_q),
    .signed_i  (plane_form),
    .flat_i    (flat_form),
    .signs_i   (sign_q == SignKept),
    .lo_i      (delta_form ? 5'd0 : lo_q),
    .top_i     (hi_q + 6'(sign_q == SignKept)),
    .planes_i  (planes_q),
    .hi_i      (grp_hi),
    .len_i     (grp_len),
    .lead_i    (masked_q && first_slot),
    .pads_i    (pads),
    .flat_len_i(tail_q ? tail_here : (OffW + 1)'(Beat)),
    .off_i     (off_q[OffW-1:0]),
    .len_o     (unit_len),
    .turn_o    (unit_turn),
    .lanes_o   (unit_lanes),
    .sign_o    (unit_sign),
    .verbatim_o(unit_verbatim),
    .half_o    (unit_half)
  );

  // The position behind the slot. What follows a final slot takes
  // the shorter way, from its registered length.
  logic [PosW-1:0] pos_slot, pos_fin;
  logic [OffW:0]   need, need_fin;
  assign need     = unit ? unit_len : '0;
  assign need_fin = (unit && is_block) ? (tail_q ? tail_here : fin_len_q) : '0;
  assign pos_slot = {1'b0, off_q} + {1'b0, need};
  assign pos_fin  = {1'b0, off_q} + {1'b0, need_fin};

  logic enough, exact_fin, more_fin, truncated, trailing, slot_ok, fin_ok, pkt_last;
  assign enough    = run_bytes >= pos_slot;
  assign exact_fin = run_bytes == pos_fin;
  assign more_fin  = run_bytes > pos_fin;
  assign truncated = ended && !enough;
  assign trailing  = tail_q && fin && more_fin;
  assign fin_ok    = is_block && fin && !trailing && (more_fin || (exact_fin && ended));
  assign slot_ok   = fin_ok || (is_block && !fin && enough);
  assign pkt_last  = is_block && fin && ended && exact_fin;

  logic s1_ready, send_slot, send_null, send_error, drain, send, s0_done;
  assign send_slot  = slot_ok && s1_ready;
  assign send_null  = is_null && s1_ready;
  assign send_error = is_error && last[0] && s1_ready;
  assign drain      = is_error && valid[0] && !last[0];
  assign send       = send_slot || send_null || send_error;
  assign s0_done    = (fin_ok && s1_ready) || send_null || send_error;

  // ------------------------------------------------------------------------------------------------
  // Parse: the header at the position behind this cycle's slot
  // ------------------------------------------------------------------------------------------------
  logic            pkt_end;  // if S0 fires, it ends its packet
  logic [PosW-1:0] pos_hdr;
  logic [1:0]      end_ents;
  logic            hdr_ended;
  logic [PosW-1:0] hdr_avail;
  assign pkt_end  = pkt_last || is_null || is_error;
  assign end_ents = is_block ? run_ents : 2'd1;
  assign pos_hdr  = pkt_end ? {end_ents, {OffW{1'b0}}} : pos_fin;

  always_comb begin : p_hdr_avail
    if (!pkt_end) begin
      hdr_ended = ended;
      hdr_avail = run_bytes - pos_fin;
    end else begin
      // A header fits into one beat: the next run's first entry is enough to know.
      hdr_ended = end_ents[0] ? last[1] : last[2];
      hdr_avail = {1'b0, hdr_ended ? (end_ents[0] ? bytes[1] : bytes[2])
                                   : {(end_ents[0] ? valid[1] : valid[2]), {OffW{1'b0}}}};
    end
  end

  // The position is in the head entry or one of the next two.
  logic [1:0] hdr_ent;
  assign hdr_ent = pos_hdr[OffW+1] ? head + 2'd2 : pos_hdr[OffW] ? head + 2'd1 : head;

  logic [HdrLanes-1:0][7:0] hdr_window;
  logic [HdrMax-1:0][7:0]   hdr_bytes;

  logic [HdrSegs-1:0][HdrLanes-1:0] hdr_sel;
  planezip_lane_select #(
    .Lanes(HdrLanes),
    .Segs (HdrSegs)
  ) u_hdr_select (
    .base_i({hdr_ent, pos_hdr[OffW-1:4]}),
    .off_i (pos_hdr[3:0]),
    .sel_o (hdr_sel)
  );

  planezip_lane_window #(
    .Lanes(HdrLanes),
    .Segs (HdrSegs)
  ) u_hdr_window (
    .data_i (ent_data),
    .sel_i  (hdr_sel),
    .lanes_o(hdr_window)
  );

  planezip_lane_rotate #(
    .Lanes(HdrLanes),
    .Outs (HdrMax)
  ) u_hdr_rotate (
    .lanes_i  (hdr_window),
    .amount_i (pos_hdr[3:0]),
    .amount_ni(~pos_hdr[3:0]),
    .keep_i   ('0),
    .top_i    ('0),
    .fill_i   (1'b0),
    .lanes_o  (hdr_bytes)
  );

  logic        hdr_wide, hdr_first_ok, hdr_prefix, hdr_code_ok, hdr_presence_ok, hdr_fields_ok;
  logic        hdr_tail, hdr_masked, hdr_zero;
  logic [3:0]  hdr_base_len, hdr_len;
  form_e       hdr_form;
  sign_e       hdr_sign;
  logic [4:0]  hdr_lo;
  logic [5:0]  hdr_hi, hdr_planes;
  logic [7:0]  hdr_e_max;
  logic [63:0] hdr_side;
  assign hdr_wide = ent_wide[hdr_ent];

  planezip_header u_header (
    .bytes_i      (hdr_bytes),
    .wide_i       (hdr_wide),
    .first_ok_o   (hdr_first_ok),
    .prefix_o     (hdr_prefix),
    .code_ok_o    (hdr_code_ok),
    .base_len_o   (hdr_base_len),
    .presence_ok_o(hdr_presence_ok),
    .len_o        (hdr_len),
    .fields_ok_o  (hdr_fields_ok),
    .form_o       (hdr_form),
    .tail_o       (hdr_tail),
    .masked_o     (hdr_masked),
    .zero_o       (hdr_zero),
    .sign_o       (hdr_sign),
    .lo_o         (hdr_lo),
    .hi_o         (hdr_hi),
    .planes_o     (hdr_planes),
    .e_max_o      (hdr_e_max),
    .side_o       (hdr_side)
  );

  // The checks in their order; the first that fails tells what the header is. A short header waits for more.
  logic  hdr_empty, hdr_alone, hdr_short_base, hdr_short, hdr_ok;
  logic  parse, parse_ok;
  kind_e hdr_kind, kind_short;
  err_e  hdr_err;
  assign hdr_empty      = hdr_avail == '0;
  assign hdr_alone      = hdr_avail == PosW'(1);
  assign hdr_short_base = hdr_avail < PosW'(hdr_base_len);
  assign hdr_short      = hdr_avail < PosW'(hdr_len);
  assign hdr_ok = !hdr_empty && hdr_first_ok && !(hdr_prefix && hdr_alone) && hdr_code_ok && !hdr_short_base &&
                  hdr_presence_ok && !hdr_short && hdr_fields_ok;
  assign kind_short = hdr_ended ? KindError : KindNone;
  always_comb begin : p_hdr_kind
    hdr_kind = KindBlock;
    hdr_err  = ErrBadHeader;
    if (hdr_empty) begin
      // With the run ended this is an empty packet: the final slot of a packet's blocks takes the end along.
      hdr_kind = hdr_ended ? KindNull : KindNone;
    end else if (!hdr_first_ok) begin
      hdr_kind = KindError;
    end else if (hdr_prefix && hdr_alone) begin
      hdr_kind = kind_short;
      hdr_err  = ErrTruncated;
    end else if (!hdr_code_ok) begin
      hdr_kind = KindError;
    end else if (hdr_short_base || (hdr_presence_ok && hdr_short)) begin
      hdr_kind = kind_short;
      hdr_err  = ErrTruncated;
    end else if (!hdr_presence_ok || !hdr_fields_ok) begin
      hdr_kind = KindError;
    end
  end

  assign parse    = kind_q == KindNone || s0_done;
  assign parse_ok = parse && hdr_ok;

  always_comb begin : p_kind
    kind_d = kind_q;
    err_d  = err_q;
    if (parse) begin
      kind_d = hdr_kind;
      err_d  = hdr_err;
    end else if (is_block && (truncated || trailing)) begin
      kind_d = KindError;
      err_d  = truncated ? ErrTruncated : ErrTrailing;
    end
  end

  // Position: behind the slot or behind the header.
  logic [PosW-1:0] pos_past;
  // The checks of the header's fields come late: they choose between finished results.
  typedef struct packed {
    logic [1:0]    freed;
    logic [OffW:0] off;
  } move_t;
  function automatic move_t move(logic [PosW-1:0] pos, logic in_run, logic [1:0] ents);
    // Behind the last byte of a full last entry the entry stays.
    logic stay;
    stay = in_run && pos[OffW+:2] == ents;
    return '{freed: pos[OffW+:2] - 2'(stay), off: {stay, pos[OffW-1:0]}};
  endfunction

  move_t move_slot, move_hdr, move_past, move_d;
  logic  pos_we;
  assign pos_past  = pos_hdr + PosW'(hdr_len);
  assign move_slot = move(pos_slot, ended, run_ents);
  assign move_hdr  = move(pos_hdr, ended && !pkt_end, run_ents);
  assign move_past = move(pos_past, ended && !pkt_end, run_ents);
  assign move_d    = (is_block && !fin) ? move_slot : (hdr_ok && !drain) ? move_past : move_hdr;
  assign pos_we    = send || drain || parse_ok;
  assign freed     = pos_we ? move_d.freed : 2'd0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      kind_q <= KindNone;
      off_q  <= '0;
    end else begin
      kind_q <= kind_d;
      if (pos_we) off_q <= move_d.off;
    end
  end

  always_ff @(posedge clk_i) begin
    err_q <= err_d;
  end

  always_ff @(posedge clk_i) begin
    if (parse_ok) begin
      wide_q   <= hdr_wide;
      tail_q   <= hdr_tail;
      masked_q <= hdr_masked;
      zero_q   <= hdr_zero;
      form_q   <= hdr_form;
      sign_q   <= hdr_sign;
      lo_q     <= hdr_lo;
      hi_q     <= hdr_hi;
      planes_q <= hdr_planes;
      e_max_q  <= hdr_e_max;
      side_q   <= hdr_side;
    end
  end

  always_ff @(posedge clk_i) begin
    if (parse_ok) slot_q <= '0;
    else if (send_slot) slot_q <= slot_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (send_slot) begin
      lane_q    <= lane_next[LaneW-1:0];
      used_up_q <= lane_next[LaneW];
    end
  end

  // Compressed bytes of the packet: whole entries, counted a cycle after they were freed, and at its end those of the
  // last entry. No entry of the next packet is freed in the cycle that ends a packet.
  logic [BeatsW-1:0] comp_q, comp_d;
  logic [1:0]        freed_q, end_full, end_count;
  logic [2:0]        counted;
  logic [OffW:0]     end_bytes;
  logic              pkt_sent;
  assign end_bytes = end_ents[0] ? bytes[0] : bytes[1];
  assign end_full  = end_ents - 2'(!end_bytes[OffW]);
  assign pkt_sent  = send && pkt_end;
  assign end_count = pkt_end ? end_full : 2'd0;
  assign counted   = {1'b0, freed_q} + {1'b0, end_count};
  assign comp_d    = comp_q + BeatsW'(counted);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      comp_q  <= '0;
      freed_q <= '0;
    end else if (pkt_sent) begin
      comp_q  <= '0;
      freed_q <= '0;
    end else begin
      comp_q  <= comp_q + BeatsW'(freed_q);
      freed_q <= freed;
    end
  end

  // ------------------------------------------------------------------------------------------------
  // S0: the unit's bytes
  // ------------------------------------------------------------------------------------------------
  logic [Beat-1:0][7:0] window, fetched;

  logic [3:0][Beat-1:0] window_sel;
  planezip_lane_select #(
    .Lanes(Beat),
    .Segs (4)
  ) u_select (
    .base_i(head),
    .off_i (off_q[OffW-1:0]),
    .sel_o (window_sel)
  );

  planezip_lane_window #(
    .Lanes(Beat),
    .Segs (4)
  ) u_window (
    .data_i (ent_data),
    .sel_i  (window_sel),
    .lanes_o(window)
  );

  for (genvar h = 0; h < Quarters; h++) begin : gen_quarter
    // The signs move to lane 15, where the code words' sign bit is.
    logic all_neg;
    assign all_neg = plane_form && sign_q == SignNeg && !unit_verbatim[h] && !unit_half[h] && !(wide_q && h % 2 == 0);

    planezip_lane_rotate #(
      .Lanes(Beat),
      .Outs (16),
      .Place(1'b1)
    ) u_rotate (
      .lanes_i  (window),
      .amount_i (unit_turn[h]),
      .amount_ni(~unit_turn[h]),
      .keep_i   (unit_lanes[h]),
      .top_i    (unit_sign[h]),
      .fill_i   (all_neg),
      .lanes_o  (fetched[16*h+:16])
    );
  end

  // ------------------------------------------------------------------------------------------------
  // S1: fetched unit
  // ------------------------------------------------------------------------------------------------
  typedef struct packed {
    logic              fin;    // nothing of its block follows
    logic              last;   // nothing of its packet follows
    logic              empty;  // null beat
    logic              block;  // completes a full block
    form_e             form;
    err_e              error;
    logic [OffW-1:0]   part;   // bytes mod Beat
    logic [Halves-1:0] flags;  // half-words that are not zero
    logic [LaneW-1:0]  lane;   // lane of the first one
  } slot_t;

  slot_t s0_slot;
  always_comb begin : p_slot
    s0_slot = '{
        fin: fin,
        last: pkt_last,
        empty: 1'b0,
        block: fin && !tail_q,
        form: form_q,
        error: ErrNone,
        part: (tail_q && fin) ? tail_here[OffW-1:0] : '0,
        flags: flags,
        lane: lane
    };
    if (!is_block) begin
      s0_slot.fin   = 1'b1;
      s0_slot.last  = 1'b1;
      s0_slot.empty = 1'b1;
      s0_slot.block = 1'b0;
      s0_slot.error = is_error ? err_q : ErrNone;
      s0_slot.part  = '0;
      s0_slot.flags = '0;
    end
  end

  logic                 s1_valid_q, s1_unit_q, s1_first_q, s1_fire;
  slot_t                s1_q;
  logic                 s1_wide_q, s1_delta_q;
  logic [Quarters-1:0]  s1_verbatim_q, s1_half_q;
  logic [3:0]           s1_hi_q;
  sign_e                s1_sign_q;
  logic [7:0]           s1_e_max_q;
  logic [Beat-1:0][7:0] s1_bytes_q;
  logic [BytesW-1:0]    s1_comp_q;
  logic                 fetch;
  assign fetch = send_slot && unit;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) s1_valid_q <= 1'b0;
    else if (send) s1_valid_q <= 1'b1;
    else if (s1_fire) s1_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (send) begin
      s1_q       <= s0_slot;
      s1_unit_q  <= unit && is_block;
      s1_first_q <= first_slot;
    end
  end
  always_ff @(posedge clk_i) begin
    if (fetch) begin
      s1_bytes_q    <= fetched;
      s1_wide_q     <= wide_q;
      s1_delta_q    <= delta_form;
      s1_verbatim_q <= unit_verbatim;
      s1_half_q     <= unit_half;
      s1_hi_q       <= hi_q[3:0];
      s1_sign_q     <= sign_q;
      s1_e_max_q    <= e_max_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (pkt_sent) s1_comp_q <= {comp_d, end_bytes[OffW-1:0]};
  end

  // ------------------------------------------------------------------------------------------------
  // S2: beat and the half-words that earlier beats left
  // ------------------------------------------------------------------------------------------------
  logic                    s2_valid_q, s2_go, s2_fire, s2_drop, out_ready;
  slot_t                   s2_q;
  logic [Halves-1:0][15:0] s2_halves_q, s1_halves, s1_masked;
  logic [BytesW-1:0]       s2_comp_q;
  logic                    s1_error, s1_load;

  assign s1_error = s1_q.error != ErrNone;
  assign s2_go    = s2_valid_q && (s2_q.fin || (s1_valid_q && !s1_error));
  assign s2_fire  = s2_go && out_ready;
  assign s2_drop  = s2_valid_q && !s2_q.fin && s1_valid_q && s1_error;
  assign s1_fire  = s1_valid_q && (!s2_valid_q || s2_fire || s2_drop);
  assign s1_ready = !s1_valid_q || s1_fire;
  assign s1_load  = s1_fire && s1_unit_q;

  // The word ahead of a slot's first is the last one of the slot ahead, which is in S2; in slot 0 it is word 0 in the
  // header register, which holds the block as long as its slot 0 is in S1.
  logic [1:0][15:0] word0, prior, carry;
  assign word0  = side_q[31:0];
  assign prior = s2_halves_q[Halves-1:Halves-2];
  assign carry  = s1_first_q ? word0 : s1_wide_q ? prior : {prior[0], prior[1]};

  planezip_deplane #(
    .Beat(Beat)
  ) u_deplane (
    .bytes_i      (s1_bytes_q),
    .wide_i       (s1_wide_q),
    .delta_i      (s1_delta_q),
    .delta_ni     (~s1_delta_q),
    .is_narrow_i  (~s1_verbatim_q & {Quarters{!s1_wide_q}}),
    .is_wide_i    (~s1_verbatim_q & {Quarters{s1_wide_q}}),
    .is_verbatim_i(s1_verbatim_q),
    .is_half_i    (s1_half_q),
    .hi_i         (s1_hi_q),
    .signs_i      (s1_sign_q == SignKept),
    .all_neg_i    (s1_sign_q == SignNeg),
    .e_max_i      (s1_e_max_q),
    .carry_i      (carry),
    .halves_o     (s1_halves),
    .masked_o     (s1_masked)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) s2_valid_q <= 1'b0;
    else if (s1_fire) s2_valid_q <= 1'b1;
    else if (s2_fire || s2_drop) s2_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (s1_fire) s2_q <= s1_q;
  end
  always_ff @(posedge clk_i) begin
    if (s1_load) s2_halves_q <= s1_halves;
  end
  logic s2_end;
  assign s2_end = s1_fire && s1_q.last;
  always_ff @(posedge clk_i) begin
    if (s2_end) s2_comp_q <= s1_comp_q;
  end

  // Lanes below the first one are used up: there the next unit's half-words, in S1, follow (in masked blocks alone: no
  // differences).
  logic [Halves-1:0][15:0]       beat;
  logic [Halves-1:0]             from_s2;
  logic [LaneW-1:0][Halves-1:0]  crossed;
  assign from_s2 = {Halves{1'b1}} << s2_q.lane;

  planezip_expand_ctl #(
    .Lanes(Halves)
  ) u_expand_ctl (
    .flags_i  (s2_q.flags),
    .first_i  (s2_q.lane),
    .crossed_o(crossed)
  );

  planezip_expand_net #(
    .Lanes(Halves)
  ) u_expand_net (
    .old_i     (s2_halves_q),
    .new_i     (s1_masked),
    .is_old_i  (from_s2),
    .is_old_ni (~from_s2),
    .crossed_i (crossed),
    .crossed_ni(~crossed),
    .keep_i    (s2_q.flags & {Halves{s2_go}}),
    .lanes_o   (beat)
  );

  // ------------------------------------------------------------------------------------------------
  // Output register: loaded or cleared whenever it is free, so that it is zero while not valid
  // ------------------------------------------------------------------------------------------------
  logic                    out_valid_q, out_last_q, out_null_q;
  logic [Halves-1:0][15:0] out_data_q;
  status_t                 status;

  assign out_ready = !out_valid_q || m_tready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      out_last_q  <= 1'b0;
    end else if (out_ready) begin
      out_valid_q <= s2_go;
      out_last_q  <= s2_go && s2_q.last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (out_ready) begin
      out_data_q <= beat;
      out_null_q <= s2_q.empty;
    end
  end

  planezip_decomp_status #(
    .Beat(Beat)
  ) u_status (
    .clk_i,
    .rst_ni,
    .fire_i      (s2_fire),
    .last_i      (s2_q.last),
    .null_i      (s2_q.empty),
    .part_i      (s2_q.part),
    .block_i     (s2_q.block),
    .form_i      (s2_q.form),
    .error_i     (s2_q.error),
    .comp_bytes_i(s2_comp_q),
    .status_o    (status)
  );

  logic [OffW-1:0] out_part;
  logic            out_full;
  assign out_part = status.raw_bytes[OffW-1:0];
  assign out_full = out_valid_q && (!out_last_q || (out_part == '0 && !out_null_q));

  assign m_tvalid_o = out_valid_q;
  assign m_tdata_o  = out_data_q;
  assign m_tlast_o  = out_last_q;
  assign m_tkeep_o  = {Beat{out_full}} | (~({Beat{1'b1}} << out_part) & {Beat{out_last_q}});
  assign m_tuser_o  = out_last_q ? status : '0;

endmodule : planezip_decompressor
