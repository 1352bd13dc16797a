//! `[profile.NAME]`: groups of harnesses that are started together (CFG-12).
//!
//! Invariant: what the global file and its drop-ins say of their own harnesses is right or an error. A
//! project is another unit of acceptance: nothing that it says or leaves out makes a profile an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use figment::Figment;

use super::FileKind;
use super::checks::elements;
use super::codes::{BAD_NAME, SCHEDULED_MEMBER, TWO_AUTOSTARTS, UNKNOWN_MEMBER};
use super::document::File;
use super::harness::not_a_table;
use super::keys::PROFILE_KEYS;
use super::layers::{dict_of, extract};
use super::model::{Harness, Profile};
use super::neighbours::Declaration;
use super::raw::RawProfile;
use super::scope::Scope;
use crate::base::{Diagnostic, HarnessName, NAME_RULE, Place, is_name, nearest, quoted};

/// What profiles may name.
pub(super) struct Members<'a> {
    /// Every harness that nothing is wrong with.
    pub(super) harnesses: &'a BTreeMap<HarnessName, Arc<Harness>>,
    /// Every harness that is declared, by project and local name.
    pub(super) declared: &'a BTreeMap<(Option<&'a str>, &'a str), Declaration>,
    /// The projects that were read.
    pub(super) projects: BTreeSet<&'a str>,
    /// Whether all harnesses outside of projects are known: none of their files is broken.
    pub(super) whole: bool,
}

/// The profiles by their names, and what is wrong with them beside the position of its file.
type Read = (BTreeMap<String, Profile>, Vec<(usize, Diagnostic)>);

/// Reads the `[profile.*]` tables of the global files.
pub(super) fn profiles(files: &[Option<File>], members: &Members<'_>) -> Read {
    let (mut read, mut found) = (BTreeMap::new(), Vec::new());
    let mut autostarts = Vec::new();
    let files = files.iter().enumerate().filter_map(|(at, file)| Some((at, file.as_ref()?)));
    for (at, file) in files.filter(|(_, file)| file.kind == FileKind::Global) {
        for (name, _) in file.table(&["profile"]).into_iter().flat_map(|table| table.iter()) {
            let (made, wrong) = profile(file, name, members);
            found.extend(wrong.into_iter().map(|one| (at, one)));
            if made.autostart {
                autostarts.push((at, name, file.value(&["profile", name, "autostart"])));
            }
            read.entry(name.to_owned()).or_insert(made);
        }
    }
    found.extend(second_autostarts(&autostarts));
    (read, found)
}

fn profile(file: &File, name: &str, members: &Members<'_>) -> (Profile, Vec<Diagnostic>) {
    let path = ["profile", name];
    let mut found = Vec::new();
    if !is_name(name) {
        let message = format!("`{}` is no name for a profile", quoted(name));
        found.push(Diagnostic::error(BAD_NAME, file.key(&path), message).help(NAME_RULE));
    }
    let Some(table) = file.table(&path) else {
        found.extend(file.node(&path).map(|node| not_a_table(file, &path, node.kind())));
        return (Profile::default(), found);
    };
    let read = extract::<RawProfile>(&Figment::new(), file, &path, dict_of(table), PROFILE_KEYS);
    found.extend(read.found);
    let raw = read.value.unwrap_or_default();
    let mut scope = Scope { file, path: path.to_vec(), table, harness: None, broken: read.broken, found };
    elements(&mut scope, "harnesses", raw.harnesses.as_deref());
    let (mut harnesses, mut seen) = (Vec::new(), BTreeSet::new());
    for (at, element) in raw.harnesses.iter().flatten().enumerate() {
        let Some(member) = element.text().filter(|member| !member.contains('\0')) else { continue };
        let place = scope.value(&["harnesses", &at.to_string()]);
        scope.found.extend(members.complaint(name, member, place));
        harnesses.extend(HarnessName::parse(member).ok().filter(|member| seen.insert(member.clone())));
    }
    let autostart = raw.autostart == Some(true);
    (Profile { description: raw.description, harnesses, autostart }, scope.found)
}

/// At most one profile starts at boot: each further one is pointed at beside the first.
fn second_autostarts(all: &[(usize, &str, Place)]) -> Vec<(usize, Diagnostic)> {
    let Some(((_, first, there), further)) = all.split_first() else { return Vec::new() };
    let second = |(at, name, here): &(usize, &str, Place)| {
        let (first, name) = (quoted(first), quoted(name));
        let message = format!("profiles `{first}` and `{name}` both start at boot");
        let one = Diagnostic::error(TWO_AUTOSTARTS, here.clone(), message)
            .help("one profile at most may: remove `autostart` from the others")
            .related(there.clone(), "the other one says it here");
        (*at, one)
    };
    further.iter().map(second).collect()
}

impl Members<'_> {
    /// What is to be said of a profile that names that harness.
    fn complaint(&self, profile: &str, member: &str, place: Place) -> Option<Diagnostic> {
        let names = format!("profile `{}` names `{}`", quoted(profile), quoted(member));
        let Ok(name) = HarnessName::parse(member) else {
            let message = format!("{names}, which is no name of a harness");
            let near = self.near(member);
            let help = near.unwrap_or_else(|| "write `NAME`, of a project `PROJECT/NAME`".to_owned());
            return Some(Diagnostic::error(BAD_NAME, place, message).help(help));
        };
        let (code, what) = self.doubt(&name)?;
        let message = format!("{names}, which {what}");
        let one = match name.project() {
            // A project's file may change without this one, and must not bring it down.
            Some(_) => Diagnostic::warning(code, place, message),
            None => Diagnostic::error(code, place, message),
        };
        Some(match self.declared.get(&(name.project(), name.local())) {
            Some(declaration) => one
                .help("only its schedule starts it: remove it here, or remove its `schedule`")
                .related(declaration.place.clone(), "it is declared here"),
            None => {
                let declare = || format!("declare `[harness.{}]`, or remove it here", name.local());
                one.help(self.near(member).unwrap_or_else(declare))
            }
        })
    }

    /// What speaks against a member, as far as that is known.
    fn doubt(&self, name: &HarnessName) -> Option<(&'static str, String)> {
        if let Some(harness) = self.harnesses.get(name) {
            let scheduled = harness.timetable().is_some();
            return scheduled.then(|| (SCHEDULED_MEMBER, "has a schedule".to_owned()));
        }
        if self.declared.contains_key(&(name.project(), name.local())) {
            return None;
        }
        match name.project() {
            Some(project) if self.projects.contains(project) => {
                Some((UNKNOWN_MEMBER, format!("project `{project}` does not declare")))
            }
            // Whether that project is up is the daemon's to say.
            Some(_) => None,
            None => self.whole.then(|| (UNKNOWN_MEMBER, "no file declares".to_owned())),
        }
    }

    /// The harnesses that were probably meant: those of the same name elsewhere, else the nearest names.
    fn near(&self, member: &str) -> Option<String> {
        let full = |(project, local): &(Option<&str>, &str)| match project {
            Some(project) => format!("{project}/{local}"),
            None => (*local).to_owned(),
        };
        let all: Vec<String> = self.declared.keys().map(full).collect();
        let bare = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let namesakes = all.iter().map(String::as_str).filter(|one| bare(one) == bare(member));
        let mut near: Vec<&str> = namesakes.collect();
        if near.is_empty() {
            near = nearest(member, all.iter().map(String::as_str));
        }
        let near: Vec<String> = near.iter().take(3).map(|name| format!("`{name}`")).collect();
        (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
    }
}
