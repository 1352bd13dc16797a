//! From text to a rule: nicknames, `@every`, and five or six fields.
//!
//! Invariant: a rule that leaves here fires at least once.

use std::ops::Range;
use std::time::Duration;

use super::calendar::{Calendar, Fields};
use super::error::{Fault, ScheduleError};
use super::field::{Field, Values};
use super::{Pace, Rule};
use crate::base::{nearest, parse_duration};

const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];
const EVERY: &str = "@every";
const REBOOT: &str = "@reboot";
/// `100y`, as a duration's text counts years.
const LONGEST: Duration = Duration::from_secs(100 * 31_557_600);

/// A word of an expression with its first byte.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    at: usize,
}

impl Word<'_> {
    const fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
}

pub(super) fn parse(text: &str) -> Result<Rule, ScheduleError> {
    let words = words(text);
    match words.as_slice() {
        [] => Err(ScheduleError::new(Fault::Empty, 0..text.len())),
        [first, rest @ ..] if first.text.starts_with('@') => nickname(text, *first, rest),
        words => fields(words),
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for piece in text.split(|letter: char| letter.is_ascii_whitespace()) {
        if !piece.is_empty() {
            words.push(Word { text: piece, at });
        }
        at += piece.len() + 1;
    }
    words
}

fn nickname(text: &str, first: Word<'_>, rest: &[Word<'_>]) -> Result<Rule, ScheduleError> {
    let name = first.text.to_ascii_lowercase();
    if name == EVERY {
        return every(text, first, rest);
    }
    let Some((name, meaning)) = NICKNAMES.iter().find(|(known, _)| *known == name) else {
        let fault = if name == REBOOT { Fault::Reboot } else { unknown(first.text) };
        return Err(ScheduleError::new(fault, first.span()));
    };
    if let (Some(from), Some(to)) = (rest.first(), rest.last()) {
        return Err(ScheduleError::new(Fault::NotAlone((*name).to_owned()), from.at..to.span().end));
    }
    fields(&words(meaning))
}

fn unknown(text: &str) -> Fault {
    let known = || NICKNAMES.iter().map(|(name, _)| *name).chain([EVERY]);
    let allowed: Vec<String> = known().map(|name| format!("`{name}`")).collect();
    Fault::Nickname {
        text: text.to_owned(),
        allowed: allowed.join(", "),
        near: nearest(&text.to_ascii_lowercase(), known()).first().copied(),
    }
}

fn every(text: &str, first: Word<'_>, rest: &[Word<'_>]) -> Result<Rule, ScheduleError> {
    let (Some(from), Some(to)) = (rest.first(), rest.last()) else {
        return Err(ScheduleError::new(Fault::NoDuration, first.span()));
    };
    let span = from.at..to.span().end;
    let written = &text[span.clone()];
    let refused = |fault: Fault| ScheduleError::new(fault, span.clone());
    let interval = parse_duration(written).map_err(|error| refused(error.into()))?;
    if interval < Duration::from_secs(1) {
        return Err(refused(Fault::TooShort(written.to_owned())));
    }
    match i64::try_from(interval.as_micros()) {
        Ok(micros) if interval <= LONGEST => Ok(Rule::Every(micros)),
        _ => Err(refused(Fault::TooLong(written.to_owned()))),
    }
}

fn fields(words: &[Word<'_>]) -> Result<Rule, ScheduleError> {
    let (second, [minute, hour, day_of_month, month, day_of_week]) = match *words {
        [minute, hour, day, month, weekday] => (None, [minute, hour, day, month, weekday]),
        [second, minute, hour, day, month, weekday] => (Some(second), [minute, hour, day, month, weekday]),
        _ => {
            let start = words.first().map_or(0, |word| word.at);
            let end = words.last().map_or(0, |word| word.span().end);
            return Err(ScheduleError::new(Fault::FieldCount(words.len()), start..end));
        }
    };
    let read = |field, word: Word<'_>| Values::parse(field, word.text, word.at);
    let fields = Fields {
        second: second.map_or(Ok(Values::ZERO), |word| read(Field::Second, word))?,
        minute: read(Field::Minute, minute)?,
        hour: read(Field::Hour, hour)?,
        day_of_month: read(Field::DayOfMonth, day_of_month)?,
        month: read(Field::Month, month)?,
        day_of_week: read(Field::DayOfWeek, day_of_week)?,
    };
    let calendar = Box::new(Calendar::new(&fields));
    if calendar.is_empty() {
        let fault = Fault::Never { day: day_of_month.text.to_owned(), month: month.text.to_owned() };
        return Err(ScheduleError::new(fault, day_of_month.at..month.span().end));
    }
    let pace = if fields.hour.stepped { Pace::Elapsed } else { Pace::Once };
    Ok(Rule::Calendar { calendar, pace })
}
