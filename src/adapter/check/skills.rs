//! What must hold of an adapter's `skills`.
//!
//! Invariant: a path that is written below a target stays below it, and what
//! is said to be hidden has a means to be hidden by.

use camino::{Utf8Component, Utf8Path};
use serde_json::Value;

use crate::adapter::model::{Hidden, Hide, Skills, Trust};
use crate::adapter::skills::{FOLDER, private_subdir};
use crate::adapter::template::holes;

use super::Checker;

impl Checker<'_> {
    pub(super) fn skills(&mut self, skills: &Skills) {
        self.at("roots").places(&skills.roots, false);
        for (at, dir) in skills.project.iter().enumerate() {
            self.at("project").at(&at.to_string()).inside(dir);
        }
        let private = skills.target.as_deref().is_some_and(|target| private_subdir(target).is_some());
        if let Some(target) = &skills.target {
            match private_subdir(target) {
                Some(None) => {}
                Some(Some(subdir)) => self.at("target").inside(subdir),
                None => self.at("target").place(target, true),
            }
        }
        for (at, native) in skills.native.iter().enumerate() {
            let mut place = self.at("native");
            let mut place = place.at(&at.to_string());
            place.at("at").place(&native.at, true);
            if matches!(native.hidden, Hidden::Copies | Hidden::Unmerged) && skills.hide.is_none() {
                place.at("hidden").add("single copies are hidden by `skills.hide`, which is missing", None);
            }
        }
        let known: &[&str] = if private { &["private"] } else { &[] };
        self.at("args").words(&skills.args, known);
        self.at("env").texts(&skills.env, known);
        self.at("json_env").json_env(&skills.json_env, known);
        self.at("json_args").documents(&skills.json_args, known);
        for (path, document) in &skills.documents {
            self.at("documents").at(path).inside(path);
            self.at("documents").at(path).json(document, known);
        }
        if let Some(hide) = &skills.hide {
            self.at("hide").hide(hide);
        }
        if let Some(trust) = &skills.trust {
            self.at("trust").trust(trust, private);
        }
    }

    fn trust(&mut self, trust: &Trust, private: bool) {
        if private {
            self.add("a private target is looked at wherever the agent works", None);
        }
        self.required("said", trust.said.is_empty());
        self.required("how", trust.how.is_empty());
        for (at, said) in trust.said.iter().enumerate() {
            let mut all = self.at("said");
            let mut one = all.at(&at.to_string());
            one.at("file").place(&said.file, false);
            one.required("key", said.key.is_empty());
            one.at("key").words(&said.key, &["folder"]);
            for (at, key) in said.key.iter().enumerate() {
                if key != FOLDER && holes(key).contains(&"folder") {
                    one.at("key")
                        .at(&at.to_string())
                        .add(format!("`{FOLDER}` stands alone as one element"), None);
                }
            }
        }
        self.at("off").texts(&trust.off, &[]);
    }

    fn hide(&mut self, hide: &Hide) {
        let by_name = hide.shadowed.is_some() || hide.won.is_some() || hide.unmerged.is_some();
        if by_name == hide.entry.is_some() {
            let message =
                "copies are hidden either by name (`shadowed`, `won`, `unmerged`) or by path (`entry`)";
            self.add(message, None);
        }
        if hide.args.is_empty() && hide.json_env.is_empty() && hide.json_args.is_empty() {
            self.add("neither `args` nor `json_args` nor `json_env` tells the agent what is hidden", None);
        }
        for (key, documents) in [("json_env", &hide.json_env), ("json_args", &hide.json_args)] {
            if hide.entry.is_some() && !documents.is_empty() {
                self.at(key).add("a list of paths can stand in `args` only", None);
            }
            for (name, value) in documents {
                self.at(key).at(name).hidden(value);
            }
        }
        if let Some(entry) = &hide.entry {
            self.at("entry").template(entry, &["path"]);
        }
        self.at("args").words(&hide.args, &["hidden"]);
        self.at("json_env").json_env(&hide.json_env, &["hidden"]);
        self.at("json_args").documents(&hide.json_args, &["hidden"]);
    }

    /// In a JSON document the placeholder stands for a table.
    fn hidden(&mut self, value: &Value) {
        match value {
            Value::String(text) if holes(text).contains(&"hidden") && text != "{hidden}" => {
                self.add("`{hidden}` stands alone in a text of a JSON document", None);
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at, item)| self.at(&at.to_string()).hidden(item));
            }
            Value::Object(map) => map.iter().for_each(|(key, item)| self.at(key).hidden(item)),
            _ => {}
        }
    }

    /// A relative path that stays below where it begins.
    pub(super) fn inside(&mut self, path: &str) {
        let below = |part| matches!(part, Utf8Component::Normal(_));
        if path.is_empty() || !Utf8Path::new(path).components().all(below) {
            self.add(format!("`{}` is no path below another", path.escape_debug()), None);
        }
    }
}
