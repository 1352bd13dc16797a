//! Which stores this instance of an agent writes to (COR-2, COR-3).
//!
//! Invariant: nothing decides but the agent's own variables, the arguments that name a store and the documents
//! that the agent goes by; and a store counts as named only by what is the harness's own.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::model::{Adapter, Setting, StoreRegistry, Trajectory};
use super::place::{Place, resolve};
use crate::wire::StorePlace;

/// What a start tells of the places in which its agent writes.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The variables that the process sees.
    pub env: &'a BTreeMap<String, String>,
    /// Those among them that the harness sets itself. One that every process of the daemon inherits names the
    /// same place for all of them, and so keeps none of them apart.
    pub own: &'a BTreeSet<String>,
    /// The home directory that the process sees.
    pub home: &'a Utf8Path,
    /// The harness's own arguments.
    pub args: &'a [String],
    /// Where it works.
    pub workdir: &'a Utf8Path,
}

/// What has to be asked of the disk.
pub trait Disk {
    /// A small document; none: it does not exist.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn document(&self, path: &Utf8Path) -> Result<Option<Vec<u8>>, String>;

    /// Whether something has that name.
    fn exists(&self, path: &Utf8Path) -> bool;

    /// The path without symbolic links, as far as it exists.
    fn physical(&self, path: &Utf8Path) -> Utf8PathBuf;
}

/// The stores of an instance, and what was odd about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stores {
    /// The stores, each once. One that is named stands alone.
    pub places: Vec<StorePlace>,
    /// For the logs.
    pub warnings: Vec<String>,
}

impl Adapter {
    /// The format of its transcripts.
    #[must_use]
    pub fn transcript_format(&self) -> Option<&str> {
        self.trajectory.as_ref().map(|trajectory| trajectory.format.as_str())
    }

    /// The stores that an instance of the agent writes to.
    #[must_use]
    pub fn store_places(&self, scene: &Scene<'_>, disk: &dyn Disk) -> Stores {
        let Some(trajectory) = &self.trajectory else { return Stores::default() };
        let mut survey = Survey { trajectory, scene, disk, found: Stores::default() };
        survey.look();
        survey.found
    }
}

struct Survey<'a> {
    trajectory: &'a Trajectory,
    scene: &'a Scene<'a>,
    disk: &'a dyn Disk,
    found: Stores,
}

impl Survey<'_> {
    fn look(&mut self) {
        if let Some(named) = flagged(&self.trajectory.flags, self.scene.args).or_else(|| self.configured()) {
            let store = self.within(&self.scene.workdir.join(named));
            return self.add(&store, true);
        }
        let Scene { env, own, home, workdir, .. } = *self.scene;
        let mut places = self.trajectory.stores.iter().filter_map(|text| Place::parse(text).ok());
        let used = places.find_map(|place| Some((place.resolve(env, home)?, place.variable(env))));
        if let Some((store, variable)) = used {
            let named = variable.is_some_and(|name| own.contains(name));
            self.add(&workdir.join(&store), named);
            if named {
                return;
            }
            if let Some(above) = self.above(&store) {
                self.add(&above, false);
            }
        }
        if let Some(registry) = &self.trajectory.registry {
            for directory in self.registered(registry) {
                let store = self.within(&directory);
                self.add(&store, false);
            }
        }
    }

    /// Where the agent goes if the directory of its relative store does not exist yet: to the nearest above.
    fn above(&self, store: &Utf8Path) -> Option<Utf8PathBuf> {
        let Scene { home, workdir, .. } = *self.scene;
        let directory = store.parent().filter(|_| self.trajectory.upward && store.is_relative())?;
        let from = self.disk.physical(workdir);
        let nearest = from.ancestors().find(|dir| self.disk.exists(&dir.join(directory)))?;
        (nearest != from && nearest != self.disk.physical(home)).then(|| nearest.join(store))
    }

    /// The store in a directory that something names.
    fn within(&self, directory: &Utf8Path) -> Utf8PathBuf {
        self.trajectory.below.as_ref().map_or_else(|| directory.to_owned(), |below| directory.join(below))
    }

    fn add(&mut self, store: &Utf8Path, named: bool) {
        let path = self.disk.physical(store).into_string();
        let cwd = self.trajectory.without_cwd.then(|| self.disk.physical(self.scene.workdir).into_string());
        if !self.found.places.iter().any(|place| place.path == path) {
            self.found.places.push(StorePlace { path, named, cwd });
        }
    }

    /// What the agent's settings name; of several levels the highest that says anything. With a document that
    /// cannot be read nobody knows.
    fn configured(&mut self) -> Option<String> {
        let mut named = None;
        for setting in &self.trajectory.settings {
            named = self.setting(setting).or(named);
        }
        named.filter(|_| self.found.warnings.is_empty())
    }

    fn setting(&mut self, setting: &Setting) -> Option<String> {
        let document = setting.files.iter().find_map(|file| self.document(file))?;
        let value = setting.key.split('.').try_fold(&document, |value, key| value.get(key))?;
        value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The directories that the registry lists for the working directory.
    fn registered(&mut self, registry: &StoreRegistry) -> Vec<Utf8PathBuf> {
        let Some(document) = self.document(&registry.file) else { return Vec::new() };
        let here = self.disk.physical(self.scene.workdir);
        let text = |entry: &Value, key: &str| entry.get(key)?.as_str().map(Utf8PathBuf::from);
        let entries = document.get(&registry.list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let listed = entries.iter().filter_map(|entry| {
            let workdir = text(entry, &registry.workdir).filter(|dir| self.disk.physical(dir) == here)?;
            Some(workdir.join(text(entry, &registry.store)?))
        });
        listed.collect()
    }

    /// A JSON document. One that exists and is none is reported, and counts as one that says nothing.
    fn document(&mut self, file: &str) -> Option<Value> {
        let place = resolve(file, self.scene.env, self.scene.home)?;
        let path = self.scene.workdir.join(place);
        let read = self.disk.document(&path).and_then(|bytes| {
            let parse = |bytes: Vec<u8>| {
                serde_json::from_slice(&bytes).map_err(|error| format!("is no JSON: {error}"))
            };
            bytes.map(parse).transpose()
        });
        read.unwrap_or_else(|cause| {
            self.found
                .warnings
                .push(format!("`{path}`, which lists or names stores of transcripts, {cause}"));
            Some(Value::Null)
        })
    }
}

/// The value of the last flag that names a store, in any of the spellings `--flag V`, `--flag=V`, `-f V`,
/// `-f=V` and `-fV`. What stands after `--` is no flag.
fn flagged(flags: &[String], args: &[String]) -> Option<String> {
    let mut args = args.iter().take_while(|word| *word != "--");
    let mut named = None;
    while let Some(word) = args.next() {
        let Some((flag, rest)) =
            flags.iter().find_map(|flag| Some((flag, word.strip_prefix(flag.as_str())?)))
        else {
            continue;
        };
        let value = match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => args.next().map(String::as_str),
            // `-fV`; a longer word that begins like a long flag is another one.
            None => (!flag.starts_with("--")).then_some(rest),
        };
        named = value.filter(|value| !value.is_empty()).or(named);
    }
    named.map(str::to_owned)
}
