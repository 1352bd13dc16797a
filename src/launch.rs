//! From a harness's definition to the process that a start executes.
//!
//! One code path for the daemon, `once`, `plan`, `skills` and `describe`: they differ in
//! what they do with the result, never in how it is made. Invariant: nothing is
//! executed here, and a failed preparation leaves the agent unlaunched.

mod agents;
mod beside;
mod draft;
mod environment;
mod error;
mod plan;
mod prepare;
mod skills;
#[cfg(test)]
mod tests;
mod trail;
mod trust;

pub use agents::{FoundAgent, agents, program, version_line};
pub use beside::{Conditions, check_spec, notice_spec, version_spec};
pub use draft::{Chosen, Draft, draft, is_quick, shown_command, workdir};
pub use environment::{Surroundings, log_file, login_files};
pub use error::LaunchError;
pub use plan::plan;
pub use prepare::{Prepared, prepare};
pub use skills::{skills_job, skills_view, sync_skills, withdraw_skills};
pub use trail::peer;
