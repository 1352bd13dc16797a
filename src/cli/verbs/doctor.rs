//! `doctor`: what may be wrong, in the daemon's own environment where a daemon answers (CTL-9).

use std::process::ExitCode;

use super::agents::{ask_all, known};
use super::read;
use crate::base::version;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, counted};
use crate::client::Client;
use crate::doctor::{Patient, examine};
use crate::launch::agents;
use crate::wire::{DoctorView, ErrorCode, Finding, Judge, Level, Op, Section};

pub(in crate::cli) fn perform(context: &Context, out: &mut Output) -> Result<ExitCode, Failure> {
    let (view, ours) = match context.client() {
        Ok(mut daemon) => {
            let view: DoctorView = read(daemon.call(Op::Doctor)?)?;
            (view, vec![versions(&daemon)])
        }
        Err(Failure::Said(said)) if said.code == ErrorCode::NoDaemon => {
            (by_ourselves(context, None), Vec::new())
        }
        // Something answers and is no daemon for us: that is a finding, not the end.
        Err(failure) => {
            let body = failure.body();
            let finding = Finding { help: body.help, ..Finding::error(body.message) };
            (by_ourselves(context, Some(finding)), Vec::new())
        }
    };
    let view = with_client(view, ours);
    let sick = view.count(Level::Error) > 0;
    if out.is_json() {
        out.json(&view)?;
    } else {
        print(&view, out)?;
    }
    Ok(if sick { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The same in this environment.
fn by_ourselves(context: &Context, unreached: Option<Finding>) -> DoctorView {
    let (registry, around) = known(context);
    let patient = Patient {
        request: context.request(context.registered().unwrap_or_default()),
        state: context.state_dir(),
        state_by_flag: context.state_dir.is_some(),
        socket: context.socket_path(),
        socket_by_flag: context.socket.is_some(),
        agents: ask_all(agents(&registry, &around)),
        daemon: None,
        unreached,
    };
    examine(&patient, &around)
}

/// Whether client and daemon are of one version.
fn versions(daemon: &Client) -> Finding {
    let (ours, theirs) = (version(), daemon.daemon_version());
    if ours == theirs {
        return Finding::ok(format!("this program has the daemon's version, {ours}"));
    }
    Finding::warning(format!("this program has version {ours}, the daemon {theirs}"))
        .help("`harnessd reexec` puts the installed version in the daemon's place and ends nothing")
}

/// What only the client can tell stands in the section about itself, which comes first.
fn with_client(mut view: DoctorView, ours: Vec<Finding>) -> DoctorView {
    if !ours.is_empty() {
        view.sections.insert(0, Section { name: "client".to_owned(), findings: ours });
    }
    view
}

fn print(view: &DoctorView, out: &mut Output) -> Result<(), Failure> {
    out.line(match view.judged_by {
        Judge::Daemon => "judged in the daemon's environment",
        Judge::Caller => "judged in this environment, which may differ from a daemon's: no daemon answers",
    })?;
    for section in view.sections.iter().filter(|section| !section.findings.is_empty()) {
        out.line(&format!("\n{}", section.name))?;
        for one in &section.findings {
            let word = match one.level {
                Level::Note => "",
                Level::Ok => "ok",
                Level::Warning => "warning",
                Level::Error => "ERROR",
            };
            out.line(&format!("  {word:<7}  {}", one.text))?;
            if let Some(help) = &one.help {
                out.line(&format!("           help: {help}"))?;
            }
        }
    }
    let counts = [counted(view.count(Level::Error), "error"), counted(view.count(Level::Warning), "warning")];
    out.line(&format!("\n{}", counts.join(", ")))
}
