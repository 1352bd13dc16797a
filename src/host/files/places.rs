//! Where things lie on this machine, for this user.
//!
//! Invariant: a variable that is empty, or holds a relative path, counts as unset.

use std::ffi::OsString;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use nix::unistd::{User, geteuid};

/// The name of our directory wherever we have one.
const OWN: &str = "harnessd";

/// The default places of a daemon and its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Runs, logs, the lock: systemd's `STATE_DIRECTORY`, else
    /// `$XDG_STATE_HOME/harnessd`, else `~/.local/state/harnessd`.
    pub state: Utf8PathBuf,
    /// The variable that says so, if one does.
    pub state_by: Option<&'static str>,
    /// The directory of the control socket: systemd's `RUNTIME_DIRECTORY`,
    /// else `$XDG_RUNTIME_DIR/harnessd`; none: the state directory.
    pub runtime: Option<Utf8PathBuf>,
    /// The variable that says so, if one does.
    pub runtime_by: Option<&'static str>,
    /// The user's home directory.
    pub home: Utf8PathBuf,
}

impl Places {
    /// By the environment and user of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::by(home_directory(), |name| std::env::var_os(name))
    }

    /// By a given environment.
    fn by(home: Utf8PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let directory = |name: &str| {
            let text = variable(name)?.into_string().ok()?;
            // systemd separates several by colons; ours is the first.
            let first = if name.ends_with("_DIRECTORY") { text.split(':').next()? } else { &text };
            Some(Utf8PathBuf::from(first)).filter(|path| path.is_absolute())
        };
        let said = |managers: &'static str, base: &'static str| {
            let whole = directory(managers).map(|dir| (dir, managers));
            whole.or_else(|| directory(base).map(|dir| (dir.join(OWN), base)))
        };
        let (state, state_by) = said("STATE_DIRECTORY", "XDG_STATE_HOME").unzip();
        let (runtime, runtime_by) = said("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR").unzip();
        let state = state.unwrap_or_else(|| home.join(".local/state").join(OWN));
        Self { state, state_by, runtime, runtime_by, home }
    }

    /// The default control socket (CTL-3), for a daemon whose state lies in `state`.
    #[must_use]
    pub fn socket(&self, state: &Utf8PathBuf) -> Utf8PathBuf {
        self.runtime.as_ref().unwrap_or(state).join("harnessd.sock")
    }
}

/// The home directory: `HOME`, else what the user database says, else `/`.
#[must_use]
pub fn home_directory() -> Utf8PathBuf {
    let by_variable = std::env::var_os("HOME").map(PathBuf::from);
    let by_user = || User::from_uid(geteuid()).ok().flatten().map(|user| user.dir);
    let fit = |path: PathBuf| Utf8PathBuf::from_path_buf(path).ok().filter(|path| path.is_absolute());
    by_variable.and_then(fit).or_else(|| by_user().and_then(fit)).unwrap_or_else(|| Utf8PathBuf::from("/"))
}

#[cfg(test)]
mod tests {
    use super::Places;
    use std::ffi::OsString;

    fn places(environment: &[(&str, &str)]) -> (String, Option<String>, String) {
        let variable = |name: &str| {
            environment.iter().find(|(one, _)| *one == name).map(|(_, value)| OsString::from(value))
        };
        let found = Places::by("/home/u".into(), variable);
        let socket = found.socket(&found.state).into_string();
        (found.state.into_string(), found.runtime.map(String::from), socket)
    }

    /// CTL-3: XDG places, systemd's where set, and the state directory where there is no runtime one.
    #[test]
    fn systemd_wins_over_xdg_and_xdg_over_home() {
        let all = [
            ("STATE_DIRECTORY", "/var/lib/harnessd:/var/lib/more"),
            ("RUNTIME_DIRECTORY", "/run/harnessd"),
            ("XDG_STATE_HOME", "/x/state"),
            ("XDG_RUNTIME_DIR", "/run/user/7"),
        ];
        let text = |state: &str, runtime: Option<&str>, socket: &str| {
            (state.to_owned(), runtime.map(str::to_owned), socket.to_owned())
        };
        assert_eq!(
            places(&all),
            text("/var/lib/harnessd", Some("/run/harnessd"), "/run/harnessd/harnessd.sock")
        );
        assert_eq!(
            places(&all[2..]),
            text("/x/state/harnessd", Some("/run/user/7/harnessd"), "/run/user/7/harnessd/harnessd.sock")
        );
        let home = "/home/u/.local/state/harnessd";
        let expected = text(home, None, &format!("{home}/harnessd.sock"));
        assert_eq!(places(&[]), expected);
        assert_eq!(places(&[("XDG_STATE_HOME", ""), ("XDG_RUNTIME_DIR", "run")]), expected);
    }
}
