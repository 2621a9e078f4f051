//! The figures: what `planezip area` prints.

use serde::Serialize;

use super::netlist::{NetlistError, Part};
use super::pdk::Pdk;
use super::sta::{self, Path as TimingPath, TimingError};
use super::synth::{Options, Prepared, Rtl, SynthError, Synthesis};
use thiserror::Error;

/// The engine area that was published, mm².
pub const PUBLISHED_MM2: f64 = 0.036;

/// Figures that do not add up.
#[derive(Debug, Error)]
pub enum ReportError {
    /// Our sum and Yosys' own total differ.
    #[error("{pdk}: the parts sum to {parts_um2} um2 but Yosys counts {yosys_um2} um2 for the whole")]
    Sum {
        /// The PDK.
        pdk: String,
        /// Sum over all module instances.
        parts_um2: f64,
        /// Yosys' total.
        yosys_um2: f64,
    },
    /// No cells: nothing was synthesized.
    #[error("{pdk}: {top} has no cells at all")]
    Empty {
        /// The PDK.
        pdk: String,
        /// Top module.
        top: String,
    },
    /// Netlist not accounted for.
    #[error("{pdk}: {source}")]
    Netlist {
        /// The PDK.
        pdk: String,
        /// Why.
        source: NetlistError,
    },
    /// No timing.
    #[error("{pdk}: {source}")]
    Timing {
        /// The PDK.
        pdk: String,
        /// Why.
        source: TimingError,
    },
    /// Synthesis failed.
    #[error(transparent)]
    Synth(#[from] SynthError),
}

/// One module instance.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleRow {
    /// Module name in the source.
    pub module: String,
    /// Instance path.
    pub path: String,
    /// Library cells directly in it.
    pub cells: usize,
    /// Flops directly in it.
    pub flops: usize,
    /// Clock gates directly in it.
    pub clock_gates: usize,
    /// Area of its own cells, without modules below it, mm².
    pub cell_area_mm2: f64,
    /// The same in thousands of NAND2 areas.
    pub kge: f64,
    /// Share of flops, latches and clock gates in it, 0 to 1.
    pub sequential_share: f64,
    /// Longest path that ends in it, ns.
    pub critical_path_ns: Option<f64>,
}

/// One run's figures. All areas are cell areas after mapping, before layout.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// PDK name.
    pub pdk: String,
    /// `embedded` or `full`.
    pub liberty: &'static str,
    /// Liberty files read.
    pub liberty_files: Vec<String>,
    /// Process node, nm.
    pub node_nm: u32,
    /// Corner.
    pub corner: String,
    /// Top module.
    pub top: String,
    /// Beat width, bytes.
    pub beat_bytes: u32,
    /// Clock period the mapping aimed at, ns.
    pub clock_ns: f64,
    /// True if the hierarchy was dissolved.
    pub flat: bool,
    /// Total cell area, mm².
    pub cell_area_mm2: f64,
    /// Total in thousands of NAND2 areas.
    pub kge: f64,
    /// The NAND2 that kGE counts.
    pub nand2: String,
    /// Its area, um2.
    pub nand2_area_um2: f64,
    /// Area share of flops, latches and clock gates, 0 to 1.
    pub sequential_share: f64,
    /// Library cells.
    pub cells: usize,
    /// Flops.
    pub flops: usize,
    /// Clock gates.
    pub clock_gates: usize,
    /// Longest path with clock-to-output and setup, ns; no wires.
    pub critical_path_ns: f64,
    /// Clock period used for GB/s: the longer of `clock_ns` and `critical_path_ns`.
    pub period_ns: f64,
    /// Raw bytes per second per direction at that period, in 10^9.
    pub gb_per_s: f64,
    /// The published engine area, mm2.
    pub published_mm2: f64,
    /// `cell_area_mm2` over it.
    pub ratio_to_published: f64,
    /// Module instances; their areas sum to the total.
    pub modules: Vec<ModuleRow>,
    /// The longest path.
    pub critical_path: TimingPath,
    /// Place and route figures, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pnr: Option<super::pnr::Layout>,
}

