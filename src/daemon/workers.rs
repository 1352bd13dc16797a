//! A few threads for what may take long: they take values and answer with one event.

mod questions;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use camino::Utf8PathBuf;
use tracing::{info, warn};

use super::answers::{self, Answers};
use super::effects::ends;
use super::inquiries::{Asks, Desk, Fleet};
use super::lost::closed;
use super::sessions::Sought;
use super::state::Daemon;
use super::surveys::Wants;
use super::weighing::Placed;
use crate::adapter::Registry;
use crate::base::{HarnessName, RunId, Wall};
use crate::config::Harness;
use crate::doctor::Patient;
use crate::host::signals::leave_to_the_loop;
use crate::host::tree::Kin;
use crate::launch::{Surroundings, workdir};
use crate::loader::Request;
use crate::supervisor::{Ticket, Wish};
use crate::transcripts::{Follower, Subject};
use crate::wire::{HarnessView, PlannedFiring, ProjectsView, Record, RegisteredProject, Run};

pub(super) use questions::Answer;
use questions::Question;

/// At most so many threads; each waits for a disk or a lock, not for a core.
const MOST: usize = 16;
/// At most so many questions of clients are with them at a time. The rest of the threads are for what the
/// daemon itself wants to know, so that nobody who asks and asks about a slow disk keeps runs from their start.
const FOR_CLIENTS: usize = 10;
const STACK: usize = 512 * 1024;

/// The pool. A thread is added when a question would have to wait behind the others', up to a bound:
/// one slow disk or lock must not hold up the rest (SCH-10).
pub(super) struct Workers {
    questions: Sender<Question>,
    receiver: Arc<Mutex<Receiver<Question>>>,
    answers: answers::Sender<Answer>,
    /// Questions that are asked and not answered.
    open: Arc<AtomicUsize>,
    threads: usize,
    /// Questions whose answers the loop has not taken in.
    unanswered: usize,
    /// Of the preparations that write one shared target only one is asked at a time: they would wait
    /// for its lock, each holding a thread. The rest wait here, in order.
    waiting: HashMap<Utf8PathBuf, VecDeque<Question>>,
    sharing: HashMap<RunId, Utf8PathBuf>,
    /// Clients' questions that are with the threads, and those that wait until there are fewer.
    inquiries: usize,
    later: VecDeque<Question>,
}

