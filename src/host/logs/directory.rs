//! Which logs there are.
//!
//! Invariant: only what bears exactly a name that a run's log has counts; whatever else lies there is
//! somebody else's.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use super::older_segment;
use crate::base::{HarnessName, RunId};

/// A log, of which one segment at least is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Log {
    /// Whose run it was.
    pub harness: HarnessName,
    /// The run.
    pub run: RunId,
    /// Where the log is.
    pub path: Utf8PathBuf,
}

/// The directory of all logs.
#[must_use]
pub fn directory(state: &Utf8Path) -> Utf8PathBuf {
    state.join("logs")
}

/// The harnesses that have a directory of logs.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn harnesses(directory: &Utf8Path) -> io::Result<Vec<HarnessName>> {
    let found = names(directory, fs::FileType::is_dir)?;
    let parsed = found.into_iter().filter_map(|file| {
        let name = HarnessName::parse(&file.replace('@', "/")).ok()?;
        (name.file_name() == file).then_some(name)
    });
    Ok(parsed.collect())
}

/// All logs, by harness and run.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn all(directory: &Utf8Path) -> io::Result<Vec<Log>> {
    let mut logs = Vec::new();
    for harness in harnesses(directory)? {
        let inside = directory.join(harness.file_name());
        for file in names(&inside, fs::FileType::is_file)? {
            let Some(Ok(run)) = file.split('.').next().map(str::parse::<RunId>) else { continue };
            let path = inside.join(format!("{run}.log"));
            if [&path, &older_segment(&path)].iter().any(|one| one.file_name() == Some(&file)) {
                logs.push(Log { harness: harness.clone(), run, path });
            }
        }
    }
    logs.sort();
    logs.dedup();
    Ok(logs)
}

/// The entries of one kind; a link is of neither kind. None where there is no such directory.
fn names(directory: &Utf8Path, kind: impl Fn(&fs::FileType) -> bool) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        // One that is removed meanwhile has no kind.
        if entry.file_type().is_ok_and(|of| kind(&of))
            && let Ok(name) = entry.file_name().into_string()
        {
            found.push(name);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Log, all};
    use crate::base::{HarnessName, RunIds, Wall};
    use camino::Utf8Path;
    use std::fs;

    /// RUN-3: only files that are named as logs are named count as logs.
    #[test]
    fn only_logs_are_logs() {
        let directory = tempfile::tempdir().unwrap();
        let logs = Utf8Path::from_path(directory.path()).unwrap().join("logs");
        assert_eq!(all(&logs).unwrap(), []);
        let mut ids = RunIds::new(1);
        let (one, two) = (ids.next(Wall(1_000_000)), ids.next(Wall(2_000_000)));
        fs::create_dir_all(logs.join("web@sweep")).unwrap();
        fs::create_dir_all(logs.join("Not A Name")).unwrap();
        fs::create_dir_all(logs.join(format!("web@sweep/{two}.log"))).unwrap();
        for file in [
            format!("web@sweep/{one}.log"),
            format!("web@sweep/{one}.log.1"),
            format!("web@sweep/{one}.log.2"),
            format!("web@sweep/{one}.log.gz"),
            format!("web@sweep/{}.log", one.to_string().to_uppercase()),
            format!("web@sweep/{one}"),
            "web@sweep/notes.log".into(),
            format!("Not A Name/{one}.log"),
            format!("{one}.log"),
        ] {
            fs::write(logs.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("web@sweep", logs.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", logs.join(format!("web@sweep/{two}.log.1"))).unwrap();
        let path = logs.join(format!("web@sweep/{one}.log"));
        let harness = HarnessName::parse("web/sweep").unwrap();
        assert_eq!(all(&logs).unwrap(), [Log { harness, run: one, path }]);
    }
}
