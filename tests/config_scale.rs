//! Reading a configuration takes time in proportion to it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use harnessd::config::{AllGood, FileKind, Input, Surroundings, load};

fn many(count: usize, mistake: bool) -> Input {
    let mut text = String::from("[defaults]\nkeep_runs = 3\n");
    for at in 0..count {
        let wrong = if mistake { "promt = 1\n" } else { "" };
        let _ = write!(
            text,
            "[harness.h{at}]\nagent = \"claude-code\"\nprompt = \"do {at}\"\nschedule = \"@daily\"\n{wrong}"
        );
    }
    Input { file: "/c/harness.toml".into(), kind: FileKind::Global, text }
}

/// The shortest of three tries.
fn time(count: usize, mistake: bool) -> Duration {
    let input = [many(count, mistake)];
    let surroundings =
        Surroundings { home: "/home/u".into(), zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
    let tries = (0..3).map(|_| {
        let start = Instant::now();
        let loaded = load(&input, &surroundings, &AllGood);
        assert_eq!(loaded.diagnostics.len(), if mistake { count } else { 0 });
        start.elapsed()
    });
    tries.min().unwrap_or_default()
}

/// CFG-8: sixteen times the harnesses, or the mistakes, take nothing like 256 times as long.
#[test]
fn a_thousand_harnesses_are_read_one_after_the_other() {
    for mistake in [false, true] {
        let (some, more) = (time(60, mistake), time(960, mistake));
        assert!(more < some * 100, "{some:?} for 60, {more:?} for 960");
    }
}
