// PlaneZip: exchange network of the compressor's compaction.
//
// Function    log2(Lanes) stages of exchanges between lanes c and c + 2^k, lowest k first. `swap_i[k][p]` crosses pair p
//             of stage k (pairs counted from lane 0); `swap_n_i = ~swap_i`.
// Latency     Combinational.
// Parameters  Lanes: a power of two, >= 2.
//
// Use: behind stage k - 1 each block of 2^k lanes holds its half-words at (destination mod 2^k). In stage k the
// half-words of a right block go to the bit k of their destination, those of the left block to the complement:
// consecutive destinations (mod Lanes) never collide. Only AND-OR here, for the reason given in planezip_rotate.

module planezip_exchange #(
  parameter  int unsigned Lanes = 16,
  localparam int unsigned LaneW = $clog2(Lanes)
) (
  input  logic [Lanes-1:0][15:0]        data_i,
  input  logic [LaneW-1:0][Lanes/2-1:0] swap_i,
  input  logic [LaneW-1:0][Lanes/2-1:0] swap_n_i,
  output logic [Lanes-1:0][15:0]        data_o
);

  if (Lanes != 1 << LaneW || Lanes < 2) begin : gen_bad_lanes
    $error("planezip_exchange: Lanes must be a power of two");
  end

  always_comb begin : stages
    logic [Lanes-1:0][15:0] cur;
    data_o = data_i;
    for (int k = 0; k < int'(LaneW); k++) begin
      cur = data_o;
      for (int p = 0; p < int'(Lanes) / 2; p++) begin
        int lo, hi;
        lo = ((p >> k) << (k + 1)) + (p & ((1 << k) - 1));
        hi = lo + (1 << k);
        data_o[lo] = (cur[hi] & {16{swap_i[k][p]}}) | (cur[lo] & {16{swap_n_i[k][p]}});
        data_o[hi] = (cur[lo] & {16{swap_i[k][p]}}) | (cur[hi] & {16{swap_n_i[k][p]}});
      end
    end
  end

endmodule : planezip_exchange
