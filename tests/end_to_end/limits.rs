//! Bounds as the whole program keeps them.

use crate::support::{Home, path_with, skill, stand_in_dir};

/// SKL-10: `[daemon] skill_max_files` and `skill_max_bytes` bound a skill; one past them is left out with an
/// error that names it, and the harness starts without it.
#[test]
fn the_bounds_of_a_skill_are_the_daemons_settings() {
    for (bound, reason) in
        [("skill_max_files = 2", "more than 2 files"), ("skill_max_bytes = \"100 B\"", "more than 100 B")]
    {
        let mut home = Home::new(&format!(
            "[daemon]\n{bound}\n[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nskill_paths = [\"~/team\"]\n"
        ));
        home.set("PATH", &path_with(&stand_in_dir()));
        skill(&home, "team", "small", "team");
        skill(&home, "team", "large", "team");
        home.write("team/large/one", &"x".repeat(200));
        home.write("team/large/two", "");
        home.start_daemon();
        home.ok(&["start", "a", "--wait"]);
        let skills = home.runs("a")[0]["skills"].clone();
        let names: Vec<_> = skills.as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
        assert_eq!(names, ["small"]);
        assert!(home.log("a").contains("skill plugin \"small\"") && !home.log("a").contains("\"large\""));
        let said = format!("skill `large` at {} is left out: {reason}", home.text("team/large"));
        assert!(home.daemon_log().contains(&said), "{said}: {}", home.daemon_log());
        assert!(home.ok(&["skills", "a"]).out.contains(&said), "{}", home.ok(&["skills", "a"]).out);
    }
}

/// PRM-4: where the agent takes its prompt by argument only, one over the limit is an error: at load for
/// `prompt`, at spawn for `prompt_file`; both sizes are stated.
#[test]
fn a_prompt_over_the_limit_without_another_way_is_refused() {
    let adapter = "[adapter.echo]\ncommands = [\"echo\"]\noneshot = { argument = [\"{prompt}\"] }\n";
    let harness = "[harness.a]\nagent = \"echo\"\n";
    let home = Home::new(&format!("{adapter}{harness}prompt_file = \"~/p.md\"\n"));
    home.write("p.md", "short");
    assert_eq!(home.ok(&["once", "a"]).out, "short\n");
    home.write("p.md", &"x".repeat(140_000));
    home.ok(&["validate"]);
    let refused = home.harnessd(&["once", "a"]);
    assert_eq!(
        (refused.code, refused.err.lines().next().unwrap()),
        (
            1,
            "error: harness `a` could not be started: the prompt is 140000 bytes, adapter `echo` can be handed at most 131071"
        )
    );
    let run = &home.runs("a")[0];
    assert_eq!((&run["outcome"], run.get("pid")), (&"spawn-failed".into(), None));
    home.configure(&format!("{adapter}{harness}prompt = \"{}\"\n", "x".repeat(140_000)));
    let loaded = home.harnessd(&["validate", "--format", "short"]);
    let file = home.text(".config/harnessd/harness.toml");
    assert_eq!(
        (loaded.code, loaded.out),
        (
            1,
            format!(
                "{file}:6:1: harnessd::config::prompt_too_long: the prompt is 140000 bytes (136.7 KiB), agent `echo` can be handed at most 131071 (128.0 KiB)\n"
            )
        )
    );
}
