//! The command line: arguments in, text or JSON out.
//!
//! Invariant: an error is printed and an exit status is chosen in one place, [`main`].

mod account;
mod args;
mod context;
mod failure;
mod journal;
mod output;
mod starter;
mod verbs;
mod writing;

use std::process::ExitCode;
use std::{env, io};

use clap::{CommandFactory, Parser};

use args::{Cli, Verb};
use context::Context;
use failure::Failure;
use output::Output;

/// The definition of the command line, for the manual page.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            if usage.use_stderr() && env::args_os().any(|arg| arg == "--json") {
                let failure = Failure::Usage(failure::usage_message(&usage));
                output::print_failure(&failure, true);
                return ExitCode::from(failure::USAGE);
            }
            // Help goes to stdout with 0, a usage error to stderr with 2; a closed stream changes neither.
            let _printed = usage.print();
            return if usage.use_stderr() { ExitCode::from(failure::USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let mut out = Output::stdout(cli.common.json);
    match perform(&cli, &mut out) {
        Ok(code) => code,
        // The reader has what it wanted (`harnessd runs | head`).
        Err(Failure::Output(cause)) if cause.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::print_failure(&failure, cli.common.json);
            ExitCode::from(failure.exit_status())
        }
    }
}

fn perform(cli: &Cli, out: &mut Output) -> Result<ExitCode, Failure> {
    let context = Context::new(&cli.common);
    match &cli.verb {
        Verb::Run(args) => verbs::run::perform(&context, args),
        Verb::List => verbs::list::perform(&context, out),
        Verb::Describe(args) => verbs::describe::perform(&context, args, out),
        Verb::Start(args) => verbs::start::perform(&context, args, out),
        Verb::Stop(args) => verbs::stop::perform(&context, args, out),
        Verb::Restart(args) => verbs::restart::perform(&context, args, out),
        Verb::UseProfile(args) => verbs::use_profile::perform(&context, args, out),
        Verb::Up(args) => verbs::up::perform(&context, args, out),
        Verb::Down(args) => verbs::down::perform(&context, args, out),
        Verb::Ps => verbs::ps::perform(&context, out),
        Verb::Reload => verbs::reload::perform(&context, out),
        Verb::Reexec => verbs::reexec::perform(&context, out),
        Verb::ProbeHandover => verbs::probe_handover::perform(out),
        Verb::Status(args) => verbs::status::perform(&context, args, out),
        Verb::Once(args) => verbs::once::perform(&context, args, out),
        Verb::Validate(args) => verbs::validate::perform(&context, args, out),
        Verb::Agents(args) => verbs::agents::perform(&context, args, out),
        Verb::Plan(args) => verbs::plan::perform(&context, args, out),
        Verb::Doctor => verbs::doctor::perform(&context, out),
        Verb::Init(args) => verbs::init::perform(&context, args, out),
        Verb::Skills(args) => verbs::skills::perform(&context, args, out),
        Verb::Runs(args) => verbs::runs::perform(&context, args, out),
        Verb::Show(args) => verbs::show::perform(&context, args, out),
        Verb::Logs(args) => verbs::logs::perform(&context, args, out),
        Verb::Trajectories(args) => verbs::trajectories::perform(&context, args, out),
        Verb::Trajectory(args) => verbs::trajectory::perform(&context, args, out),
        Verb::Usage(args) => verbs::usage::perform(&context, args, out),
        Verb::Schedule(args) => verbs::schedule::perform(&context, args, out),
        Verb::Add(args) => verbs::add::perform(&context, args, out),
        Verb::Set(args) => verbs::set::perform(&context, args, out),
        Verb::Unset(args) => verbs::unset::perform(&context, args, out),
        Verb::Remove(args) => verbs::remove::perform(&context, args, out),
        Verb::Enable(args) => verbs::enable::perform(&context, args, out),
        Verb::Disable(args) => verbs::disable::perform(&context, args, out),
        Verb::Schema(args) => verbs::schema::perform(args, out),
        Verb::Completions(args) => verbs::completions::perform(args, out),
    }
}
