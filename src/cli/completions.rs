//! `planezip completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::output;

const AFTER_HELP: &str = "\
Example:
  planezip completions bash > ~/.local/share/bash-completion/completions/planezip

Exit codes:
  0  all held
  2  usage or environment (an unknown shell)";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "planezip", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}
