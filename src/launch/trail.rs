//! Where the transcripts of a run will lie, as known when it starts (COR-2).

use std::collections::BTreeMap;
use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};

use super::environment::text_of;
use crate::config::Harness;
use crate::wire::{StorePlace, Trail};

/// The trail of a run with this environment and command, and what is odd about it.
pub(super) fn trail(
    harness: &Harness,
    env: &BTreeMap<OsString, OsString>,
    _argv: &[OsString],
    workdir: &Utf8Path,
) -> (Trail, Vec<String>) {
    let physical =
        |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned()).into_string();
    let env = text_of(env);
    let home = env.get("HOME").map_or("/", String::as_str);
    let stores = harness.adapter.stores(&env, home.into());
    let inferred =
        |store: &Utf8PathBuf| StorePlace { path: physical(&workdir.join(store)), named: false, cwd: None };
    let trail = Trail {
        format: harness.adapter.transcript_format().map(str::to_owned),
        workdir: harness.workdir.is_some().then(|| physical(workdir)),
        stores: stores.iter().map(inferred).collect(),
        session: None,
    };
    (trail, Vec::new())
}
