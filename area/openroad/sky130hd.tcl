# SKY130 hd: physical settings. Resistance in kOhm/um, capacitance in fF/um, lengths in um.

set site unithd
set core_space 8
set tracks {
  li1 0.23 0.46 0.17 0.34
  met1 0.17 0.34 0.17 0.34
  met2 0.23 0.46 0.23 0.46
  met3 0.34 0.68 0.34 0.68
  met4 0.46 0.92 0.46 0.92
  met5 1.70 3.40 1.70 3.40
}
set layer_rc {
  li1 7.176e-2 1.499e-1
  met1 1.20565e-3 1.72375e-1
  met2 1.22132e-3 1.36233e-1
  met3 1.66281e-4 2.14962e-1
  met4 1.68093e-4 1.48128e-1
  met5 1.83558e-5 1.54087e-1
}
set signal_layer met2
set clock_layer met3
set routing_layers met1-met5
set pin_hor met3
set pin_ver met2
set pad 2
set tapcell {-distance 14 -tapcell_master sky130_fd_sc_hd__tapvpwrvgnd_1}
set tie_cells {sky130_fd_sc_hd__conb_1/LO sky130_fd_sc_hd__conb_1/HI}
set clock_buffer sky130_fd_sc_hd__buf_4
set fillers {sky130_fd_sc_hd__fill_1 sky130_fd_sc_hd__fill_2 sky130_fd_sc_hd__fill_4 sky130_fd_sc_hd__fill_8}
set grid_min 160

proc power_grid {} {
  add_global_connection -net VDD -inst_pattern .* -pin_pattern {^VPWR$|^VPB$} -power
  add_global_connection -net VSS -inst_pattern .* -pin_pattern {^VGND$|^VNB$} -ground
  set_voltage_domain -name CORE -power VDD -ground VSS
  define_pdn_grid -name core -voltage_domains CORE
  add_pdn_stripe -grid core -layer met1 -width 0.48 -followpins
  add_pdn_stripe -grid core -layer met4 -width 1.6 -pitch 27.14 -offset 13.57
  add_pdn_stripe -grid core -layer met5 -width 1.6 -pitch 27.2 -offset 13.6
  add_pdn_connect -grid core -layers {met1 met4}
  add_pdn_connect -grid core -layers {met4 met5}
}
