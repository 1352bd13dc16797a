//! A few threads for what may take long: they take values and answer with one event.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use calloop::channel as answers;
use serde::Serialize;
use serde_json::Value;

use crate::base::{HarnessName, RunId};
use crate::config::Harness;
use crate::config::{Loaded, definition_json};
use crate::launch::{
    LaunchError, Prepared, Surroundings, prepare, shown_command, skills_view, withdraw_skills,
};
use crate::loader::{self, Selection};
use crate::supervisor::Ticket;
use crate::wire::{Description, ErrorBody, ErrorCode, HarnessView, Source};

/// How many threads there are; projection is bound by the disk, not by cores.
const THREADS: usize = 2;
const STACK: usize = 512 * 1024;

/// What a worker is asked.
enum Question {
    Prepare { run: RunId, harness: Arc<Harness>, around: Arc<Surroundings> },
    Withdraw { harness: Arc<Harness>, around: Arc<Surroundings> },
    Load { selection: Selection, around: Arc<Surroundings> },
    Skills { ticket: Ticket, harness: Arc<Harness>, around: Arc<Surroundings> },
    Describe { ticket: Ticket, harness: Arc<Harness>, view: Box<HarnessView>, around: Arc<Surroundings> },
}

/// What a worker answers.
pub(super) enum Answer {
    Prepared { run: RunId, prepared: Result<Box<Prepared>, LaunchError> },
    Withdrawn { harness: HarnessName, trouble: Option<String> },
    Loaded(Box<Loaded>),
    Told { ticket: Ticket, result: Result<Value, ErrorBody> },
}

/// The pool; its threads start with the first question.
pub(super) struct Workers {
    questions: Sender<Question>,
    pending: Option<(Receiver<Question>, answers::Sender<Answer>)>,
}

impl Workers {
    /// A pool that answers into a channel of the loop.
    pub(super) fn new() -> (Self, answers::Channel<Answer>) {
        let (questions, receiver) = channel();
        let (sender, channel) = answers::channel();
        (Self { questions, pending: Some((receiver, sender)) }, channel)
    }

    pub(super) fn prepare(&mut self, run: RunId, harness: Arc<Harness>, around: Arc<Surroundings>) {
        self.ask(Question::Prepare { run, harness, around });
    }

    /// Gives up what a harness that is gone owns in a target that it shared.
    pub(super) fn withdraw(&mut self, harness: Arc<Harness>, around: Arc<Surroundings>) {
        self.ask(Question::Withdraw { harness, around });
    }

    pub(super) fn load(&mut self, selection: Selection, around: Arc<Surroundings>) {
        self.ask(Question::Load { selection, around });
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

    fn ask(&mut self, question: Question) {
        if let Some((receiver, sender)) = self.pending.take() {
            let receiver = Arc::new(Mutex::new(receiver));
            for number in 0..THREADS {
                let (receiver, sender) = (Arc::clone(&receiver), sender.clone());
                let thread = thread::Builder::new().name(format!("worker-{number}")).stack_size(STACK);
                if let Err(cause) = thread.spawn(move || work(&receiver, &sender)) {
                    tracing::error!(%cause, "a worker thread cannot be started");
                }
            }
        }
        if self.questions.send(question).is_err() {
            tracing::error!("no worker takes questions any more");
        }
    }
}

fn work(questions: &Mutex<Receiver<Question>>, answers: &answers::Sender<Answer>) {
    loop {
        let question = questions.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(question) = question else { return };
        if answers.send(answer(question)).is_err() {
            return;
        }
    }
}

fn answer(question: Question) -> Answer {
    match question {
        Question::Prepare { run, harness, around } => {
            Answer::Prepared { run, prepared: prepare(&harness, run, &around).map(Box::new) }
        }
        Question::Withdraw { harness, around } => {
            let trouble = withdraw_skills(&harness, &around).err().map(|cause| cause.to_string());
            Answer::Withdrawn { harness: harness.name.clone(), trouble }
        }
        Question::Load { selection, around } => {
            Answer::Loaded(Box::new(loader::load_global(&selection, &around.home)))
        }
        Question::Skills { ticket, harness, around } => {
            Answer::Told { ticket, result: told(&skills_view(&harness, &around)) }
        }
        Question::Describe { ticket, harness, view, around } => {
            Answer::Told { ticket, result: described(&harness, *view, &around) }
        }
    }
}

fn described(harness: &Harness, view: HarnessView, around: &Surroundings) -> Result<Value, ErrorBody> {
    let command =
        shown_command(harness, around).map_err(|cause| ErrorBody::new(cause.code(), cause.to_string()))?;
    told(&Description {
        harness: view,
        definition: definition_json(harness),
        source: Source { file: harness.origin.file.to_string(), line: harness.origin.line },
        command,
        skills: skills_view(harness, around),
    })
}

fn told(value: &impl Serialize) -> Result<Value, ErrorBody> {
    serde_json::to_value(value).map_err(|cause| ErrorBody::new(ErrorCode::Internal, cause.to_string()))
}
