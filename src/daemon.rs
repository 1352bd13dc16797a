//! The daemon: one thread that owns all state and performs what the core decides.
//!
//! Invariant: the loop never waits. What may take long is done by workers, which
//! take values, own no state and answer with one event.

mod answers;
mod assembly;
mod boot;
mod children;
mod clients;
mod containment;
mod effects;
mod error;
mod foreground;
mod lost;
mod output;
mod reload;
mod requests;
mod schedule_timer;
mod signals;
mod source;
mod state;
mod workers;

pub use boot::{Options, run};
pub use error::DaemonError;
pub use foreground::{Foreground, foreground};
