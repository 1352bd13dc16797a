//! Files that somebody wrote to do harm: they are answered within bounds, and nothing leaves its place.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Home;

/// So many bytes of nonsense: 5 MiB with `HARNESSD_FULL=1`.
fn most() -> usize {
    let full = std::env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1");
    if full { 5 << 20 } else { 512 << 10 }
}

/// Everything below a directory.
fn all_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && !entry.is_symlink() {
                pending.push(entry.clone());
            }
            found.push(entry);
        }
    }
    found
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        writeln!(text, "{}", line(at)).unwrap();
        text
    })
}

/// CFG-8, CFG-9: 10,000 harnesses with a mistake each are all told, for people and for programs.
#[test]
fn ten_thousand_harnesses_are_judged() {
    let home = Home::new("");
    let text =
        lines(10_000, |at| format!("[harness.h{at}]\nagent = \"claude-code\"\nprompt = \"x\"\npromt = {at}"));
    home.write("wrong.toml", &text);
    home.write("good.toml", &text.replace("promt = ", "description = \"\" #"));
    for format in ["short", "human"] {
        let said = home.harnessd(&["validate", "--format", format, "wrong.toml"]);
        assert_eq!((said.code, said.err.as_str()), (1, ""));
        assert_eq!(said.out.matches("unknown key `promt`").count(), 10_000, "{format}");
    }
    assert_eq!(home.ok(&["validate", "good.toml"]).out, "1 file, 0 errors, 0 warnings\n");
}

/// CFG-8: depth, length and repetition of megabytes each end in one located mistake, and what is said is short.
#[test]
fn megabytes_of_nonsense_are_one_mistake() {
    let home = Home::new("");
    let (head, most) = ("[harness.a]\ncmd = \"x\"\n", most());
    let half = most / 2;
    let nested = |open: &str, close: &str| {
        let times = most / (open.len() + close.len());
        format!("{}1{}", open.repeat(times), close.repeat(times))
    };
    let copied = lines(3_000, |at| format!("K{at} = \"v\""));
    let copies = lines(3_000, |at| format!("[harness.h{at}]\ncmd = \"x\""));
    let cases = [
        ("lists", format!("{head}args = {}\n", nested("[", "]")), "syntax"),
        ("open lists", format!("{head}args = {}", "[".repeat(most)), "syntax"),
        ("tables", format!("{head}env = {}\n", nested("{a=", "}")), "syntax"),
        ("dotted keys", format!("{head}{} = 1\n", vec!["a"; half].join(".")), "syntax"),
        ("headers", format!("[{}]\n", vec!["a"; half].join(".")), "syntax"),
        ("a key", format!("{head}{} = 1\n", "k".repeat(most)), "unknown_key"),
        ("a name", format!("[harness.{}]\ncmd = \"x\"\n", "k".repeat(most)), "bad_name"),
        ("an agent", format!("{head}agent = \"{}\"\n", "k".repeat(most)), "unknown_adapter"),
        ("a schedule", format!("{head}oneshot = true\nschedule = \"{}\"\n", "* ".repeat(half)), "bad_value"),
        ("copies", format!("[defaults.env]\n{copied}{copies}"), "too_much"),
    ];
    for (what, text, code) in cases {
        home.write("hostile.toml", &text);
        let said = home.harnessd(&["validate", "--format", "short", "hostile.toml"]);
        assert_eq!((said.code, said.err.as_str()), (1, ""), "{what}");
        assert!(said.out.contains(&format!(": harnessd::config::{code}: ")), "{what}: {}", said.out);
        assert!(said.out.len() < 1_000 && said.out.lines().count() == 1, "{what}: {}", said.out);
        let human = home.harnessd(&["validate", "hostile.toml"]);
        assert!(human.code == 1 && human.out.len() < 2_000, "{what}: {}", human.out);
    }
}

/// CFG-3, CFG-8: a name that leads elsewhere is no name, and nothing is made of it on the disk.
#[test]
fn no_name_leads_out_of_its_directory() {
    let home = Home::new("");
    let text = "[project]\nname = \"../../x\"\n\n[harness.\"../../x\"]\ncmd = \"true\"\noneshot = true\n";
    // A file that is refused keeps every name from running, so a good one follows.
    for text in [text, "[harness.a]\ncmd = \"true\"\noneshot = true\n"] {
        home.write("src/app/harness.toml", text);
        for name in ["../../x", "x/../../x", "x/../../../y", "", "a/b/c", "\u{202e}x", "app@../x"] {
            let said = home.within("src/app", &["once", name]);
            assert_ne!(said.code, 0, "{name}: {said:?}");
            assert!(!said.out.contains('\u{202e}') && !said.err.contains('\u{202e}'), "{said:?}");
        }
    }
    assert_eq!(home.within("src/app", &["once", "a"]).code, 0);
    let made = all_below(&home.path(""));
    let state = home.path(".local/state/harnessd");
    let elsewhere = made.iter().filter(|path| !path.starts_with(&state) && !state.starts_with(path));
    let mut files: Vec<&PathBuf> = elsewhere.filter(|path| path.is_file()).collect();
    files.sort();
    assert_eq!(files, [&home.path(".config/harnessd/harness.toml"), &home.path("src/app/harness.toml")]);
    assert!(!made.iter().any(|path| path.ends_with("x") || path.ends_with("y")), "{made:?}");
}

/// CFG-8, CTL-7: what steers a terminal, turns the direction of a line or cannot be seen is printed by no form.
#[test]
fn characters_that_deceive_are_not_printed() {
    let home = Home::new("");
    let text = "[harness.web]\ncmd = \"x\"\n\"pro\u{200b}mpt\" = 1\nagent = \"\u{202e}edoc\\u0007\\u009b\" # \u{2066}\n";
    home.write("wrong.toml", text);
    for format in ["human", "short", "json", "sarif"] {
        let said = home.harnessd(&["validate", "--format", format, "wrong.toml"]);
        assert_eq!(said.code, 1);
        let bad = |c: char| (c.is_control() && c != '\n') || "\u{200b}\u{202e}\u{2066}".contains(c);
        assert!(!said.out.contains(bad), "{format}: {:?}", said.out);
    }
    let short = home.harnessd(&["validate", "--format", "short", "wrong.toml"]).out;
    assert!(short.contains("unknown key `pro\\u{200b}mpt`"), "{short}");
    assert!(short.contains("`\\u{202e}edoc\\u{7}\\u{9b}`"), "{short}");
}
