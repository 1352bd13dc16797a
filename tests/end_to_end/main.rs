//! The program as its users meet it: the real binary, real processes, a fresh home.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod agents;
mod agents_check;
mod audit;
mod bad_input;
#[path = "../schemas/checker.rs"]
mod checker;
mod checks;
mod contained;
mod control;
mod daemon;
mod down;
mod fleet;
mod hazards;
mod hostile;
mod limits;
mod newcomer;
mod notices;
mod once;
mod outcomes;
mod output;
mod parking;
mod planning;
mod pre_commit;
mod profiles;
mod projects;
mod protocol_schema;
mod receipts;
mod records;
mod reexec;
mod reload;
mod robust;
mod scenarios;
mod scenarios_trajectories;
mod schedules;
mod sessions;
mod shell;
mod slow;
mod stalls;
mod store;
mod support;
mod terminal;
mod tour;
mod trajectories;
mod traps;
mod validating;
mod writers;
