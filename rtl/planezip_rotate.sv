// PlaneZip: byte rotator.
//
// Function    `data_o[(i + by_i) mod Bytes] = data_i[i]`.
// Latency     Combinational.
// Parameters  Bytes: a power of two, >= 2.

module planezip_rotate #(
  parameter  int unsigned Bytes = 16,
  localparam int unsigned ByW   = $clog2(Bytes)
) (
  input  logic [Bytes-1:0][7:0] data_i,
  input  logic [ByW-1:0]        by_i,
  output logic [Bytes-1:0][7:0] data_o
);

  if (Bytes != 1 << ByW || Bytes < 2) begin : gen_bad_bytes
    $error("planezip_rotate: Bytes must be a power of two");
  end

  always_comb begin : stages
    data_o = data_i;
    for (int k = 0; k < int'(ByW); k++) begin
      if (by_i[k]) data_o = (data_o << (8 << k)) | (data_o >> (8 * (int'(Bytes) - (1 << k))));
    end
  end

endmodule : planezip_rotate
