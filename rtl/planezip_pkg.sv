// PlaneZip: constants and types shared by the engine's modules.
//
// The block format's numbers stand here once for the RTL and once in src/format for Rust;
// tests/rtl_constants.rs compares the two. Format: docs/format.md.

package planezip_pkg;

  // Block format.
  parameter int unsigned BlockBytes = 128;
  parameter int unsigned GroupWords = 8;
  parameter int unsigned ExpBits = 8;
  parameter int unsigned MantBits16 = 7;
  parameter int unsigned MantBits32 = 23;

  // A block's code byte: bits 7..5 below CodeOther BP (the number of drop bits a group) and ZBP (CodeZbp and the mask
  // style), then sign mode (4..3) and k (2..0). CodePrefix: zero mantissa planes (4..0), a code byte follows.
  parameter int unsigned CodeBp = 0;
  parameter int unsigned CodeZbp = 3;
  parameter int unsigned CodeOther = 6;
  parameter int unsigned CodePrefix = 7;
  // Code bytes with CodeOther.
  parameter logic [7:0] CodeRaw = 8'd192;
  parameter logic [7:0] CodeAllZero = 8'd193;
  parameter logic [7:0] CodeTail = 8'd194;
  parameter logic [7:0] CodeDbp = 8'd195;
  parameter logic [7:0] CodeZv = 8'd196;  // and the mask style

  // How a mask is written.
  parameter logic [1:0] MaskWhole = 2'd0;
  parameter logic [1:0] MaskWithoutZeros = 2'd1;
  parameter logic [1:0] MaskWithoutOnes = 2'd2;

  // Form codes of the status.
  typedef enum logic [2:0] {
    FormRaw  = 3'd0,
    FormZv   = 3'd1,
    FormBp   = 3'd2,
    FormDbp  = 3'd3,
    FormZbp  = 3'd4
  } form_e;

  // Sign modes of BP and ZBP.
  typedef enum logic [1:0] {
    SignPos  = 2'd0,
    SignNeg  = 2'd1,
    SignKept = 2'd2
  } sign_e;

  // Error codes of a packet's status.
  typedef enum logic [2:0] {
    ErrNone      = 3'd0,
    ErrBadHeader = 3'd1,
    ErrTruncated = 3'd2,
    ErrTrailing  = 3'd3
  } err_e;

  // dtype sideband; bit 1 selects the 32-bit layout.
  typedef enum logic [1:0] {
    DtypeBf16  = 2'd0,
    DtypeF16   = 2'd1,
    DtypeF32   = 2'd2,
    DtypeOther = 2'd3
  } dtype_e;

  parameter int unsigned NumForms = 5;
  parameter int unsigned BytesW = 40;   // byte counters: packets up to 2^40 - 1 bytes
  parameter int unsigned BlocksW = 33;  // block counters: 2^40 / 128

  // Status of a packet, shown on its last beat.
  typedef struct packed {
    err_e               error;
    logic [BytesW-1:0]  raw_bytes;
    logic [BytesW-1:0]  comp_bytes;
    logic [BlocksW-1:0] blocks_raw;
    logic [BlocksW-1:0] blocks_zv;
    logic [BlocksW-1:0] blocks_bp;
    logic [BlocksW-1:0] blocks_dbp;
    logic [BlocksW-1:0] blocks_zbp;
  } status_t;

  parameter int unsigned StatusW = $bits(status_t);

endpackage : planezip_pkg
