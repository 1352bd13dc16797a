//! A run's log on a file system that fills up.

use std::fs;
use std::process::Command;

use camino::Utf8Path;
use harnessd::host::logs::LogWriter;

use super::child::alone;

/// Trap 11 on a real file system of 1 MiB, where this user may mount one;
/// `host::logs::tests::what_a_full_disk_refused_is_counted_and_said` shows the same everywhere.
#[test]
fn a_small_file_system_fills_and_recovers() {
    let _alone = alone();
    let mount = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(mount.path())
        .output()
        .is_ok_and(|done| done.status.success());
    if !mounted {
        eprintln!("not checked on a real file system: this user may not mount one");
        return;
    }
    let filled = std::panic::catch_unwind(|| fill(Utf8Path::from_path(mount.path()).unwrap()));
    assert!(Command::new("umount").arg(mount.path()).status().unwrap().success());
    filled.unwrap();
}

fn fill(directory: &Utf8Path) {
    let (ballast, path) = (directory.join("ballast"), directory.join("logs/run.log"));
    let mut log = LogWriter::open(&path, 64 << 20);
    fs::write(&ballast, vec![0; 512 << 10]).unwrap();
    let piece = [b"0123456789abcde\n".as_slice(); 4096].concat();
    for _ in 0..32 {
        log.append(&piece);
    }
    let kept = path.metadata().unwrap().len();
    assert!(kept <= 512 << 10 && log.dropped() > 0);
    assert_eq!(kept + log.dropped(), 32 * piece.len() as u64, "each byte is kept or counted");
    fs::remove_file(&ballast).unwrap();
    log.append(b"after\n");
    let text = fs::read_to_string(&path).unwrap();
    let notice = format!("[harnessd: {} bytes not written: no space left on device]", log.dropped());
    assert_eq!(text.lines().rev().take(2).collect::<Vec<_>>(), ["after", notice.as_str()]);
    assert_eq!(log.problem(), None);
}
