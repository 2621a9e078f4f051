// PlaneZip: words from their differences.
//
// Function: undoes planezip_delta for a unit's code words: each word is its prediction plus the difference that the code
//   word stands for. In a group words 0 and 1 are predicted by the word before the group, the others by the nearest word
//   at an odd place before them. Half-words stand by quarter and place as planezip_deplane has them: in the 32-bit layout
//   quarters come in pairs, lower halves and upper halves.
// Latency: none (combinational); the longest way leads through one addition per odd place.
// Parameters: Quarters = quarters of eight half-words, even.
//
// The adders are written out as carry chains: one starts on its low bits while the one ahead is at its high ones, so that
// a chain of chains is hardly slower than a tree of fast adders, and much smaller.

module planezip_undelta #(
  parameter int unsigned Quarters = 2
) (
  input  logic [Quarters-1:0][7:0][15:0] code_i,
  input  logic                           wide_i,   // 32-bit layout
  input  logic [1:0][15:0]               carry_i,  // word before the first; 16-bit layout: [0] alone
  output logic [Quarters-1:0][7:0][15:0] word_o
);

  for (genvar h = 0; h < Quarters; h++) begin : gen_quarter
    localparam bit Upper = h % 2 != 0;  // upper halves in the 32-bit layout
    logic [15:0] ahead;                 // word (or its half) before the group
    if (h == 0) begin : gen_ahead
      assign ahead = carry_i[0];
    end else if (h == 1) begin : gen_ahead
      assign ahead = wide_i ? carry_i[1] : gen_quarter[h-1].gen_word[7].sum;
    end else begin : gen_ahead
      assign ahead = wide_i ? gen_quarter[h-2].gen_word[7].sum : gen_quarter[h-1].gen_word[7].sum;
    end

    for (genvar j = 0; j < 8; j++) begin : gen_word
      logic        sign, carry_in, carry_out;
      logic [15:0] from, diff, sum;
      if (j < 2) begin : gen_from
        assign from = ahead;
      end else begin : gen_from
        assign from = gen_quarter[h].gen_word[j-1-j%2].sum;
      end

      if (Upper) begin : gen_diff
        assign sign     = wide_i ? code_i[h-1][j][0] : code_i[h][j][0];
        assign diff     = {sign, code_i[h][j][15:1] ^ {15{sign}}};
        assign carry_in = wide_i && gen_quarter[h-1].gen_word[j].carry_out;
      end else begin : gen_diff
        assign sign     = code_i[h][j][0];
        assign diff     = {wide_i ? code_i[h+1][j][0] ^ sign : sign, code_i[h][j][15:1] ^ {15{sign}}};
        assign carry_in = 1'b0;
      end

      always_comb begin : p_add
        logic carry;
        carry = carry_in;
        for (int b = 0; b < 16; b++) begin
          sum[b] = from[b] ^ diff[b] ^ carry;
          carry  = (from[b] & diff[b]) | (carry & (from[b] | diff[b]));
        end
        carry_out = carry;
      end

      if (Upper) begin : gen_unused
        logic unused_carry;
        assign unused_carry = carry_out;
      end
      assign word_o[h][j] = sum;
    end
  end

endmodule : planezip_undelta
