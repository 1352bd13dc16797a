//! Twenty harnesses that have little rest.

use std::fmt::Write;

/// What every child does: it says that it has begun, first of all. Then it says so if another process of
/// its harness, or what one left behind, is alive; the lock goes with the last process that holds it.
pub(crate) const CHILD: &str = r#"
echo "$HARNESSD_RUN_ID $HARNESSD_HARNESS" >> "$LEDGER/begun"
exec 9> "$LEDGER/lock.$HARNESSD_HARNESS"
flock -n 9 || echo "$HARNESSD_RUN_ID $HARNESSD_HARNESS" >> "$LEDGER/two-at-once"
eval "$1"
"#;

/// The harnesses that are started by hand only.
pub(crate) const BY_HAND: u64 = 2;

/// The name of one of them.
pub(crate) fn by_hand(number: u64) -> String {
    format!("by-hand-{number}")
}

/// The file.
pub(crate) fn configuration() -> String {
    let mut text = String::from(
        "[daemon]\nwatch = false\nmax_attempts = 0\ncrash_loop_exits = 1000000\nbackoff_max = \"200ms\"\n\n\
         [defaults]\nkeep_runs = 4000000000\nrestart_delay = \"100ms\"\nstop_timeout = \"300ms\"\n",
    );
    let mut harness = |name: &str, does: &str, keys: &str| {
        writeln!(
            text,
            "\n[harness.{name}]\ncmd = \"sh\"\nargs = [\"child\", '{does}']\nworkdir = \"~\"\n{keys}"
        )
        .unwrap();
    };
    let resident = "enabled = true\nrestart = \"always\"";
    harness("short-0", "sleep 0.1", resident);
    harness("short-1", "sleep 0.2", resident);
    harness("crashes-0", "exit 3", resident);
    harness("crashes-1", "sleep 0.1; kill -9 $$", resident);
    harness("lasts-0", "sleep 600", resident);
    harness("lasts-1", "sleep 600 | sleep 600", resident);
    // What it leaves holds the lock on, so that a start beside it would be seen.
    harness("leaves-0", "setsid sleep 600 & sleep 0.1", resident);
    harness("leaves-1", "(setsid sleep 600 &); exit 1", resident);
    let due = |expression: &str, more: &str| format!("oneshot = true\nschedule = \"{expression}\"\n{more}");
    harness("second-0", "exit 0", &due("* * * * * *", ""));
    harness("second-1", "exit 0", &due("* * * * * *", ""));
    harness("second-2", "sleep 0.3", &due("* * * * * *", ""));
    harness("other-second", "exit 0", &due("*/2 * * * * *", ""));
    harness("interval", "exit 0", &due("@every 1s", ""));
    harness("fails", "exit 1", &due("*/2 * * * * *", "restart = \"on-failure\""));
    harness("skips", "sleep 1.2", &due("* * * * * *", "overlap = \"skip\""));
    harness("queues", "sleep 1.2", &due("* * * * * *", "overlap = \"queue\""));
    harness("replaces", "sleep 1.2", &due("* * * * * *", "overlap = \"replace\""));
    harness("scheduled-leaves", "setsid sleep 600 & exit 0", &due("* * * * * *", ""));
    for number in 0..BY_HAND {
        harness(&by_hand(number), "sleep 0.1", "oneshot = true");
    }
    text
}