/// Turns a synthesis into figures, checking that the parts make the whole.
pub fn report(
    pdk: &Pdk,
    prepared: &Prepared,
    rtl: &Rtl,
    options: &Options,
    beat_bytes: u32,
    synthesis: &Synthesis,
) -> Result<Report, ReportError> {
    let parts = synthesis
        .netlist
        .parts(&rtl.top, &prepared.library)
        .map_err(|source| ReportError::Netlist {
            pdk: pdk.name.clone(),
            source,
        })?;
    check_sum(pdk, &parts, synthesis.yosys_area_um2)?;
    if parts.iter().all(|p| p.cells == 0) {
        return Err(ReportError::Empty {
            pdk: pdk.name.clone(),
            top: rtl.top.clone(),
        });
    }
    let timing = sta::analyze(&synthesis.netlist, &rtl.top, &prepared.library, pdk).map_err(|source| {
        ReportError::Timing {
            pdk: pdk.name.clone(),
            source,
        }
    })?;
    let nand2_um2 = prepared
        .library
        .cells
        .get(&pdk.nand2)
        .and_then(|c| c.area_um2)
        .unwrap_or(f64::NAN);
    let kge = |um2: f64| um2 / nand2_um2 / 1000.0;
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let total: f64 = parts.iter().map(|p| p.area_um2).sum();
    let sequential: f64 = parts.iter().map(|p| p.sequential_um2).sum();
    let period_ns = options.clock_ns.max(timing.worst.ns);
    Ok(Report {
        pdk: pdk.name.clone(),
        liberty: prepared.origin,
        liberty_files: prepared.files.iter().map(|f| f.display().to_string()).collect(),
        node_nm: pdk.node_nm,
        corner: pdk.corner.clone(),
        top: rtl.top.clone(),
        beat_bytes,
        clock_ns: options.clock_ns,
        flat: options.flat,
        cell_area_mm2: total * 1e-6,
        kge: kge(total),
        nand2: pdk.nand2.clone(),
        nand2_area_um2: nand2_um2,
        sequential_share: share(sequential, total),
        cells: parts.iter().map(|p| p.cells).sum(),
        flops: parts.iter().map(|p| p.flops).sum(),
        clock_gates: parts.iter().map(|p| p.clock_gates).sum(),
        critical_path_ns: timing.worst.ns,
        period_ns,
        gb_per_s: f64::from(beat_bytes) / period_ns,
        published_mm2: PUBLISHED_MM2,
        ratio_to_published: total * 1e-6 / PUBLISHED_MM2,
        modules: parts
            .iter()
            .map(|p| ModuleRow {
                module: p.module.clone(),
                path: p.path.clone(),
                cells: p.cells,
                flops: p.flops,
                clock_gates: p.clock_gates,
                cell_area_mm2: p.area_um2 * 1e-6,
                kge: kge(p.area_um2),
                sequential_share: share(p.sequential_um2, p.area_um2),
                critical_path_ns: timing.per_part.get(&p.path).copied(),
            })
            .collect(),
        critical_path: timing.worst,
        pnr: None,
    })
}

fn check_sum(pdk: &Pdk, parts: &[Part], yosys_um2: f64) -> Result<(), ReportError> {
    let sum: f64 = parts.iter().map(|p| p.area_um2).sum();
    // Yosys prints six decimals; anything above rounding is a cell that one of the two did not count.
    if (sum - yosys_um2).abs() > 1e-6 * sum.abs() + 1e-3 || !yosys_um2.is_finite() {
        return Err(ReportError::Sum {
            pdk: pdk.name.clone(),
            parts_um2: sum,
            yosys_um2,
        });
    }
    Ok(())
}
