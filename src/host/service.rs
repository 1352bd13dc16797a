//! Whether this process is a service of its user's own manager, and whether that stays after a logout.
//!
//! Invariant: files only; no manager is asked.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::{Uid, User};

/// Where systemd notes whose manager stays.
const LINGERING: &str = "/var/lib/systemd/linger";

/// A service of a user's manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserService {
    /// Whose manager it is.
    pub user: String,
    /// Whether it stays when the user logs out.
    pub lingers: bool,
}

impl UserService {
    /// What this process is; none: no service of a user's manager.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::by(&groups, Utf8Path::new(LINGERING))
    }

    /// The same by the text that the kernel gives: `…/user@1000.service/app.slice/harnessd.service`. A
    /// terminal's shell stands in a `.scope` there.
    fn by(groups: &str, lingering: &Utf8Path) -> Option<Self> {
        let path = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find_map(|path| {
            let path = Utf8PathBuf::from(path);
            let manager = path.components().position(|part| part.as_str().starts_with("user@"))?;
            let below = path.components().skip(manager + 1);
            below.into_iter().any(|part| part.as_str().ends_with(".service")).then_some((path, manager))
        });
        let (path, manager) = path?;
        let manager = path.components().nth(manager)?;
        let uid: u32 = manager.as_str().strip_prefix("user@")?.strip_suffix(".service")?.parse().ok()?;
        let user = User::from_uid(Uid::from_raw(uid)).ok().flatten()?.name;
        Some(Self { lingers: lingering.join(&user).exists(), user })
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::UserService;

    /// CTL-9: a service of the user's manager is told from a shell, and lingering by its file.
    #[test]
    fn a_users_service_is_known_by_its_group() {
        let directory = tempfile::tempdir().unwrap();
        let lingering = Utf8Path::from_path(directory.path()).unwrap();
        let service = "0::/user.slice/user-0.slice/user@0.service/app.slice/harnessd.service\n";
        let one = |lingers| Some(UserService { user: "root".to_owned(), lingers });
        assert_eq!(UserService::by(service, lingering), one(false));
        std::fs::write(lingering.join("root"), "").unwrap();
        assert_eq!(UserService::by(service, lingering), one(true));
        for other in [
            "0::/system.slice/harnessd.service\n",
            "0::/user.slice/user-0.slice/session-3.scope\n",
            "0::/user.slice/user-0.slice/user@0.service/app.slice/term.scope\n",
            "0::/\n",
            "",
        ] {
            assert_eq!(UserService::by(other, lingering), None, "{other}");
        }
    }
}
