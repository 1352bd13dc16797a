//! The program as its users meet it: the real binary, real processes, a fresh home.

mod bad_input;
mod control;
mod daemon;
mod fleet;
mod once;
mod output;
mod reload;
mod scenarios;
mod schedules;
mod support;
mod terminal;
mod traps;
