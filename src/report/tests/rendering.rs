//! Outputs as people see them.

use super::fixtures::all;
use super::rendered;
use crate::report::Format;

fn shown(name: &str, quiet: bool) -> String {
    let fixture = all().into_iter().find(|one| one.name == name).unwrap();
    rendered(fixture.format, &std::fs::read(fixture.path()).unwrap(), quiet)
}

/// RUN-2: what the agent did and what it answered, one line a tool, the answer once.
#[test]
fn a_run_with_a_tool_reads_as_text() {
    for (name, text) in [
        ("claude-code/tool", "[Bash] echo limit reached; echo Claude AI usage limit reached\nDONE\n"),
        ("opencode/tool", "[bash] echo limit reached\nDONE\n"),
        ("pi/tool", "[bash] echo limit reached; echo Claude AI usage limit reached\nDONE\n"),
    ] {
        assert_eq!(shown(name, false), text, "{name}");
        assert_eq!(shown(name, true), "DONE\n", "{name}");
    }
}
