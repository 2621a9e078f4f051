// PlaneZip: lane sources of the packer.
//
// Function    Per lane of an even and of an odd ring beat, the byte that a slot writes there: payload (from the segment
//             that `seg_sel_i` names, one-hot or none) or header. Selects come as pairs: `pay_*_i = ~hdr_*_i`.
// Latency     Combinational.
// Parameters  Beat: bytes per beat, 32 or 64.
//
// Only AND-OR here, for the reason given in planezip_rotate.

module planezip_lanes #(
  parameter  int unsigned Beat = 32,
  localparam int unsigned Segs = Beat / 16
) (
  input  logic [Segs-1:0][15:0][7:0] seg_i,      // rotated
  input  logic [Segs-1:0][Beat-1:0]  seg_sel_i,
  input  logic [3:0][7:0]            hdr_a_i,    // rotated
  input  logic [7:0][7:0]            hdr_b_i,    // rotated
  input  logic [15:0]                hdr_a_sel_i,
  input  logic [15:0]                hdr_b_sel_i,
  input  logic [Beat-1:0]            hdr_even_i,
  input  logic [Beat-1:0]            pay_even_i,
  input  logic [Beat-1:0]            hdr_odd_i,
  input  logic [Beat-1:0]            pay_odd_i,
  output logic [Beat-1:0][7:0]       even_o,
  output logic [Beat-1:0][7:0]       odd_o
);

  logic [15:0][7:0]     hdr;
  logic [Beat-1:0][7:0] pay;

  always_comb begin : select
    for (int l = 0; l < 16; l++) begin
      hdr[l] = (hdr_a_i[l%4] & {8{hdr_a_sel_i[l]}}) | (hdr_b_i[l%8] & {8{hdr_b_sel_i[l]}});
    end
    for (int c = 0; c < int'(Beat); c++) begin
      pay[c] = '0;
      for (int s = 0; s < int'(Segs); s++) pay[c] |= seg_i[s][c%16] & {8{seg_sel_i[s][c]}};
      // Each select's complement serves as the other's: `hdr` and `pay` come inverted out of their cells, and so the
      // OR-AND-invert that follows needs no inverters.
      even_o[c] = (hdr[c%16] & ~{8{pay_even_i[c]}}) | (pay[c] & ~{8{hdr_even_i[c]}});
      odd_o[c]  = (hdr[c%16] & ~{8{pay_odd_i[c]}}) | (pay[c] & ~{8{hdr_odd_i[c]}});
    end
  end

endmodule : planezip_lanes
