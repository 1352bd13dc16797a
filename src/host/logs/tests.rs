//! The log of a run under rotation, a full disk and a reader that follows it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::{LogReader, LogWriter, Start, older_segment, remove};

fn place() -> (tempfile::TempDir, Utf8PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(directory.path().join("logs/web@sweep/run.log")).unwrap();
    (directory, path)
}

fn tail(path: &Utf8Path, lines: usize) -> String {
    let bytes = LogReader::open(path, Start::LastLines(lines)).unwrap().read_to_end().unwrap();
    String::from_utf8(bytes).unwrap()
}

/// RUN-3: bytes are kept as they came, private to the user.
#[test]
fn bytes_are_kept_as_they_came() {
    let (_keep, path) = place();
    let mut log = LogWriter::open(&path, 1 << 20);
    log.append(b"\xff\x00 caf\xe9\r\n");
    log.append(b"no end");
    log.finish();
    assert_eq!(fs::read(&path).unwrap(), b"\xff\x00 caf\xe9\r\nno end");
    assert_eq!((log.dropped(), log.discarded(), log.problem()), (0, 0, None));
    let mode = |path: &Utf8Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    // A writer that comes later continues it.
    LogWriter::open(&path, 1 << 20).append(b" yet\n");
    assert_eq!(fs::read(&path).unwrap(), b"\xff\x00 caf\xe9\r\nno end yet\n");
    remove(&path).unwrap();
    remove(&path).unwrap();
    assert!(!path.exists());
}

/// RUN-3: the size bound holds at every moment, whatever the pieces, and what made room is counted.
#[test]
fn both_segments_together_stay_below_the_bound() {
    let (_keep, path) = place();
    let bound = 10_000;
    let mut log = LogWriter::open(&path, bound);
    let mut total = 0;
    for piece in [10, 3000, 4999, 5000, 5001, 20_000, 1, 9000] {
        log.append(&vec![b'x'; piece]);
        total += piece as u64;
        let kept =
            path.metadata().unwrap().len() + older_segment(&path).metadata().map_or(0, |found| found.len());
        assert!(kept <= bound, "{kept}");
        assert_eq!(kept + log.discarded(), total);
    }
}

/// Trap 24: numbered lines at full speed over 50 rotations, bytes that are no
/// UTF-8, no line break at the end: a reader that keeps up has all bytes once.
#[test]
fn a_reader_that_keeps_up_has_every_byte_once() {
    let (_keep, path) = place();
    let bound = 64 << 10;
    let mut log = LogWriter::open(&path, bound);
    let mut expected = Vec::new();
    for number in 0..180_000 {
        expected.extend_from_slice(format!("{number} \u{ff}").as_bytes());
        expected.extend_from_slice(b"\xff\xfe\n");
    }
    expected.extend_from_slice(b"\xff no line break");
    let mut reader = LogReader::open(&path, Start::Oldest).unwrap();
    let read = AtomicU64::new(0);
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut written = 0;
            for piece in expected.chunks(777) {
                // "Keeps up" is being less than one segment behind.
                while written + 777 > read.load(Ordering::Acquire) + bound / 2 {
                    std::thread::yield_now();
                }
                log.append(piece);
                written += piece.len() as u64;
            }
            log.finish();
        });
        while got.len() < expected.len() {
            if reader.read(&mut got).unwrap() == 0 {
                std::thread::yield_now();
            }
            read.store(got.len() as u64, Ordering::Release);
        }
    });
    assert_eq!(reader.read(&mut got).unwrap(), 0);
    assert!(got == expected, "bytes were lost, doubled or changed");
    assert!(log.discarded() / (bound / 2) >= 50, "{}", log.discarded());
    assert_eq!(log.dropped(), 0);
}

