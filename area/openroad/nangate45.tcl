# Nangate45 (FreePDK45): physical settings. Resistance in kOhm/um, capacitance in fF/um, lengths in um.

set site FreePDK45_38x28_10R_NP_162NW_34O
set core_space 5
set tracks {
  metal1 0.095 0.19 0.07 0.14
  metal2 0.095 0.19 0.07 0.14
  metal3 0.095 0.19 0.07 0.14
  metal4 0.095 0.28 0.07 0.28
  metal5 0.095 0.28 0.07 0.28
  metal6 0.095 0.28 0.07 0.28
  metal7 0.095 0.8 0.07 0.8
  metal8 0.095 0.8 0.07 0.8
  metal9 0.095 1.6 0.07 1.6
  metal10 0.095 1.6 0.07 1.6
}
set layer_rc {
  metal1 5.4286e-3 7.41819e-2
  metal2 3.57167e-3 8.33611e-2
  metal3 3.57147e-3 1.03981e-1
  metal4 1.50001e-3 1.19150e-1
  metal5 1.50000e-3 1.09256e-1
  metal6 1.50000e-3 1.14168e-1
  metal7 1.87501e-4 1.17491e-1
  metal8 1.87501e-4 9.45346e-2
  metal9 3.74996e-5 1.06091e-1
  metal10 3.74996e-5 7.37095e-1
}
set signal_layer metal3
set clock_layer metal5
set routing_layers metal2-metal8
set pin_hor metal3
set pin_ver metal2
set pad 2
set tapcell {-distance 120 -tapcell_master TAPCELL_X1 -endcap_master TAPCELL_X1}
set tie_cells {LOGIC0_X1/Z LOGIC1_X1/Z}
set clock_buffer BUF_X4
set fillers FILLCELL*
set grid_min 60

proc power_grid {} {
  add_global_connection -net VDD -inst_pattern .* -pin_pattern {^VDD$} -power
  add_global_connection -net VSS -inst_pattern .* -pin_pattern {^VSS$} -ground
  set_voltage_domain -name CORE -power VDD -ground VSS
  define_pdn_grid -name core -voltage_domains CORE
  add_pdn_stripe -grid core -layer metal1 -width 0.17 -followpins
  add_pdn_stripe -grid core -layer metal4 -width 0.48 -pitch 28 -offset 2
  add_pdn_stripe -grid core -layer metal7 -width 1.4 -pitch 28 -offset 2
  add_pdn_connect -grid core -layers {metal1 metal4}
  add_pdn_connect -grid core -layers {metal4 metal7}
}
