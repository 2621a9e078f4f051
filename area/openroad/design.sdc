# Constraints of the engine; the settings come from settings.tcl. Units: ns, fF.
#
# Every port is timed as if a register sat right outside: io_share of the period is spent there.

create_clock -name clk -period $clock_ns [get_ports $clock_port]
set_clock_uncertainty [expr {0.02 * $clock_ns}] [get_clocks clk]
set data_inputs [list]
foreach port [all_inputs] {
  set name [get_property $port full_name]
  if {$name ne $clock_port && $name ne $reset_port} {
    lappend data_inputs $port
  }
}
set_input_delay [expr {$io_share * $clock_ns}] -clock clk $data_inputs
set_output_delay [expr {$io_share * $clock_ns}] -clock clk [all_outputs]
set_driving_cell -lib_cell $driver $data_inputs
set_load $load_ff [all_outputs]
# The reset is asynchronous and released by a synchroniser outside.
set_false_path -from [get_ports $reset_port]
