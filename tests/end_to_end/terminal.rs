//! A harness with `tty` runs under a pseudo-terminal of 120 × 40, and its questions are answered.

use crate::support::Home;

#[test]
fn a_tty_harness_has_a_terminal_and_is_logged() {
    let mut home = Home::new(
        "[harness.term]\noneshot = true\ntty = true\ncmd = \"sh\"\nargs = [\"-c\", \"tty -s && echo yes; stty size; echo $TERM\"]\n",
    );
    home.start_daemon();
    home.ok(&["start", "term", "--wait"]);
    assert_eq!(home.log("term"), "yes\r\n40 120\r\nxterm-256color\r\n");
}

/// A program that asks where the cursor is does not wait for ever.
#[test]
fn a_query_of_the_terminal_is_answered() {
    let script = "stty -echo raw; printf '\\033[6n'; answer=$(dd bs=1 count=6 2>/dev/null | od -An -tx1); stty sane; echo \"got $answer\"";
    let mut home = Home::new(&format!(
        "[harness.ask]\noneshot = true\ntty = true\ncmd = \"sh\"\nargs = [\"-c\", '''{script}''']\ntimeout = \"30s\"\n"
    ));
    home.start_daemon();
    home.ok(&["start", "ask", "--wait"]);
    assert!(home.log("ask").contains("got  1b 5b 31 3b 31 52"), "{:?}", home.log("ask"));
}
