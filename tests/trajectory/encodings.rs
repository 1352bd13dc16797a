//! TRJ-5: the directories that agents make of a working directory, byte for byte as the real programs made
//! them: pi 1.6.0, Gemini CLI 0.61.0 and Qwen Code 0.24.4, on Linux. A symbolic link is followed by all of
//! them, so a link to `with.dot` led to the directory of `with.dot`. Copilot CLI 1.0.102 makes none.

use harnessd::trajectory::{Format, Layout};

/// Working directories below `/home/user/w`, and what pi, Gemini CLI and Qwen Code made of them.
const DIRECTORIES: [(&str, &str, &str, &str); 8] = [
    ("with.dot", "--home-user-w-with.dot--", "with-dot", "-home-user-w-with-dot"),
    ("with space", "--home-user-w-with space--", "with-space", "-home-user-w-with-space"),
    ("under_score", "--home-user-w-under_score--", "under-score", "-home-user-w-under-score"),
    ("a@b", "--home-user-w-a@b--", "a-b", "-home-user-w-a-b"),
    ("ünï日本😀", "--home-user-w-ünï日本😀--", "n", "-home-user-w--n-----"),
    ("Upper.Case--x", "--home-user-w-Upper.Case--x--", "upper-case-x", "-home-user-w-Upper-Case--x"),
    (".hid den_@é", "--home-user-w-.hid den_@é--", "hid-den", "-home-user-w--hid-den---"),
    (r"a:b\c", "--home-user-w-a-b-c--", "a-b-c", "-home-user-w-a-b-c"),
];

/// A working directory of 239 characters, and what the three made of it.
const LONG: (&str, &str, &str, &str) = (
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/y.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.z/ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ /end",
    "--home-user-w-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-y.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.zy.z-ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ ä_@ -end--",
    "end",
    "-home-user-w-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-y-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-zy-z------------------------------------------end",
);

fn directory(format: Format, cwd: &str) -> Option<String> {
    let Layout::Files(files) = format.layout() else { panic!("{format:?}") };
    files.directory.map(|directory| directory(cwd))
}

/// TRJ-5: dots, spaces, underscores, `@`, non-ASCII, capitals and more than 200 characters.
#[test]
fn directories_are_those_that_the_real_agents_made() {
    for (name, pi, gemini, qwen) in DIRECTORIES.into_iter().chain([LONG]) {
        let cwd = format!("/home/user/w/{name}");
        let made = [Format::Pi, Format::Gemini, Format::Qwen].map(|format| directory(format, &cwd).unwrap());
        assert_eq!(made, [pi, gemini, qwen], "{name}");
        assert_eq!(directory(Format::Copilot, &cwd), None);
    }
    assert_eq!(directory(Format::Gemini, "/").as_deref(), Some("project"));
}
