//! Harnesses that get in each other's way: warnings that no harness gives rise to by itself.
//!
//! Invariant: nothing here is an error, and what a table says on purpose is not warned of.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;

use super::Input;
use super::codes::{SHARED_SKILLS, SHARED_WORKDIR};
use super::document::File;
use super::model::Harness;
use crate::base::{Diagnostic, HarnessName, Place};

type Harnesses = BTreeMap<HarnessName, Arc<Harness>>;
/// By project and local name.
type Declarations<'a> = BTreeMap<(Option<&'a str>, &'a str), Declaration>;

/// What is known of a harness's table beside what it means.
pub(super) struct Declaration {
    /// Its header.
    pub(super) place: Place,
    /// Whether `exclusive` is said, here or in `[defaults]`.
    says_exclusive: bool,
}

impl Declaration {
    /// Of the harness that the file calls `local`.
    pub(super) fn of(file: &File, local: &str) -> Self {
        let says = |path: &[&str]| file.node(path).is_some();
        Self {
            place: file.header(&["harness", local]),
            says_exclusive: says(&["harness", local, "exclusive"]) || says(&["defaults", "exclusive"]),
        }
    }
}

fn of<'d>(declared: &'d Declarations<'_>, harness: &'d Harness) -> Option<&'d Declaration> {
    declared.get(&(harness.name.project(), harness.name.local()))
}

/// All warnings, each beside the position of its file.
pub(super) fn neighbours(
    harnesses: &Harnesses,
    declared: &Declarations<'_>,
    inputs: &[Input],
) -> Vec<(usize, Diagnostic)> {
    let all = shared_skills(harnesses, declared).into_iter().chain(shared_workdirs(harnesses, declared));
    all.map(|one| {
        let at = inputs.iter().position(|input| input.file == one.place.file);
        (at.unwrap_or_default(), one)
    })
    .collect()
}

/// Harnesses of one agent that put different skills into one directory of the workdir: of a name that
/// both want with different contents only one gets its own (SKL-8).
fn shared_skills(harnesses: &Harnesses, declared: &Declarations<'_>) -> Vec<Diagnostic> {
    let mut first: BTreeMap<(&str, &Utf8Path), &Harness> = BTreeMap::new();
    let mut found = Vec::new();
    for harness in harnesses.values().filter(|one| one.adapter.shares_target()) {
        let Some(workdir) = harness.workdir.as_deref() else { continue };
        let earlier = *first.entry((harness.adapter.id(), workdir)).or_insert(harness);
        let roots = |one: &Harness| (one.use_default_skill_paths, one.skill_paths.clone());
        if roots(earlier) == roots(harness) {
            continue;
        }
        let (Some(here), Some(there)) = (of(declared, harness), of(declared, earlier)) else { continue };
        let message = format!(
            "harnesses `{}` and `{}` put different skills into one directory of `{workdir}`",
            earlier.name, harness.name
        );
        let one = Diagnostic::warning(SHARED_SKILLS, here.place.clone(), message)
            .of(harness.name.as_str())
            .help(format!(
                "`{}` cannot be told of a private directory: give them the same skills or different workdirs",
                harness.adapter.id()
            ))
            .related(there.place.clone(), "the other one is declared here");
        found.push(one);
    }
    found
}

/// Scheduled harnesses that may work in one directory at the same time (SCH-12). `exclusive = false`
/// says that they may.
fn shared_workdirs(harnesses: &Harnesses, declared: &Declarations<'_>) -> Vec<Diagnostic> {
    let mut first: BTreeMap<&Utf8Path, (&Harness, &Declaration)> = BTreeMap::new();
    let mut found = Vec::new();
    for harness in harnesses.values().filter(|one| one.timetable().is_some()) {
        let (Some(workdir), Some(here)) = (harness.workdir.as_deref(), of(declared, harness)) else {
            continue;
        };
        if here.says_exclusive && !harness.exclusive {
            continue;
        }
        let (earlier, there) = *first.entry(workdir).or_insert((harness, here));
        if earlier.name == harness.name || (earlier.exclusive && harness.exclusive) {
            continue;
        }
        let message = format!(
            "scheduled harnesses `{}` and `{}` may work in `{workdir}` at the same time",
            earlier.name, harness.name
        );
        found.push(
            Diagnostic::warning(SHARED_WORKDIR, here.place.clone(), message)
                .of(harness.name.as_str())
                .help("`exclusive = true` on both makes their runs wait for one another, `false` says that they need not")
                .related(there.place.clone(), "the other one is declared here"),
        );
    }
    found
}
