//! Following the transcripts of runs: when to look, and what comes of a look (USE-2, USE-5, TRJ-9).
//!
//! Invariants: one look at a time, in a worker, which is given the follower and gives it back; what it brought
//! is committed as one transaction before anybody hears of it, and a follower whose progress could not be
//! committed is thrown away. Harnesses whose agents keep nothing that is understood wake nobody up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tracing::warn;

use super::inquiries::Fleet;
use super::state::Daemon;
use super::weighing::Placed;
use crate::base::{HarnessName, Mono, RunId, Wall};
use crate::config::Budget;
use crate::correlate::Known;
use crate::host::tree::Kin;
use crate::store::{Progress, SessionRow};
use crate::trajectory::{Event, Format, Needs};
use crate::transcripts::{Follower, Look, Subject, Warning};
use crate::wire::{Evidence, Trail};

/// The first looks after a start.
const FIRST: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// After the agent has written something, and where a budget is to be kept.
const SOON: Duration = Duration::from_secs(2);
/// Otherwise.
const SELDOM: Duration = Duration::from_secs(30);
/// Runs that are due within this time are looked at together.
const TOGETHER: Duration = Duration::from_millis(250);
/// Never by itself.
const LATER: Mono = Mono(Duration::MAX);
/// So many warnings are remembered.
const MOST_WARNINGS: usize = 500;

/// A run whose transcripts are looked at.
#[derive(Debug)]
struct Followed {
    harness: HarnessName,
    trail: Trail,
    from: Wall,
    /// Its end: one look more.
    to: Option<Wall>,
    begun: Mono,
    due: Mono,
    /// What it has used may have changed since it was last held against its budget.
    unweighed: bool,
}

impl Followed {
    fn format(&self) -> Option<Format> {
        self.trail.format.as_deref()?.parse().ok()
    }
}

/// What became of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// It read and recorded all there was.
    Whole,
    /// There is more than one look takes.
    InPart,
    /// Nothing of it is recorded.
    Lost,
}

/// What is followed.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// None: a worker has it, or the next look begins anew.
    follower: Option<Box<Follower>>,
    /// A worker is at a look, or at what one brought.
    busy: bool,
    /// The runs of that look, and whether it is the last one for them.
    looking: Vec<(RunId, bool)>,
    runs: BTreeMap<RunId, Followed>,
    /// What the look that is under way brings is not to be recorded: the store is another one by now.
    stale: bool,
    /// What the runs' own outputs said of their sessions, until it is committed.
    known: Vec<Known>,
    /// When that is tried again.
    known_again: Option<Mono>,
    warned: BTreeSet<Warning>,
    /// The fleet as it was found for the sake of a budget or of subscribers, and until when that holds: files of
    /// every harness are read for it, and it is wanted every two seconds.
    fleet: Option<(Mono, Arc<OnceLock<Fleet>>)>,
}

impl Following {
    /// Whether no look is under way or due.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.runs.is_empty()
    }

    /// When the next look is due.
    pub(super) fn deadline(&self) -> Option<Mono> {
        if self.busy {
            return None;
        }
        self.runs.values().map(|run| run.due).min()
    }

    /// A run has begun.
    pub(super) fn begin(&mut self, run: RunId, harness: HarnessName, trail: Trail, from: Wall, now: Mono) {
        let due = now + FIRST[0];
        let followed = Followed { harness, trail, from, to: None, begun: now, due, unweighed: true };
        if followed.format().is_some() {
            self.runs.insert(run, followed);
        }
    }

    /// A run has written something: what it does is in its transcript soon.
    pub(super) fn heard(&mut self, run: RunId) {
        if let Some(followed) = self.runs.get_mut(&run) {
            followed.due = followed.due.min(Daemon::now().mono + SOON);
        }
    }

    /// A run is over.
    pub(super) fn ended(&mut self, run: RunId, to: Wall, now: Mono) {
        if let Some(followed) = self.runs.get_mut(&run) {
            followed.to = Some(to);
            followed.due = now;
        }
    }

    /// The ended runs whose transcripts are not read to their end.
    pub(super) fn unread(&self) -> impl Iterator<Item = RunId> {
        self.runs.iter().filter(|(_, run)| run.to.is_some()).map(|(run, _)| *run)
    }

    /// The output of a run names its session.
    pub(super) fn named(&mut self, run: RunId, session: &str) {
        let Some(format) = self.runs.get(&run).and_then(Followed::format) else { return };
        let session = session.to_owned();
        self.known.push(Known { run, format, session, evidence: Evidence::Output });
    }

    /// The fleet, which the first who needs it finds out.
    fn fleet(&mut self, now: Mono) -> Arc<OnceLock<Fleet>> {
        let (_, fleet) = match self.fleet.take().filter(|(until, _)| *until > now) {
            Some(known) => self.fleet.insert(known),
            None => self.fleet.insert((now + SELDOM, Arc::default())),
        };
        Arc::clone(fleet)
    }

    /// The configuration is another one: budgets and the fleet may be, too.
    pub(super) fn reconsider(&mut self, now: Mono) {
        self.fleet = None;
        for run in self.runs.values_mut() {
            run.unweighed = true;
            run.due = if run.due == LATER { LATER } else { run.due.min(now + SOON) };
        }
    }

    /// The store is another one: what was read is not in it. Tells where the runs' transcripts are, which it
    /// is to know.
    pub(super) fn start_over(&mut self) -> Vec<(RunId, Trail)> {
        self.follower = None;
        self.stale = !self.looking.is_empty();
        self.runs.iter().map(|(run, followed)| (*run, followed.trail.clone())).collect()
    }

    /// What a look brought is weighed: the next one may begin.
    pub(super) fn weighed(&mut self) {
        self.busy = false;
    }

    /// A run was held against its budget.
    pub(super) fn held(&mut self, run: RunId) {
        if let Some(followed) = self.runs.get_mut(&run) {
            followed.unweighed = false;
        }
    }

    /// What looks found odd.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.warned.iter().cloned().collect()
    }

    fn warn(&mut self, warning: Warning) {
        if self.warned.len() < MOST_WARNINGS && !self.warned.contains(&warning) {
            warn!(path = warning.path, "{}", warning.message);
            self.warned.insert(warning);
        }
    }
}