impl Workers {
    /// A pool that answers into a channel of the loop.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(super) fn new() -> io::Result<(Self, Answers<Answer>)> {
        let (questions, receiver) = channel();
        let (answers, channel) = answers::channel()?;
        let receiver = Arc::new(Mutex::new(receiver));
        let pool = Self {
            questions,
            receiver,
            answers,
            open: Arc::default(),
            threads: 0,
            unanswered: 0,
            waiting: HashMap::new(),
            sharing: HashMap::new(),
            inquiries: 0,
            later: VecDeque::new(),
        };
        Ok((pool, channel))
    }

    /// Ends what is left of `stale` runs of the harness, then prepares a start.
    pub(super) fn prepare(
        &mut self,
        run: RunId,
        stale: Vec<Run>,
        harness: Arc<Harness>,
        session: Option<Wish>,
        around: Arc<Surroundings>,
    ) {
        let shared = harness.adapter.shares_target().then(|| workdir(&harness, &around));
        let question = Question::Prepare { run, stale, harness, session, around };
        let Some(place) = shared else { return self.ask(question) };
        let busy = self.sharing.values().any(|other| *other == place);
        self.sharing.insert(run, place.clone());
        if busy {
            self.waiting.entry(place).or_default().push_back(question);
        } else {
            self.ask(question);
        }
    }

    /// Finds the session that a harness is to be started in.
    pub(super) fn find(&mut self, sought: Sought, state: Utf8PathBuf, home: Utf8PathBuf) {
        self.ask(Question::Find { sought, state, home });
    }

    /// A preparation is answered: the next one for the same target can be asked.
    fn prepared(&mut self, run: RunId) {
        let Some(place) = self.sharing.remove(&run) else { return };
        let next = self.waiting.get_mut(&place).and_then(VecDeque::pop_front);
        match next {
            Some(question) => self.ask(question),
            None => drop(self.waiting.remove(&place)),
        }
    }

    /// Gives up what a harness that is gone owns in a target that it shared.
    pub(super) fn withdraw(&mut self, harness: Arc<Harness>, around: Arc<Surroundings>) {
        self.ask(Question::Withdraw { harness, around });
    }

    /// Asks at which commit the repository of a directory is.
    pub(super) fn head(&mut self, run: RunId, dir: Utf8PathBuf) {
        self.ask(Question::Head { run, dir });
    }

    pub(super) fn load(&mut self, request: Request, around: Arc<Surroundings>) {
        self.ask(Question::Load { request: Box::new(request), around });
    }

    /// Tells of the harnesses of projects whether the files of these say something else by now.
    pub(super) fn compare(
        &mut self,
        ticket: Ticket,
        shown: ProjectsView,
        registered: Vec<RegisteredProject>,
    ) {
        self.ask(Question::Compare { ticket, shown, registered });
    }

    /// Removes logs of runs that are recorded no more, see [`super::recording::sweep`].
    pub(super) fn sweep(&mut self, state: Utf8PathBuf, elsewhere: BTreeSet<HarnessName>, before: Wall) {
        self.ask(Question::Sweep { state, elsewhere, before });
    }

    pub(super) fn describe(
        &mut self,
        ticket: Ticket,
        harness: Arc<Harness>,
        view: HarnessView,
        around: Arc<Surroundings>,
    ) {
        self.ask(Question::Describe { ticket, harness, view: Box::new(view), around });
    }

    pub(super) fn skills(&mut self, ticket: Ticket, harness: Arc<Harness>, around: Arc<Surroundings>) {
        self.ask(Question::Skills { ticket, harness, around });
    }

    /// Projects the skills of a harness, or tells what that would do.
    pub(super) fn sync_skills(
        &mut self,
        ticket: Ticket,
        harness: Arc<Harness>,
        dry_run: bool,
        around: Arc<Surroundings>,
    ) {
        self.ask(Question::SyncSkills { ticket, harness, dry_run, around });
    }

    /// Tells what the next start of a harness would do.
    pub(super) fn plan(
        &mut self,
        ticket: Ticket,
        harness: Arc<Harness>,
        firings: Vec<PlannedFiring>,
        around: Arc<Surroundings>,
    ) {
        self.ask(Question::Plan { ticket, harness, firings, around });
    }

    /// Has the agents looked for.
    pub(super) fn survey(
        &mut self,
        ticket: Ticket,
        wants: Wants,
        registry: Arc<Registry>,
        around: Arc<Surroundings>,
    ) {
        self.ask(Question::Survey { ticket, wants, registry, around });
    }

    /// Has looked at what may be wrong.
    pub(super) fn examine(&mut self, ticket: Ticket, patient: Patient, around: Arc<Surroundings>) {
        self.ask(Question::Examine { ticket, patient: Box::new(patient), around });
    }

    /// Has a question about trajectories or usage answered.
    pub(super) fn inquire(&mut self, ticket: Ticket, asks: Asks, desk: Desk) {
        self.ask(Question::Inquire { ticket, asks, desk: Box::new(desk) });
    }

    /// Looks at the stores of runs.
    pub(super) fn look(&mut self, follower: Box<Follower>, subjects: Vec<(Subject, Option<Kin>)>) {
        self.ask(Question::Look { follower, subjects });
    }

    /// Asks what runs that began then have used, and whose events are.
    pub(super) fn weigh(
        &mut self,
        kept: Vec<(RunId, Wall)>,
        events: Vec<Placed>,
        desk: Desk,
        fleet: Arc<OnceLock<Fleet>>,
    ) {
        self.ask(Question::Weigh { kept, events, desk: Box::new(desk), fleet });
    }

    /// Whether nothing is being worked on, and every answer has been taken in.
    pub(super) const fn at_rest(&self) -> bool {
        self.unanswered == 0
    }

    fn ask(&mut self, question: Question) {
        self.unanswered += 1;
        if !question.is_of_a_client() {
            self.pass_on(question);
        } else if self.inquiries == FOR_CLIENTS {
            self.later.push_back(question);
        } else {
            self.inquiries += 1;
            self.pass_on(question);
        }
    }

    /// A client's question is answered: the next one can be asked.
    fn inquired(&mut self) {
        match self.later.pop_front() {
            Some(question) => self.pass_on(question),
            None => self.inquiries = self.inquiries.saturating_sub(1),
        }
    }

    fn pass_on(&mut self, question: Question) {
        let open = self.open.fetch_add(1, Ordering::AcqRel) + 1;
        if open > self.threads && self.threads < MOST {
            match self.add_thread() {
                Ok(()) => self.threads += 1,
                Err(cause) if self.threads > 0 => warn!(%cause, "a worker thread cannot be added"),
                Err(cause) => {
                    let trouble = format!("no worker thread can be started: {cause}");
                    return self.answer_now(question.failed(&trouble));
                }
            }
        }
        if let Err(unasked) = self.questions.send(question) {
            self.answer_now(unasked.0.failed("no worker takes questions any more"));
        }
    }

    fn add_thread(&self) -> io::Result<()> {
        let (receiver, answers) = (Arc::clone(&self.receiver), self.answers.clone());
        let open = Arc::clone(&self.open);
        let thread = thread::Builder::new().name(format!("worker-{}", self.threads)).stack_size(STACK);
        let work = move || {
            leave_to_the_loop();
            work(&receiver, &answers, &open);
        };
        thread.spawn(work).map(drop)
    }

    fn answer_now(&self, answer: Answer) {
        self.open.fetch_sub(1, Ordering::AcqRel);
        // The loop holds the other end; it is gone only when the daemon is.
        let _taken = self.answers.send(answer);
    }
}

