//! The daemon: one thread that owns all state and performs what the core decides.
//!
//! Invariant: the loop never waits. What may take long is done by workers, which
//! take values, own no state and answer with one event.

mod answers;
mod assembly;
mod boot;
mod checks;
mod children;
mod clients;
mod containment;
mod effects;
mod errands;
mod error;
mod following;
mod foreground;
mod handover;
mod inquiries;
mod lost;
mod notices;
mod output;
mod parking;
mod projects;
mod receipts;
mod recording;
mod reload;
mod requests;
mod schedule_timer;
mod sessions;
mod signals;
mod source;
mod state;
mod surveys;
mod versions;
mod weighing;
mod workers;

pub use boot::{Options, run};
pub use error::DaemonError;
pub use foreground::{Foreground, foreground};
pub use handover::{Ready, probe};
