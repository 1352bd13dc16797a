//! What the adapters promise, agent by agent and over the whole registry.

mod argv;
mod overlay;
mod plain;
mod prompt;
mod registry;
mod session;
mod skills;
mod stores;

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use serde_json::Value;

use crate::adapter::{Adapter, Invocation, PromptOptions, Registry, TableProblem};

fn builtin(id: &str) -> Arc<Adapter> {
    Registry::builtin().find(id).unwrap()
}

const PLAIN: PromptOptions = PromptOptions { model: None, auto_accept: false, max_turns: None, quiet: true };

fn one_shot<'a>(prompt: &'a str, options: &'a PromptOptions) -> Invocation<'a> {
    Invocation {
        program: None,
        args: &[],
        prompt: Some(prompt),
        resident: false,
        options,
        workdir: None,
        skills: None,
        session: None,
    }
}

fn command<'a>(program: &'a str, args: &'a [String]) -> Invocation<'a> {
    Invocation {
        program: Some(program),
        args,
        prompt: None,
        resident: false,
        options: &PLAIN,
        workdir: Some(Utf8Path::new("/w")),
        skills: None,
        session: None,
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The tables of a global file that holds nothing but `[adapter.*]`.
fn overlaid(text: &str) -> Result<Registry, Vec<TableProblem>> {
    let Value::Object(tables) = super::document::read(text).unwrap() else { unreachable!() };
    let tables: Vec<(String, Value)> = tables.into_iter().collect();
    Registry::builtin().overlay(&tables)
}
