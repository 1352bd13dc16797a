//! CFG-6: which layer wins, and what a default that does not fit does.

use std::time::Duration;

use super::{complaints, global, harness, project};
use crate::adapter::PromptOptions;
use crate::config::{Declared, Mode, PromptSource, Work};
use crate::lifecycle::RestartPolicy;

/// CFG-6: built-in defaults < `[defaults]` < the harness's table.
#[test]
fn the_nearest_table_that_says_a_key_decides() {
    let text =
        "[defaults]\nkeep_runs = 7\nstop_timeout = \"3s\"\n\n[harness.a]\ncmd = \"x\"\nkeep_runs = 9\n";
    let made = harness(&[global(text)], "a");
    assert_eq!((made.keep_runs, made.stop_timeout), (9, Duration::from_secs(3)));
    assert_eq!((made.log_max_bytes, made.stop_signal), (64 << 20, 15), "nobody says these");
}

/// CFG-6: `[defaults]` is that of the declaring file.
#[test]
fn the_defaults_of_another_file_do_not_count() {
    let inputs = [global("[defaults]\nkeep_runs = 7\n"), project("[harness.a]\ncmd = \"x\"\n")];
    assert_eq!(harness(&inputs, "app/a").keep_runs, 50);
}

/// CFG-6: a list of a higher layer replaces a lower one's; a table's entries join.
#[test]
fn lists_are_replaced_and_tables_are_joined() {
    let text = "[defaults]\nargs = [\"a\", \"b\"]\nenv = { A = \"1\", B = \"1\" }\n\n\
                [harness.a]\ncmd = \"x\"\nargs = [\"c\"]\nenv = { B = \"2\" }\n";
    let made = harness(&[global(text)], "a");
    let Work::Command { args, .. } = &made.work else { panic!("{made:?}") };
    assert_eq!(args, &["c"]);
    let env: Vec<_> = made.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(env, [("A", "1"), ("B", "2")]);
}

/// CFG-6, SKL-2: `skill_paths` add up, those of the global `[defaults]` for project harnesses too.
#[test]
fn skill_paths_add_up() {
    let inputs = [
        global("[defaults]\nskill_paths = [\"g\"]\n"),
        project(
            "[defaults]\nskill_paths = [\"d\"]\n[harness.a]\ncmd = \"x\"\nskill_paths = [\"own\", \"more\"]\n",
        ),
    ];
    let expected = [
        (Declared::Global, "/home/u/.config/harnessd/g".into()),
        (Declared::Project, "/home/u/src/app/d".into()),
        (Declared::Project, "/home/u/src/app/own".into()),
        (Declared::Project, "/home/u/src/app/more".into()),
    ];
    assert_eq!(harness(&inputs, "app/a").skill_paths, expected);
}

/// CFG-6: what the same table says on its own behalf is an error.
#[test]
fn only_a_key_of_the_own_table_can_be_an_error() {
    let keys = [
        ("prompt = \"x\"", "`cmd` stands for agent `generic`, which takes no `prompt`"),
        ("model = \"m\"", "`model` needs a prompt"),
        ("schedule = \"@daily\"", "`schedule` needs a one-shot, this harness is resident"),
        ("timeout = \"1h\"", "`timeout` needs a one-shot, this harness is resident"),
        ("overlap = \"queue\"", "`overlap` needs a `schedule`"),
        ("jitter = \"5m\"", "`jitter` needs a `schedule`"),
        ("catch_up = \"all\"", "`catch_up` needs a `schedule`"),
        ("catch_up_window = \"2h\"", "`catch_up_window` needs a `schedule`"),
        (
            "first_output_timeout = \"1m\"",
            "`first_output_timeout` needs a one-shot, this harness is resident",
        ),
        ("idle_timeout = \"1m\"", "`idle_timeout` needs a one-shot, this harness is resident"),
        ("check = \"true\"", "`check` needs a one-shot, this harness is resident"),
        ("check_timeout = \"1m\"", "`check_timeout` needs a `check`"),
        ("linger_timeout = \"1m\"", "`linger_timeout` needs a one-shot, this harness is resident"),
        ("exclusive = true", "`exclusive` needs a one-shot, this harness is resident"),
    ];
    for (key, complaint) in keys {
        let default = format!("[defaults]\n{key}\n[harness.a]\ncmd = \"x\"\n");
        assert_eq!(complaints(&[global(&default)]), [""; 0], "{key}");
        let own = format!("[harness.a]\ncmd = \"x\"\n{key}\n");
        assert_eq!(complaints(&[global(&own)]), [format!("3:1 a: {complaint}")]);
    }
}

/// CFG-6: a default restart policy that a schedule does not admit is left out.
#[test]
fn a_default_policy_gives_way_to_a_schedule() {
    let with = |restart: &str| {
        format!(
            "[defaults]\nrestart = \"{restart}\"\nenabled = true\n\
             [harness.a]\nagent = \"pi\"\nprompt = \"x\"\nschedule = \"@daily\"\n"
        )
    };
    let made = harness(&[global(&with("always"))], "a");
    assert_eq!((made.restart(), made.enabled), (RestartPolicy::No, false));
    assert_eq!(harness(&[global(&with("on-failure"))], "a").restart(), RestartPolicy::OnFailure);
}

