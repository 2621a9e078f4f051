// PlaneZip: where the bytes of a slot's unit are and which lanes they go to.
//
// Function: from the block's parameters and its next unit (the first of a masked block begins with `pads_i`
//   pad half-words), for each quarter of 16 byte lanes: how far the lane window has to be rotated, which
//   lanes are written, the lane that holds the sign planelet; and the unit's length. A quarter is a group of the
//   16-bit layout, half of one of the 32-bit layout, or 16 verbatim bytes.
// Latency: none (combinational).
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_unit_plan #(
  parameter  int unsigned Beat     = 32,
  localparam int unsigned OffW     = $clog2(Beat),
  localparam int unsigned Quarters = Beat / 16
) (
  input  logic                          wide_i,     // 32-bit layout
  input  logic                          planes_i,   // BP, ZBP
  input  logic                          flat_i,     // RAW, ZV, tail: one verbatim run of bytes
  input  logic                          signs_i,    // a sign planelet is kept
  input  logic [4:0]                    lo_i,       // lowest planelet of a group
  input  logic [5:0]                    hi_i,       // planelet after its highest, the sign's apart
  input  logic [5:0]                    len_i,      // planelets
  input  logic [Quarters-1:0]           drop_i,     // group of this unit without its top exponent planelet
  input  logic                          lead_i,     // first unit of a masked block
  input  logic [OffW-2:0]               pads_i,
  input  logic [OffW:0]                 flat_len_i, // bytes of a flat unit without pads
  input  logic [OffW-1:0]               off_i,      // read position

  output logic [OffW:0]                 len_o,      // bytes of the unit
  output logic [Quarters-1:0][OffW-1:0] turn_o,     // lane p of quarter h is window lane p + turn_o[h]
  output logic [Quarters-1:0][15:0]     lanes_o,    // written lanes
  output logic [Quarters-1:0][15:7]     sign_o,     // lane of the sign planelet (one-hot or none)
  output logic [Quarters-1:0]           verbatim_o
);

  // Groups of the 16-bit layout: one a quarter. Of those that the pads touch the first ones are empty, the next
  // one is the partial group.
  logic [Quarters-1:0][4:0]    n_lo, n_hi;
  logic [Quarters-1:0][4:0]    n_len;
  logic [Quarters-1:0]         n_verb;
  logic [Quarters:0][OffW:0]   n_start;
  // Groups of the 32-bit layout: one a pair of quarters.
  logic [Quarters/2-1:0][5:0]  w_lo, w_hi;
  logic [Quarters/2-1:0][5:0]  w_len;
  logic [Quarters/2-1:0]       w_verb;
  logic [Quarters/2:0][OffW:0] w_start;

  logic [4:0] n_part;  // bytes of a verbatim partial group
  logic [5:0] w_part;
  logic       n_short, w_short;
  assign n_part  = 5'd16 - {1'b0, pads_i[2:0], 1'b0};
  assign w_part  = 6'd32 - {1'b0, pads_i[3:0], 1'b0};
  assign n_short = lead_i && pads_i[2:0] != 0 && {1'b0, n_part} < len_i;
  assign w_short = lead_i && pads_i[3:0] != 0 && w_part < len_i;

  always_comb begin : p_narrow
    logic [OffW:0] start;
    start = '0;
    for (int h = 0; h < Quarters; h++) begin
      logic empty;
      empty     = lead_i && 32'(pads_i[OffW-2:3]) > h;
      n_verb[h] = n_short && 32'(pads_i[OffW-2:3]) == h;
      n_lo[h]   = n_verb[h] ? {1'b0, pads_i[2:0], 1'b0} : lo_i;
      n_hi[h]   = n_verb[h] ? 5'd16 : hi_i[4:0] - 5'(drop_i[h]);
      n_len[h]  = empty ? '0 : n_verb[h] ? n_part : len_i[4:0] - 5'(drop_i[h]);
      n_start[h] = start;
      start      = start + (OffW + 1)'(n_len[h]);
    end
    n_start[Quarters] = start;
  end

  if (Beat == 32) begin : gen_one_pair
    assign w_verb[0]  = w_short;
    assign w_lo[0]    = w_short ? {1'b0, pads_i, 1'b0} : {1'b0, lo_i};
    assign w_hi[0]    = w_short ? 6'd32 : hi_i - 6'(drop_i[0]);
    assign w_len[0]   = w_short ? w_part : len_i - 6'(drop_i[0]);
    assign w_start[0] = '0;
    assign w_start[1] = w_len[0];
  end else begin : gen_two_pairs
    always_comb begin : p_wide
      logic [OffW:0] start;
      start = '0;
      for (int p = 0; p < Quarters / 2; p++) begin
        logic empty;
        empty     = lead_i && 32'(pads_i[OffW-2:4]) > p;
        w_verb[p] = w_short && 32'(pads_i[OffW-2:4]) == p;
        w_lo[p]   = w_verb[p] ? {1'b0, pads_i[3:0], 1'b0} : {1'b0, lo_i};
        w_hi[p]   = w_verb[p] ? 6'd32 : hi_i - 6'(drop_i[p]);
        w_len[p]  = empty ? '0 : w_verb[p] ? w_part : len_i - 6'(drop_i[p]);
        w_start[p] = start;
        start      = start + (OffW + 1)'(w_len[p]);
      end
      w_start[Quarters/2] = start;
    end
  end

  // Flat: bytes [f_lo, flat_len) of the unit.
  logic [OffW:0] f_lo;
  assign f_lo = lead_i ? {1'b0, pads_i, 1'b0} : '0;

  assign len_o = flat_i ? flat_len_i - f_lo : wide_i ? w_start[Quarters/2] : n_start[Quarters];

  for (genvar p = 0; p < Quarters / 2; p++) begin : gen_pair
    // One run of lanes over the pair, or one for each quarter.
    logic [5:0] p_lo, p_hi;
    if (Beat == 32) begin : gen_flat
      assign p_lo = flat_i ? f_lo : wide_i ? w_lo[p] : {1'b0, n_lo[2*p]};
      assign p_hi = flat_i ? flat_len_i : wide_i ? w_hi[p] : {1'b0, n_hi[2*p]};
    end else begin : gen_flat
      logic [5:0] fp_lo, fp_hi;
      assign fp_lo = (p == 0) ? (f_lo[5] ? 6'd32 : f_lo[5:0]) : (f_lo[5] ? {1'b0, f_lo[4:0]} : 6'd0);
      assign fp_hi = (p == 0) ? (flat_len_i[6:5] != 0 ? 6'd32 : flat_len_i[5:0])
                              : (flat_len_i[6] ? 6'd32 : flat_len_i[5] ? {1'b0, flat_len_i[4:0]} : 6'd0);
      assign p_lo = flat_i ? fp_lo : wide_i ? w_lo[p] : {1'b0, n_lo[2*p]};
      assign p_hi = flat_i ? fp_hi : wide_i ? w_hi[p] : {1'b0, n_hi[2*p]};
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

    // The sign planelet follows the last exponent planelet.
    logic [3:0] even_hi, odd_hi;
    assign even_hi = n_hi[2*p][3:0];
    assign odd_hi  = wide_i ? w_hi[p][3:0] : n_hi[2*p+1][3:0];
    always_comb begin : p_sign
      for (int i = 7; i < 16; i++) begin
        sign_o[2*p][i]   = planes_i && signs_i && !wide_i && !n_verb[2*p] && even_hi == 4'(i);
        sign_o[2*p+1][i] = planes_i && signs_i && !(wide_i ? w_verb[p] : n_verb[2*p+1]) && odd_hi == 4'(i);
      end
    end

    assign verbatim_o[2*p]   = flat_i || (wide_i ? w_verb[p] : n_verb[2*p]);
    assign verbatim_o[2*p+1] = flat_i || (wide_i ? w_verb[p] : n_verb[2*p+1]);
  end

endmodule : planezip_unit_plan
