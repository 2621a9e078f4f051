# ASAP7 (1x scale): physical settings. Lengths in um. Tracks come from the technology LEF; without layer_rc so do
# resistance and capacitance.

set site asap7sc7p5t
set core_space 1.08
set tracks {}
set layer_rc {}
set signal_layer M3
set clock_layer M5
set routing_layers M2-M7
set pin_hor M4
set pin_ver M5
set pad 0
set tapcell {-distance 25 -tapcell_master TAPCELL_ASAP7_75t_R -endcap_master TAPCELL_ASAP7_75t_R}
set tie_cells {TIELOx1_ASAP7_75t_R/L TIEHIx1_ASAP7_75t_R/H}
set clock_buffer BUFx4_ASAP7_75t_R
set fillers {FILLERxp5_ASAP7_75t_R FILLER_ASAP7_75t_R}
set grid_min 12

proc power_grid {} {
  add_global_connection -net VDD -inst_pattern .* -pin_pattern {^VDD$} -power
  add_global_connection -net VSS -inst_pattern .* -pin_pattern {^VSS$} -ground
  set_voltage_domain -name CORE -power VDD -ground VSS
  define_pdn_grid -name core -voltage_domains CORE
  add_pdn_stripe -grid core -layer M1 -width 0.018 -followpins
  add_pdn_stripe -grid core -layer M2 -width 0.018 -followpins
  add_pdn_stripe -grid core -layer M5 -width 0.12 -pitch 5.4 -offset 1.5
  add_pdn_stripe -grid core -layer M6 -width 0.288 -pitch 5.4 -offset 1.5
  add_pdn_connect -grid core -layers {M1 M2}
  add_pdn_connect -grid core -layers {M2 M5}
  add_pdn_connect -grid core -layers {M5 M6}
}
