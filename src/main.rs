//! The `harnessd` program.
fn main() {}
