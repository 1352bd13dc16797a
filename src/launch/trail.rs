//! Where the transcripts of a run will lie, as known when it starts (COR-2).

use std::collections::BTreeMap;
use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};

use super::environment::{Surroundings, agent_environment, agent_home, readable_variables, text_of};
use super::prepare;
use crate::adapter::{Disk, Scene};
use crate::config::{Harness, Work};
use crate::correlate::Peer;
use crate::host::files::{self, ReadProblem};
use crate::wire::Trail;

/// The trail of a run with this environment and command, and what is odd about it.
pub(super) fn trail(
    harness: &Harness,
    around: &Surroundings,
    env: &BTreeMap<OsString, OsString>,
    own: BTreeMap<String, String>,
    argv: &[OsString],
) -> (Trail, Vec<String>) {
    trail_of(harness, around, &text_of(env), own, &words(harness, argv))
}

/// A harness as it would start now, for whoever asks what it could have written (COR-4), and what is odd about
/// the places where it would.
#[must_use]
pub fn peer(harness: &Harness, around: &Surroundings) -> (Peer, Vec<String>) {
    let own = readable_variables(harness);
    let env = agent_environment(harness, around, own.clone());
    let args = match &harness.work {
        Work::Command { args, .. } => args.as_slice(),
        Work::Prompt { .. } => &[],
    };
    let (trail, warnings) = trail_of(harness, around, &env, own, args);
    let peer = Peer {
        harness: harness.name.clone(),
        adapter: harness.adapter.id().to_owned(),
        format: trail.format.and_then(|format| format.parse().ok()),
        workdir: trail.workdir,
        stores: trail.stores,
    };
    (peer, warnings)
}

fn trail_of(
    harness: &Harness,
    around: &Surroundings,
    env: &BTreeMap<String, String>,
    own: BTreeMap<String, String>,
    args: &[String],
) -> (Trail, Vec<String>) {
    let (home, workdir) = (agent_home(env, around), prepare::workdir(harness, around));
    let own = own.into_keys().collect();
    let scene = Scene { env, own: &own, home: &home, args, workdir: &workdir };
    let stores = harness.adapter.store_places(&scene, &Files);
    let trail = Trail {
        format: harness.adapter.transcript_format().map(str::to_owned),
        workdir: harness.workdir.is_some().then(|| Files.physical(&workdir).into_string()),
        stores: stores.places,
        session: None,
    };
    (trail, stores.warnings)
}

/// The arguments that may name a store: a command's. Those of a prompt are its adapter's, which knows where
/// its stores are, and one of them may be the prompt itself.
fn words(harness: &Harness, argv: &[OsString]) -> Vec<String> {
    match &harness.work {
        Work::Command { .. } => argv.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        Work::Prompt { .. } => Vec::new(),
    }
}

/// The disk itself.
struct Files;

impl Disk for Files {
    fn document(&self, path: &Utf8Path) -> Result<Option<Vec<u8>>, String> {
        match files::read_config(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadProblem::Missing) => Ok(None),
            Err(problem) => Err(format!("cannot be read: {problem}")),
        }
    }

    fn exists(&self, path: &Utf8Path) -> bool {
        path.exists()
    }

    fn physical(&self, path: &Utf8Path) -> Utf8PathBuf {
        files::physical(path)
    }
}
