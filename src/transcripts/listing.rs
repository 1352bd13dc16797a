//! Which trajectories there are, and which one somebody means (TRJ-6, TRJ-7).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::inquiry::Inquiry;
use super::read::SessionPlace;
use super::survey::{Survey, opaque_id};
use super::telling::{Source, Telling};
use crate::base::{HarnessName, RunId, Wall, nearest};
use crate::correlate::{Attribution, Facts, SLACK};
use crate::store::{AccountQuery, RunLookupError, RunQuery, SessionRow, StoreError};
use crate::wire::{
    ErrorBody, ErrorCode, Evidence, ExcludedView, Origin, ParentView, Run, TrajectoriesView, TrajectoryView,
};

/// The fewest characters of an opaque id that name it.
const LEAST_PART: usize = 4;
/// So many are named when several are meant.
const NAMED: usize = 5;

/// Which trajectories are asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only of this harness.
    pub harness: Option<HarnessName>,
    /// Only of this run.
    pub run: Option<RunId>,
    /// Only those that went on then or later.
    pub from: Option<Wall>,
    /// Only those that began then or before.
    pub to: Option<Wall>,
}

impl Inquiry<'_> {
    /// The trajectories of harnesses that let them be read, newest first.
    ///
    /// # Errors
    /// `not_harvested` if one harness or a run of it is asked for that does not; else if the store cannot be read.
    pub fn trajectories(
        &self,
        wanted: &Wanted,
        warnings: Vec<String>,
    ) -> Result<TrajectoriesView, ErrorBody> {
        let of_run = match wanted.run {
            Some(run) => Some(self.store.run(&run.to_string()).map_err(|cause| cause.body())?.harness),
            None => None,
        };
        if let Some(closed) = of_run.iter().chain(&wanted.harness).find(|name| !self.harvested(name)) {
            return Err(not_harvested(closed));
        }
        let listed = self.listed(wanted, warnings).map_err(|cause| cause.body())?;
        Ok(listed)
    }

    fn listed(&self, wanted: &Wanted, mut warnings: Vec<String>) -> Result<TrajectoriesView, StoreError> {
        let survey = self.survey(&AccountQuery { cwd: None, from: wanted.from, to: wanted.to })?;
        let fits = |harness: &HarnessName| {
            self.harvested(harness) && wanted.harness.as_ref().is_none_or(|only| only == harness)
        };
        let mut trajectories = Vec::new();
        let mut excluded = Vec::new();
        let mut assumed = BTreeSet::new();
        let lost = self.store.lost_runs()?;
        for one in survey.sessions() {
            match &one.whose {
                Attribution::To(_) => {
                    for (run, evidence) in survey.parts(one) {
                        let Some(window) = survey.window(run) else { continue };
                        if fits(&window.harness) && wanted.run.is_none_or(|only| only == run) {
                            if Facts::is_end_assumed(window) || lost.contains(&run) {
                                assumed.insert(run);
                            }
                            trajectories.push(view(&one.row, &survey, run, evidence, &window.harness));
                        }
                    }
                }
                Attribution::Excluded { claimants, reason } => {
                    let during = wanted.run.and_then(|run| survey.window(run)).is_none_or(|window| {
                        claimants.contains(&window.harness)
                            && one.row.started_at.is_some_and(|at| {
                                at >= window.from - SLACK && window.to.is_none_or(|to| at <= to + SLACK)
                            })
                    });
                    if during && claimants.iter().any(fits) {
                        excluded.push(ExcludedView {
                            native_id: one.row.id.clone(),
                            started_at: one.row.started_at,
                            claimants: claimants.clone(),
                            reason: reason.clone(),
                        });
                    }
                }
                Attribution::Nobody => {}
            }
        }
        trajectories.extend(self.logs(wanted, &fits)?);
        trajectories
            .sort_by(|one, other| other.started_at.cmp(&one.started_at).then_with(|| one.id.cmp(&other.id)));
        excluded.sort_by(|one, other| {
            other.started_at.cmp(&one.started_at).then_with(|| one.native_id.cmp(&other.native_id))
        });
        let open = self.declared.iter().filter(|(name, _)| fits(name));
        let odd: BTreeSet<&String> = open.flat_map(|(_, declared)| &declared.warnings).collect();
        warnings.extend(odd.into_iter().cloned());
        warnings.extend(assumed.into_iter().map(|run| {
            format!("run {run}: its end is not recorded, so what it is credited with goes by an assumed one")
        }));
        Ok(TrajectoriesView { trajectories, excluded, warnings })
    }

    /// The runs whose logs stand in for what their agents do not keep.
    fn logs(
        &self,
        wanted: &Wanted,
        fits: &dyn Fn(&HarnessName) -> bool,
    ) -> Result<Vec<TrajectoryView>, StoreError> {
        let mute = self.declared.iter().filter(|(name, declared)| !declared.native && fits(name));
        let mut found = Vec::new();
        for (name, _) in mute {
            let query =
                RunQuery { harness: Some(name.clone()), limit: usize::MAX, failed: false, since: None };
            for run in self.store.runs(&query)? {
                let begun = run.started_at.is_some_and(|at| wanted.to.is_none_or(|to| at <= to));
                let lasted = wanted.from.is_none_or(|from| run.ended_at.is_none_or(|end| end >= from));
                if begun && lasted && wanted.run.is_none_or(|only| only == run.id) && run.log.is_some() {
                    found.push(of_log(&run));
                }
            }
        }
        Ok(found)
    }

    /// The trajectory that is meant by an opaque id, by an unambiguous beginning of one, by the agent's own id,
    /// or by the id of a run.
    ///
    /// # Errors
    /// `unknown_session` with the nearest, `not_harvested`, or the store's.
    pub fn trajectory(&self, id: &str) -> Result<Telling, ErrorBody> {
        let survey = self.survey(&AccountQuery::default()).map_err(|cause| cause.body())?;
        let names: Vec<String> = survey
            .sessions()
            .iter()
            .map(|one| opaque_id(one.row.format, &one.row.store, &one.row.id))
            .collect();
        let part = id.to_ascii_lowercase();
        let meant = |at: &usize| {
            survey.sessions()[*at].row.id == id || id.len() >= LEAST_PART && names[*at].starts_with(&part)
        };
        // One whose whole id it is comes before one that it is the beginning of.
        let exact = (0..names.len()).filter(|at| names[*at] == part || survey.sessions()[*at].row.id == id);
        let mut found: Vec<usize> = exact.collect();
        if found.is_empty() {
            found = (0..names.len()).filter(meant).collect();
        }
        // What may not be told makes nothing ambiguous, and is not named.
        if found.len() > 1 {
            let open: Vec<usize> = found.iter().copied().filter(|at| self.is_open(*at, &survey)).collect();
            if open.is_empty() { found.truncate(1) } else { found = open }
        }
        match found.as_slice() {
            [] if self.declared.keys().any(|name| name.as_str() == id) => {
                let message = format!("`{id}` is a harness, and no trajectory has that id");
                Err(ErrorBody::new(ErrorCode::UnknownSession, message)
                    .help(format!("`harnessd trajectories {id}` lists those of the harness")))
            }
            [] if id.len() < LEAST_PART => {
                let message = format!(
                    "`{}` is too short for a part of an id: at least {LEAST_PART} characters are needed",
                    id.escape_debug()
                );
                Err(ErrorBody::new(ErrorCode::UnknownSession, message)
                    .help("`harnessd trajectories` lists them"))
            }
            [] => self.of_run(id, &survey, &names),
            [one] => self.session(*one, &survey),
            several => {
                let shown: Vec<&str> = several.iter().take(NAMED).map(|at| names[*at].as_str()).collect();
                let message = format!("`{}` may be any of {} trajectories", id.escape_debug(), several.len());
                Err(ErrorBody::new(ErrorCode::UnknownSession, message)
                    .help(format!("say more of it: {}", quoted(&shown))))
            }
        }
    }

    fn session(&self, at: usize, survey: &Survey) -> Result<Telling, ErrorBody> {
        let one = &survey.sessions()[at];
        let of = match &one.whose {
            Attribution::To(of) => of,
            Attribution::Excluded { claimants, reason }
                if claimants.iter().any(|name| self.harvested(name)) =>
            {
                let message = format!("session `{}` is nobody's: {reason}", one.row.id.escape_debug());
                return Err(ErrorBody::new(ErrorCode::UnknownSession, message)
                    .help("`harnessd trajectories` lists it under `excluded`"));
            }
            Attribution::Excluded { .. } | Attribution::Nobody => {
                return Err(unknown(&one.row.id, &[]));
            }
        };
        let harness = |run: &RunId| survey.window(*run).map(|window| window.harness.clone());
        let open: Vec<(RunId, Evidence)> = survey
            .parts(one)
            .into_iter()
            .filter(|(run, _)| harness(run).is_some_and(|name| self.harvested(&name)))
            .collect();
        let Some((run, evidence)) = open.last() else {
            return Err(match of.first().and_then(|(run, _)| harness(run)) {
                Some(name) => not_harvested(&name),
                None => unknown(&one.row.id, &[]),
            });
        };
        let Some(name) = harness(run) else { return Err(unknown(&one.row.id, &[])) };
        Ok(Telling {
            view: view(&one.row, survey, *run, *evidence, &name),
            source: Source::Session {
                place: SessionPlace {
                    format: one.row.format,
                    id: one.row.id.clone(),
                    store: one.row.store.clone(),
                    streams: one.row.streams.clone(),
                },
                top: one.top.clone(),
                of: of.clone(),
                open: open.iter().map(|(run, _)| *run).collect(),
                facts: Box::new(survey.facts().clone()),
            },
        })
    }

    /// A run: its log, where its agent keeps nothing that is understood.
    fn of_run(&self, id: &str, survey: &Survey, names: &[String]) -> Result<Telling, ErrorBody> {
        let run = match self.store.run(id) {
            Ok(run) => run,
            Err(RunLookupError::Store(cause)) => return Err(cause.body()),
            Err(_) => return Err(unknown(id, &self.open_names(survey, names))),
        };
        let Some(declared) = self.declared.get(&run.harness).filter(|declared| declared.harvest) else {
            return Err(not_harvested(&run.harness));
        };
        match &run.log {
            Some(log) if !declared.native => Ok(Telling {
                view: of_log(&run),
                source: Source::Log { path: log.into(), report: run.report.clone() },
            }),
            None if !declared.native => {
                let message = format!("run {} has no log", run.id);
                Err(ErrorBody::new(ErrorCode::UnknownSession, message)
                    .help("`harnessd trajectories` lists what there is"))
            }
            _ => {
                let message = format!("run {} is no session", run.id);
                Err(ErrorBody::new(ErrorCode::UnknownSession, message)
                    .help(format!("`harnessd trajectories --run {}` lists its sessions", run.id)))
            }
        }
    }

    /// The opaque ids that may be told.
    fn open_names(&self, survey: &Survey, names: &[String]) -> Vec<String> {
        let told = (0..names.len()).filter(|at| self.is_open(*at, survey));
        told.map(|at| names[at].clone()).collect()
    }

    fn is_open(&self, at: usize, survey: &Survey) -> bool {
        match &survey.sessions()[at].whose {
            Attribution::To(of) => of
                .iter()
                .any(|(run, _)| survey.window(*run).is_some_and(|window| self.harvested(&window.harness))),
            Attribution::Excluded { .. } | Attribution::Nobody => false,
        }
    }
}