/// RUN-2: the last lines are found across both segments; an unfinished line is one.
#[test]
fn the_last_lines_are_found_across_segments() {
    let (_keep, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(older_segment(&path), "1\n2\n3\n").unwrap();
    fs::write(&path, "4\n5\n6").unwrap();
    assert_eq!(tail(&path, 0), "");
    assert_eq!(tail(&path, 1), "6");
    assert_eq!(tail(&path, 2), "5\n6");
    assert_eq!(tail(&path, 3), "4\n5\n6");
    assert_eq!(tail(&path, 4), "3\n4\n5\n6");
    assert_eq!(tail(&path, 99), "1\n2\n3\n4\n5\n6");
    fs::write(&path, "").unwrap();
    assert_eq!(tail(&path, 2), "2\n3\n");
    fs::write(older_segment(&path), format!("a\n{}\nb\n", "x".repeat(200_000))).unwrap();
    assert_eq!(tail(&path, 2).len(), 200_003);
}

/// A follower that began at the end sees only what comes later, in both segments.
#[test]
fn a_follower_waits_for_what_comes() {
    let (_keep, path) = place();
    let mut log = LogWriter::open(&path, 8192);
    log.append(b"old\n");
    let mut reader = LogReader::open(&path, Start::End).unwrap();
    assert_eq!(reader.read_to_end().unwrap(), b"");
    assert!(reader.wait(Duration::ZERO).unwrap(), "the first wait cannot know");
    assert!(!reader.wait(Duration::ZERO).unwrap(), "nothing has changed");
    log.append(&[b'n'; 5000]);
    log.append(b"\nnew\n");
    assert!(reader.wait(Duration::from_secs(10)).unwrap());
    let got = reader.read_to_end().unwrap();
    assert_eq!((got.len(), got.ends_with(b"n\nnew\n")), (5005, true));
}

/// A log that was opened while a rotation went on, or whose newer segment is missing, is read all the same.
#[test]
fn a_log_of_one_segment_is_read() {
    let (_keep, path) = place();
    assert_eq!(LogReader::open(&path, Start::Oldest).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(older_segment(&path), "1\n").unwrap();
    let mut reader = LogReader::open(&path, Start::Oldest).unwrap();
    assert_eq!(reader.read_to_end().unwrap(), b"1\n");
    fs::write(&path, "2\n").unwrap();
    assert_eq!(reader.read_to_end().unwrap(), b"2\n");
}

/// Trap 11, RUN-3: on a full disk the excess is counted; the log says so when it can be written again.
#[test]
fn what_a_full_disk_refused_is_counted_and_said() {
    let (_keep, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("/dev/full", &path).unwrap();
    let mut log = LogWriter::open(&path, 1 << 20);
    log.append(b"twelve bytes");
    log.append(b"more");
    log.finish();
    assert_eq!((log.dropped(), log.problem()), (16, Some("no space left on device")));
    fs::remove_file(&path).unwrap();
    log.append(b"again\n");
    assert_eq!((log.dropped(), log.problem()), (16, None));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "[harnessd: 16 bytes not written: no space left on device]\nagain\n");
}

/// Trap 11: the notice stands on a line of its own, and is written at the end of a run too.
#[test]
fn the_notice_begins_its_own_line_and_comes_with_the_end_at_the_latest() {
    let (_keep, path) = place();
    let directory = path.parent().unwrap();
    let mut log = LogWriter::open(&path, 4096);
    log.append(&[b'a'; 4096]);
    // The next byte needs a new segment; a directory in the way of the older one forbids that to root too.
    fs::create_dir_all(older_segment(&path).join("in the way")).unwrap();
    log.append(b"lost");
    assert_eq!((log.dropped(), log.problem()), (4, Some("is a directory")));
    fs::remove_dir_all(older_segment(&path)).unwrap();
    log.finish();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.trim_start_matches('a'), "\n[harnessd: 4 bytes not written: is a directory]\n");
    fs::remove_dir_all(directory).unwrap();
}

/// Trap 11: one log directory that cannot be made stops nothing.
#[test]
fn a_missing_directory_is_a_problem_and_no_failure() {
    let (keep, path) = place();
    fs::write(keep.path().join("logs"), "a file in the way").unwrap();
    let mut log = LogWriter::open(&path, 1 << 20);
    assert_eq!(log.problem(), Some("not a directory"));
    log.append(b"lost");
    assert_eq!(log.dropped(), 4);
    fs::remove_file(keep.path().join("logs")).unwrap();
    log.append(b"kept");
    assert_eq!(fs::read_to_string(&path).unwrap(), "[harnessd: 4 bytes not written: not a directory]\nkept");
}
