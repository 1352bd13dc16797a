//! Named groups of harnesses (CFG-12).
//!
//! Invariant: what a profile names and nothing declares, or only a schedule may start, is told to whoever
//! uses the profile and shown for as long as it is so; the other members start all the same.

use std::collections::{BTreeMap, BTreeSet};

use super::asks::{Chosen, line};
use super::message::{Effect, Ticket};
use super::{Supervisor, Turn};
use crate::base::{HarnessName, nearest};
use crate::config::{Harness, Profile};
use crate::wire::{ErrorBody, ErrorCode, Record};

/// Why a member is not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hindrance {
    /// Nothing that is in force declares it.
    Unknown,
    /// It has a schedule.
    Scheduled,
}

impl Hindrance {
    /// The word of an answer.
    const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Scheduled => "scheduled",
        }
    }

    /// What a member is that is hindered so.
    const fn words(self) -> &'static str {
        match self {
            Self::Unknown => "which nothing that is in force declares",
            Self::Scheduled => "which has a schedule: only that starts it",
        }
    }
}

impl Supervisor {
    /// These profiles are declared from now on.
    pub(super) fn regroup(&mut self, profiles: &BTreeMap<String, Profile>) {
        self.profiles.clone_from(profiles);
        let starting = profiles.values().filter(|profile| profile.autostart);
        self.starting = starting.flat_map(|profile| &profile.harnesses).cloned().collect();
    }

    /// The profile in use: the one that was used last, else the one that started at boot.
    #[must_use]
    pub fn profile(&self) -> Option<&str> {
        let last = self.profile.as_ref().and_then(|name| self.profiles.get_key_value(name));
        let found = last.or_else(|| self.profiles.iter().find(|(_, profile)| profile.autostart));
        found.map(|(name, _)| name.as_str())
    }

    /// What is odd about profiles now, in words.
    #[must_use]
    pub fn profile_trouble(&self) -> Vec<String> {
        let mut said: Vec<String> = self.gone().into_iter().collect();
        for (name, profile) in &self.profiles {
            let hindered = profile.harnesses.iter().filter_map(|one| Some((one, self.hindrance(one)?)));
            said.extend(
                hindered
                    .map(|(one, hindrance)| format!("profile `{name}` names `{one}`, {}", hindrance.words())),
            );
        }
        said
    }

    /// Starts the members of a profile, stops before what it excludes, and remembers it.
    pub(super) fn use_profile(
        &mut self,
        ticket: Ticket,
        name: &str,
        exclusive: bool,
        wait: bool,
        turn: &mut Turn,
    ) {
        let profile = match self.usable(name) {
            Ok(profile) => profile,
            Err(error) => return turn.effects.push(Effect::Reply { ticket, result: Err(error) }),
        };
        let warnings = self.gone().into_iter().collect();
        if self.profile.as_deref() != Some(name) {
            self.profile = Some(name.to_owned());
            turn.effects.push(Effect::Record(Record::Profile { name: name.to_owned() }));
        }
        let excluded = if exclusive { self.excluded_by(name, &profile) } else { Vec::new() };
        let all: Vec<HarnessName> = profile.harnesses.iter().chain(&excluded).cloned().collect();
        self.asks.open_for(ticket, &all, Chosen { profile: name.to_owned(), warnings });
        let mut reply = if all.is_empty() { self.asks.reply(ticket) } else { None };
        for one in &excluded {
            if let Some(answer) = self.stop_one(one, ticket, wait, turn) {
                reply = reply.or(self.asks.answer(ticket, one, answer));
            }
        }
        for one in &profile.harnesses {
            let answer = match self.hindrance(one) {
                Some(hindrance) => Some(Ok(line(one, hindrance.word(), None))),
                None => self.start_one(one, ticket, wait, turn),
            };
            if let Some(answer) = answer {
                reply = reply.or(self.asks.answer(ticket, one, answer));
            }
        }
        turn.effects.extend(reply);
    }

    /// Whether it starts at boot: it says so itself, or the profile does that starts then.
    pub(super) fn is_enabled(&self, harness: &Harness) -> bool {
        harness.enabled || (self.starting.contains(&harness.name) && harness.timetable().is_none())
    }

    /// A profile that may be used now.
    fn usable(&self, name: &str) -> Result<Profile, ErrorBody> {
        if self.shutting_down {
            let message = format!("use profile `{}`: the daemon is shutting down", name.escape_debug());
            return Err(ErrorBody::new(ErrorCode::AlreadyStopping, message));
        }
        if let Some(profile) = self.profiles.get(name) {
            return Ok(profile.clone());
        }
        let message = match self.profile.as_deref() == Some(name) {
            true => format!("profile `{}` was used last and is no longer declared", name.escape_debug()),
            false => format!("no profile is named `{}`", name.escape_debug()),
        };
        let near = nearest(name, self.profiles.keys().map(String::as_str));
        let list = |names: Vec<&str>, and: &str| {
            names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(and)
        };
        let help = match (near.is_empty(), self.profiles.is_empty()) {
            (false, _) => format!("did you mean {}?", list(near, " or ")),
            (true, true) => {
                "no profile is declared: write `[profile.NAME]` in the global file, or see by `harnessd \
                             status` why what it says is not in force"
                    .to_owned()
            }
            (true, false) => {
                format!("the profiles are {}", list(self.profiles.keys().map(String::as_str).collect(), ", "))
            }
        };
        Err(ErrorBody::new(ErrorCode::UnknownProfile, message).help(help))
    }

    /// That the profile which was used last is declared no more.
    fn gone(&self) -> Option<String> {
        let name = self.profile.as_ref().filter(|name| !self.profiles.contains_key(*name))?;
        Some(format!("profile `{name}`, which was used last, is no longer declared"))
    }

    /// What other profiles name and this one does not, as far as it is there and no schedule starts it.
    fn excluded_by(&self, name: &str, profile: &Profile) -> Vec<HarnessName> {
        let others = self.profiles.iter().filter(|(other, _)| *other != name);
        let named: BTreeSet<&HarnessName> = others.flat_map(|(_, other)| &other.harnesses).collect();
        let own: BTreeSet<&HarnessName> = profile.harnesses.iter().collect();
        named.difference(&own).filter(|one| self.hindrance(one).is_none()).copied().cloned().collect()
    }

    fn hindrance(&self, name: &HarnessName) -> Option<Hindrance> {
        match self.slots.get(name).filter(|slot| !slot.removed) {
            None => Some(Hindrance::Unknown),
            Some(slot) => slot.harness.timetable().map(|_| Hindrance::Scheduled),
        }
    }
}
