// PlaneZip: types between the parts of the compressor.

package planezip_comp_pkg;

  // A block's form decision and everything S0 and S1 need to code it.
  typedef struct packed {
    logic        last;      // the block ends its packet
    logic [1:0]  last_beat; // index of the block's last beat
    logic        w32;       // layout
    logic        masked;    // ZV with a mask, ZBP
    logic [7:0]  b0;        // header byte 0: form, k or p >> 1; tail: 0x80 + t; null block: 0x80
    logic [7:0]  b1;        // header byte 1 of BP, ZBP, DBP; bits 4..0 are the first planelet
    logic [7:0]  e_max;     // all ones in DBP
    logic        kept;      // signs are coded
    logic [7:0]  pres;      // presence bits
    logic [5:0]  planes;    // planelets of a group with its presence bit set
    logic [4:0]  pads;      // pad half-words before the sequence; 0 in unmasked forms
    logic        verb_part; // ZBP: the partial group goes verbatim
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
    logic [3:0] sign_pos;  // bit of F that takes the sign where the presence bit is 1
    logic [7:0] e_max;
  } xform_t;

endpackage : planezip_comp_pkg
