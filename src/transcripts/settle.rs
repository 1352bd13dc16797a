//! Bringing the account up to date where no daemon does.

use std::fmt;

use camino::Utf8Path;

use super::follow::{Follower, Subject, Warning};
use crate::base::Wall;
use crate::store::{Store, StoreError, Unsettled};
use crate::trajectory::Needs;

impl Subject {
    /// What is left to be read of a run.
    #[must_use]
    pub fn left(one: Unsettled) -> Self {
        let Unsettled { run, harness, trail, from, to } = one;
        Self { run, harness, trail, from, to, processes: Vec::new(), needs: Needs::Usage }
    }
}

/// Reads what runs have left unread, and writes it into the account. Where that cannot be written everything
/// stays as it is; the answer says so.
///
/// # Errors
/// If the store cannot be read.
pub fn settle(state: &Utf8Path, now: Wall) -> Result<Vec<Warning>, StoreError> {
    let Some(store) = Store::open_read(state)? else { return Ok(Vec::new()) };
    let unsettled = store.unsettled()?;
    if unsettled.is_empty() {
        return Ok(Vec::new());
    }
    let subjects: Vec<Subject> = unsettled.into_iter().map(Subject::left).collect();
    // First what may be refused: reading may take long.
    let mut writer = match Store::open(state) {
        Ok(writer) => writer,
        Err(cause) => return Ok(vec![behind(&cause)]),
    };
    let mut follower = Follower::new(state);
    let mut warnings = Vec::new();
    loop {
        let look = follower.look(&subjects, now);
        warnings.extend(look.warnings);
        if let Err(cause) = writer.commit_progress(&look.progress) {
            warnings.push(behind(&cause));
            break;
        }
        if !look.more {
            break;
        }
    }
    Ok(warnings)
}

fn behind(cause: &StoreError) -> Warning {
    Warning {
        path: cause.path.to_string(),
        message: format!("what agents wrote since cannot be counted: {}", cause.problem),
        store: None,
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
