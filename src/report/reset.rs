//! When a limit ends, read from what an agent says of it.
//!
//! Invariant: a time that is not wholly understood is none; nothing is guessed.

use std::time::Duration;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use crate::base::Wall;

/// What a reset time stands after.
const TRIGGERS: [&str; 6] = ["resets", "reset", "try again", "retry-after", "retry after", "retry in"];
/// Names of zones that mean several, or are none: a time of theirs is not understood.
const AMBIGUOUS: [&str; 18] = [
    "pst", "pdt", "pt", "mst", "mdt", "mt", "cst", "cdt", "ct", "est", "edt", "et", "bst", "ist", "cet",
    "cest", "jst", "aest",
];
/// Words between a trigger and its time.
const FILLERS: [&str; 7] = ["at", "in", "on", "after", "will", "is", "time"];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// How far the clock is moved on to find the end of a gap: Samoa once left out a whole day.
const LONGEST_GAP_MINUTES: i64 = 25 * 60;

/// The instant that `text` says a limit ends at, as it is understood at `now`; a time of day
/// without a zone is one of `zone`.
pub(super) fn parse(text: &str, now: Wall, zone: Tz) -> Option<Wall> {
    let lower = text.to_ascii_lowercase();
    if let Some(at) = epoch_after_bar(&lower).or_else(|| rfc3339(text)) {
        return Some(at);
    }
    let mut begins: Vec<(usize, bool)> = TRIGGERS
        .iter()
        .flat_map(|trigger| {
            let seconds = trigger.starts_with("retry");
            lower.match_indices(trigger).map(move |(at, found)| (at + found.len(), seconds))
        })
        .collect();
    begins.sort_unstable();
    begins.into_iter().find_map(|(begin, seconds)| {
        let line = text[begin..].lines().next().unwrap_or_default();
        after_trigger(line, seconds, now, zone)
    })
}

/// Seconds (or milliseconds) since 1970 as an agent's number.
pub(super) fn epoch(number: i64) -> Option<Wall> {
    let seconds = if number > 100_000_000_000 { number / 1000 } else { number };
    (seconds > 1_000_000_000).then(|| seconds.checked_mul(1_000_000).map(Wall)).flatten()
}

/// `usage limit reached|1764000000`
fn epoch_after_bar(text: &str) -> Option<Wall> {
    let (_, after) = text.rsplit_once('|')?;
    epoch(after.trim().parse().ok()?)
}

fn rfc3339(text: &str) -> Option<Wall> {
    let edge = |c: char| !c.is_ascii_alphanumeric();
    let between = |c: char| c.is_whitespace() || "\"',;()[]{}<>=".contains(c);
    text.split(between).find_map(|word| Wall::parse_rfc3339(word.trim_matches(edge)).ok())
}

/// A word, number by number and letters by letters: `3h20m` is four of them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Number(f64, &'a str),
    Word(&'a str),
    Mark(char),
}

