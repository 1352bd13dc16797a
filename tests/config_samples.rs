//! Every kind of configuration mistake, and every kind of good configuration,
//! is a folder under `tests/data/config/`. What the library says about it is
//! compared whole. `HARNESSD_BLESS=1` rewrites the expectations: read them then.
//!
//! A folder holds `harness.toml` (the global file), `drop-in.toml` (beside it), `project.toml` (the file of
//! the project `/home/u/src/app`), `other.toml` (that of `/home/u/app`), or several.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use harnessd::base::{Format, Severity, render};
use harnessd::config::{
    CODES, EnvFile, FileKind, Input, Loaded, Lookup, PromptFile, Surroundings, TableKind, decode,
    definition_json, known_keys, load,
};

/// Files by their names: the state of each is told by it.
struct ByName;

impl Lookup for ByName {
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile {
        match path.file_name().unwrap_or_default() {
            "missing.md" => PromptFile::Missing,
            "directory" => PromptFile::NotRegular,
            "secret.md" => PromptFile::Unreadable("permission denied".into()),
            "latin1.md" => PromptFile::NotUtf8,
            "blank.md" => PromptFile::Blank,
            _ => PromptFile::Good,
        }
    }

    fn lacks_project(&self, file: &Utf8Path) -> bool {
        file.as_str().contains("missing")
    }

    fn env_file(&self, path: &Utf8Path) -> EnvFile {
        match path.file_name().unwrap_or_default() {
            "missing.env" => EnvFile::Missing,
            "secret.env" => EnvFile::Unreadable("permission denied".into()),
            "open.env" => EnvFile::WorldReadable,
            _ => EnvFile::Good,
        }
    }
}

fn cases(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/config").join(kind);
    let mut found: Vec<PathBuf> = fs::read_dir(root)
        .expect("the folder of samples is there")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn load_case(case: &Path) -> Loaded {
    let files = [
        ("harness.toml", "/home/u/.config/harnessd/harness.toml", FileKind::Global),
        ("drop-in.toml", "/home/u/.config/harnessd/harness.d/10.toml", FileKind::DropIn),
        ("project.toml", "/home/u/src/app/harness.toml", FileKind::Project),
        ("other.toml", "/home/u/app/harness.toml", FileKind::Project),
    ];
    let mut inputs = Vec::new();
    for (name, named, kind) in files {
        if let Ok(bytes) = fs::read(case.join(name)) {
            let text = decode(named.into(), bytes).expect("a sample is UTF-8");
            inputs.push(Input { file: named.into(), kind, text });
        }
    }
    assert!(!inputs.is_empty(), "{} holds no file", case.display());
    let surroundings =
        Surroundings { home: "/home/u".into(), zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
    load(&inputs, &surroundings, &ByName)
}

/// Compares with a file of the case, or writes it when asked to bless.
fn compare(case: &Path, name: &str, actual: &str, wrong: &mut Vec<String>) {
    let path = case.join(name);
    if std::env::var_os("HARNESSD_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, actual).expect("an expectation can be written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected != actual {
        wrong.push(format!("{}\n--- expected\n{expected}\n--- actual\n{actual}", path.display()));
    }
}

/// CFG-8, CFG-2 (`drop_in_*`), CFG-5 (`daemon_projects`), CFG-3 (`harness_name`, `project_name`, `project_name_taken_twice`), CFG-4 (`global_only_in_project`), ADP-1
/// (`prompt_on_generic`), PRM-2 (`prompt_file_*`), PRM-4 (`prompt_too_long`), SCH-2
/// (`schedule_that_never_fires`): every kind of mistake has a diagnostic of its own, located, with a
/// help line; all of them come in one run, in file order.
#[test]
fn each_mistake_is_shown_as_its_sample_says() {
    let mut wrong = Vec::new();
    for case in cases("invalid") {
        let loaded = load_case(&case);
        let human = render(&loaded.diagnostics, &loaded.sources, Format::Human { color: false });
        let short = render(&loaded.diagnostics, &loaded.sources, Format::Short);
        compare(&case, "expected.txt", &human, &mut wrong);
        compare(&case, "expected.short", &short, &mut wrong);
        let name = case.display();
        let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
        assert!(errors > 0, "{name}: nothing is wrong");
        assert!(loaded.configuration.is_none(), "{name}: an error and a configuration");
        for one in &loaded.diagnostics {
            assert!(one.help.is_some(), "{name}: no help for `{}`", one.message);
            assert!(!one.message.ends_with('.'), "{name}: a final stop in `{}`", one.message);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// CFG-6, CFG-4 (`project`), PRM-1 (`prompt_byte_for_byte`):
/// what is not said is filled in; the sample shows every harness whole.
#[test]
fn each_good_configuration_means_what_its_sample_says() {
    let mut wrong = Vec::new();
    for case in cases("valid") {
        let loaded = load_case(&case);
        let shown = render(&loaded.diagnostics, &loaded.sources, Format::Human { color: false });
        let configuration = loaded.configuration.unwrap_or_else(|| panic!("{}:\n{shown}", case.display()));
        let harnesses: serde_json::Map<String, serde_json::Value> = configuration
            .harnesses
            .iter()
            .map(|(name, harness)| (name.to_string(), definition_json(harness)))
            .collect();
        let text = format!("{:#}\n", serde_json::Value::Object(harnesses));
        compare(&case, "expected.json", &text, &mut wrong);
        if case.join("expected.warnings").exists() {
            compare(&case, "expected.warnings", &shown, &mut wrong);
        } else {
            assert_eq!(shown, "", "{}: a good sample warns of nothing", case.display());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What a sample cannot show: it is no text, or no file, or it stands in the environment, or is megabytes long.
const SHOWN_ELSEWHERE: [&str; 4] = ["encoding", "unreadable", "bad_setting", "too_much"];

/// CFG-8: every code has a sample, and every key one in which it is refused.
#[test]
fn every_rule_has_an_invalid_sample() {
    let read = |case: &PathBuf, name: &str| fs::read_to_string(case.join(name)).unwrap_or_default();
    let invalid: String = cases("invalid").iter().map(|case| read(case, "expected.short")).collect();
    let warned: String = cases("valid").iter().map(|case| read(case, "expected.warnings")).collect();
    let unseen: Vec<&str> = CODES
        .iter()
        .map(|(code, _)| *code)
        .filter(|code| !invalid.contains(&format!(" {code}: ")) && !warned.lines().any(|line| line == *code))
        .filter(|code| !SHOWN_ELSEWHERE.contains(&code.trim_start_matches("harnessd::config::")))
        .collect();
    assert_eq!(unseen, [""; 0], "a code without a sample");
    let tables =
        [TableKind::Harness, TableKind::Daemon, TableKind::Notify, TableKind::Profile, TableKind::Project];
    let keys = tables.into_iter().flat_map(known_keys).map(|key| key.name);
    let refused = |key: &str| ["`", "["].iter().any(|end| invalid.contains(&format!("`{key}{end}")));
    let unrefused: Vec<&str> = keys.filter(|key| !refused(key)).collect();
    assert_eq!(unrefused, [""; 0], "a key that no sample refuses");
}
