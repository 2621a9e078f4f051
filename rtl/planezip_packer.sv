// PlaneZip: packer and output ring of the compressor.
//
// Function    Appends a slot's header bytes and segment ranges to the open beat; full beats become committed once it is
//             known that the packet goes on, a packet's last beat at its end. Committed beats leave in order.
// Latency     A beat committed in one cycle is on the output in the next.
// Throughput  One slot and one output beat per cycle.
// Handshake   `fire_o` from registers alone (docs/microarchitecture.md, section 3, S1 and ring). Output: AXI4-Stream.
// Parameters  Beat: bytes per beat, 32 or 64.
//
// Nothing is shifted on the way out: each segment is rotated straight to its lanes, and the ring's bytes are written
// where they stay. A segment has 16 bytes, so rotation modulo 16 is enough; which of the lanes c, c + 16, ... takes a
// byte is a matter of the lanes' source selects. Bytes behind the slot's end are overwritten by the next slot, so that
// only the open beat needs write enables per byte.

module planezip_packer #(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned Segs  = Beat / 16,
  localparam int unsigned CntW  = $clog2(Beat) + 2,
  localparam int unsigned KeepW = $clog2(Beat) + 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  // Slot.
  input  logic                      valid_i,
  input  logic                      hold_i,       // the slot must wait
  output logic                      fire_o,
  input  logic                      pkt_last_i,
  input  logic [2:0][7:0]           hdr_a_i,      // header bytes 0..2
  input  logic [7:0][7:0]           hdr_b_i,      // header bytes from hdr_split_i on
  input  logic [1:0]                hdr_split_i,  // 1..3
  input  logic [3:0]                hdr_len_i,    // 0..11
  input  logic [Segs-1:0][15:0][7:0] seg_i,
  input  logic [Segs-1:0][3:0]      rot_i,        // lane of segment byte 0, relative to the slot's first byte
  input  logic [Segs-1:0][CntW-1:0] end_i,        // slot byte behind the segment's range
  // Output.
  output logic [8*Beat-1:0]         m_tdata_o,
  output logic [Beat-1:0]           m_tkeep_o,
  output logic                      m_tlast_o,
  output logic                      m_tvalid_o,
  input  logic                      m_tready_i,
  output logic [KeepW-1:0]          m_bytes_o     // of a last beat
);

  localparam int unsigned Depth = 4;
  localparam int unsigned PosW = $clog2(Beat) + 2;  // positions from the open beat's first byte on

  // ---------------------------------------------------------------------------------------------------------
  // Positions and flow
  // ---------------------------------------------------------------------------------------------------------
  logic [KeepW-1:0]      wp_q;
  logic [2:0]            com_q;
  logic [Depth-1:0]      open_q, open_1, open_2, rd_q;  // one-hot
  logic [PosW-1:0]       total;
  logic                  over_1, over_2;  // the slot reaches beyond the open beat, beyond the next one
  logic [1:0]            commits;
  logic                  leave;
  logic [KeepW-1:0]      rest;            // bytes in the last beat that has any

  assign total = PosW'(wp_q) + end_i[Segs-1];
  assign over_1 = total[PosW-1] || (total[PosW-2] && total[PosW-3:0] != '0);
  assign over_2 = total[PosW-1] && total[PosW-3:0] != '0;
  assign rest = {total != '0 && total[PosW-3:0] == '0, total[PosW-3:0]};
  assign commits = 2'(over_1) + 2'(over_2) + 2'(pkt_last_i);
  assign fire_o = valid_i && !hold_i && (com_q + 3'd1 + 3'(over_1) + 3'(over_2)) <= 3'(Depth);
  assign leave = m_tvalid_o && m_tready_i;
  assign open_1 = {open_q[Depth-2:0], open_q[Depth-1]};
  assign open_2 = {open_q[Depth-3:0], open_q[Depth-1:Depth-2]};

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      wp_q   <= '0;
      com_q  <= '0;
      open_q <= Depth'(1);
      rd_q   <= Depth'(1);
    end else begin
      com_q <= com_q + (fire_o ? {1'b0, commits} : 3'd0) - 3'(leave);
      if (leave) rd_q <= {rd_q[Depth-2:0], rd_q[Depth-1]};
      if (fire_o) begin
        wp_q <= pkt_last_i ? '0 : rest;
        unique case (commits)
          2'd0: open_q <= open_q;
          2'd1: open_q <= open_1;
          2'd2: open_q <= open_2;
          default: open_q <= {open_q[0], open_q[Depth-1:1]};
        endcase
      end
    end
  end

  // ---------------------------------------------------------------------------------------------------------
  // Lane sources. A slot's header and segments are runs of positions, each shorter than a beat: a run's lanes follow
  // from its ends modulo Beat and from whether it crosses into the next beat.
  // ---------------------------------------------------------------------------------------------------------
  function automatic logic [Beat-1:0] lanes_below(input logic [KeepW-1:0] v);
    for (int c = 0; c < int'(Beat); c++) lanes_below[c] = KeepW'(c) < v;
  endfunction

  logic [Beat-1:0]           below_wp;
  logic [Beat-1:0]           hdr_even, hdr_odd;
  logic [Segs-1:0][Beat-1:0] seg_sel;
  logic                      open_even;

  assign open_even = open_q[0] || open_q[2];

  always_comb begin : sources
    logic [PosW-1:0] from, next;
    logic [Beat-1:0] below_from, below_next, hdr_0, hdr_1, taken;
    below_wp = lanes_below(wp_q);
    from = PosW'(wp_q) + PosW'(hdr_len_i);
    below_from = lanes_below({1'b0, from[KeepW-2:0]});
    // Header bytes in the open beat and in the next one; a third beat, of the open one's parity, never has any.
    hdr_0 = ~below_wp & (below_from | {Beat{from[KeepW-1]}});
    hdr_1 = below_from & {Beat{from[KeepW-1]}};
    hdr_even = open_even ? hdr_0 : hdr_1;
    hdr_odd = open_even ? hdr_1 : hdr_0;
    taken = '0;
    for (int s = 0; s < int'(Segs) - 1; s++) begin
      next = PosW'(wp_q) + end_i[s];
      below_next = lanes_below({1'b0, next[KeepW-2:0]});
      seg_sel[s] = next[PosW-1:KeepW-1] != from[PosW-1:KeepW-1] ? ~below_from | below_next : ~below_from & below_next;
      taken |= seg_sel[s];
      from = next;
      below_from = below_next;
    end
    // Lanes that no run claims are not written, or with bytes that do not matter.
    seg_sel[Segs-1] = ~taken;
  end

  // ---------------------------------------------------------------------------------------------------------
  // Rotation
  // ---------------------------------------------------------------------------------------------------------
  logic [Segs-1:0][15:0][7:0] seg_rot;
  logic [3:0][7:0]            hdr_a;
  logic [7:0][7:0]            hdr_b;
  logic [15:0]                hdr_a_sel;
  logic [2:0]                 hdr_b_by;
  logic [Beat-1:0][7:0]       even, odd;

  for (genvar s = 0; s < int'(Segs); s++) begin : gen_seg
    logic [3:0] by;
    assign by = wp_q[3:0] + rot_i[s];
    planezip_rotate #(
      .Bytes (16)
    ) u_rotate (
      .data_i (seg_i[s]),
      .by_i   (by),
      .by_n_i (~by),
      .data_o (seg_rot[s])
    );
  end

  assign hdr_b_by = wp_q[2:0] + {1'b0, hdr_split_i};

  planezip_rotate #(
    .Bytes (4)
  ) u_rotate_hdr_a (
    .data_i ({8'd0, hdr_a_i}),
    .by_i   (wp_q[1:0]),
    .by_n_i (~wp_q[1:0]),
    .data_o (hdr_a)
  );

  planezip_rotate #(
    .Bytes (8)
  ) u_rotate_hdr_b (
    .data_i (hdr_b_i),
    .by_i   (hdr_b_by),
    .by_n_i (~hdr_b_by),
    .data_o (hdr_b)
  );

  always_comb begin : header
    for (int l = 0; l < 16; l++) begin
      hdr_a_sel[l] = wp_q[3:0] == 4'(l) || (hdr_split_i[1] && wp_q[3:0] == 4'(l - 1)) ||
                     (hdr_split_i == 2'd3 && wp_q[3:0] == 4'(l - 2));
    end
  end

  planezip_lanes #(
    .Beat (Beat)
  ) u_lanes (
    .seg_i       (seg_rot),
    .seg_sel_i   (seg_sel),
    .hdr_a_i     (hdr_a),
    .hdr_b_i     (hdr_b),
    .hdr_a_sel_i (hdr_a_sel),
    .hdr_b_sel_i (~hdr_a_sel),
    .hdr_even_i  (hdr_even),
    .pay_even_i  (~hdr_even),
    .hdr_odd_i   (hdr_odd),
    .pay_odd_i   (~hdr_odd),
    .even_o      (even),
    .odd_o       (odd)
  );

  // ---------------------------------------------------------------------------------------------------------
  // Ring
  // ---------------------------------------------------------------------------------------------------------
  logic [Depth-1:0][Beat-1:0] we, rd;
  logic [Beat-1:0]            keep;

  always_comb begin : enables
    for (int d = 0; d < int'(Depth); d++) begin
      we[d] = ({Beat{open_q[d]}} & ~below_wp) | {Beat{(open_1[d] && over_1) || (open_2[d] && over_2)}};
      we[d] &= {Beat{fire_o}};
      rd[d] = keep & {Beat{rd_q[d]}};
    end
  end

  planezip_ring #(
    .Beat (Beat)
  ) u_ring (
    .clk_i,
    .we_i   (we),
    .even_i (even),
    .odd_i  (odd),
    .rd_i   (rd),
    .data_o (m_tdata_o)
  );

  // Packet ends. Up to two are in the ring.
  logic [Depth-1:0]            last_q, last_at;
  logic [Depth-1:0][KeepW-1:0] bytes_q;

  assign last_at = over_2 ? open_2 : over_1 ? open_1 : open_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : last_flags
    if (!rst_ni) last_q <= '0;
    else last_q <= (last_q & ~(rd_q & {Depth{leave}})) | (last_at & {Depth{fire_o && pkt_last_i}});
  end

  always_ff @(posedge clk_i) begin : last_bytes
    for (int d = 0; d < int'(Depth); d++) begin
      if (fire_o && pkt_last_i && last_at[d]) bytes_q[d] <= rest;
    end
  end

  // ---------------------------------------------------------------------------------------------------------
  // Output
  // ---------------------------------------------------------------------------------------------------------
  assign m_tvalid_o = com_q != 3'd0;
  assign m_tlast_o = m_tvalid_o && (last_q & rd_q) != '0;
  assign m_tkeep_o = keep;

  always_comb begin : read
    m_bytes_o = '0;
    for (int d = 0; d < int'(Depth); d++) m_bytes_o |= bytes_q[d] & {KeepW{rd_q[d]}};
    keep = {Beat{m_tvalid_o}} & (lanes_below(m_bytes_o) | {Beat{!m_tlast_o}});
  end

endmodule : planezip_packer
