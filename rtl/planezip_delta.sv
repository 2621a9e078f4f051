// PlaneZip: differences of the compressor.
//
// Function    The code words of DBP (docs/format.md) of a beat: each word minus its prediction, the sign folded into the
//             lowest bit. A word at an even place is predicted by the word before it, one at an odd place by the second
//             before it. Half-words of a 32-bit word keep their lanes.
// Latency     Combinational.
// Parameters  Lanes: half-words per beat, even.
//
// The subtractors are borrow chains written out: half the area of what `-` maps to.

module planezip_delta #(
  parameter int unsigned Lanes = 16
) (
  input  logic [Lanes-1:0][15:0] data_i,
  input  logic [1:0][15:0]       before_i,  // the last two lanes before the beat
  input  logic                   w32_i,
  output logic [Lanes-1:0][15:0] code_o
);

  logic [Lanes+1:0][15:0] lane;  // two lanes further up
  assign lane = {data_i, before_i};

  function automatic logic [16:0] minus(logic [15:0] a, logic [15:0] b, logic borrow_in);
    logic borrow;
    borrow = borrow_in;
    for (int i = 0; i < 16; i++) begin
      minus[i] = a[i] ^ b[i] ^ borrow;
      borrow   = (~a[i] & b[i]) | (borrow & (~a[i] | b[i]));
    end
    minus[16] = borrow;
  endfunction

  always_comb begin : differences
    for (int c = 0; c < int'(Lanes); c += 2) begin
      logic [15:0] low, high, from_low, from_high;
      logic        borrow, unused_borrow, sign_low, sign_high;
      // W16: lane c - 1 for both. W32: the word before (c a multiple of 4) or the second before.
      from_low  = w32_i ? lane[c%4 == 0 ? c : c-2] : lane[c+1];
      from_high = w32_i ? lane[c%4 == 0 ? c+1 : c-1] : lane[c+1];
      {borrow, low} = minus(data_i[c], from_low, 1'b0);
      {unused_borrow, high} = minus(data_i[c+1], from_high, borrow && w32_i);
      sign_high = high[15];
      sign_low  = w32_i ? sign_high : low[15];
      code_o[c]   = {low[14:0] ^ {15{sign_low}}, sign_low};
      code_o[c+1] = {high[14:0] ^ {15{sign_high}}, w32_i ? low[15] ^ sign_high : sign_high};
    end
  end

endmodule : planezip_delta
