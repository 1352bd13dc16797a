//! Files as users leave them.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{
    EnvFileState, LARGEST_CONFIG, PromptFileState, atomic_write, env_file_state, parse_env_file, physical,
    private_directory, prompt_file_state, put_by, read_config, read_env_file, read_prompt, rename_new,
};

fn base(directory: &tempfile::TempDir) -> Utf8PathBuf {
    Utf8Path::from_path(directory.path()).unwrap().to_owned()
}

fn refused(path: &Utf8Path) -> String {
    read_config(path).unwrap_err().to_string()
}

/// Issue A, bad input: a directory, a FIFO, a 100 MB file in place of a configuration is a clear error, and no hang.
#[test]
fn what_is_no_configuration_file_is_refused_by_its_kind() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(&directory);
    fs::write(base.join("good"), b"\xff bytes").unwrap();
    assert_eq!(read_config(&base.join("good")).unwrap(), b"\xff bytes");
    assert_eq!(refused(&base), "it is a directory, not a regular file");
    mkfifo(base.join("fifo").as_std_path(), Mode::S_IRWXU).unwrap();
    assert_eq!(refused(&base.join("fifo")), "it is a FIFO, not a regular file");
    let _socket = UnixListener::bind(base.join("socket")).unwrap();
    assert_eq!(refused(&base.join("socket")), "it is a socket, not a regular file");
    assert_eq!(refused(Utf8Path::new("/dev/zero")), "it is a device, not a regular file");
    assert_eq!(refused(&base.join("none")), "the file does not exist");
    assert_eq!(refused(&base.join("good/below")), "the file does not exist");
    fs::File::create(base.join("large")).unwrap().set_len(100_000_000).unwrap();
    assert_eq!(refused(&base.join("large")), "it is 95.4 MiB large, at most 16.0 MiB are read");
    fs::File::create(base.join("largest")).unwrap().set_len(LARGEST_CONFIG).unwrap();
    assert_eq!(read_config(&base.join("largest")).unwrap().len() as u64, LARGEST_CONFIG);
    // What says it is empty and is not, as files of /proc do, is bounded by what is read.
    assert!(!read_config(Utf8Path::new("/proc/self/status")).unwrap().is_empty());
}

/// Issue A, bad input: what cannot be read says why, whoever runs the test.
#[test]
fn what_cannot_be_read_says_why() {
    let directory = tempfile::tempdir().unwrap();
    symlink("loop", base(&directory).join("loop")).unwrap();
    assert_eq!(
        refused(&base(&directory).join("loop")),
        "it cannot be read: too many symbolic links encountered"
    );
}

/// PRM-2, PRM-3: a prompt is an existing, regular, non-blank UTF-8 file, handed out byte for byte.
#[test]
fn a_prompt_is_text_that_says_something() {
    let directory = tempfile::tempdir().unwrap();
    let path = base(&directory).join("prompt.md");
    let seen = |contents: &[u8]| {
        fs::write(&path, contents).unwrap();
        (read_prompt(&path).map_err(|problem| problem.to_string()), prompt_file_state(&path))
    };
    assert_eq!(seen(b"-x \r\n\n"), (Ok("-x \r\n\n".into()), PromptFileState::Good));
    assert_eq!(seen(b" \n\t"), (Err("it is blank".into()), PromptFileState::Blank));
    assert_eq!(seen(b""), (Err("it is blank".into()), PromptFileState::Blank));
    assert_eq!(seen(b"\xff"), (Err("it is not UTF-8 text".into()), PromptFileState::NotUtf8));
    assert_eq!(prompt_file_state(&base(&directory)), PromptFileState::NotRegular);
    assert_eq!(prompt_file_state(&path.join("x")), PromptFileState::Missing);
    fs::File::create(&path).unwrap().set_len(17 << 20).unwrap();
    let large = "it is 17.0 MiB large, at most 16.0 MiB are read";
    assert_eq!(prompt_file_state(&path), PromptFileState::Unreadable(large.into()));
}

#[test]
fn an_environment_file_is_read_in_the_usual_form() {
    let text = "\u{feff}# comment\r\nA=1\r\n\n export B = two words # said\nC=\nD='a $B \\n # x' # y\n\
                E=\"l1\\nl2\\t\\\"q\\\" \\$B \\d\nl3\"\nF=a#b\nexportG=1\nH=#gone\nA=last";
    let expected = [
        ("A", "1"),
        ("B", "two words"),
        ("C", ""),
        ("D", "a $B \\n # x"),
        ("E", "l1\nl2\t\"q\" $B \\d\nl3"),
        ("F", "a#b"),
        ("exportG", "1"),
        ("H", ""),
        ("A", "last"),
    ];
    let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(parse_env_file(text), Ok(expected));
}

