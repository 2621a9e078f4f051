// PlaneZip: engine.
//
// Function    Two independent channels, full duplex: compress (raw bytes in, block stream out) and decompress (the
//             other way). One packet is one tensor of any length. Block stream: docs/format.md; every pin in every
//             cycle: docs/microarchitecture.md.
// Latency     Compress: the beat that completes a 128-byte block fires in cycle 0, the first output beat that the
//             block's first bytes fill is valid in cycle 4. Decompress: see planezip_decompressor. At 16 bytes per
//             beat the upsizer adds a cycle to either.
// Throughput  One raw beat per cycle in either direction while both ends are willing and data does not expand.
// Handshake   AXI4-Stream. tuser in: dtype (planezip_pkg::dtype_e), read on a packet's first beat. tuser out: status
//             (planezip_pkg::status_t) on a packet's last beat. No ready output depends combinationally on a ready input.
// Parameters  BEAT_BYTES: bytes per beat of all four ports, 16, 32 or 64.

module planezip_engine
  import planezip_pkg::*;
#(
  parameter int unsigned BEAT_BYTES = 32
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // Compress: raw bytes in.
  input  logic [8*BEAT_BYTES-1:0] comp_s_tdata_i,
  input  logic [BEAT_BYTES-1:0]   comp_s_tkeep_i,
  input  logic                    comp_s_tlast_i,
  input  dtype_e                  comp_s_tuser_i,
  input  logic                    comp_s_tvalid_i,
  output logic                    comp_s_tready_o,
  // Compress: block stream out.
  output logic [8*BEAT_BYTES-1:0] comp_m_tdata_o,
  output logic [BEAT_BYTES-1:0]   comp_m_tkeep_o,
  output logic                    comp_m_tlast_o,
  output status_t                 comp_m_tuser_o,
  output logic                    comp_m_tvalid_o,
  input  logic                    comp_m_tready_i,
  // Decompress: block stream in.
  input  logic [8*BEAT_BYTES-1:0] decomp_s_tdata_i,
  input  logic [BEAT_BYTES-1:0]   decomp_s_tkeep_i,
  input  logic                    decomp_s_tlast_i,
  input  dtype_e                  decomp_s_tuser_i,
  input  logic                    decomp_s_tvalid_i,
  output logic                    decomp_s_tready_o,
  // Decompress: raw bytes out.
  output logic [8*BEAT_BYTES-1:0] decomp_m_tdata_o,
  output logic [BEAT_BYTES-1:0]   decomp_m_tkeep_o,
  output logic                    decomp_m_tlast_o,
  output status_t                 decomp_m_tuser_o,
  output logic                    decomp_m_tvalid_o,
  input  logic                    decomp_m_tready_i
);

  if (BEAT_BYTES != 16 && BEAT_BYTES != 32 && BEAT_BYTES != 64) begin : gen_bad_beat
    $error("planezip_engine: BEAT_BYTES must be 16, 32 or 64");
  end

  // Beat of the cores.
  localparam int unsigned Beat = BEAT_BYTES == 16 ? 32 : BEAT_BYTES;

  logic [8*Beat-1:0] cs_tdata, cm_tdata, ds_tdata, dm_tdata;
  logic [Beat-1:0]   cs_tkeep, cm_tkeep, ds_tkeep, dm_tkeep;
  logic              cs_tlast, cm_tlast, ds_tlast, dm_tlast;
  dtype_e            cs_tuser, ds_tuser;
  status_t           cm_tuser, dm_tuser;
  logic              cs_tvalid, cm_tvalid, ds_tvalid, dm_tvalid;
  logic              cs_tready, cm_tready, ds_tready, dm_tready;

  planezip_compressor #(
    .Beat (Beat)
  ) u_compressor (
    .clk_i,
    .rst_ni,
    .s_tdata_i  (cs_tdata),
    .s_tkeep_i  (cs_tkeep),
    .s_tlast_i  (cs_tlast),
    .s_tuser_i  (cs_tuser),
    .s_tvalid_i (cs_tvalid),
    .s_tready_o (cs_tready),
    .m_tdata_o  (cm_tdata),
    .m_tkeep_o  (cm_tkeep),
    .m_tlast_o  (cm_tlast),
    .m_tuser_o  (cm_tuser),
    .m_tvalid_o (cm_tvalid),
    .m_tready_i (cm_tready)
  );

  planezip_decompressor #(
    .Beat (Beat)
  ) u_decompressor (
    .clk_i,
    .rst_ni,
    .s_tdata_i  (ds_tdata),
    .s_tkeep_i  (ds_tkeep),
    .s_tlast_i  (ds_tlast),
    .s_tuser_i  (ds_tuser),
    .s_tvalid_i (ds_tvalid),
    .s_tready_o (ds_tready),
    .m_tdata_o  (dm_tdata),
    .m_tkeep_o  (dm_tkeep),
    .m_tlast_o  (dm_tlast),
    .m_tuser_o  (dm_tuser),
    .m_tvalid_o (dm_tvalid),
    .m_tready_i (dm_tready)
  );

  if (BEAT_BYTES == 16) begin : gen_narrow
    planezip_upsizer u_comp_upsizer (
      .clk_i,
      .rst_ni,
      .s_tdata_i  (comp_s_tdata_i),
      .s_tkeep_i  (comp_s_tkeep_i),
      .s_tlast_i  (comp_s_tlast_i),
      .s_tuser_i  (comp_s_tuser_i),
      .s_tvalid_i (comp_s_tvalid_i),
      .s_tready_o (comp_s_tready_o),
      .m_tdata_o  (cs_tdata),
      .m_tkeep_o  (cs_tkeep),
      .m_tlast_o  (cs_tlast),
      .m_tuser_o  (cs_tuser),
      .m_tvalid_o (cs_tvalid),
      .m_tready_i (cs_tready)
    );

    planezip_downsizer u_comp_downsizer (
      .clk_i,
      .rst_ni,
      .s_tdata_i  (cm_tdata),
      .s_tkeep_i  (cm_tkeep),
      .s_tlast_i  (cm_tlast),
      .s_tuser_i  (cm_tuser),
      .s_tvalid_i (cm_tvalid),
      .s_tready_o (cm_tready),
      .m_tdata_o  (comp_m_tdata_o),
      .m_tkeep_o  (comp_m_tkeep_o),
      .m_tlast_o  (comp_m_tlast_o),
      .m_tuser_o  (comp_m_tuser_o),
      .m_tvalid_o (comp_m_tvalid_o),
      .m_tready_i (comp_m_tready_i)
    );

    planezip_upsizer u_decomp_upsizer (
      .clk_i,
      .rst_ni,
      .s_tdata_i  (decomp_s_tdata_i),
      .s_tkeep_i  (decomp_s_tkeep_i),
      .s_tlast_i  (decomp_s_tlast_i),
      .s_tuser_i  (decomp_s_tuser_i),
      .s_tvalid_i (decomp_s_tvalid_i),
      .s_tready_o (decomp_s_tready_o),
      .m_tdata_o  (ds_tdata),
      .m_tkeep_o  (ds_tkeep),
      .m_tlast_o  (ds_tlast),
      .m_tuser_o  (ds_tuser),
      .m_tvalid_o (ds_tvalid),
      .m_tready_i (ds_tready)
    );

    planezip_downsizer u_decomp_downsizer (
      .clk_i,
      .rst_ni,
      .s_tdata_i  (dm_tdata),
      .s_tkeep_i  (dm_tkeep),
      .s_tlast_i  (dm_tlast),
      .s_tuser_i  (dm_tuser),
      .s_tvalid_i (dm_tvalid),
      .s_tready_o (dm_tready),
      .m_tdata_o  (decomp_m_tdata_o),
      .m_tkeep_o  (decomp_m_tkeep_o),
      .m_tlast_o  (decomp_m_tlast_o),
      .m_tuser_o  (decomp_m_tuser_o),
      .m_tvalid_o (decomp_m_tvalid_o),
      .m_tready_i (decomp_m_tready_i)
    );
  end else begin : gen_wide
    assign cs_tdata        = comp_s_tdata_i;
    assign cs_tkeep        = comp_s_tkeep_i;
    assign cs_tlast        = comp_s_tlast_i;
    assign cs_tuser        = comp_s_tuser_i;
    assign cs_tvalid       = comp_s_tvalid_i;
    assign comp_s_tready_o = cs_tready;

    assign comp_m_tdata_o  = cm_tdata;
    assign comp_m_tkeep_o  = cm_tkeep;
    assign comp_m_tlast_o  = cm_tlast;
    assign comp_m_tuser_o  = cm_tuser;
    assign comp_m_tvalid_o = cm_tvalid;
    assign cm_tready       = comp_m_tready_i;

    assign ds_tdata          = decomp_s_tdata_i;
    assign ds_tkeep          = decomp_s_tkeep_i;
    assign ds_tlast          = decomp_s_tlast_i;
    assign ds_tuser          = decomp_s_tuser_i;
    assign ds_tvalid         = decomp_s_tvalid_i;
    assign decomp_s_tready_o = ds_tready;

    assign decomp_m_tdata_o  = dm_tdata;
    assign decomp_m_tkeep_o  = dm_tkeep;
    assign decomp_m_tlast_o  = dm_tlast;
    assign decomp_m_tuser_o  = dm_tuser;
    assign decomp_m_tvalid_o = dm_tvalid;
    assign dm_tready         = decomp_m_tready_i;
  end

endmodule : planezip_engine
