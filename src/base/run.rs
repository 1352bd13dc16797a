//! What a run is called, why it began, how it ended, and the states of a harness.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::random::Random;
use super::time::Wall;
use super::word::{UnknownWord, words};

words! {
    /// The state of a harness (LIF-1).
    State as "state" {
        /// Nothing runs and nothing is due to start.
        Stopped = "stopped",
        /// A start was decided; the process does not run yet.
        Starting = "starting",
        /// The process runs.
        Running = "running",
        /// In a crash loop: running, or waiting to start again.
        Degraded = "degraded",
        /// Waiting to start again.
        Backoff = "backoff",
        /// Told to stop, or its leftovers are being ended.
        Stopping = "stopping",
        /// Given up, or could not be started.
        Failed = "failed",
    }
}

words! {
    /// How a run ended (RUN-0).
    Outcome as "outcome" {
        /// It ended as it should.
        Ok = "ok",
        /// It ended by a non-zero status or a signal, or states that it failed.
        Failed = "failed",
        /// The agent met a limit of its account or its provider.
        RateLimited = "rate-limited",
        /// The provider could not take the request.
        Overloaded = "overloaded",
        /// The agent is not logged in, or its login is refused.
        AuthRequired = "auth-required",
        /// It used up its turns.
        MaxTurns = "max-turns",
        /// It used up its budget.
        Budget = "budget",
        /// The agent ended well, its `check` did not.
        CheckFailed = "check-failed",
        /// It was ended at its `timeout`.
        Timeout = "timeout",
        /// It wrote nothing for too long.
        NoOutput = "no-output",
        /// It was asked to stop.
        Stopped = "stopped",
        /// It was stopped so that a later firing could start.
        Replaced = "replaced",
        /// It could not be started.
        SpawnFailed = "spawn-failed",
        /// Its slot fell due while the harness was busy or stopping.
        Skipped = "skipped",
        /// Its slot fell due while nobody could run it, and is not made up for.
        Missed = "missed",
        /// The daemon went away while it ran.
        Lost = "lost",
    }
}

impl Outcome {
    /// Whether something did not go as it should. Nothing went wrong with a run that somebody or a
    /// later firing ended, nor with a slot that was skipped because the run before it was still active.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Ok | Self::Stopped | Self::Replaced | Self::Skipped => false,
            Self::Failed
            | Self::RateLimited
            | Self::Overloaded
            | Self::AuthRequired
            | Self::MaxTurns
            | Self::Budget
            | Self::CheckFailed
            | Self::Timeout
            | Self::NoOutput
            | Self::SpawnFailed
            | Self::Missed
            | Self::Lost => true,
        }
    }
}

words! {
    /// Why a run began (RUN-1).
    Trigger as "trigger" {
        /// The daemon started, or a reload added an enabled harness.
        Boot = "boot",
        /// Its schedule fell due.
        Schedule = "schedule",
        /// Somebody asked for it.
        Manual = "manual",
        /// Its restart policy.
        Restart = "restart",
        /// A missed slot was made up for.
        CatchUp = "catch-up",
        /// `harnessd once`.
        Once = "once",
        /// A tool call through the MCP facade.
        Mcp = "mcp",
    }
}

/// How a process ended, as the kernel states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitStatus {
    /// It exited with this status.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// The unique id of a run: a UUID of version 7, so that ids sort by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Uuid);

impl RunId {
    /// The id as a UUID.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.0
    }

    /// When its run was decided, to the millisecond; none: it is no id that this program made.
    #[must_use]
    pub fn decided_at(self) -> Option<Wall> {
        let milliseconds = i64::try_from(self.0.as_u128() >> 80).ok()?;
        (self.0.get_version_num() == 7).then_some(Wall(milliseconds * 1000))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for RunId {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Uuid::try_parse(text).map(Self).map_err(|_| UnknownWord::new("run id", text))
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl JsonSchema for RunId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RunId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "uuid"})
    }
}

impl Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Makes run ids that rise strictly, even when the clock stands still or goes back.
///
/// Pure: its randomness is the seed that the shell hands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIds {
    random: Random,
    last_ms: u64,
    count: u16,
}

impl RunIds {
    /// A source of ids from the shell's entropy.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), last_ms: 0, count: 0 }
    }

    /// The next id, for a run that is decided at `at`.
    pub fn next(&mut self, at: Wall) -> RunId {
        let ms = u64::try_from(at.0 / 1000).unwrap_or(0);
        if ms > self.last_ms {
            (self.last_ms, self.count) = (ms, 0);
        } else if self.count == 0x0fff {
            (self.last_ms, self.count) = (self.last_ms + 1, 0);
        } else {
            self.count += 1;
        }
        let mut bytes = [0; 10];
        bytes[..2].copy_from_slice(&self.count.to_be_bytes());
        bytes[2..].copy_from_slice(&self.random.next().to_be_bytes());
        RunId(uuid::Builder::from_unix_timestamp_millis(self.last_ms, &bytes).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, RunId, RunIds};
    use crate::base::Wall;

    /// RUN-1: ids are unique and sort in the order of their making.
    #[test]
    fn run_ids_rise_though_the_clock_goes_back() {
        let mut ids = RunIds::new(7);
        let mut made: Vec<RunId> = Vec::new();
        for at in [5_000_000, 5_000_000, 4_000_000, 6_000_000] {
            made.extend((0..5000).map(|_| ids.next(Wall(at))));
        }
        assert!(made.windows(2).all(|pair| pair[0] < pair[1] && pair[0].to_string() < pair[1].to_string()));
        assert_eq!(made[0].to_string().parse(), Ok(made[0]));
        assert_eq!(made[0].decided_at(), Some(Wall(5_000_000)));
        assert_eq!(RunId(uuid::Uuid::nil()).decided_at(), None);
    }

    #[test]
    fn words_read_back() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.as_str().parse(), Ok(*outcome));
        }
        assert_eq!("good".parse::<Outcome>().unwrap_err().to_string(), "`good` is no outcome");
    }
}
