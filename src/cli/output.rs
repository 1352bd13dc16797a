//! Standard output for every verb: JSON, tables, times; and the one printer of errors.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, StdoutLock, Write};

use chrono_tz::Tz;
use serde::Serialize;

use super::failure::Failure;
use crate::base::{Format, Wall, harmless, json_one, render};
use crate::host::files::text_environment;
use crate::host::zone;

/// Standard output.
pub(super) struct Output {
    out: StdoutLock<'static>,
    json: bool,
    zone: Tz,
}

impl Output {
    pub(super) fn stdout(json: bool) -> Self {
        Self { out: io::stdout().lock(), json, zone: zone::system() }
    }

    /// Whether `--json` was given.
    pub(super) const fn is_json(&self) -> bool {
        self.json
    }

    /// Whether escapes may be used: a terminal, and no `NO_COLOR`.
    pub(super) fn color(env: &BTreeMap<String, String>) -> bool {
        !no_color(env) && io::stdout().is_terminal()
    }

    /// Prints a value as JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        writeln!(self.out, "{}", plain(text))?;
        Ok(())
    }

    /// Prints a line, in which nothing steers the terminal: a name, a path or a description may be a stranger's.
    pub(super) fn line(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{}", harmless(text))?;
        Ok(())
    }

    /// Prints bytes as they are, at once.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes)?;
        self.out.flush()?;
        Ok(())
    }

    /// Prints rows under a header; columns are as wide as their widest cell.
    pub(super) fn table(&mut self, header: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
        let shown = |row: &Vec<String>| row.iter().map(|cell| harmless(cell)).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([header[column].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let head: Vec<String> = header.iter().map(|word| (*word).to_owned()).collect();
        for row in std::iter::once(&head).chain(&rows) {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            self.line(cells.join("  ").trim_end())?;
        }
        Ok(())
    }

    /// A time in the system's zone, to the second.
    pub(super) fn time(&self, at: Wall) -> String {
        shown(at, self.zone)
    }

    /// What [`Output::time`] does, for whoever cannot hold on to this.
    pub(super) fn times(&self) -> impl Fn(Wall) -> String + use<> {
        let zone = self.zone;
        move |at| shown(at, zone)
    }
}

fn no_color(env: &BTreeMap<String, String>) -> bool {
    env.get("NO_COLOR").is_some_and(|value| !value.is_empty())
}

fn shown(at: Wall, zone: Tz) -> String {
    at.utc().with_timezone(&zone).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// JSON lets the second block of control characters stand as they are; terminals may obey them. A break of
/// lines stands between values only.
pub(super) fn plain(json: String) -> String {
    let obeyed = |c: char| c.is_control() && c != '\n';
    if !json.contains(obeyed) {
        return json;
    }
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if obeyed(c) {
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// `1 error`, `2 errors`.
pub(super) fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The text, or a dash.
pub(super) fn or_dash(text: Option<impl ToString>) -> String {
    text.map_or_else(|| "-".to_owned(), |text| text.to_string())
}

/// Prints why a verb failed on stderr: the only place that does.
pub(super) fn print_failure(failure: &Failure, json: bool) {
    let body = failure.body();
    let text = if json {
        let mut object = serde_json::json!({ "error": body });
        if let Failure::Invalid { diagnostics, sources, .. } = failure {
            object["diagnostics"] = diagnostics.iter().map(|one| json_one(one, sources)).collect();
        }
        format!("{}\n", plain(object.to_string()))
    } else {
        let mut text = match failure {
            Failure::Invalid { diagnostics, sources, .. } => {
                let color = io::stderr().is_terminal() && !no_color(&text_environment());
                render(diagnostics, sources, Format::Human { color })
            }
            _ => String::new(),
        };
        text.push_str(&harmless(&format!("error: {}\n", body.message)));
        text.extend(body.help.iter().map(|help| harmless(&format!("  help: {help}\n"))));
        text
    };
    // With stderr closed nobody can be told; the exit status still says it.
    let _told = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::plain;

    /// What an agent wrote moves no terminal, and is the same for whoever parses it.
    #[test]
    fn json_holds_no_control_character() {
        let value = serde_json::json!({"cwd": "/a\u{9b}2J\u{7f}\u{1b}[2J\n"});
        let text = plain(serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(text, "{\n  \"cwd\": \"/a\\u009b2J\\u007f\\u001b[2J\\n\"\n}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
