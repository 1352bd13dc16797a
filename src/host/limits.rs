//! The descriptor limit: raised for the daemon, given back to its children.
//!
//! Invariant: a child starts with the limits that the daemon was started with (LIF-7).

use std::io;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use serde::{Deserialize, Serialize};

/// The limits that this process was started with, as far as it changes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InheritedLimits {
    descriptors: Option<(rlim_t, rlim_t)>,
}

impl InheritedLimits {
    /// The limits as they stand; to be taken before anything raises them.
    ///
    /// # Errors
    /// If the system does not tell them.
    pub fn current() -> io::Result<Self> {
        Ok(Self { descriptors: Some(getrlimit(Resource::RLIMIT_NOFILE)?) })
    }

    /// Puts them in force again. Safe between fork and exec: one system call, no allocation.
    pub(crate) fn restore(self) -> io::Result<()> {
        match self.descriptors {
            Some((soft, hard)) => Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?),
            None => Ok(()),
        }
    }
}

/// Raises the number of descriptors that this process may hold as far as it
/// may, and returns what it was started with, for its children.
///
/// # Errors
/// If the limit can be neither read nor raised.
pub fn raise_descriptors() -> io::Result<InheritedLimits> {
    let inherited = InheritedLimits::current()?;
    if let Some((soft, hard)) = inherited.descriptors
        && soft < hard
    {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(inherited)
}
