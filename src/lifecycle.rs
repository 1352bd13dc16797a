//! A stand-in with the contract's signatures, to be replaced by the real machine.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestartPolicy {
    /// no
    No,
    /// always
    Always,
    /// unless-stopped
    UnlessStopped,
    /// on-failure
    OnFailure,
}
/// Stub.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("`{0}` is no restart policy")]
pub struct RestartError(String);
impl FromStr for RestartPolicy {
    type Err = RestartError;
    fn from_str(text: &str) -> Result<Self, RestartError> {
        match text {
            "no" => Ok(Self::No),
            "always" => Ok(Self::Always),
            "unless-stopped" => Ok(Self::UnlessStopped),
            "on-failure" => Ok(Self::OnFailure),
            _ => Err(RestartError(text.into())),
        }
    }
}
impl fmt::Display for RestartPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::Always => "always",
            Self::UnlessStopped => "unless-stopped",
            Self::OnFailure => "on-failure",
        })
    }
}
