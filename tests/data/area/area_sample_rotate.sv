// Byte rotator: byte i of data_i goes to byte (i + amount_i) mod BEAT_BYTES. Combinational.

module area_sample_rotate #(
  parameter int unsigned BEAT_BYTES = 16  // power of two
) (
  input  logic [8*BEAT_BYTES-1:0]         data_i,
  input  logic [$clog2(BEAT_BYTES)-1:0]   amount_i,
  output logic [8*BEAT_BYTES-1:0]         data_o
);

  logic [16*BEAT_BYTES-1:0] twice;
  assign twice = {data_i, data_i} << {amount_i, 3'b000};
  assign data_o = twice[16*BEAT_BYTES-1:8*BEAT_BYTES];

endmodule : area_sample_rotate
