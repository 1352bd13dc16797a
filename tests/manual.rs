//! The manual page is generated from the definition of the command line and is current.

use std::fs;

/// CTL-10: `man/harnessd.1` is what the definition makes. `HARNESSD_BLESS=1` rewrites it.
#[test]
fn the_manual_page_is_current() {
    let mut made = Vec::new();
    let page = clap_mangen::Man::new(harnessd::cli::command()).date("").manual("harnessd");
    page.render(&mut made).unwrap();
    let made = String::from_utf8(made).unwrap();
    if std::env::var_os("HARNESSD_BLESS").is_some() {
        fs::write("man/harnessd.1", &made).unwrap();
    }
    assert!(
        fs::read_to_string("man/harnessd.1").unwrap() == made,
        "run HARNESSD_BLESS=1 cargo test --test manual"
    );
}
