//! The control protocol: what `--json` prints and the socket answers.
//!
//! Types and framing only; no socket is opened here. Absent means unknown: a
//! key is left out, never `null`. Lists are always present.

mod agent;
mod answer;
mod doctor;
mod event;
mod frame;
mod message;
mod plan;
mod project;
mod record;
mod request;
mod schema;
mod session;
mod skills;
mod trail;
mod trajectories;
mod view;

pub use agent::{
    AgentState, AgentView, AgentsView, Judge, Login, RetentionView, Supports, Verdict, VersionCheck,
};
pub use answer::{
    Acted, ActedView, HarnessesView, PageView, ProfileUsed, ReloadView, RunsView, SubscribedView,
    SuccessorView, json,
};
pub use doctor::{DoctorView, Finding, Level, Section};
pub use event::{Event, EventKind, TrajectoryEvent};
pub use frame::{FrameError, Frames, MAX_LINE};
pub use message::{ErrorBody, ErrorCode, Op, PROTOCOL, Reply, Request, Welcome, unknown_harness};
pub use plan::{
    Execution, PlanView, PlannedFiring, PlannedInput, PlannedSession, PlannedStart, Planner, ProjectionView,
    Shadowing, SkillChanges, SyncView,
};
pub use project::{ForgottenView, LoweredView, ProjectView, ProjectsView, RaisedView};
pub use record::{Launched, Record, RegisteredProject};
pub use request::decode_request;
pub use schema::schema;
pub use session::Which;
pub use skills::{
    NativeSkillView, RootState, RootView, ShadowedSkill, SkillRank, SkillState, SkillView, SkillsView,
};
pub use trail::{Evidence, RunSession, StorePlace, Trail, Usage};
pub use trajectories::{
    By, ExcludedView, Origin, ParentView, RunView, TrajectoriesView, TrajectoryView, UsageKey, UsageRow,
    UsageView,
};
pub use view::{
    Attention, ConfigState, ConfigView, Description, FiringsView, HarnessView, Run, RunSkill, Source,
    StatusView, Stretch, Waiting, WaitingReason,
};
