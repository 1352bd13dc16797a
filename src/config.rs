//! STUB, to be replaced by the config part: the model only.

pub mod model;