/// `seconds`: a bare number is so many of them.
fn after_trigger(text: &str, seconds: bool, now: Wall, zone: Tz) -> Option<Wall> {
    let lower = text.to_ascii_lowercase();
    let tokens = tokens(&lower);
    let mut rest = tokens.as_slice();
    while let [Token::Word(word), after @ ..] = rest
        && FILLERS.contains(word)
    {
        rest = after;
    }
    while let [Token::Mark(':' | ' '), after @ ..] = rest {
        rest = after;
    }
    if let Some(length) = duration(rest) {
        return Some(now + length);
    }
    if let [Token::Number(_, digits)] | [Token::Number(_, digits), Token::Mark(_), ..] = rest
        && let Ok(number) = digits.parse()
    {
        if let Some(at) = epoch(number) {
            return Some(at);
        }
        if seconds {
            return Some(now + Duration::from_secs(u64::try_from(number).ok()?));
        }
    }
    let zone = match stated_zone(text) {
        Ok(stated) => stated.unwrap_or(zone),
        Err(Unknown) => return None,
    };
    let (date, rest) = match date(rest) {
        Some((day, rest)) => (Some(day), rest),
        None => (None, rest),
    };
    let time = time_of_day(rest);
    match (date, time) {
        (None, None) => None,
        (None, Some(time)) => next_at(time, now, zone),
        (Some(day), Some(time)) => on_day(day, time, now, zone),
        (Some(day), None) if !matches!(rest, [Token::Number(..), ..]) => {
            on_day(day, NaiveTime::MIN, now, zone)
        }
        (Some(_), None) => None,
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    // A reset time is short; what follows it is of no interest.
    while found.len() < 24
        && let Some(first) = rest.chars().next()
    {
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let letter = |c: char| c.is_ascii_alphabetic();
        let end = |inside: &dyn Fn(char) -> bool| rest.find(|c| !inside(c)).unwrap_or(rest.len());
        if first.is_ascii_digit() {
            let (digits, after) = rest.split_at(end(&number));
            let digits = digits.trim_end_matches('.');
            found.push(match digits.parse() {
                Ok(value) => Token::Number(value, digits),
                Err(_) => Token::Mark('?'),
            });
            rest = after;
        } else if letter(first) {
            let (word, after) = rest.split_at(end(&letter));
            found.push(Token::Word(word));
            rest = after;
        } else {
            // Blanks, commas and the dots between the parts of a line mean nothing.
            if !first.is_whitespace() && !matches!(first, ',' | '∙' | '·' | '•') {
                found.push(Token::Mark(first));
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

/// `3h 20m`, `1 day 2 hours and 5 minutes`, `42.5s`
fn duration(tokens: &[Token<'_>]) -> Option<Duration> {
    let mut total = 0.0;
    let mut parts = 0;
    let mut rest = tokens;
    loop {
        match rest {
            [Token::Number(value, _), Token::Word(unit), after @ ..] => {
                let Some(seconds) = unit_seconds(unit) else { break };
                total += value * seconds;
                parts += 1;
                rest = after;
            }
            [Token::Word("and"), after @ ..] if parts > 0 => rest = after,
            _ => break,
        }
    }
    (parts > 0).then(|| Duration::try_from_secs_f64(total).ok()).flatten()
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    })
}

/// A zone was stated that is not known.
struct Unknown;

/// `(Asia/Tokyo)` or `UTC` behind the time.
fn stated_zone(text: &str) -> Result<Option<Tz>, Unknown> {
    if let Some((_, after)) = text.split_once('(') {
        let name = after.split(')').next().unwrap_or_default().trim();
        let of_zones = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '+' | '-');
        // What is in brackets may also be a remark.
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(of_zones) {
            return name.parse().map(Some).map_err(|_| Unknown);
        }
    }
    let utc = |word: &str| matches!(word.trim_matches(|c: char| !c.is_alphanumeric()), "UTC" | "GMT");
    Ok(text.split_whitespace().take(8).any(utc).then_some(Tz::UTC))
}

/// A day: the month, its day, and the year where it is said.
type Day = (u32, u32, Option<i32>);

/// `dec 3`, `dec 3rd 2026`, `3 december`
fn date<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(Day, &'t [Token<'a>])> {
    let (month, day, rest) = match tokens {
        [Token::Word(name), Token::Number(_, day), rest @ ..] => (month(name)?, day, rest),
        [Token::Number(_, day), Token::Word(name), rest @ ..] => (month(name)?, day, rest),
        _ => return None,
    };
    let mut rest = match rest {
        [Token::Word("st" | "nd" | "rd" | "th"), rest @ ..] => rest,
        rest => rest,
    };
    let mut year = None;
    if let [Token::Number(_, digits), after @ ..] = rest
        && digits.len() == 4
    {
        year = Some(digits.parse().ok()?);
        rest = after;
    }
    while let [Token::Word("at"), after @ ..] = rest {
        rest = after;
    }
    Some(((month, day.parse().ok()?, year), rest))
}

fn month(name: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|month| name.len() >= 3 && name.starts_with(month))?;
    u32::try_from(at + 1).ok()
}

/// `7pm`, `7:30 pm`, `19:00`
fn time_of_day(tokens: &[Token<'_>]) -> Option<NaiveTime> {
    let (hour, minute, rest) = match tokens {
        [Token::Number(_, hour), Token::Mark(':'), Token::Number(_, minute), rest @ ..]
            if minute.len() == 2 =>
        {
            (*hour, *minute, rest)
        }
        [Token::Number(_, hour), rest @ ..] if matches!(rest, [Token::Word("am" | "pm"), ..]) => {
            (*hour, "0", rest)
        }
        _ => return None,
    };
    let (half, rest) = match rest {
        [Token::Word("am"), rest @ ..] => (Some(false), rest),
        [Token::Word("pm"), rest @ ..] => (Some(true), rest),
        rest => (None, rest),
    };
    if let [Token::Word(name), ..] = *rest
        && AMBIGUOUS.contains(&name)
    {
        return None;
    }
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
    };
    NaiveTime::from_hms_opt(hour, minute, 0)
}

/// The first instant after `now` at which clocks in `zone` show `time`.
fn next_at(time: NaiveTime, now: Wall, zone: Tz) -> Option<Wall> {
    let today = now.utc().with_timezone(&zone).date_naive();
    let days = [Some(today), today.succ_opt(), today.succ_opt().and_then(|day| day.succ_opt())];
    days.into_iter().flatten().find_map(|day| instant(day.and_time(time), now, zone).filter(|at| *at > now))
}

/// That time on the stated day; without a year it is the next such day, or today's though it is past.
fn on_day((month, day, year): Day, time: NaiveTime, now: Wall, zone: Tz) -> Option<Wall> {
    let today = now.utc().with_timezone(&zone).date_naive();
    let years = match year {
        Some(year) => year..=year,
        None => today.year()..=today.year() + 1,
    };
    let days = years.filter_map(|year| NaiveDate::from_ymd_opt(year, month, day));
    let day = days.into_iter().find(|day| year.is_some() || *day >= today)?;
    instant(day.and_time(time), now, zone)
}

/// Of a local time that comes twice the first one that is still ahead; of one that is left out
/// the first instant after the gap.
fn instant(local: NaiveDateTime, now: Wall, zone: Tz) -> Option<Wall> {
    let wall = |at: DateTime<Tz>| Wall::from_utc(at.with_timezone(&Utc));
    (0..=LONGEST_GAP_MINUTES).find_map(|minutes| {
        let local = local.checked_add_signed(TimeDelta::minutes(minutes))?;
        let found = zone.from_local_datetime(&local);
        let (first, last) = (found.earliest().map(wall)?, found.latest().map(wall)?);
        Some(if first > now { first } else { last })
    })
}

#[cfg(test)]
mod tests;