/// CFG-6: what is said of one-shots in `[defaults]` is left out of a resident harness, and a prompt
/// with such a key of its own is a one-shot whatever `[defaults]` say.
#[test]
fn what_is_watched_of_one_shots_is_left_out_of_residents() {
    let defaults = "[defaults]\nidle_timeout = \"1m\"\ncheck = \"true\"\nexclusive = true\noneshot = false\n";
    let made = |own: &str| harness(&[global(&format!("{defaults}[harness.a]\n{own}\n"))], "a");
    let resident = made("cmd = \"serve\"");
    assert_eq!((resident.watch(), resident.exclusive), (None, false));
    assert!(!made("agent = \"pi\"\nprompt = \"x\"\nexclusive = false").oneshot());
    for key in
        ["first_output_timeout = \"1m\"", "linger_timeout = \"1m\"", "check = \"x\"", "exclusive = true"]
    {
        assert!(made(&format!("agent = \"pi\"\nprompt = \"x\"\n{key}")).oneshot(), "{key}");
    }
}

/// SCH-6: a firing that jitter delays stays before the next one of an interval; a default that is
/// longer gives way.
#[test]
fn jitter_is_shorter_than_an_interval() {
    let with = |defaults: &str, own: &str| {
        format!("[defaults]\n{defaults}\n[harness.a]\ncmd = \"x\"\noneshot = true\n{own}\n")
    };
    let jitter = |text: &str| harness(&[global(text)], "a").timetable().unwrap().jitter;
    let second = Duration::from_secs(1);
    assert_eq!(jitter(&with("", "schedule = \"@every 2s\"\njitter = \"1s\"")), second);
    assert_eq!(jitter(&with("", "schedule = \"* * * * * *\"\njitter = \"1m\"")), second * 60);
    assert_eq!(jitter(&with("jitter = \"1m\"", "schedule = \"@every 59s\"")), Duration::ZERO);
    let own = with("schedule = \"@every 1s\"", "jitter = \"1s\"");
    let expected = "6:10 a: `jitter` must be less than the interval of the schedule, 1s";
    assert_eq!(complaints(&[global(&own)]), [expected]);
}

/// CFG-6: an explicit value that the agent fulfils without a flag is no error,
/// one that it cannot fulfil is.
#[test]
fn what_is_asked_is_done_or_refused() {
    let ask = |agent: &str, key: &str| {
        complaints(&[global(&format!("[harness.a]\nagent = \"{agent}\"\nprompt = \"x\"\n{key}\n"))])
    };
    assert_eq!(ask("pi", "auto_accept = true"), [""; 0]);
    assert_eq!(ask("codex", "max_turns = 0"), [""; 0]);
    assert_eq!(ask("claude-code", "max_turns = 3"), [""; 0]);
    for agent in ["codex", "opencode", "pi", "gemini", "copilot"] {
        let expected = format!("4:1 a: agent `{agent}` has no means for `max_turns`");
        assert_eq!(ask(agent, "max_turns = 3"), [expected]);
    }
}

/// CFG-6: The defaults that depend on other keys: one-shots do not restart, scheduled
/// ones end after an hour, residents of an agent get a terminal.
#[test]
fn defaults_that_depend_on_the_kind_of_harness() {
    let text = "[harness.resident]\nagent = \"codex\"\n[harness.once]\nagent = \"codex\"\nprompt = \"x\"\n\
                [harness.due]\nagent = \"codex\"\nprompt = \"x\"\nschedule = \"@daily\"\n\
                [harness.plain]\ncmd = \"serve\"\n";
    let made = |name: &str| harness(&[global(text)], name);
    assert_eq!(made("resident").mode, Mode::Resident { restart: RestartPolicy::Always });
    assert_eq!(
        made("once").mode,
        Mode::OneShot {
            restart: RestartPolicy::No,
            schedule: None,
            timeout: None,
            watch: crate::config::Watch::default()
        }
    );
    assert_eq!(made("due").timeout(), Some(Duration::from_secs(3600)));
    assert_eq!(made("due").timetable().unwrap().timezone, chrono_tz::Tz::Europe__Berlin);
    let ttys = ["resident", "once", "due", "plain"].map(|name| made(name).tty);
    assert_eq!(ttys, [true, false, false, false]);
}

/// PRM-1: a prompt is kept byte for byte, and its options beside it.
#[test]
fn a_prompt_is_kept_byte_for_byte() {
    let text = "[harness.a]\nagent = \"claude\"\nprompt = \"\\n -x {workdir} $HOME ~ \\t\"\nmax_turns = 0\n";
    let made = harness(&[global(text)], "a");
    let options = PromptOptions { quiet: true, ..PromptOptions::default() };
    let prompt = PromptSource::Text("\n -x {workdir} $HOME ~ \t".into());
    assert_eq!(made.work, Work::Prompt { program: None, prompt, options });
}

/// PRM-4: a prompt that no argument can carry goes another way where there is
/// one, else both sizes are stated.
#[test]
fn a_prompt_too_long_for_an_argument_is_refused_where_there_is_no_other_way() {
    let long = "x".repeat(200_000);
    let stdin = format!("[harness.a]\nagent = \"claude-code\"\nprompt = \"{long}\"\n");
    assert_eq!(complaints(&[global(&stdin)]), [""; 0]);
    let adapter = "[adapter.echo]\ncommands = [\"echo-agent\"]\noneshot = { argument = [\"{prompt}\"] }\n";
    let argument = format!("{adapter}[harness.a]\nagent = \"echo\"\nprompt = \"{long}\"\n");
    let expected = "6:1 a: the prompt is 200000 bytes (195.3 KiB), agent `echo` can be handed at most 131071 (128.0 KiB)";
    assert_eq!(complaints(&[global(&argument)]), [expected]);
    let resident = format!("[harness.a]\nagent = \"claude-code\"\noneshot = false\nprompt = \"{long}\"\n");
    let expected = "4:1 a: the prompt is 200000 bytes (195.3 KiB), agent `claude-code` can be handed at most 131071 (128.0 KiB)";
    assert_eq!(complaints(&[global(&resident)]), [expected]);
}
