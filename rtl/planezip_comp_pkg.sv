// PlaneZip: types between the parts of the compressor.

package planezip_comp_pkg;

  // How a partial group goes.
  typedef enum logic [1:0] {
    PartPlanes   = 2'd0,
    PartVerbatim = 2'd1,
    PartHalves   = 2'd2   // words beyond four verbatim, then half planelets
  } part_e;

  // A block's form decision and everything S0 and S1 need to code it.
  typedef struct packed {
    logic        last;      // the block ends its packet
    logic [1:0]  last_beat; // index of the block's last beat
    logic        w32;       // layout
    logic        masked;    // ZV with a mask, ZBP
    logic [7:0]  b0;        // bits 6..4 form, 3..0 k of BP and ZBP, bit 0 ZV without a non-zero word; tail: 0x80 + t;
                            // null block: 0x80
    logic [1:0]  style;     // BP: drop bits per group; ZV, ZBP: mask style
    logic [1:0]  mode;      // sign mode
    logic [4:0]  z;         // BP, ZBP: zero mantissa planes
    logic [7:0]  e_max;     // all ones in DBP
    logic        kept;      // signs are coded
    logic [31:0] field;     // BP: drop field; DBP: width field
    logic [5:0]  top;       // BP, ZBP: planes of a group that drops none, zero ones included
    logic [4:0]  pads;      // pad half-words before the sequence; 0 in unmasked forms
    part_e       part;      // ZBP: how the partial group goes
    logic [3:0]  hdr_len;   // header bytes
    logic [63:0] mask;      // per half-word of the block: it belongs to a non-zero word
  } desc_t;

  // A block of less than 128 bytes, as it waits in `side`.
  typedef struct packed {
    logic       last;
    logic [1:0] last_beat;
    logic [7:0] b0;
  } short_t;

  // S1: what is done to the unit.
  typedef struct packed {
    logic       first_dbp; // the unit holds word 0 of a DBP block
    logic       kept;      // signs are coded
    logic [3:0] sign_pos;  // bit of F that takes the sign where no plane is dropped
    logic [7:0] e_max;
  } xform_t;

endpackage : planezip_comp_pkg
