// Constants of the area flow's own test design (it computes nothing useful; it has every kind of logic the flow maps).

package area_sample_pkg;

  parameter int unsigned CounterW = 24;

  typedef struct packed {
    logic [7:0] exp_max;
    logic [7:0] exp_min;
    logic       any_neg;
  } stats_t;

endpackage : area_sample_pkg
