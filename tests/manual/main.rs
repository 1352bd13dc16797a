//! What is generated for people is current: the manual pages, from the definition of the command line and from
//! the schemas of files, and the tables of `docs/configuration.md`.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod configuration;
mod file_format;
mod reference;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The pages in a directory: names and contents.
fn pages(dir: &Path) -> io::Result<BTreeMap<String, String>> {
    let page = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path())?))
    };
    fs::read_dir(dir)?.map(page).collect()
}

const CONFIGURATION: &str = "docs/configuration.md";

/// Whether what is not current is rewritten.
fn bless() -> bool {
    std::env::var_os("HARNESSD_BLESS").is_some_and(|value| value == "1")
}

/// CFG-11: the tables of the reference are made from the schemas. `HARNESSD_BLESS=1` rewrites them.
#[test]
fn the_reference_of_keys_is_current() {
    let text = fs::read_to_string(CONFIGURATION).unwrap();
    let made = configuration::renewed(&text);
    if bless() {
        fs::write(CONFIGURATION, &made).unwrap();
    } else {
        assert!(text == made, "run HARNESSD_BLESS=1 cargo test --test manual");
    }
}

/// CTL-10: `man` holds what the definitions make: a page of the program, one of each verb, which that one
/// names, and one of the configuration. `HARNESSD_BLESS=1` rewrites them.
#[test]
fn the_manual_pages_are_current() {
    let made = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(harnessd::cli::command(), made.path()).unwrap();
    let mut made = pages(made.path()).unwrap();
    let document = fs::read_to_string(CONFIGURATION).unwrap();
    made.insert("harness.toml.5".to_owned(), file_format::page(harnessd::base::version(), &document));
    if bless() {
        fs::remove_dir_all("man").unwrap();
        fs::create_dir("man").unwrap();
        for (name, text) in &made {
            fs::write(Path::new("man").join(name), text).unwrap();
        }
    }
    assert!(pages(Path::new("man")).unwrap() == made, "run HARNESSD_BLESS=1 cargo test --test manual");
    for (name, text) in &made {
        let named =
            text.lines().filter_map(|line| line.strip_suffix("(1)").filter(|line| !line.contains(' ')));
        for page in named.map(|page| page.replace("\\-", "-")) {
            assert!(made.contains_key(&format!("{page}.1")), "{name} names {page}(1)");
        }
    }
}
