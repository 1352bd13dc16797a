//! What can be wrong with an expression, and where.
//!
//! Invariant: a message names the field and what the field allows; the span lies
//! inside the expression, on character boundaries.

use std::ops::Range;

use thiserror::Error;

use super::field::Field;
use crate::base::QuantityError;

/// An expression that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{fault}")]
pub struct ScheduleError {
    fault: Fault,
    span: Range<usize>,
}

impl ScheduleError {
    pub(super) const fn new(fault: Fault, span: Range<usize>) -> Self {
        Self { fault, span }
    }

    /// The offending bytes of the expression.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// How to mend it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.fault.help()
    }
}

/// The kinds of mistake.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Fault {
    #[error("the schedule is empty")]
    Empty,
    #[error(
        "a schedule has five fields, `minute hour day-of-month month day-of-week`, or six with seconds first; this has {0}"
    )]
    FieldCount(usize),
    #[error("{field} `{text}` is no value: allowed are {allowed}", field = .field.name(), allowed = .field.allowed())]
    NoValue { field: Field, text: String },
    #[error("{field} `{text}` is out of range: allowed are {allowed}", field = .field.name(), allowed = .field.allowed())]
    OutOfRange { field: Field, text: String },
    #[error("{field} `{item}` is incomplete: allowed are {allowed}", field = .field.name(), allowed = .field.allowed())]
    Incomplete { field: Field, item: String },
    #[error("{field} has an empty place in its list", field = .0.name())]
    EmptyItem(Field),
    #[error("{field} has `*`, which is every value, in a list", field = .0.name())]
    StarInList(Field),
    #[error("{field} range `{low}-{high}` runs backwards", field = .field.name())]
    Backwards { field: Field, low: u32, high: u32 },
    #[error("{field} `{low}/{step}` steps from a single value", field = .field.name())]
    StepFromValue { field: Field, low: String, step: String },
    #[error("{field} `{step}` is no step: allowed are 1 to {max}", field = .field.name(), max = .field.max())]
    Step { field: Field, step: String },
    #[error("{field} `{text}`: the mark `{mark}` is not supported", field = .field.name())]
    Mark { field: Field, text: String, mark: char },
    #[error("never fires: day-of-month `{day}` does not occur in month `{month}`")]
    Never { day: String, month: String },
    #[error("`@reboot` is no schedule")]
    Reboot,
    #[error("`{text}` is not known: allowed are {allowed}")]
    Nickname { text: String, allowed: String, near: Option<&'static str> },
    #[error("`{0}` stands alone")]
    NotAlone(String),
    #[error("`@every` lacks its duration")]
    NoDuration,
    #[error("`@every`: {0}")]
    Duration(#[from] QuantityError),
    #[error("`@every {0}` is too short: at least `1s` is allowed")]
    TooShort(String),
    #[error("`@every {0}` is too long: at most `100y` is allowed")]
    TooLong(String),
}

impl Fault {
    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Empty => "write five fields, like `30 2 * * mon-fri`, or `@daily`".to_owned(),
            Self::FieldCount(7) => "a seventh field for years is not supported".to_owned(),
            Self::NoValue { field, text } => format!("did you mean `{}`?", field.near(text)?),
            Self::StarInList(_) => "write `*` alone".to_owned(),
            Self::Backwards { field, low, high } => {
                format!("write `{},{}`", span_text(*low, field.max()), span_text(field.min(), *high))
            }
            Self::StepFromValue { field, low, step } => format!("write `{low}-{}/{step}`", field.max()),
            Self::Step { field, step } => {
                let unit = field.unit()?;
                let step: u32 = step.parse().ok().filter(|step| *step > field.max())?;
                format!("for an even interval write `@every {step}{unit}`")
            }
            Self::Mark { mark, .. } => match mark {
                '?' => "write `*`",
                'L' => "list days instead, like `28-31`",
                'W' => "name weekdays instead, like `mon-fri`",
                _ => "name the weekday alone, like `mon`, or days of the month, like `8-14`",
            }
            .to_owned(),
            Self::Reboot => "a harness with `enabled = true` starts when the daemon does".to_owned(),
            Self::Nickname { near, .. } => format!("did you mean `{}`?", (*near)?),
            Self::NoDuration => "write a number with a unit, like `@every 15m`".to_owned(),
            _ => return None,
        })
    }
}

/// A range as it is written, one value if its ends meet.
fn span_text(low: u32, high: u32) -> String {
    if low == high { low.to_string() } else { format!("{low}-{high}") }
}
