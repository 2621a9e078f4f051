# Place and route of a mapped netlist with OpenROAD: floorplan, placement, clock tree, routing, report.
#
# Run by `planezip area --pnr` in a folder that holds netlist.v, design.sdc, pdk.tcl and settings.tcl (written by it).
# Every figure the program reads is printed between PLANEZIP-BEGIN and PLANEZIP-END lines; units: ns, um, mW.

source settings.tcl
source pdk.tcl

proc stage {name} {
  puts "PLANEZIP-STAGE $name"
  flush stdout
}

# Prints the reports of one stage. The timing figures use whatever parasitics are in force.
proc report_stage {name} {
  puts "PLANEZIP-BEGIN $name"
  report_worst_slack -max
  report_tns
  report_worst_slack -min
  report_design_area
  report_power
  puts "PLANEZIP-END $name"
  flush stdout
}

stage read
read_lef $tech_lef
read_lef $cell_lef
foreach file $liberty {
  read_liberty $file
}
set_cmd_units -time ns -capacitance fF -resistance kOhm -voltage V -current mA -power mW -distance um
read_verilog netlist.v
link_design $top
read_sdc design.sdc
foreach pattern $dont_use {
  set_dont_use $pattern
}

stage floorplan
initialize_floorplan -site $site -utilization $utilization -aspect_ratio 1 -core_space $core_space
if {[llength $tracks] == 0} {
  make_tracks
} else {
  foreach {layer x_offset x_pitch y_offset y_pitch} $tracks {
    make_tracks $layer -x_offset $x_offset -x_pitch $x_pitch -y_offset $y_offset -y_pitch $y_pitch
  }
}
# What synthesis buffered without wires is buffered again with them.
remove_buffers
tapcell {*}$tapcell
foreach {layer resistance capacitance} $layer_rc {
  set_layer_rc -layer $layer -resistance $resistance -capacitance $capacitance
}
set_wire_rc -signal -layer $signal_layer
set_wire_rc -clock -layer $clock_layer
set_routing_layers -signal $routing_layers -clock $routing_layers

# The grid generator fails on cores that hold no strap.
set core [ord::get_core_area]
set core_width [expr {[lindex $core 2] - [lindex $core 0]}]
set core_height [expr {[lindex $core 3] - [lindex $core 1]}]
puts "PLANEZIP-CORE $core_width $core_height"
if {min($core_width, $core_height) >= $grid_min} {
  stage power_grid
  power_grid
  pdngen
}

stage placement
global_placement -skip_io -density $density -pad_left $pad -pad_right $pad
place_pins -hor_layers $pin_hor -ver_layers $pin_ver
global_placement -routability_driven -density $density -pad_left $pad -pad_right $pad
estimate_parasitics -placement
repair_design
foreach tie $tie_cells {
  lassign [split $tie /] cell pin
  set library [get_name [get_property [lindex [get_lib_cells */$cell] 0] library]]
  repair_tie_fanout -separation 0 $library/$cell/$pin
}
detailed_placement
report_stage placement

stage clock_tree
repair_clock_inverters
clock_tree_synthesis -root_buf $clock_buffer -buf_list $clock_buffer -sink_clustering_enable
repair_clock_nets
set_propagated_clock [all_clocks]
estimate_parasitics -placement
detailed_placement
estimate_parasitics -placement
repair_timing -setup
repair_timing -hold
detailed_placement
check_placement -verbose
report_stage clock_tree

stage global_route
pin_access
global_route -guide_file route.guide -congestion_iterations 100
estimate_parasitics -global_routing
report_stage global_route

if {$detailed} {
  stage detailed_route
  detailed_route -output_drc drc.rpt -verbose 1
  filler_placement $fillers
  report_stage detailed_route
}

write_def layout.def
write_verilog layout.v
write_sdc layout.sdc
stage done
exit
