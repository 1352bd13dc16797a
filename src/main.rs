//! The `harnessd` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    harnessd::cli::main()
}
