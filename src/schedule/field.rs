//! One field of an expression: a list of values, ranges and steps.
//!
//! Invariant: [`Values`] holds at least one value, all of them in the field's
//! range; Sunday is 0 however it was written.

use super::error::{Fault, ScheduleError};
use crate::base::nearest;

/// The fields, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

impl Field {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day-of-month",
            Self::Month => "month",
            Self::DayOfWeek => "day-of-week",
        }
    }

    pub(super) const fn min(self) -> u32 {
        match self {
            Self::DayOfMonth | Self::Month => 1,
            _ => 0,
        }
    }

    /// The largest value that may be written; 7 is Sunday a second time.
    pub(super) const fn max(self) -> u32 {
        match self {
            Self::Second | Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 7,
        }
    }

    pub(super) fn allowed(self) -> String {
        let numbers = format!("{} to {}", self.min(), self.max());
        match self {
            Self::Month => format!("{numbers} and `jan` to `dec`"),
            Self::DayOfWeek => format!("{numbers} (0 and 7 are Sunday) and `sun` to `sat`"),
            _ => numbers,
        }
    }

    /// The unit that `@every` uses for the same thing.
    pub(super) const fn unit(self) -> Option<&'static str> {
        match self {
            Self::Second => Some("s"),
            Self::Minute => Some("m"),
            Self::Hour => Some("h"),
            Self::DayOfMonth => Some("d"),
            Self::Month | Self::DayOfWeek => None,
        }
    }

    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }

    /// The name that `text` was probably meant to be.
    pub(super) fn near(self, text: &str) -> Option<&'static str> {
        let known = self.names().iter().flat_map(|name| [&name[..3], *name]);
        nearest(&text.to_ascii_lowercase(), known).first().copied()
    }

    fn named(self, text: &str) -> Option<u32> {
        let at = self
            .names()
            .iter()
            .position(|name| text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(&name[..3]))?;
        u32::try_from(at).ok().map(|at| at + self.min())
    }

    /// A number or a name.
    fn value(self, text: &str) -> Result<u32, Fault> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = text.parse().ok().filter(|value| (self.min()..=self.max()).contains(value));
            return value.ok_or_else(|| Fault::OutOfRange { field: self, text: text.to_owned() });
        }
        self.named(text).ok_or_else(|| match foreign_mark(text) {
            Some(mark) => Fault::Mark { field: self, text: text.to_owned(), mark },
            None => Fault::NoValue { field: self, text: text.to_owned() },
        })
    }
}

/// The mark of another dialect in a text that is no value: `?`, `L`, `LW`, `15W`, `friL`, `fri#2`.
fn foreign_mark(text: &str) -> Option<char> {
    if let Some(mark) = ['#', '?'].into_iter().find(|mark| text.contains(*mark)) {
        return Some(mark);
    }
    let (end, last) = text.char_indices().next_back()?;
    let (before, mark) = (&text[..end], last.to_ascii_uppercase());
    let counted = before.is_empty()
        || before.eq_ignore_ascii_case("l")
        || before.bytes().all(|byte| byte.is_ascii_digit())
        || Field::DayOfWeek.named(before).is_some();
    (matches!(mark, 'L' | 'W') && counted).then_some(mark)
}

/// The values that a field admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Values {
    /// Bit `n` stands for value `n`.
    mask: u64,
    /// It is `*`: it restricts nothing.
    pub(super) unrestricted: bool,
    /// It has a `*` or a step.
    pub(super) stepped: bool,
}

impl Values {
    /// Zero alone: the seconds of an expression of five fields.
    pub(super) const ZERO: Self = Self { mask: 1, unrestricted: false, stepped: false };

    /// Reads a field that stands at byte `at` of its expression.
    pub(super) fn parse(field: Field, text: &str, at: usize) -> Result<Self, ScheduleError> {
        let mut values = Self { mask: 0, unrestricted: false, stepped: false };
        let mut start = at;
        for item in text.split(',') {
            let end = start + item.len();
            let fault = |fault| ScheduleError::new(fault, start..end);
            if item == "*" && item != text {
                return Err(fault(Fault::StarInList(field)));
            }
            if item.is_empty() {
                return Err(ScheduleError::new(Fault::EmptyItem(field), at..at + text.len()));
            }
            let one = Self::item(field, item).map_err(fault)?;
            values.mask |= one.mask;
            values.unrestricted |= one.unrestricted;
            values.stepped |= one.stepped;
            start = end + 1;
        }
        Ok(values)
    }

    fn item(field: Field, item: &str) -> Result<Self, Fault> {
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(step)),
            None => (item, None),
        };
        let incomplete = || Fault::Incomplete { field, item: item.to_owned() };
        let (low, high) = if base == "*" {
            (field.min(), field.max())
        } else if let Some((low, high)) = base.split_once('-') {
            if low.is_empty() || high.is_empty() {
                return Err(incomplete());
            }
            range(field, field.value(low)?, field.value(high)?)?
        } else if base.is_empty() {
            return Err(incomplete());
        } else {
            let value = field.value(base)?;
            if let Some(step) = step {
                return Err(Fault::StepFromValue { field, low: base.to_owned(), step: step.to_owned() });
            }
            (value, value)
        };
        let every = match step {
            None => 1,
            Some("") => return Err(incomplete()),
            Some(step) => parse_step(field, step)?,
        };
        let mut mask = 0;
        for value in (low..=high).step_by(every) {
            mask |= 1 << if field == Field::DayOfWeek { value % 7 } else { value };
        }
        Ok(Self { mask, unrestricted: base == "*" && every == 1, stepped: base == "*" || step.is_some() })
    }

    /// Whether it admits this value.
    pub(super) const fn has(self, value: u32) -> bool {
        self.mask & (1 << value) != 0
    }

    /// How many it admits.
    pub(super) const fn len(self) -> u64 {
        self.mask.count_ones() as u64
    }

    /// The values, rising.
    pub(super) fn iter(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |value| self.mask & (1 << value) != 0)
    }

    /// Whether every value of the field is in it.
    pub(super) fn is_full(self, field: Field) -> bool {
        let all = if field == Field::DayOfWeek { 7 } else { field.max() - field.min() + 1 };
        self.mask.count_ones() == all
    }
}

/// The ends of a range; one of weekdays may run over the week's end.
fn range(field: Field, low: u32, high: u32) -> Result<(u32, u32), Fault> {
    match (low <= high, field) {
        (true, _) => Ok((low, high)),
        (false, Field::DayOfWeek) => Ok((low, high + 7)),
        (false, _) => Err(Fault::Backwards { field, low, high }),
    }
}

fn parse_step(field: Field, text: &str) -> Result<usize, Fault> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let step = text.parse().ok().filter(|step| digits && (1..=field.max() as usize).contains(step));
    step.ok_or_else(|| Fault::Step { field, step: text.to_owned() })
}