/// CTL-12: a message about an environment file never quotes a value.
#[test]
fn a_bad_line_is_named_by_its_number_and_never_quoted() {
    for (text, expected) in [
        ("A=1\nsecret", "line 2: write `NAME=VALUE`"),
        ("=secret", "line 1: a name is made of letters, digits and `_`, and does not begin with a digit"),
        ("1A=secret", "line 1: a name is made of letters, digits and `_`, and does not begin with a digit"),
        ("A B=x", "line 1: a name is made of letters, digits and `_`, and does not begin with a digit"),
        ("A=\"1\n2\"\nB='secret\n", "line 3: a quote is not closed"),
        ("B=\"secret\\", "line 1: a quote is not closed"),
        ("B='secret' secret", "line 1: only a comment may follow the closing quote"),
        ("B=\"a\0b\"", "line 1: a value holds no NUL byte"),
    ] {
        assert_eq!(parse_env_file(text).unwrap_err().to_string(), expected, "{text:?}");
    }
}

/// Spec 1, `env_file`: a missing one is tolerated, a world-readable one is told apart.
#[test]
fn the_state_of_an_environment_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = base(&directory).join(".env");
    assert_eq!(env_file_state(&path), EnvFileState::Missing);
    assert_eq!(read_env_file(&path), Ok(None));
    fs::write(&path, "A=1").unwrap();
    for (mode, state) in [(0o600, EnvFileState::Good), (0o644, EnvFileState::WorldReadable)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(env_file_state(&path), state);
    }
    assert_eq!(read_env_file(&path), Ok(Some(vec![("A".to_owned(), "1".to_owned())])));
    fs::write(&path, "A").unwrap();
    assert_eq!(env_file_state(&path), EnvFileState::Unreadable("line 1: write `NAME=VALUE`".into()));
    let not_a_file = EnvFileState::Unreadable("it is a directory, not a regular file".into());
    assert_eq!(env_file_state(&base(&directory)), not_a_file);
}

/// COR-1: directories are compared as physical paths, as far as they exist.
#[test]
fn a_path_is_physical_as_far_as_it_exists() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(&directory).canonicalize_utf8().unwrap();
    fs::create_dir_all(base.join("real/x")).unwrap();
    symlink("real", base.join("link")).unwrap();
    let at = |path: &str| physical(&base.join(path));
    assert_eq!(at("link"), base.join("real"));
    assert_eq!(at("link/gone/deeper"), base.join("real/gone/deeper"));
    assert_eq!(at("link/gone/../x"), base.join("real/x"));
    assert_eq!(physical("relative/path".into()), "relative/path");
}

/// Trap 25: a file is replaced whole, and nothing is left beside it, also after a failure.
#[test]
fn a_file_is_replaced_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = base(&directory).join("state");
    atomic_write(&path, b"one", 0o600).unwrap();
    atomic_write(&path, b"two", 0o644).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    fs::create_dir(base(&directory).join("taken")).unwrap();
    assert!(atomic_write(&base(&directory).join("taken"), b"x", 0o600).is_err());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
}

/// WRT-4: what takes the place of a private file is private from its first moment: whoever opens it before its mode
/// is set reads what is written after.
#[test]
fn a_private_file_is_never_open_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = base(&directory).join("keys");
    let mut first = None;
    let look = |file: &fs::File| {
        first = Some(file.metadata()?.permissions().mode() & 0o777);
        Ok::<_, std::io::Error>(())
    };
    put_by(&path, b"x", 0o600, look, |from, to| fs::rename(from, to)).unwrap();
    assert_eq!(first, Some(0o600));
}

/// WRT-4: a file that comes between the look and the writing of a new one is not written over, and neither is a
/// link to nowhere.
#[test]
fn a_name_that_somebody_has_got_meanwhile_is_left_to_him() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(&directory);
    fs::write(base.join("theirs"), "theirs").unwrap();
    symlink("nowhere", base.join("link")).unwrap();
    for name in ["theirs", "link"] {
        let put = put_by(&base.join(name), b"ours", 0o644, |_| Ok(()), rename_new);
        assert_eq!(put.map_err(|error: std::io::Error| error.kind()), Err(ErrorKind::AlreadyExists));
    }
    put_by(&base.join("new"), b"ours", 0o644, |_| Ok::<_, std::io::Error>(()), rename_new).unwrap();
    let names = super::names(&base).unwrap();
    assert_eq!(BTreeSet::from_iter(names.iter().map(String::as_str)), ["link", "new", "theirs"].into());
    assert_eq!(
        (fs::read(base.join("theirs")).unwrap(), fs::read(base.join("new")).unwrap()),
        (b"theirs".into(), b"ours".into())
    );
}

/// CTL-3: the directory is for its owner alone, though it was there before.
#[test]
fn a_private_directory_is_closed_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = base(&directory).join("a/b");
    private_directory(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    private_directory(&path).unwrap();
    for made in [&path, path.parent().unwrap()] {
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
