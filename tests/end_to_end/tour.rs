//! The README's tour, executed: each `$` line of its console blocks, in one shell, with the output
//! that the README shows. `…` stands for anything.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Home, path_with, stand_in_dir};

/// A command with the output that is shown for it.
#[derive(Debug, Default)]
struct Step {
    command: String,
    shown: Vec<String>,
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => {
                if let Some(command) = line.strip_prefix("$ ") {
                    steps.push(Step { command: command.to_owned(), shown: Vec::new() });
                } else if let Some(more) = line.strip_prefix('>') {
                    let step = steps.last_mut().unwrap();
                    step.command += "\n";
                    step.command += more.strip_prefix(' ').unwrap_or(more);
                } else {
                    steps.last_mut().unwrap().shown.push(line.to_owned());
                }
            }
            (false, _) => {}
        }
    }
    steps
}

/// Whether `said` is `shown`, where `…` stands for anything and blanks at the end do not count.
fn fits(shown: &str, said: &str) -> bool {
    let parts: Vec<&str> = shown.trim_end().split('…').collect();
    let mut rest = said.trim_end();
    for (at, part) in parts.iter().enumerate() {
        let found =
            if at == 0 { rest.starts_with(part.trim_end()).then_some(0) } else { rest.find(part.trim()) };
        match found {
            Some(start) => rest = &rest[start + if at == 0 { part.trim_end() } else { part.trim() }.len()..],
            None => return false,
        }
    }
    parts.len() > 1 || rest.is_empty()
}

#[test]
fn the_tour_of_the_readme_works_as_it_is_shown() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let steps = steps(&readme);
    assert!(steps.len() >= 15, "the tour is found");
    let home = Home::new("");
    fs::remove_file(home.path(".config/harnessd/harness.toml")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_harnessd")).parent().unwrap();
    let mut script = String::new();
    for (number, step) in steps.iter().enumerate() {
        script += &format!("{}\n echo \"== {number} ended\"\n", step.command);
    }
    script += "kill %1\nwait\n";
    let mut command = std::process::Command::new("bash");
    command.env_clear().env("HOME", home.path("")).env("LANG", "C.UTF-8").current_dir(home.path(""));
    command.env("PATH", format!("{}:{}", programs.display(), path_with(&stand_in_dir())));
    let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut rest = text.as_str();
    for (number, step) in steps.iter().enumerate() {
        let mark = format!("== {number} ended\n");
        let (said, after) =
            rest.split_once(&mark).unwrap_or_else(|| panic!("step {number} is missing: {text}"));
        rest = after;
        let lines: Vec<&str> = said.lines().collect();
        let same = lines.len() == step.shown.len()
            && step.shown.iter().zip(&lines).all(|(shown, said)| fits(shown, said));
        assert!(same, "`{}`\nsaid:\n{said}\nthe README shows:\n{}", step.command, step.shown.join("\n"));
    }
}
