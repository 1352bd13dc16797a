//! The check of a run whose agent has ended well (RUN-7): the second and last process of the run.
//!
//! Invariant: the run keeps its log and its lock until its check is over.

use std::sync::Arc;

use tracing::{info, warn};

use super::state::{Daemon, Main};
use crate::adapter::masked;
use crate::base::RunId;
use crate::host::process::spawn_into;
use crate::launch::check_spec;
use crate::supervisor::Event;

impl Daemon {
    /// Starts the check of a run, or says why there is none.
    pub(super) fn check(&mut self, run: RunId) {
        if let Err(cause) = self.start_check(run) {
            self.feed(Event::CheckRefused { run, cause });
            self.release(run);
        }
    }

    fn start_check(&mut self, run: RunId) -> Result<(), String> {
        const OVER: &str = "the run is over";
        let harness = self.live.get(&run).map(|live| Arc::clone(&live.harness)).ok_or(OVER)?;
        let group = self.group_for(run, &harness);
        let live = self.live.get_mut(&run).ok_or(OVER)?;
        let (Some(conditions), Some(output)) = (live.conditions.take(), live.output.as_mut()) else {
            return Err("the run was started without a check".to_owned());
        };
        let command = masked(conditions.command.clone()).join(" ").replace(char::is_control, " ");
        output.note(&format!("check: {command}"), self.echo.as_ref());
        let started = check_spec(conditions, &self.around)
            .map_err(|cause| cause.to_string())
            .and_then(|spec| group.map(|group| (spec, group)))
            .and_then(|(spec, group)| spawn_into(&spec, group.as_ref()).map_err(|cause| cause.to_string()));
        let spawned = match started {
            Ok(spawned) => spawned,
            Err(cause) => {
                output.note(&format!("check: {cause}"), self.echo.as_ref());
                warn!(harness = %live.harness.name, %run, cause, "its check cannot be started");
                return Err(cause);
            }
        };
        info!(harness = %live.harness.name, %run, pid = spawned.pid, "its check is started");
        live.main = Main::Alive(spawned.pid);
        live.ending = None;
        if let Some(output) = live.output.take() {
            self.watch_output(run, output.follow(spawned.output));
        }
        self.family.started(run, spawned.pid, spawned.start_time);
        Ok(())
    }
}
