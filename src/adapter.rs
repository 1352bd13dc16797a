//! Layer 3: what is known about each agent, and the commands that follow.
//!
//! An adapter is data: one TOML document an agent under `adapter/builtin/`, of
//! the same form as a user's `[adapter.NAME]` table. Invariant: nothing here is
//! written for one agent; what differs between two agents stands in their
//! documents, and nothing here reads a file, a clock or the environment.
//!
//! The form, with what each key may hold, is in `model`; what must hold beyond
//! that is in `check`. Placeholders in templates:
//!
//! | where | placeholders |
//! |---|---|
//! | `oneshot`/`resident` `.argument` and `.stdin` | `{prompt}` (in `argument`, once); `{options}` (of a one-shot that of `outcome` first), `{skills}`, `{quieten}`, each an element of its own that stands for a list |
//! | `args` and `env` of `.model`, `.max_turns` | `{value}` |
//! | `.session_id`, `.resume`, `.fork` | `{session}`; in `.fork`, where the copy can be told an id, `{fresh}` too |
//! | `skills.target`, `.args`, `.env`, `.json_args`, `.json_env`, `.documents` | `{private}`, the harness's own directory |
//! | `skills.hide.args`, `.json_args`, `.json_env` | `{hidden}`, an object from names to words, or the list of `entry`s |
//! | `skills.hide.entry` | `{path}`, as a TOML string |
//! | `gateway` | `{endpoint}` |
//! | `mcp` | `{command}`, `{arguments}`, `{words}`, as JSON |
//!
//! A place is a path that may begin with `~`, `${NAME}` or `${NAME:-DEFAULT}`, whose default is a place again.

mod check;
mod document;
mod error;
mod merge;
mod model;
mod options;
mod place;
mod registry;
mod release;
mod secrets;
mod session;
mod shape;
mod skills;
mod stores;
mod synthesis;
mod template;
#[cfg(test)]
mod tests;
mod view;

pub use error::{LONGEST_ARGUMENT, SynthesisError};
pub use model::Adapter;
pub use options::{Fulfilment, OptionKey, PromptOptions};
pub use registry::{Registry, TableProblem};
pub use release::Release;
pub use secrets::{masked, masked_value};
pub use session::Session;
pub use skills::{
    Handover, Hidden, NativeBase, NativePlace, NativeSkill, SkillFacts, TargetKind, TrustFacts, TrustFlag,
};
pub use stores::{Disk, Scene, Stores};
pub use synthesis::{Invocation, Synthesis};
