//! Layer 6: what may be wrong around a daemon (CTL-9).
//!
//! One file a section, each a function from `Sight` to findings, listed in `SECTIONS`. Invariants: it
//! reports and never repairs, makes no file and starts nothing; it judges for the process that it is
//! called in, so the daemon calls it where one answers.

mod agents;
mod clock;
mod configuration;
mod containment;
mod daemon;
mod disk;
mod harnesses;
mod permissions;
mod projects;
mod said;
mod service;
mod settings;
mod store;
mod transcripts;

use camino::Utf8PathBuf;

use said::Said;

use crate::base::Wall;
use crate::launch::Surroundings;
use crate::loader::{Request, UnitState};
use crate::wire::{AgentState, ConfigState, DoctorView, Finding, Judge, Section};

/// What is examined.
#[derive(Debug, Clone)]
pub struct Patient {
    /// What is to be read of the configuration.
    pub request: Request,
    /// The state directory.
    pub state: Utf8PathBuf,
    /// Whether `--state-dir` names it.
    pub state_by_flag: bool,
    /// The control socket, on which a daemon listens or would.
    pub socket: Utf8PathBuf,
    /// Whether `--socket` names it.
    pub socket_by_flag: bool,
    /// The agents, asked for their versions.
    pub agents: Vec<AgentState>,
    /// What the daemon says of itself; none: no daemon answers.
    pub daemon: Option<DaemonFacts>,
    /// Why a daemon that may be there could not be asked.
    pub unreached: Option<Finding>,
}

/// What a daemon says of itself.
#[derive(Debug, Clone)]
pub struct DaemonFacts {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When it began.
    pub started_at: Wall,
    /// Whether what its files say is in force.
    pub configuration: ConfigState,
    /// The projects that it has.
    pub projects: Vec<UnitState>,
    /// What is wrong with it, in words.
    pub trouble: Vec<String>,
    /// The control group that its runs get theirs in, or why they get none.
    pub group: Result<Utf8PathBuf, String>,
}

/// All that a section looks at.
#[derive(Clone, Copy)]
struct Sight<'a> {
    patient: &'a Patient,
    said: &'a Said,
    around: &'a Surroundings,
}

/// What a section finds.
type Look = fn(&Sight<'_>) -> Vec<Finding>;

/// What is looked at, in the order in which it is told: a new section is one line here.
const SECTIONS: &[(&str, Look)] = &[
    ("daemon", daemon::look),
    ("configuration", configuration::look),
    ("projects", projects::look),
    ("settings", settings::look),
    ("state store", store::look),
    ("permissions", permissions::look),
    ("disk", disk::look),
    ("agents", agents::look),
    ("transcripts", transcripts::look),
    ("harnesses", harnesses::look),
    ("control groups", containment::look),
    ("service", service::look),
    ("clock", clock::look),
];

/// Looks at everything, in the environment of this process.
#[must_use]
pub fn examine(patient: &Patient, around: &Surroundings) -> DoctorView {
    let said = Said::now(&patient.request, &around.home);
    let sight = Sight { patient, said: &said, around };
    let section = |(name, look): &(&str, Look)| Section { name: (*name).to_owned(), findings: look(&sight) };
    let judged_by = if patient.daemon.is_some() { Judge::Daemon } else { Judge::Caller };
    DoctorView { judged_by, sections: SECTIONS.iter().map(section).collect() }
}
