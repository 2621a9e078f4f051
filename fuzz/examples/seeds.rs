//! Writes the seeds to `fuzz/seeds/`. What fuzzing has found there stays.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    for seed in planezip_fuzz::seeds::seeds(&fuzz.join("../tests/data/sample"))? {
        let folder = fuzz.join("seeds").join(seed.target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(seed.name), seed.bytes)?;
    }
    Ok(())
}
