//! Time zones by their IANA names.

use chrono_tz::{TZ_VARIANTS, Tz};
use thiserror::Error;

use crate::base::nearest;

/// A name that is no known zone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is no known time zone")]
pub struct ZoneError {
    name: String,
    near: Vec<&'static str>,
}

impl ZoneError {
    /// Known names like it, nearest first.
    #[must_use]
    pub fn near(&self) -> &[&'static str] {
        &self.near
    }

    /// How to mend it.
    #[must_use]
    pub fn help(&self) -> String {
        let near: Vec<String> = self.near.iter().map(|name| format!("`{name}`")).collect();
        match near.as_slice() {
            [] => "write an IANA name, like `Europe/Berlin` or `UTC`".to_owned(),
            [one] => format!("did you mean {one}?"),
            [first @ .., last] => format!("did you mean {} or {last}?", first.join(", ")),
        }
    }
}

/// Finds a zone by its IANA name.
///
/// # Errors
/// If there is none of that name, with the nearest known names.
pub fn parse_zone(name: &str) -> Result<Tz, ZoneError> {
    name.parse().map_err(|_| ZoneError { name: name.to_owned(), near: near(name) })
}

/// The city alone, another case or blanks for underscores are understood as
/// what they mean; else it is a typing error, in the whole name or in the city.
fn near(name: &str) -> Vec<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace(' ', "_");
    let wanted = plain(name);
    let known: Vec<&'static str> = TZ_VARIANTS.iter().map(|zone| zone.name()).collect();
    let city = |name: &'static str| name.rsplit('/').next().unwrap_or(name);
    let meant: Vec<&str> = known
        .iter()
        .copied()
        .filter(|known| plain(known) == wanted || plain(city(known)) == wanted)
        .take(3)
        .collect();
    if !meant.is_empty() {
        return meant;
    }
    let whole = nearest(name, known.iter().copied());
    if !whole.is_empty() {
        return whole;
    }
    let cities = nearest(name, known.iter().copied().map(city));
    let mut found: Vec<&str> = Vec::new();
    for near in cities {
        let full = known.iter().copied().find(|known| city(known) == near);
        found.extend(full.filter(|full| !found.contains(full)));
    }
    found
}
