//! How a run ended, and in which words.
//!
//! Invariant: every outcome but `ok` comes with a cause.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::signal::signal_name;
use super::step::End;
use crate::base::{ExitStatus, Outcome, Report, Wall, duration_text, micros};

/// By what a run crossed its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overspent {
    /// By the tokens of its prompts and completions.
    Tokens {
        /// So many it used.
        spent: u64,
        /// So many it may use.
        most: u64,
    },
    /// By what its agent states as its cost, in millionths of a dollar.
    Cost {
        /// So much it cost.
        spent: u64,
        /// So much it may cost.
        most: u64,
    },
}

impl Overspent {
    /// By these dollars.
    #[must_use]
    pub fn dollars(spent: f64, most: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
        let millionths = |dollars: f64| (dollars * 1e6).round() as u64;
        Self::Cost { spent: millionths(spent), most: millionths(most) }
    }

    fn cause(self) -> String {
        let dollars = |millionths: u64| {
            let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
            let cents = text.len() - 4;
            let (kept, rest) = text.split_at(cents);
            format!("${kept}{}", rest.trim_end_matches('0'))
        };
        match self {
            Self::Tokens { spent, most } => format!("used {spent} tokens of its `budget` of {most}"),
            Self::Cost { spent, most } => {
                format!("cost {} of its `budget` of {}", dollars(spent), dollars(most))
            }
        }
    }
}

/// Why a run is being ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Somebody asked for it.
    Asked,
    /// Somebody asked for a restart.
    Restart,
    /// The client of a foreground run is gone.
    ClientGone,
    /// A reload took the harness away.
    Removed,
    /// The daemon goes away.
    Shutdown,
    /// It ran longer than this.
    Timeout(Duration),
    /// It wrote nothing at all for this long.
    NoFirstOutput(Duration),
    /// It wrote nothing for this long.
    Idle(Duration),
    /// It went on for this long after its agent had stated its result, which is its outcome.
    Lingering(Duration),
    /// Its check took longer than this.
    SlowCheck(Duration),
    /// It used more than it may.
    Overspent(Overspent),
    /// The firing of this slot takes its place.
    Replaced(#[serde(with = "micros")] Wall),
}

impl StopReason {
    /// The outcome of a run that is ended for it before its agent has stated any.
    #[must_use]
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Asked
            | Self::Restart
            | Self::ClientGone
            | Self::Removed
            | Self::Shutdown
            | Self::Lingering(_) => Outcome::Stopped,
            Self::Timeout(_) => Outcome::Timeout,
            Self::NoFirstOutput(_) | Self::Idle(_) => Outcome::NoOutput,
            Self::SlowCheck(_) => Outcome::CheckFailed,
            Self::Overspent(_) => Outcome::Budget,
            Self::Replaced(_) => Outcome::Replaced,
        }
    }

    /// The cause in its record.
    #[must_use]
    pub fn cause(self) -> String {
        match self {
            Self::Asked => "asked to stop".to_owned(),
            Self::Restart => "asked to restart".to_owned(),
            Self::ClientGone => "the client that ran it went away".to_owned(),
            Self::Removed => "removed from the configuration".to_owned(),
            Self::Shutdown => "the daemon was shut down".to_owned(),
            Self::Timeout(bound) => format!("ran longer than its `timeout` of {}", duration_text(bound)),
            Self::NoFirstOutput(bound) => {
                format!("wrote nothing within its `first_output_timeout` of {}", duration_text(bound))
            }
            Self::Idle(bound) => format!("wrote nothing for its `idle_timeout` of {}", duration_text(bound)),
            Self::Lingering(bound) => {
                format!("went on for its `linger_timeout` of {} after its result", duration_text(bound))
            }
            Self::SlowCheck(bound) => format!("its `check` took longer than {}", duration_text(bound)),
            Self::Overspent(overspent) => overspent.cause(),
            Self::Replaced(slot) => format!("replaced by the firing of {}", slot.rfc3339()),
        }
    }

    /// Whether a person (or the end of the daemon) wants the harness down, so
    /// that no firing starts it meanwhile.
    pub(super) const fn by_hand(self) -> bool {
        match self {
            Self::Asked | Self::Restart | Self::ClientGone | Self::Removed | Self::Shutdown => true,
            Self::Timeout(_)
            | Self::NoFirstOutput(_)
            | Self::Idle(_)
            | Self::Lingering(_)
            | Self::SlowCheck(_)
            | Self::Overspent(_)
            | Self::Replaced(_) => false,
        }
    }

    pub(super) fn end(self) -> End {
        End::new(self.outcome(), Some(self.cause()))
    }
}

/// The end of a run whose agent states nothing and whose main process ended by itself.
pub(super) fn of_exit(status: ExitStatus) -> End {
    match status {
        ExitStatus::Code(0) => End::new(Outcome::Ok, None),
        ExitStatus::Code(code) => End::new(Outcome::Failed, Some(format!("exit status {code}"))),
        ExitStatus::Signal(number) => {
            End::new(Outcome::Failed, Some(format!("killed by {}", signal_name(number))))
        }
    }
}

/// The end that an agent states.
pub(super) fn of_report(report: Report) -> End {
    let Report { outcome, cause, until } = report;
    let cause = match outcome {
        Outcome::Ok => None,
        other => Some(cause.unwrap_or_else(|| format!("its agent states `{other}`"))),
    };
    End { until, ..End::new(outcome, cause) }
}

/// The end of a run whose check ended by itself.
pub(super) fn of_check(status: ExitStatus) -> End {
    let cause = match status {
        ExitStatus::Code(0) => return End::new(Outcome::Ok, None),
        ExitStatus::Code(code) => format!("its `check` ended with exit status {code}"),
        ExitStatus::Signal(number) => format!("its `check` was killed by {}", signal_name(number)),
    };
    End::new(Outcome::CheckFailed, Some(cause))
}

/// The end of a run whose check could not be started.
pub(super) fn of_refusal(cause: &str) -> End {
    End::new(Outcome::CheckFailed, Some(format!("its `check` could not be started: {cause}")))
}
