//! `planezip pdk`.

use std::path::PathBuf;

use anyhow::Context as _;
use planezip::area::pdk::{self, Origin, ROOT_VARIABLE, Root};
use planezip::area::synth::Prepared;
use planezip::area::table;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  planezip pdk
  PLANEZIP_PDK_ROOT=~/pdks planezip pdk --json";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Fit the embedded cell table of this PDK from its full Liberty files and print it
    #[arg(long, value_name = "PDK", conflicts_with = "json")]
    fit: Option<String>,
    /// With --fit: write the table to this file
    #[arg(short, long, requires = "fit")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let root = Root::from_env()?;
    if let Some(name) = &args.fit {
        return fit(name, root.as_ref(), args.output);
    }
    let mut rows = Vec::new();
    for p in pdk::all() {
        let found = p.locate(root.as_ref());
        let looked = p.looked(root.as_ref());
        let (status, files, why) = match &found {
            Ok(Origin::Full(f)) => ("full", f.clone(), None),
            Ok(Origin::Embedded(_)) => ("embedded", Vec::new(), None),
            Err(e) => ("missing", Vec::new(), Some(e.to_string())),
        };
        rows.push((p, status, files, looked, why));
    }
    if args.json {
        let list: Vec<_> = rows
            .iter()
            .map(|(p, status, files, looked, why)| {
                json!({
                    "pdk": p.name, "title": p.title, "node_nm": p.node_nm, "corner": p.corner, "liberty": status,
                    "files": files, "looked_at": looked, "embedded_table": p.table.is_some(), "reason": why,
                    "nand2": p.nand2, "get": p.get,
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    match &root {
        Some(r) => println!("{ROOT_VARIABLE} = {}", r.path.display()),
        None => println!(
            "{ROOT_VARIABLE} is not set: full Liberty files are looked for only where system packages put them"
        ),
    }
    for (p, status, files, looked, _) in &rows {
        println!("\n{}: {}, {} nm, {}", p.name, p.title, p.node_nm, p.corner);
        match *status {
            "full" => {
                println!("  found: full Liberty");
                for f in files {
                    println!("    {}", f.display());
                }
            }
            "embedded" => {
                println!("  found: embedded cell table (set {ROOT_VARIABLE} to use the full Liberty)")
            }
            _ => println!("  not found"),
        }
        if *status != "full" {
            println!("  looked at: {}", looked.join("\n             "));
            println!("  get it: {}", p.get);
        }
    }
    Ok(())
}

fn fit(name: &str, root: Option<&Root>, output: Option<PathBuf>) -> anyhow::Result<()> {
    let p = pdk::by_name(name)?;
    let origin = p.locate(root)?;
    anyhow::ensure!(
        matches!(origin, Origin::Full(_)),
        "{name}: fitting needs the full Liberty files: set {ROOT_VARIABLE}"
    );
    let text = table::fit(p, &Prepared::new(p, &origin)?.library);
    match output {
        None => print!("{text}"),
        Some(path) => {
            let dir = path.parent().filter(|d| !d.as_os_str().is_empty());
            let mut tmp = tempfile::NamedTempFile::new_in(dir.unwrap_or(".".as_ref()))
                .with_context(|| path.display().to_string())?;
            std::io::Write::write_all(&mut tmp, text.as_bytes())?;
            tmp.persist(&path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}
