//! Adapters that are in each other's way.
//!
//! Invariant: of two adapters that claim one name or command the earlier keeps
//! it, and the later has the problem.

use std::collections::BTreeMap;

use crate::adapter::model::Adapter;
use crate::adapter::shape::Problem;

/// Which names and commands of several adapters are in each other's way:
/// position of the later adapter, and the problem.
pub(in crate::adapter) fn clashes(adapters: &[&Adapter]) -> Vec<(usize, Problem)> {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let mut commands: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for adapter in adapters {
        names.entry(adapter.id.to_lowercase()).or_insert(&adapter.id);
    }
    for (position, adapter) in adapters.iter().enumerate() {
        for (at, alias) in adapter.aliases.iter().enumerate() {
            match names.insert(alias.to_lowercase(), &adapter.id) {
                None => {}
                Some(owner) => {
                    found.push((
                        position,
                        clash("aliases", at, format!("alias `{alias}` already names `{owner}`")),
                    ));
                    names.insert(alias.to_lowercase(), owner);
                }
            }
        }
        for (at, command) in adapter.commands.iter().enumerate() {
            match commands.get(command.as_str()) {
                None => {
                    commands.insert(command, &adapter.id);
                }
                Some(owner) => found.push((
                    position,
                    clash("commands", at, format!("command `{command}` already infers `{owner}`")),
                )),
            }
        }
    }
    found
}

fn clash(key: &str, at: usize, message: String) -> Problem {
    Problem { path: vec![key.to_owned(), at.to_string()], message, help: None }
}
