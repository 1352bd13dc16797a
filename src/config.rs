//! STUB, to be replaced by the config part: the model only.

mod model;

pub use model::{
    Configuration, DaemonSettings, Declared, Harness, Mode, Origin, Project, PromptSource, Timetable, Work,
};