fn not_harvested(harness: &HarnessName) -> ErrorBody {
    let message = format!("harness `{harness}` does not let its trajectories be read");
    ErrorBody::new(ErrorCode::NotHarvested, message)
        .help("set `harvest = true` for it, and `harnessd reload`")
}

fn unknown(id: &str, known: &[String]) -> ErrorBody {
    let near: Vec<&str> = nearest(id, known.iter().map(String::as_str)).into_iter().take(3).collect();
    let help = match near.is_empty() {
        true => "`harnessd trajectories` lists them".to_owned(),
        false => format!("did you mean {}?", quoted(&near)),
    };
    ErrorBody::new(ErrorCode::UnknownSession, format!("no trajectory has the id `{}`", id.escape_debug()))
        .help(help)
}

fn quoted(names: &[&str]) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        let _always = write!(text, "{}`{name}`", if at == 0 { "" } else { ", " });
    }
    text
}

fn view(
    row: &SessionRow,
    survey: &Survey,
    run: RunId,
    evidence: Evidence,
    harness: &HarnessName,
) -> TrajectoryView {
    let over = survey.window(run).is_some_and(|window| window.to.is_some() || !window.live);
    TrajectoryView {
        id: opaque_id(row.format, &row.store, &row.id),
        harness: harness.clone(),
        agent: row.format.to_string(),
        native_id: Some(row.id.clone()),
        source: Origin::Native,
        run: Some(run),
        evidence: Some(evidence),
        started_at: row.started_at,
        ended_at: row.last_at.filter(|_| over),
        cwd: row.cwd.clone(),
        parent: row.parent.as_ref().map(|parent| ParentView {
            id: opaque_id(row.format, &row.store, &parent.id),
            native_id: parent.id.clone(),
            kinship: parent.kinship.to_string(),
        }),
        models: row.models.clone(),
    }
}

fn of_log(run: &Run) -> TrajectoryView {
    TrajectoryView {
        id: run.id.to_string(),
        harness: run.harness.clone(),
        agent: run.adapter.clone(),
        native_id: None,
        source: Origin::Scrollback,
        run: Some(run.id),
        evidence: None,
        started_at: run.started_at,
        ended_at: run.ended_at,
        cwd: run.workdir.clone(),
        parent: None,
        models: Vec::new(),
    }
}
