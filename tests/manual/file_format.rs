//! `harness.toml(5)`: the keys, and what `docs/configuration.md` says of forms and layers.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::reference::{Row, adapter, rows};

/// The page, for the program of a version.
pub(crate) fn page(version: &str, document: &str) -> String {
    let mut roff = Roff::new();
    roff.control("TH", ["harness.toml", "5", "", &format!("harnessd {version}"), "File formats"]);
    section(&mut roff, "NAME");
    roff.text([roman("harness.toml - what harnessd runs: the global file and the files of projects")]);
    section(&mut roff, "DESCRIPTION");
    let introduction = document.split("\n## ").next().unwrap_or_default();
    for paragraph in introduction.split("\n\n").filter(|paragraph| paragraph.starts_with("**")) {
        roff.control("PP", []);
        roff.text(inlines(&paragraph.replace('\n', " ")));
    }
    let tables = [
        ("[harness.NAME] AND [defaults]", "Harness", ""),
        ("[daemon]", "Daemon", "In the global file only."),
        ("[notify]", "Notify", "In the global file only. A command that hears of ended runs."),
        ("[profile.NAME]", "Profile", "In the global file only. A named group of harnesses."),
        ("[project]", "Project", "In a project file only."),
    ];
    for (title, table, note) in tables {
        section(&mut roff, title);
        keys(&mut roff, note, &rows(table));
    }
    section(&mut roff, "[adapter.NAME]");
    let note = "In the global file only: a further agent, or changed fields of a built-in one.";
    for (name, rows) in adapter() {
        if name != "Adapter" {
            roff.control("SS", [name.as_str()]);
        }
        keys(&mut roff, if name == "Adapter" { note } else { "" }, &rows);
    }
    section(&mut roff, "FILES");
    for (file, what) in [
        ("~/.config/harnessd/harness.toml", "the global file; else /etc/harnessd/harness.toml"),
        ("harness.toml", "a project's file, in its directory"),
    ] {
        roff.control("TP", []);
        roff.text([bold(file)]);
        roff.text([roman(what)]);
    }
    section(&mut roff, "SEE ALSO");
    roff.text([roman("harnessd(1), harnessd-validate(1), harnessd-schema(1)")]);
    roff.to_roff()
}

fn section(roff: &mut Roff, title: &str) {
    roff.control("SH", [title]);
}

fn keys(roff: &mut Roff, note: &str, rows: &[Row]) {
    if !note.is_empty() {
        roff.text([roman(note)]);
    }
    for row in rows {
        roff.control("TP", []);
        let mut head = vec![bold(row.key.clone()), roman("  ")];
        head.extend(inlines(&row.takes));
        roff.text(head);
        let meaning = row.meaning.trim_end_matches('.');
        roff.text(inlines(&format!("{meaning}. Default: {}.", row.default)));
    }
}

/// Text with `words`, *names* and **titles** as a page shows them.
fn inlines(text: &str) -> Vec<Inline> {
    let mut found = Vec::new();
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            found.push(bold(part));
            continue;
        }
        for (number, part) in part.split("**").enumerate() {
            if number % 2 == 1 {
                found.push(bold(part));
                continue;
            }
            for (number, part) in part.split('*').enumerate() {
                found.push(if number % 2 == 1 { italic(part) } else { roman(part) });
            }
        }
    }
    found
}
