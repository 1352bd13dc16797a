//! A run's row with its instants to the microsecond.
//!
//! People are shown milliseconds, and so does the row's own JSON; what is recorded at the run's end must
//! be what was recorded at its start.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::{Wall, micros};
use crate::wire::Run;

/// A row and, once more, its instants.
#[derive(Serialize, Deserialize)]
struct Written {
    row: Run,
    #[serde(default)]
    instants: Instants,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Instants {
    #[serde(with = "micros::option")]
    planned_at: Option<Wall>,
    #[serde(with = "micros::option")]
    started_at: Option<Wall>,
    #[serde(with = "micros::option")]
    ended_at: Option<Wall>,
    #[serde(with = "micros::option")]
    until: Option<Wall>,
}

impl Written {
    fn of(run: &Run) -> Self {
        let Run { planned_at, started_at, ended_at, until, .. } = *run;
        Self { row: run.clone(), instants: Instants { planned_at, started_at, ended_at, until } }
    }

    fn read(self) -> Run {
        let Self { row, instants: exact } = self;
        Run {
            planned_at: exact.planned_at.or(row.planned_at),
            started_at: exact.started_at.or(row.started_at),
            ended_at: exact.ended_at.or(row.ended_at),
            until: exact.until.or(row.until),
            ..row
        }
    }
}

pub(in crate::supervisor) fn serialize<S: Serializer>(run: &Run, serializer: S) -> Result<S::Ok, S::Error> {
    Written::of(run).serialize(serializer)
}

pub(in crate::supervisor) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Run, D::Error> {
    Written::deserialize(deserializer).map(Written::read)
}

/// The same for a run that may be missing.
pub(in crate::supervisor) mod option {
    use super::Written;
    use crate::wire::Run;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands a reference to this")]
    pub(in crate::supervisor) fn serialize<S: Serializer>(
        run: &Option<Run>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        run.as_ref().map(Written::of).serialize(serializer)
    }

    pub(in crate::supervisor) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Run>, D::Error> {
        Ok(Option::<Written>::deserialize(deserializer)?.map(Written::read))
    }
}
