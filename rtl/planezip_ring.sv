// PlaneZip: storage of the output ring, four beats of bytes with write enables.
//
// Function    Writes even or odd beats' data where `we_i` says; reads with `rd_i`, one-hot per lane or none (zero).
// Latency     Combinational read; a byte written in one cycle can be read in the next.
// Parameters  Beat: bytes per beat.

module planezip_ring #(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned Depth = 4
) (
  input  logic                       clk_i,
  input  logic [Depth-1:0][Beat-1:0] we_i,
  input  logic [Beat-1:0][7:0]       even_i,
  input  logic [Beat-1:0][7:0]       odd_i,
  input  logic [Depth-1:0][Beat-1:0] rd_i,
  output logic [Beat-1:0][7:0]       data_o
);

  logic [Depth-1:0][Beat-1:0][7:0] ring_q;

  always_ff @(posedge clk_i) begin : write
    for (int d = 0; d < int'(Depth); d++) begin
      for (int c = 0; c < int'(Beat); c++) begin
        if (we_i[d][c]) ring_q[d][c] <= d % 2 == 0 ? even_i[c] : odd_i[c];
      end
    end
  end

  always_comb begin : read
    for (int c = 0; c < int'(Beat); c++) begin
      data_o[c] = '0;
      for (int d = 0; d < int'(Depth); d++) data_o[c] |= ring_q[d][c] & {8{rd_i[d][c]}};
    end
  end

endmodule : planezip_ring
