//! The yardstick of `harnessd validate`: reads one TOML file, parses it with `toml_edit` keeping
//! spans, and ends. Everything that validation costs beyond this is harnessd's own.
//!
//! Run by `benches/run.py`. Without a file, as under `cargo bench`, it measures nothing.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1).filter(|word| !word.starts_with('-')) else {
        return ExitCode::SUCCESS;
    };
    let parsed = std::fs::read_to_string(file).map(toml_edit::Document::parse);
    match parsed {
        Ok(Ok(document)) if !document.is_empty() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
