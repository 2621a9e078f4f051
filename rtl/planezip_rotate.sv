// PlaneZip: byte rotator.
//
// Function    `data_o[(i + by) mod Bytes] = data_i[i]`. The amount comes with its complement, `by_n_i = ~by_i`.
// Latency     Combinational.
// Parameters  Bytes: a power of two, >= 2.
//
// Two select lines per stage, made outside: each multiplexer is then one AND-OR-invert cell instead of a MUX2, which
// costs 40% more in most libraries. A mapper that sees where the complement comes from folds it back.

module planezip_rotate #(
  parameter  int unsigned Bytes = 16,
  localparam int unsigned ByW   = $clog2(Bytes)
) (
  input  logic [Bytes-1:0][7:0] data_i,
  input  logic [ByW-1:0]        by_i,
  input  logic [ByW-1:0]        by_n_i,
  output logic [Bytes-1:0][7:0] data_o
);

  localparam int unsigned Bits = 8 * Bytes;

  if (Bytes != 1 << ByW || Bytes < 2) begin : gen_bad_bytes
    $error("planezip_rotate: Bytes must be a power of two");
  end

  always_comb begin : stages
    data_o = data_i;
    for (int k = 0; k < int'(ByW); k++) begin
      data_o = (data_o & {Bits{by_n_i[k]}}) |
               (((data_o << (8 << k)) | (data_o >> (8 * (int'(Bytes) - (1 << k))))) & {Bits{by_i[k]}});
    end
  end

endmodule : planezip_rotate