impl Daemon {
    /// Takes up the runs whose transcripts an earlier daemon, or this program before it was executed anew,
    /// has not read to their end.
    pub(super) fn take_up_transcripts(&mut self) {
        let now = Self::now().mono;
        let unsettled = match self.store.unsettled() {
            Ok(unsettled) => unsettled,
            Err(cause) => return warn!(%cause, "it cannot be told whose transcripts are read"),
        };
        for one in unsettled {
            // One that is open and not ours is another process's, which reads it.
            if one.to.is_some() || self.live.contains_key(&one.run) {
                self.following.begin(one.run, one.harness, one.trail, one.from, now);
                if let Some(to) = one.to {
                    self.following.ended(one.run, to, now);
                }
            }
        }
    }

    /// Runs are over. One that another process ran, or an earlier daemon, is followed from now on.
    pub(super) fn transcripts_end(&mut self, ends: &[(RunId, Wall)]) {
        let now = Self::now().mono;
        for (run, to) in ends {
            self.following.ended(*run, *to, now);
        }
        let unknown = ends.iter().any(|(run, _)| !self.following.runs.contains_key(run));
        if !unknown || self.store_trouble.is_some() {
            return;
        }
        match self.store.unsettled() {
            Ok(unsettled) => {
                for one in unsettled.into_iter().filter(|one| ends.iter().any(|(run, _)| *run == one.run)) {
                    let Some(to) = one.to.filter(|_| !self.following.runs.contains_key(&one.run)) else {
                        continue;
                    };
                    self.following.begin(one.run, one.harness, one.trail, one.from, now);
                    self.following.ended(one.run, to, now);
                }
            }
            Err(cause) => warn!(%cause, "it cannot be told whether transcripts are read"),
        }
    }

    /// Commits what the outputs of runs said. Where that fails it is kept, and tried again.
    fn keep_known(&mut self, now: Mono) {
        if self.following.known.is_empty() || self.following.known_again.is_some_and(|at| at > now) {
            return;
        }
        let known = std::mem::take(&mut self.following.known);
        let progress = Progress { known, ..Progress::default() };
        self.following.known_again = None;
        if let Err(cause) = self.store.commit_progress(&progress) {
            warn!(%cause, "whose sessions these are cannot be recorded yet");
            self.following.known = progress.known;
            self.following.known_again = Some(now + SELDOM);
        } else {
            for known in &progress.known {
                if let Some(followed) = self.following.runs.get_mut(&known.run) {
                    followed.unweighed = true;
                }
            }
        }
    }

    /// Looks at what is due, unless a look is under way.
    pub(super) fn follow(&mut self) {
        if self.store_trouble.is_some() {
            return;
        }
        let now = Self::now().mono;
        self.keep_known(now);
        if self.handover.is_some() {
            return;
        }
        if self.following.deadline().is_none_or(|at| at > now) {
            return;
        }
        let due = self.following.runs.iter_mut().filter(|(_, run)| run.due <= now + TOGETHER);
        let runs: Vec<(RunId, bool)> = due
            .map(|(run, followed)| {
                // Until the answer; output and the end bring it nearer again.
                followed.due = LATER;
                (*run, followed.to.is_some())
            })
            .collect();
        let subjects = runs.iter().filter_map(|(run, _)| self.subject(*run)).collect();
        let follower = self.following.follower.take();
        let follower = follower.unwrap_or_else(|| Box::new(Follower::new(&self.around.state)));
        self.following.looking = runs;
        self.following.busy = true;
        self.workers.look(follower, subjects);
    }

