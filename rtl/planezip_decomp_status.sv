// PlaneZip: status counters of the decompressor.
//
// Function: counts the blocks and raw bytes of a packet as its beats load the output register; the counters
//   are right when its last beat is there and restart with the beat after it.
// Latency: counts show in the cycle after `fire_i`.
// Parameters: Beat = bytes per beat, 32 or 64.

module planezip_decomp_status #(
  parameter  int unsigned Beat  = 32,
  localparam int unsigned OffW  = $clog2(Beat),
  localparam int unsigned BeatW = planezip_pkg::BytesW - OffW
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,

  input  logic                            fire_i,        // a beat loads the output register
  input  logic                            last_i,        // it is its packet's last
  input  logic                            null_i,        // it has no bytes
  input  logic [OffW-1:0]                 part_i,        // its bytes mod Beat
  input  logic                            block_i,       // it completes a full block
  input  planezip_pkg::form_e             form_i,        // of this form
  input  planezip_pkg::err_e              error_i,
  input  logic [planezip_pkg::BytesW-1:0] comp_bytes_i,  // with last_i

  output planezip_pkg::status_t           status_o
);

  import planezip_pkg::*;

  if (Beat != 32 && Beat != 64) begin : gen_bad_beat
    $error("planezip_decomp_status: Beat must be 32 or 64");
  end

  logic restart_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) restart_q <= 1'b1;
    else if (fire_i) restart_q <= last_i;
  end

  // One incrementer serves all forms. A packet's first beat never completes a block.
  logic [NumForms-1:0]              hit;
  logic [NumForms-1:0][BlocksW-1:0] blocks_q;
  logic [BlocksW-1:0]               blocks, blocks_d;
  always_comb begin : p_blocks
    blocks = '0;
    for (int f = 0; f < NumForms; f++) begin
      hit[f] = form_i == form_e'(f);
      blocks |= hit[f] ? blocks_q[f] : '0;
    end
    blocks_d = restart_q ? '0 : blocks + 1'b1;
  end
  for (genvar f = 0; f < NumForms; f++) begin : gen_form
    logic we;
    assign we = fire_i && (restart_q || (block_i && hit[f]));
    always_ff @(posedge clk_i) begin
      if (we) blocks_q[f] <= blocks_d;
    end
  end

  logic [BeatW-1:0] beats_q, beats_d;
  logic [OffW-1:0]  part_q;
  assign beats_d = (restart_q ? '0 : beats_q) + BeatW'(!null_i && part_i == '0);
  always_ff @(posedge clk_i) begin
    if (fire_i) begin
      beats_q <= beats_d;
    end
  end

  logic              last;
  logic [BytesW-1:0] comp_q;
  err_e              error_q;
  assign last = fire_i && last_i;
  always_ff @(posedge clk_i) begin
    if (last) begin
      comp_q  <= comp_bytes_i;
      error_q <= error_i;
      part_q  <= part_i;
    end
  end

  assign status_o = '{
      error: error_q,
      raw_bytes: {beats_q, part_q},
      comp_bytes: comp_q,
      blocks_raw: blocks_q[FormRaw],
      blocks_zv: blocks_q[FormZv],
      blocks_bp: blocks_q[FormBp],
      blocks_dbp: blocks_q[FormDbp],
      blocks_zbp: blocks_q[FormZbp]
  };

endmodule : planezip_decomp_status
