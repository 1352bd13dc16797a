//! Harnesses that get in each other's way: what no harness gives rise to by itself.
//!
//! Invariant: an error names two harnesses of one unit of acceptance, and what a table says on purpose is
//! not warned of.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Input;
use super::codes::{SHARED_SKILLS, SHARED_WORKDIR};
use super::document::File;
use super::model::Harness;
use crate::adapter::TargetKind;
use crate::base::{Diagnostic, HarnessName, Place};

type Harnesses = BTreeMap<HarnessName, Arc<Harness>>;
/// By project and local name.
type Declarations<'a> = BTreeMap<(Option<&'a str>, &'a str), Declaration>;

/// What is known of a harness's table beside what it means.
pub(super) struct Declaration {
    /// Its header.
    pub(super) place: Place,
    /// Where it says which skills it wants: a key of its table, else the header.
    skills: Place,
    /// Whether `exclusive` is said, here or in `[defaults]`.
    says_exclusive: bool,
}

impl Declaration {
    /// Of the harness that the file calls `local`.
    pub(super) fn of(file: &File, local: &str) -> Self {
        let says = |path: &[&str]| file.node(path).is_some();
        let header = file.header(&["harness", local]);
        let own = ["skill_paths", "use_default_skill_paths"].map(|key| ["harness", local, key]);
        let skills = own.iter().find(|path| says(&path[..])).map(|path| file.key(&path[..]));
        Self {
            skills: skills.unwrap_or_else(|| header.clone()),
            place: header,
            says_exclusive: says(&["harness", local, "exclusive"]) || says(&["defaults", "exclusive"]),
        }
    }
}

fn of<'d>(declared: &'d Declarations<'_>, harness: &'d Harness) -> Option<&'d Declaration> {
    declared.get(&(harness.name.project(), harness.name.local()))
}

/// All findings, each beside the position of its file.
pub(super) fn neighbours(
    harnesses: &Harnesses,
    declared: &Declarations<'_>,
    inputs: &[Input],
    home: &Utf8Path,
) -> Vec<(usize, Diagnostic)> {
    let all =
        shared_skills(harnesses, declared, home).into_iter().chain(shared_workdirs(harnesses, declared));
    all.map(|one| {
        let at = inputs.iter().position(|input| input.file == one.place.file);
        (at.unwrap_or_default(), one)
    })
    .collect()
}

/// Harnesses that put different skills into one directory: of a name that both want with different
/// contents only one gets its own, and each sees what only the other wants (SKL-8). Files that are accepted
/// apart from each other cannot refuse one another: across them it is a warning.
fn shared_skills(harnesses: &Harnesses, declared: &Declarations<'_>, home: &Utf8Path) -> Vec<Diagnostic> {
    // The first harness of each unit.
    let mut firsts: BTreeMap<Utf8PathBuf, Vec<&Harness>> = BTreeMap::new();
    let mut found = Vec::new();
    for harness in harnesses.values() {
        let facts = harness.adapter.skill_facts(&harness.env, home);
        let Some(TargetKind::Shared { dir }) = facts.target else { continue };
        let target = harness.workdir.as_deref().unwrap_or(home).join(dir);
        let firsts = firsts.entry(target.clone()).or_default();
        let is_own = |one: &&&Harness| one.name.project() == harness.name.project();
        let differing = || firsts.iter().filter(|one| wanted(one) != wanted(harness));
        let earlier = differing().find(is_own).or(differing().next()).copied();
        if !firsts.iter().any(|one| is_own(&one)) {
            firsts.push(harness);
        }
        let Some(earlier) = earlier else { continue };
        let (Some(here), Some(there)) = (of(declared, harness), of(declared, earlier)) else { continue };
        let message = format!(
            "harnesses `{}` and `{}` put different skills into `{target}`",
            earlier.name, harness.name
        );
        let one = if earlier.name.project() == harness.name.project() {
            Diagnostic::error(SHARED_SKILLS, here.skills.clone(), message)
        } else {
            Diagnostic::warning(SHARED_SKILLS, here.skills.clone(), message)
        };
        found.push(
            one.of(harness.name.as_str())
                .help(format!(
                    "`{}` cannot be told of a private directory: give them the same skills or different workdirs",
                    harness.adapter.id()
                ))
                .related(there.skills.clone(), "the other one's skills are said here"),
        );
    }
    found
}

/// Which skills a harness declares to want: roots, and whose defaults beside them.
fn wanted(harness: &Harness) -> (Option<&str>, Vec<&Utf8Path>) {
    let defaults = harness.use_default_skill_paths.then(|| harness.adapter.id());
    (defaults, harness.skill_paths.iter().map(|(_, path)| path.as_path()).collect())
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