    /// What is looked at for a run, and where its processes are, if they may tell anything. Those are looked
    /// for by the worker: of a thousand runs that are looked at together the loop would stand still meanwhile.
    fn subject(&self, run: RunId) -> Option<(Subject, Option<Kin>)> {
        let followed = self.following.runs.get(&run)?;
        let heeds = |format: Format| format.layout().heeds_processes();
        let tells = followed.to.is_none() && followed.format().is_some_and(heeds);
        let told = self.clients.are_subscribed() && self.harvests(&followed.harness);
        let subject = Subject {
            run,
            harness: followed.harness.clone(),
            trail: followed.trail.clone(),
            from: followed.from,
            to: followed.to,
            processes: Vec::new(),
            needs: if told { Needs::Everything } else { Needs::Usage },
        };
        Some((subject, tells.then(|| self.family.kin(run))))
    }

    pub(super) fn harvests(&self, harness: &HarnessName) -> bool {
        self.supervisor.harness(harness).is_some_and(|harness| harness.harvest)
    }

    pub(super) fn budget(&self, run: RunId) -> Budget {
        let followed = self.following.runs.get(&run).filter(|followed| followed.to.is_none());
        let declared = followed.and_then(|followed| self.supervisor.harness(&followed.harness));
        declared.and_then(|harness| harness.budget).unwrap_or_default()
    }

    /// Takes what a look brought; none: the worker failed.
    pub(super) fn looked(&mut self, found: Option<(Box<Follower>, Look)>) {
        self.following.busy = false;
        let runs = std::mem::take(&mut self.following.looking);
        let stale = std::mem::take(&mut self.following.stale);
        let Some((follower, look)) = found.filter(|_| !stale) else {
            return self.look_again(&runs, Came::Lost, &[]);
        };
        for warning in look.warnings {
            self.following.warn(warning);
        }
        if !look.progress.is_empty()
            && let Err(cause) = self.store.commit_progress(&look.progress)
        {
            warn!(%cause, "what agents wrote cannot be recorded yet; it is read again");
            return self.look_again(&runs, Came::Lost, &[]);
        }
        self.following.follower = Some(follower);
        for (run, _) in &runs {
            if let Some(followed) = self.following.runs.get_mut(run) {
                followed.unweighed |= !look.progress.is_empty();
            }
        }
        let kept = self.kept(&runs);
        let events = self.placed(look.events, &look.progress);
        let came = if look.more { Came::InPart } else { Came::Whole };
        self.look_again(&runs, came, &look.progress.settled);
        if !kept.is_empty() || !events.is_empty() {
            // No look before this is answered, so that events come in their order.
            self.following.busy = true;
            let (desk, fleet) = (self.desk(), self.following.fleet(Self::now().mono));
            self.workers.weigh(kept, events, desk, fleet);
        }
    }

    /// Says when the runs of a look are looked at again.
    fn look_again(&mut self, runs: &[(RunId, bool)], came: Came, settled: &[RunId]) {
        let now = Self::now().mono;
        for (run, last) in runs {
            let over = came == Came::Whole && settled.contains(run);
            // In the foreground nobody comes after this one, and to wait for a disk would be for ever.
            if *last && (over || came != Came::InPart && self.foreground) {
                self.following.runs.remove(run);
                continue;
            }
            let kept = self.budget(*run) != Budget::default();
            let Some(followed) = self.following.runs.get_mut(run) else { continue };
            let early = FIRST.iter().map(|pause| followed.begun + *pause).find(|at| *at > now);
            let next = match came {
                Came::InPart => now,
                Came::Lost => now + SELDOM,
                Came::Whole if *last => now + SELDOM,
                Came::Whole => early.unwrap_or(now + if kept { SOON } else { SELDOM }),
            };
            followed.due = followed.due.min(next);
        }
    }

    /// Those of the runs that go on, have a budget and are to be held against it, with their starts.
    fn kept(&self, runs: &[(RunId, bool)]) -> Vec<(RunId, Wall)> {
        let kept = runs.iter().filter(|(run, _)| self.budget(*run) != Budget::default());
        let followed = kept.filter_map(|(run, _)| Some((*run, self.following.runs.get(run)?)));
        followed.filter(|(_, one)| one.unweighed).map(|(run, one)| (run, one.from)).collect()
    }

    /// Events with where their sessions lie: whatever tells one has grown, so its row is among the progress.
    fn placed(&self, events: Vec<(RunId, String, Event)>, progress: &Progress) -> Vec<Placed> {
        let mut rows: HashMap<&str, Vec<&SessionRow>> = HashMap::new();
        for row in progress.sessions.iter().filter(|_| !events.is_empty()) {
            rows.entry(&row.id).or_default().push(row);
        }
        let placed = |(run, id, event): (RunId, String, Event)| {
            let trail = &self.following.runs.get(&run)?.trail;
            let own = |row: &&&SessionRow| trail.stores.iter().any(|store| store.path == row.store);
            let row = rows.get(id.as_str())?.iter().find(own)?;
            Some(Placed { run, format: row.format, store: row.store.clone(), id, event })
        };
        events.into_iter().filter_map(placed).collect()
    }
}
