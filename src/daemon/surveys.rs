//! Questions about the agents: a worker looks for them, the loop asks their programs for their versions,
//! and then they are told, or what else is around is examined by a worker too.
//!
//! Invariant: every question comes to one answer, since each errand ends.

use std::sync::Arc;

use super::state::Daemon;
use super::versions::Program;
use crate::adapter::Registry;
use crate::base::version;
use crate::doctor::{DaemonFacts, Patient};
use crate::launch::{FoundAgent, Surroundings, agents};
use crate::supervisor::Ticket;
use crate::wire::{AgentState, AgentsView, Judge, json};

/// What somebody wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// The agents.
    Agents,
    /// What may be wrong.
    Doctor,
}

/// An agent that a worker has found, with its program as the file that it is: a disk may be slow.
pub(super) struct Sighted(FoundAgent, Option<Program>);

/// What a worker does to find the agents.
pub(super) fn sight(registry: &Registry, around: &Surroundings) -> Vec<Sighted> {
    let sighted = |agent: FoundAgent| {
        let program = agent.question.as_ref().and_then(|question| Program::of(&question.program));
        Sighted(agent, program)
    };
    agents(registry, around).into_iter().map(sighted).collect()
}

/// A question whose agents are asked for their versions.
#[derive(Debug)]
pub(super) struct Survey {
    ticket: Ticket,
    wants: Wants,
    agents: Vec<(AgentState, Option<Program>)>,
}

impl Daemon {
    /// Has the agents looked for.
    pub(super) fn survey(&mut self, ticket: Ticket, wants: Wants) {
        self.workers.survey(ticket, wants, Arc::clone(&self.config.registry), Arc::clone(&self.around));
    }

    /// A worker has found the agents.
    pub(super) fn surveyed(&mut self, ticket: Ticket, wants: Wants, found: Vec<Sighted>) {
        let ask = |Sighted(agent, program): Sighted| {
            let asked = agent.question.zip(program);
            let program = asked.map(|(question, program)| self.find_out_version(question, program));
            (agent.state, program)
        };
        let agents = found.into_iter().map(ask).collect();
        self.surveys.push(Survey { ticket, wants, agents });
        self.tell_surveys();
    }

    /// Answers the questions for which every version is known.
    pub(super) fn tell_surveys(&mut self) {
        let is_known = |survey: &Survey| {
            survey.agents.iter().flat_map(|(_, program)| program).all(|one| self.versions.of(one).is_some())
        };
        let surveys = std::mem::take(&mut self.surveys);
        let (known, waiting): (Vec<_>, Vec<_>) = surveys.into_iter().partition(is_known);
        self.surveys = waiting;
        for Survey { ticket, wants, agents } in known {
            let told = |(state, program): (AgentState, Option<Program>)| {
                state.with_version(program.and_then(|one| self.versions.of(&one)))
            };
            let agents: Vec<AgentState> = agents.into_iter().map(told).collect();
            match wants {
                Wants::Agents => {
                    let view = AgentsView { judged_by: Judge::Daemon, agents };
                    self.reply(ticket, json(&view));
                }
                Wants::Doctor => {
                    let patient = self.as_patient(agents);
                    self.workers.examine(ticket, patient, Arc::clone(&self.around));
                }
            }
        }
    }

    /// What is to be examined.
    fn as_patient(&self, agents: Vec<AgentState>) -> Patient {
        let facts = DaemonFacts {
            version: version().to_owned(),
            pid: std::process::id(),
            started_at: self.started_at,
            configuration: self.config.state,
            projects: self.config.projects.clone(),
            trouble: self.trouble(),
            group: self.groups.as_ref().map(|groups| groups.root().to_owned()).map_err(Clone::clone),
        };
        let mut request = self.request(Vec::new());
        // Its daemon runs the projects that are listed or registered, whatever encloses the place of its start.
        request.selection.project = None;
        Patient {
            request,
            state: self.around.state.clone(),
            state_by_flag: self.options.state_dir.is_some(),
            socket: self.listener.as_ref().map_or_else(Default::default, |one| one.path().to_owned()),
            socket_by_flag: self.options.socket.is_some(),
            agents,
            daemon: Some(facts),
            unreached: None,
        }
    }
}
