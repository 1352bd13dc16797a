//! From a line on the control socket to the verb's own file, and what they share.

mod agents;
mod describe;
mod doctor;
mod down;
mod list;
mod plan;
mod ps;
mod reexec;
mod reload;
mod restart;
mod runs;
mod show;
mod skills;
mod skills_sync;
mod start;
mod status;
mod stop;
mod subscribe;
mod trajectories;
mod trajectory;
mod up;
mod usage;
mod use_profile;

use serde_json::Value;

use super::state::{Asker, Daemon};
use crate::base::{self, HarnessName, Wall};
use crate::supervisor::Ticket;
use crate::wire::{self, ConfigState, ErrorBody, ErrorCode, Op, PROTOCOL, Reply, Request, Welcome, json};

/// What a verb answers at once; none: later, through its ticket.
type Answer = Result<Option<Value>, ErrorBody>;

/// The request in hand.
#[derive(Debug, Clone, Copy)]
struct Asked {
    client: u64,
    request: u64,
}

impl Daemon {
    /// Answers one line of a client.
    pub(super) fn hear_line(&mut self, client: u64, line: &[u8]) {
        let handle = self.handle.clone();
        let reply = match wire::decode_request(line) {
            Err((id, error)) => Some(Reply::error(id.unwrap_or(0), error)),
            Ok(Request { id, op }) => match self.answer(Asked { client, request: id }, op) {
                Ok(Some(value)) => Some(Reply::ok(id, value)),
                Ok(None) => None,
                Err(error) => Some(Reply::error(id, error)),
            },
        };
        if let Some(reply) = reply {
            self.clients.send(&handle, client, &reply);
        }
    }

    fn answer(&mut self, asked: Asked, op: Op) -> Answer {
        if let Op::Hello { protocol, version } = &op {
            return self.greet(asked, *protocol, version);
        }
        if !self.clients.greeted(asked.client) {
            return Err(ErrorBody::new(ErrorCode::BadRequest, "the first request must be `hello`")
                .help("send `{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"…\"}` first"));
        }
        match op {
            Op::Hello { .. } => Ok(None),
            Op::Status => status::answer(self),
            Op::List => list::answer(self),
            Op::Describe { name } => describe::answer(self, asked, &name),
            Op::Start { names, all, wait, resume, fork } => {
                start::answer(self, asked, start::Start { names: &names, all, wait, resume, fork })
            }
            Op::Stop { names, all, wait } => stop::answer(self, asked, &names, all, wait),
            Op::Restart { names, all, wait } => restart::answer(self, asked, &names, all, wait),
            Op::UseProfile { name, exclusive, wait } => {
                Ok(use_profile::answer(self, asked, name, exclusive, wait))
            }
            Op::Agents => Ok(agents::answer(self, asked)),
            Op::Doctor => Ok(doctor::answer(self, asked)),
            Op::Reload => reload::answer(self, asked),
            Op::Up { file } => up::answer(self, asked, &file),
            Op::Down { name, file } => down::answer(self, asked, name.as_deref(), file.as_deref()),
            Op::Ps { file } => ps::answer(self, asked, file.as_deref()),
            Op::Reexec => reexec::answer(self, asked),
            Op::Runs { name, limit, failed, since } => {
                runs::answer(self, asked, name.as_deref(), limit, failed, since.as_deref())
            }
            Op::Show { run } => show::answer(self, asked, &run),
            Op::Skills { name } => skills::answer(self, asked, &name),
            Op::SkillsSync { name, dry_run } => skills_sync::answer(self, asked, &name, dry_run),
            Op::Plan { name } => plan::answer(self, asked, &name),
            Op::Trajectories { name, run, from, to, limit } => {
                let bounds = [from.as_deref(), to.as_deref()];
                trajectories::answer(self, asked, name.as_deref(), run.as_deref(), bounds, limit)
            }
            Op::Trajectory { session, skip, limit } => {
                Ok(trajectory::answer(self, asked, session, skip, limit))
            }
            Op::Usage { name, by, since } => {
                usage::answer(self, asked, name.as_deref(), by.as_deref(), since.as_deref())
            }
            Op::Subscribe => subscribe::answer(self, asked),
        }
    }

    fn greet(&mut self, asked: Asked, protocol: u32, version: &str) -> Answer {
        let ours = base::version();
        if protocol != PROTOCOL {
            let message = format!(
                "the client ({version}) speaks protocol {protocol}, the daemon ({ours}) speaks {PROTOCOL}"
            );
            return Err(ErrorBody::new(ErrorCode::VersionMismatch, message)
                .help("run the client and the daemon of one version; restart the daemon after an upgrade"));
        }
        self.clients.greet(asked.client);
        json(&Welcome { protocol: PROTOCOL, version: ours.to_owned() }).map(Some)
    }

    fn ticket_for(&mut self, asked: Asked) -> Ticket {
        self.ticket(Asker::Client { client: asked.client, request: asked.request })
    }

    /// The harness of that full name, or an error with the nearest ones (CTL-6).
    fn known(&self, name: &str) -> Result<HarnessName, ErrorBody> {
        let parsed = HarnessName::parse(name).ok();
        if let Some(found) = parsed.filter(|name| self.supervisor.harness(name).is_some()) {
            return Ok(found);
        }
        let names: Vec<String> = self.supervisor.names().map(ToString::to_string).collect();
        let error = wire::unknown_harness(name, names.iter().map(String::as_str));
        Err(match self.config.state {
            ConfigState::Ok => error,
            ConfigState::Rejected => error.help(
                "the configuration has errors, so that what it said before is in force: `harnessd status` shows them",
            ),
        })
    }

    /// The named harnesses, or all that `pick` chooses when `all` is asked for. A name that is
    /// unknown is likely a slip: then nothing is done to the others either.
    fn chosen(
        &self,
        names: &[String],
        all: bool,
        pick: impl Fn(&Self, &HarnessName) -> bool,
    ) -> Result<Vec<HarnessName>, ErrorBody> {
        if all {
            return Ok(self.supervisor.names().filter(|name| pick(self, name)).cloned().collect());
        }
        if names.is_empty() {
            return Err(ErrorBody::new(ErrorCode::BadRequest, "no harness is named")
                .help("name one or more, or say `all`"));
        }
        let mut found = Vec::new();
        let mut failure: Option<ErrorBody> = None;
        for name in names {
            match self.known(name) {
                Ok(name) => found.push(name),
                Err(error) => failure = Some(ErrorBody::and(failure, error)),
            }
        }
        match failure {
            None => Ok(found),
            Some(error) if found.is_empty() => Err(error),
            Some(error) => {
                Err(ErrorBody { message: format!("{}; nothing was done", error.message), ..error })
            }
        }
    }
}

/// A time of a request.
fn time(field: &str, text: Option<&str>) -> Result<Option<Wall>, ErrorBody> {
    text.map(Wall::parse_rfc3339).transpose().map_err(|cause| {
        ErrorBody::new(ErrorCode::BadRequest, format!("`{field}`: {cause}"))
            .help("write a time like `2026-11-30T08:00:00Z`")
    })
}
