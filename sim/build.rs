//! Verilates `rtl/` for each beat width and compiles the models and the bridge.
//!
//! Lint is not done here (`make lint` does it): a warning never stops this build.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

#[path = "build/verilator.rs"]
mod verilator;

use verilator::Verilator;

const BEAT_WIDTHS: [u32; 3] = [16, 32, 64];

fn main() {
    if let Err(e) = build() {
        for line in e.to_string().lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1);
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let sim = PathBuf::from(env("CARGO_MANIFEST_DIR")?);
    let repo = sim.parent().ok_or("the crate has no parent folder")?;
    let rtl = repo.join("rtl");
    let out = PathBuf::from(env("OUT_DIR")?);

    for input in ["build.rs", "build", "cpp", "rtl", "src/lib.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    println!("cargo::rerun-if-env-changed=PLANEZIP_VERILATOR");
    // The folder covers files that are new or gone as well.
    println!("cargo::rerun-if-changed={}", rtl.display());

    let named = std::env::var_os("PLANEZIP_VERILATOR").filter(|v| !v.is_empty());
    let tool = verilator::find(
        repo,
        named.as_deref().map(Path::new),
        std::env::var_os("PATH").as_deref(),
    )
    .map_err(|e| e.to_string())?;
    println!("cargo::rerun-if-changed={}", tool.program.display());
    if tool.version.is_none() {
        println!(
            "cargo::warning=cannot tell the version of {}; {} or newer is needed",
            tool.program.display(),
            verilator::NEEDED
        );
    }

    let sources = rtl_sources(&rtl)?;
    let package = sources
        .iter()
        .find(|p| p.ends_with("planezip_pkg.sv"))
        .ok_or("rtl/planezip.f does not list planezip_pkg.sv")?
        .clone();
    let loopback = vec![package, sim.join("rtl/planezip_loopback.sv")];

    let mut tops = Vec::new();
    for beat in BEAT_WIDTHS {
        tops.push(Top {
            module: "planezip_engine",
            prefix: format!("Vengine{beat}"),
            beat,
            sources: sources.clone(),
        });
        tops.push(Top {
            module: "planezip_loopback",
            prefix: format!("Vloopback{beat}"),
            beat,
            sources: loopback.clone(),
        });
    }
    let models = out.join("models");
    let results: Vec<Result<(), String>> = thread::scope(|s| {
        let jobs: Vec<_> = tops
            .iter()
            .map(|top| s.spawn(|| top.verilate(&tool, &models).map_err(|e| e.to_string())))
            .collect();
        jobs.into_iter()
            .map(|j| {
                j.join()
                    .unwrap_or_else(|_| Err("a verilation thread panicked".into()))
            })
            .collect()
    });
    results.into_iter().collect::<Result<(), String>>()?;

    compile(&tool, &sim, &models, &tops)
}

struct Top {
    module: &'static str,
    prefix: String,
    beat: u32,
    sources: Vec<PathBuf>,
}

impl Top {
    fn verilate(&self, tool: &Verilator, models: &Path) -> Result<(), Box<dyn Error>> {
        let dir = models.join(&self.prefix);
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        let output = tool
            .command()
            .args(["--cc", "-O3", "--assert", "--trace-fst", "-Wno-fatal"])
            // Uninitialised state is random, by the seed given at run time.
            .args(["--x-assign", "unique", "--x-initial", "unique"])
            .args(["--top-module", self.module])
            .arg(format!("-GBEAT_BYTES={}", self.beat))
            .args(["--prefix", &self.prefix, "--Mdir"])
            .arg(&dir)
            .args(&self.sources)
            .output()
            .map_err(|e| format!("cannot run {}: {e}", tool.program.display()))?;
        if !output.status.success() {
            return Err(format!(
                "Verilator failed on {} at {} bytes per beat ({})\n{}{}",
                self.module,
                self.beat,
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )
            .into());
        }
        Ok(())
    }
}

/// The files of `rtl/planezip.f`, in its order.
fn rtl_sources(rtl: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let list = rtl.join("planezip.f");
    let text = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let files = text
        .lines()
        .map(|l| l.split("//").next().unwrap_or("").trim())
        .filter(|l| !l.is_empty())
        .map(|l| rtl.join(l))
        .collect();
    Ok(files)
}

fn compile(tool: &Verilator, sim: &Path, models: &Path, tops: &[Top]) -> Result<(), Box<dyn Error>> {
    let configure = |build: &mut cc::Build| {
        build
            .cpp(true)
            .std("c++17")
            // No debug information: it doubles the build time, and the waveform is the way to debug RTL.
            .debug(false)
            .warnings(false)
            .flag_if_supported("-faligned-new")
            .flag("-include")
            .flag(sim.join("cpp/stderr_messages.h").display().to_string())
            .include(sim.join("cpp"))
            .include(&tool.include)
            .include(tool.include.join("vltstd"))
            .define("VERILATOR", "1")
            .define("VM_COVERAGE", "0")
            .define("VM_SC", "0")
            .define("VM_TIMING", "0")
            .define("VM_TRACE", "1")
            .define("VM_TRACE_FST", "1")
            .define("VM_TRACE_SAIF", "0")
            .define("VM_TRACE_VCD", "0")
            // cpp/dut.cpp defines these: they throw instead of ending the process.
            .define("VL_USER_FATAL", None)
            .define("VL_USER_FINISH", None)
            .define("VL_USER_STOP", None);
        for var in ["DEP_Z_INCLUDE", "DEP_LZ4_INCLUDE"] {
            if let Some(paths) = std::env::var_os(var) {
                build.includes(std::env::split_paths(&paths));
            }
        }
        for top in tops {
            build.include(models.join(&top.prefix));
        }
    };

    // Order matters to the linker: users before what they use.
    let mut bridge = cxx_build::bridge("src/lib.rs");
    configure(&mut bridge);
    bridge
        .opt_level(2)
        .file("cpp/dut.cpp")
        .try_compile("planezip_sim_bridge")?;

    // Set-up and tracing code runs seldom and is most of the text; only the evaluation is worth optimising.
    let mut fast = cc::Build::new();
    let mut slow = cc::Build::new();
    configure(&mut fast);
    configure(&mut slow);
    let (mut any_fast, mut any_slow) = (false, false);
    for top in tops {
        let mut files: Vec<PathBuf> = fs::read_dir(models.join(&top.prefix))?
            .map(|e| e.map(|e| e.path()))
            .collect::<Result<_, _>>()?;
        files.sort();
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "cpp")) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.contains("__Slow") || name.contains("__Trace") || name.contains("__Syms") {
                slow.file(file);
                any_slow = true;
            } else {
                fast.file(file);
                any_fast = true;
            }
        }
    }
    if !any_fast || !any_slow {
        return Err("Verilator wrote no C++ files".into());
    }
    fast.opt_level(2).try_compile("planezip_sim_models")?;
    slow.opt_level(0).try_compile("planezip_sim_models_slow")?;

    let mut runtime = cc::Build::new();
    configure(&mut runtime);
    for file in ["verilated.cpp", "verilated_fst_c.cpp", "verilated_threads.cpp"] {
        runtime.file(tool.include.join(file));
    }
    runtime.opt_level(2).try_compile("planezip_sim_runtime")?;
    Ok(())
}

fn env(name: &str) -> Result<String, Box<dyn Error>> {
    std::env::var(name).map_err(|e| format!("{name}: {e}").into())
}