fn work(questions: &Mutex<Receiver<Question>>, answers: &answers::Sender<Answer>, open: &AtomicUsize) {
    loop {
        let question = questions.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(question) = question else { return };
        let failed = question.failed("a defect in harnessd: see its log");
        // A defect in one preparation must not leave its harness waiting for ever.
        let answer = catch_unwind(AssertUnwindSafe(|| question.answer())).unwrap_or(failed);
        open.fetch_sub(1, Ordering::AcqRel);
        if answers.send(answer).is_err() {
            return;
        }
    }
}

impl Daemon {
    /// Takes what a worker answers.
    pub(super) fn answered(&mut self, answer: Answer) {
        self.workers.unanswered = self.workers.unanswered.saturating_sub(1);
        match answer {
            Answer::Prepared { run, stale, prepared } => {
                self.workers.prepared(run);
                self.end_stale_groups(&stale);
                let closed: Vec<Record> = stale.into_iter().map(closed).collect();
                let over = ends(&closed);
                self.commit(closed);
                self.transcripts_end(&over);
                self.start(run, prepared.map(|boxed| *boxed));
            }
            Answer::Withdrawn { harness, trouble: Some(cause) } => {
                warn!(%harness, cause, "the skills of a removed harness stay where they are");
            }
            Answer::Withdrawn { .. } => {}
            Answer::Found { sought, found } => self.found(sought, found),
            Answer::Head { run, commit } => self.head_read(run, commit),
            Answer::Loaded(read) => self.loaded(read.map(|reading| *reading)),
            Answer::Swept(Ok(0)) => {}
            Answer::Swept(Ok(logs)) => info!(logs, "logs of runs that are recorded no more are removed"),
            Answer::Swept(Err(cause)) => warn!(cause, "logs of runs that are recorded no more may stay"),
            Answer::Told { ticket, result } => {
                self.workers.inquired();
                self.reply(ticket, result);
            }
            Answer::Surveyed { ticket, wants, found } => {
                self.workers.inquired();
                self.surveyed(ticket, wants, found);
            }
            Answer::Looked(found) => self.looked(found.map(|found| *found)),
            Answer::Weighed(weighed) => self.weighed(weighed),
        }
    }
}
