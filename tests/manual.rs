//! The manual pages are generated from the definition of the command line and are current.

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

/// CTL-10: `man` holds what the definition makes: a page of the program and one of each verb, which that one
/// names. `HARNESSD_BLESS=1` rewrites them.
#[test]
fn the_manual_pages_are_current() {
    let made = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(harnessd::cli::command(), made.path()).unwrap();
    let made = pages(made.path()).unwrap();
    if std::env::var_os("HARNESSD_BLESS").is_some() {
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
