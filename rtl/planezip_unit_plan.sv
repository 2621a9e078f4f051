// PlaneZip: where the bytes of a slot's unit are and which lanes they go to.
//
// Function: from the block's parameters and its next unit (the first of a masked block begins with `pads_i`
//   pad half-words), for each quarter of 16 byte lanes: how far the lane window has to be rotated, which
//   lanes are written, the lane that holds the sign planelet; and the unit's length. A quarter is a group of the
//   16-bit layout, half of one of the 32-bit layout, or 16 verbatim bytes. Half planelets take the upper half of their
//   group's lanes, behind words that go as they are.
// Latency: none (combinational).
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_unit_plan #(
  parameter  int unsigned Beat     = 32,
  localparam int unsigned OffW     = $clog2(Beat),
  localparam int unsigned Quarters = Beat / 16
) (
  input  logic                          wide_i,     // 32-bit layout
  input  logic                          signed_i,   // BP, ZBP
  input  logic                          flat_i,     // RAW, ZV, tail: one verbatim run of bytes
  input  logic                          signs_i,    // a sign planelet is kept
  input  logic [4:0]                    lo_i,       // lowest planelet of a group
  input  logic [5:0]                    top_i,      // planelet after the highest of a whole group, the sign's included
  input  logic [5:0]                    planes_i,   // planelets of a whole group
  input  logic [Quarters-1:0][5:0]      hi_i,       // by group of the unit: planelet after its highest, the sign's apart
  input  logic [Quarters-1:0][5:0]      len_i,      // planelets
  input  logic                          lead_i,     // first unit of a masked block
  input  logic [OffW-2:0]               pads_i,
  input  logic [OffW:0]                 flat_len_i, // bytes of a flat unit without pads
  input  logic [OffW-1:0]               off_i,      // read position

  output logic [OffW:0]                 len_o,      // bytes of the unit
  output logic [Quarters-1:0][OffW-1:0] turn_o,     // lane p of quarter h is window lane p + turn_o[h]
  output logic [Quarters-1:0][15:0]     lanes_o,    // written lanes
  output logic [Quarters-1:0][15:7]     sign_o,     // lane of the sign planelet (one-hot or none)
  output logic [Quarters-1:0]           verbatim_o,
  output logic [Quarters-1:0]           half_o      // half planelets (16-bit layout: in the quarter's upper half)
);

  // The partial group (docs/format.md, ZBP): planelets, words as they are, or half planelets behind words.
  typedef struct packed {
    logic       verb;
    logic       half;
    logic [5:0] lo;
    logic [5:0] hi;
    logic [5:0] len;
  } part_t;

  logic [5:0] halves_lo, halves_hi;
  assign halves_lo = {2'b00, lo_i[4:1]};
  assign halves_hi = (top_i + 6'd1) >> 1;

  // `skip`: bytes of the pads; `half`: half of the group's lanes.
  function automatic part_t part(logic [5:0] skip, logic [5:0] half, logic [5:0] from, logic [5:0] to,
                                 logic [5:0] lo, logic [5:0] hi, logic [5:0] planes);
    logic [5:0] words, mixed;
    words = (half << 1) - skip;
    mixed = half - skip + to;
    part  = '{verb: 1'b0, half: 1'b0, lo: lo, hi: hi, len: planes};
    if (skip >= half) begin
      part.verb = words < to - from;
      part.half = !part.verb;
      part.lo   = part.verb ? skip : half + from;
      part.hi   = part.verb ? half << 1 : half + to;
      part.len  = part.verb ? words : to - from;
    end else if (planes > mixed) begin
      part.half = 1'b1;
      part.lo   = skip;
      part.hi   = half + to;
      part.len  = mixed;
    end
  endfunction

  // Groups of the 16-bit layout: one a quarter. Of those that the pads touch the first ones are empty, the next
  // one is the partial group.
  part_t                       n_part, w_part;
  logic [Quarters-1:0][5:0]    n_lo, n_hi, n_len;
  logic [Quarters-1:0]         n_verb, n_half;
  logic [Quarters:0][OffW:0]   n_start;
  // Groups of the 32-bit layout: one a pair of quarters.
  logic [Quarters/2-1:0][5:0]  w_lo, w_hi, w_len;
  logic [Quarters/2-1:0]       w_verb, w_half;
  logic [Quarters/2:0][OffW:0] w_start;

  assign n_part = part({2'b00, pads_i[2:0], 1'b0}, 6'd8, halves_lo, halves_hi, {1'b0, lo_i}, hi_i[0], planes_i);
  assign w_part = part({1'b0, pads_i[3:0], 1'b0}, 6'd16, halves_lo, halves_hi, {1'b0, lo_i}, hi_i[0], planes_i);

  always_comb begin : p_narrow
    logic [OffW:0] start;
    start = '0;
    for (int h = 0; h < Quarters; h++) begin
      logic empty, partial;
      empty     = lead_i && 32'(pads_i[OffW-2:3]) > h;
      partial   = lead_i && 32'(pads_i[OffW-2:3]) == h && pads_i[2:0] != 0;
      n_verb[h] = partial && n_part.verb;
      n_half[h] = partial && n_part.half;
      n_lo[h]   = partial ? n_part.lo : {1'b0, lo_i};
      n_hi[h]   = partial ? n_part.hi : hi_i[h];
      n_len[h]  = empty ? '0 : partial ? n_part.len : len_i[h];
      n_start[h] = start;
      start      = start + (OffW + 1)'(n_len[h]);
    end
    n_start[Quarters] = start;
  end

  always_comb begin : p_wide
    logic [OffW:0] start;
    start = '0;
    for (int p = 0; p < Quarters / 2; p++) begin
      logic empty, partial;
      logic [OffW:0] pad_groups;
      pad_groups = (OffW + 1)'(pads_i) >> 4;
      empty     = lead_i && 32'(pad_groups) > p;
      partial   = lead_i && 32'(pad_groups) == p && pads_i[3:0] != 0;
      w_verb[p] = partial && w_part.verb;
      w_half[p] = partial && w_part.half;
      w_lo[p]   = partial ? w_part.lo : {1'b0, lo_i};
      w_hi[p]   = partial ? w_part.hi : hi_i[p];
      w_len[p]  = empty ? '0 : partial ? w_part.len : len_i[p];
      w_start[p] = start;
      start      = start + (OffW + 1)'(w_len[p]);
    end
    w_start[Quarters/2] = start;
  end

  // Flat: bytes [f_lo, flat_len) of the unit.
  logic [OffW:0] f_lo;
  assign f_lo = lead_i ? {1'b0, pads_i, 1'b0} : '0;

  assign len_o = flat_i ? flat_len_i - f_lo : wide_i ? w_start[Quarters/2] : n_start[Quarters];

  for (genvar p = 0; p < Quarters / 2; p++) begin : gen_pair
    // One run of lanes over the pair, or one for each quarter.
    logic [5:0] p_lo, p_hi;
    if (Beat == 32) begin : gen_flat
      assign p_lo = flat_i ? f_lo : wide_i ? w_lo[p] : n_lo[2*p];
      assign p_hi = flat_i ? flat_len_i : wide_i ? w_hi[p] : n_hi[2*p];
    end else begin : gen_flat
      logic [5:0] fp_lo, fp_hi;
      assign fp_lo = (p == 0) ? (f_lo[5] ? 6'd32 : f_lo[5:0]) : (f_lo[5] ? {1'b0, f_lo[4:0]} : 6'd0);
      assign fp_hi = (p == 0) ? (flat_len_i[6:5] != 0 ? 6'd32 : flat_len_i[5:0])
                              : (flat_len_i[6] ? 6'd32 : flat_len_i[5] ? {1'b0, flat_len_i[4:0]} : 6'd0);
      assign p_lo = flat_i ? fp_lo : wide_i ? w_lo[p] : n_lo[2*p];
      assign p_hi = flat_i ? fp_hi : wide_i ? w_hi[p] : n_hi[2*p];
    end

    logic [31:0] run;
    logic [15:0] upper;
    assign run   = ({32{1'b1}} << p_lo) & ~({32{1'b1}} << p_hi);
    assign upper = ({16{1'b1}} << n_lo[2*p+1]) & ~({16{1'b1}} << n_hi[2*p+1]);
    assign lanes_o[2*p]   = run[15:0];
    assign lanes_o[2*p+1] = (flat_i || wide_i) ? run[31:16] : upper;

    // Rotation: read position + start of the group in the unit - its first lane.
    logic [OffW-1:0] first;
    assign first = flat_i ? OffW'(32 * p) - f_lo[OffW-1:0] :
                   wide_i ? w_start[p][OffW-1:0] - OffW'(w_lo[p]) :
                            n_start[2*p][OffW-1:0] - OffW'(n_lo[2*p]);
    assign turn_o[2*p]   = off_i + first;
    assign turn_o[2*p+1] = off_i + ((flat_i || wide_i) ? first + OffW'(16)
                                    : n_start[2*p+1][OffW-1:0] - OffW'(n_lo[2*p+1]));

    // The sign planelet follows the last exponent planelet; among half planelets it is looked for later.
    logic [3:0] even_hi, odd_hi;
    assign even_hi = n_hi[2*p][3:0];
    assign odd_hi  = wide_i ? w_hi[p][3:0] : n_hi[2*p+1][3:0];
    always_comb begin : p_sign
      for (int i = 7; i < 16; i++) begin
        sign_o[2*p][i]   = signed_i && signs_i && !wide_i && !n_verb[2*p] && !n_half[2*p] && even_hi == 4'(i);
        sign_o[2*p+1][i] = signed_i && signs_i && odd_hi == 4'(i) &&
                           !(wide_i ? w_verb[p] || w_half[p] : n_verb[2*p+1] || n_half[2*p+1]);
      end
    end

    assign verbatim_o[2*p]   = flat_i || (wide_i ? w_verb[p] || w_half[p] : n_verb[2*p]);
    assign verbatim_o[2*p+1] = flat_i || (wide_i ? w_verb[p] : n_verb[2*p+1]);
    assign half_o[2*p]       = !flat_i && !wide_i && n_half[2*p];
    assign half_o[2*p+1]     = !flat_i && (wide_i ? w_half[p] : n_half[2*p+1]);
  end

endmodule : planezip_unit_plan
