//! The control group of one run: made, limited, entered.
//!
//! Invariant: a group is entered only once all of its limits are in force.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use camino::Utf8Path;
use thiserror::Error;

use super::{Containment, make_directory};
use crate::base::RunId;
use crate::host;

/// What a run may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory_max: Option<u64>,
    /// Its share of the processor, from 1 to 10000; one that asks for nothing has 100.
    pub cpu_weight: Option<u32>,
}

impl Limits {
    /// Whether anything is limited.
    #[must_use]
    pub const fn any(&self) -> bool {
        self.memory_max.is_some() || self.cpu_weight.is_some()
    }

    /// The keys that are set, as a user writes them.
    #[must_use]
    pub fn keys(&self) -> String {
        let memory = self.memory_max.map(|_| "`memory_max`");
        let cpu = self.cpu_weight.map(|_| "`cpu_weight`");
        memory.into_iter().chain(cpu).collect::<Vec<_>>().join(" and ")
    }
}

/// Why a run has no group, or not the one that it should have.
#[derive(Debug, Error)]
pub enum GroupError {
    /// The directory cannot be made, or its door is shut.
    #[error("control group: {}", host::cause(.0))]
    Unusable(#[source] io::Error),
    /// The kernel, or whoever delegated the group, keeps the controller back.
    #[error(
        "`{key}` needs the control group controller `{controller}`, which was not delegated to the daemon"
    )]
    NoController {
        /// The key that wants it.
        key: &'static str,
        /// Which.
        controller: &'static str,
    },
    /// The value was not accepted.
    #[error("`{key}` cannot be enforced: {}", host::cause(cause))]
    Limit {
        /// Which one.
        key: &'static str,
        /// What the system says.
        cause: io::Error,
    },
}

/// The way into a group, for one child.
#[derive(Debug)]
pub struct Entry {
    pub(in crate::host) procs: OwnedFd,
    /// Whether a child that cannot enter is not started.
    pub(in crate::host) required: bool,
}

impl Containment {
    /// Makes the group of a run and puts its limits in force.
    ///
    /// # Errors
    /// [`GroupError`]; no group is left then.
    pub fn prepare(&self, run: RunId, limits: Limits) -> Result<Entry, GroupError> {
        let directory = self.of(run);
        let made = make_directory(&directory).map_err(GroupError::Unusable);
        let entry = made.and_then(|()| self.furnish(&directory, limits));
        if entry.is_err() {
            // The error that is returned matters more than an empty directory.
            let _removed = self.remove(run);
        }
        entry
    }

    fn furnish(&self, directory: &Utf8Path, limits: Limits) -> Result<Entry, GroupError> {
        let put = |key: &'static str, file: &str, value: &str| {
            write(&directory.join(file), value).map_err(|cause| GroupError::Limit { key, cause })
        };
        if let Some(bytes) = limits.memory_max {
            let key = "memory_max";
            self.enable(key, "memory")?;
            put(key, "memory.max", &bytes.to_string())?;
            // The rest of a run is worth nothing without the process that was killed, and what is
            // killed is this run alone.
            put(key, "memory.oom.group", "1")?;
        }
        if let Some(weight) = limits.cpu_weight {
            let key = "cpu_weight";
            self.enable(key, "cpu")?;
            put(key, "cpu.weight", &weight.to_string())?;
        }
        let door = OpenOptions::new().write(true).open(directory.join("cgroup.procs"));
        let procs = door.map_err(GroupError::Unusable)?.into();
        Ok(Entry { procs, required: limits.any() })
    }

    /// Hands a controller out to the groups of runs, once one of them wants it: accounting costs.
    fn enable(&self, key: &'static str, controller: &'static str) -> Result<(), GroupError> {
        let lists = |file: &str| -> io::Result<bool> {
            let text = std::fs::read_to_string(self.root.join(file))?;
            Ok(text.split_ascii_whitespace().any(|word| word == controller))
        };
        let failed = |cause| GroupError::Limit { key, cause };
        if lists("cgroup.subtree_control").map_err(failed)? {
            return Ok(());
        }
        if !lists("cgroup.controllers").map_err(failed)? {
            return Err(GroupError::NoController { key, controller });
        }
        write(&self.root.join("cgroup.subtree_control"), &format!("+{controller}")).map_err(failed)
    }
}

/// Writes to a file that is there: the kernel's, so in one piece.
pub(super) fn write(path: &Utf8Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}
