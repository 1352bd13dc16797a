//! A user's `[adapter.*]` tables over the built-in ones.

use super::{PLAIN, builtin, one_shot, overlaid};
use crate::adapter::{PromptOptions, Registry, TableProblem};

fn shown(problem: &TableProblem) -> String {
    let path = problem.path.join(".");
    let help = problem.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
    format!("{} [{path}] {}{help}", problem.adapter, problem.message)
}

fn problems(text: &str) -> Vec<String> {
    overlaid(text).unwrap_err().iter().map(shown).collect()
}

/// ADP-2: a table overrides single fields of a built-in adapter; lists are replaced.
#[test]
fn a_table_overrides_single_fields() {
    let registry = overlaid(
        "[claude-code]\ncommands = ['claude', 'claude-next']\naliases = []\n\
         oneshot.argument = ['--print', '{options}', '{skills}', '--', '{prompt}']\n\
         quieten.env.DISABLE_AUTOUPDATER = '0'\nscrub = []\n",
    )
    .unwrap();
    let claude = registry.find("claude-code").unwrap();
    let made = claude.synthesize(&one_shot("P", &PLAIN)).unwrap();
    assert_eq!(made.argv, ["claude", "--print", "--output-format", "stream-json", "--verbose", "--", "P"]);
    assert_eq!(made.env["DISABLE_AUTOUPDATER"], "0");
    assert_eq!(made.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"], "1");
    assert_eq!(claude.scrub(), [""; 0]);
    assert_eq!(registry.infer("claude-next"), claude);
    assert_eq!(registry.find("claude"), None);
    assert_eq!(claude.skills, builtin("claude-code").skills);
    assert_eq!(registry.ids(), Registry::builtin().ids());
}

/// ADP-2: a table may add an agent.
#[test]
fn a_table_adds_an_agent() {
    let registry = overlaid(
        "[amp]\nid = 'amp'\naliases = ['ampcode']\ncommands = ['amp']\n\
         approval.already = true\noneshot.argument = ['{options}', '-p', '{prompt}']\n\
         oneshot.model.args = ['-m', '{value}']\n",
    )
    .unwrap();
    let shipped = Registry::builtin();
    let mut ids = shipped.ids();
    ids.insert(ids.len() - 1, "amp");
    assert_eq!(registry.ids(), ids, "`generic` stays the last");
    let amp = registry.infer("/usr/bin/amp");
    assert_eq!(amp, registry.find("AmpCode").unwrap());
    assert_eq!(amp.synthesize(&one_shot("P", &PLAIN)).unwrap().argv, ["amp", "-p", "P"]);
    assert!(amp.resident_tty());
    let again = registry.overlay(&[]).unwrap();
    assert_eq!(again, registry);
}

/// CFG-8: every mistake of every table is reported, with the nearest name.
#[test]
fn every_mistake_of_every_table_is_reported() {
    let found = problems(
        "[codex]\ncomands = ['x']\noneshot.modle = 1\noneshot.model.args = '-m'\ntty = 'yes'\n\
         [mine]\ncommands = ['mine', 3]\nskills.native = [{ upward = true }, { at = '~/x', hidden = 'allways' }]\n\
         zzzz = 1\n[pi]\nquieten = 1\nquite = {}\n",
    );
    assert_eq!(
        found,
        [
            "codex [comands] unknown key `comands` (did you mean `commands`?)",
            "codex [oneshot.modle] unknown key `oneshot.modle` (did you mean `model`?)",
            "codex [oneshot.model.args] `oneshot.model.args` is a list of strings, not a string",
            "codex [tty] `tty` is `true` or `false`, not a string",
            "mine [commands.1] `commands.1` is a string, not a number",
            "mine [skills.native.0] `skills.native.0` lacks the key `at`",
            "mine [skills.native.1.hidden] `skills.native.1.hidden` cannot be `allways` (did you mean `always`?)",
            "mine [zzzz] unknown key `zzzz` (known here: `id`, `aliases`, `commands`, `verified`, `command_env`, \
             `search`, `tty`, `approval`, `oneshot`, `resident`, `quieten`, `scrub`, `skills`, `trajectory`, `gateway`, \
             `mcp`, `outcome`, `probe`, `envelope_id`, `retention`)",
            "pi [quieten] `quieten` is a table, not a number",
            "pi [quite] unknown key `quite` (did you mean `quieten`?)",
        ]
    );
}

/// ADP-4: names and commands that clash are reported where the user wrote them.
#[test]
fn names_and_commands_that_clash_are_reported() {
    for (text, found) in [
        (
            "[mine]\ncommands = ['mine', 'pi']\naliases = ['Claude', 'CODEX']\n",
            &[
                "mine [aliases.0] alias `Claude` already names `claude-code`",
                "mine [aliases.1] alias `CODEX` already names `codex`",
                "mine [commands.1] command `pi` already infers `pi`",
            ] as &[&str],
        ),
        (
            "[claude-code]\ncommands = ['claude', 'codex']\n",
            &["claude-code [commands.1] command `codex` already infers `codex`"],
        ),
        (
            "[a]\ncommands = ['x']\n[b]\ncommands = ['x']\naliases = ['a', 'y', 'Y']\n",
            &[
                "b [aliases.0] alias `a` already names `a`",
                "b [aliases.2] alias `Y` already names `b`",
                "b [commands.0] command `x` already infers `a`",
            ],
        ),
        (
            "[claude]\ntty = true\n",
            &["claude [] `claude` is another name of adapter `claude-code` (write `[adapter.claude-code]`)"],
        ),
        ("[generic]\ntty = true\n", &["generic [] `generic` cannot be changed"]),
        (
            "[unknown]\ncommands = ['x']\n",
            &[
                "unknown [] `unknown` cannot be an adapter's id (an id is 1 to 63 of `a-z 0-9 _ -`, begins with a \
                 letter or digit, and is not `unknown`)",
            ],
        ),
        ("[mine]\nid = 'other'\ncommands = ['x']\n", &["mine [id] the `id` of `[adapter.mine]` is `mine`"]),
        ("[mine]\nid = 'mine'\n", &["mine [] `commands` is missing: there is nothing to start"]),
        ("[pi]\ncommands = []\n", &["pi [commands] `commands` is missing: there is nothing to start"]),
        (
            "[mine]\ncommands = ['/bin/x']\naliases = [' a ', 'Unknown']\nscrub = ['A B']\nverified = 'v2'\n",
            &[
                "mine [aliases.0] ` a ` cannot be an alias",
                "mine [aliases.1] `Unknown` cannot be an alias",
                "mine [commands.0] `/bin/x` is no file name (a command infers the adapter by its file name; \
                 `search` holds paths)",
                "mine [verified] `v2` is no version (a version is like `1.2`, `0.171.0` or `1.2.3-beta.1`)",
                "mine [scrub] `A B` is no name of a variable",
            ],
        ),
    ] {
        assert_eq!(problems(text), found, "{text}");
    }
}

/// ADP-4: a template that would not expand is refused, with the nearest placeholder.
#[test]
fn a_template_that_would_not_expand_is_refused() {
    for (table, found) in [
        (
            "oneshot.argument = ['{promt}']",
            &[
                "m [oneshot.argument.0] unknown placeholder `{promt}` (did you mean `{prompt}`?)",
                "m [oneshot.argument] the template holds `{prompt}` exactly once",
            ] as &[&str],
        ),
        (
            "oneshot.argument = ['{prompt}', '{prompt}']",
            &["m [oneshot.argument] the template holds `{prompt}` exactly once"],
        ),
        (
            "oneshot.stdin = ['-', '{prompt}']",
            &[
                "m [oneshot.stdin.1] unknown placeholder `{prompt}` (known here: `{options}`, `{skills}`, `{quieten}`)",
            ],
        ),
        (
            "oneshot.argument = ['x{options}', '{prompt}']",
            &["m [oneshot.argument] `{options}` stands alone as one element, once"],
        ),
        (
            "oneshot = { argument = ['{prompt}'], model.args = ['-m', '{value}'] }",
            &["m [oneshot.argument] the template lacks the element `{options}`"],
        ),
        (
            "oneshot.argument = ['{prompt}']\nskills = { target = '{private}', args = ['--s', '{private}'] }",
            &["m [oneshot.argument] the template lacks the element `{skills}`"],
        ),
        (
            "oneshot = { argument = ['{options}', '{prompt}'], quiet = {}, max_turns = { already = true, args = ['x'] } }",
            &[
                "m [oneshot.max_turns] what is fulfilled `already` needs no `args` or `env`",
                "m [oneshot.quiet] neither `args` nor `env` nor `already = true` is given",
            ],
        ),
        (
            "resident = {}",
            &["m [resident] neither `argument` nor `stdin` says how the prompt is handed over"],
        ),
        (
            "approval.args = ['{value}']",
            &["m [approval.args.0] unknown placeholder `{value}` (no placeholder is known here)"],
        ),
        (
            "skills = { target = '.m/skills', args = ['{private}'] }",
            &["m [skills.args.0] unknown placeholder `{private}` (no placeholder is known here)"],
        ),
        (
            "skills = { target = '{private}/../x', project = ['../x', '/y'], documents = { '../p' = {} } }",
            &[
                "m [skills.project.0] `../x` is no path below another",
                "m [skills.project.1] `/y` is no path below another",
                "m [skills.target] `../x` is no path below another",
                "m [skills.documents.../p] `../p` is no path below another",
            ],
        ),
        (
            "skills = { roots = ['rel', '${X'], native = [{ at = '~/n', hidden = 'copies' }] }",
            &[
                "m [skills.roots.0] `rel` is no absolute path (begin it with `~/`, `/` or a variable)",
                "m [skills.roots.1] path `${X` opens `${` and does not close it",
                "m [skills.native.0.hidden] single copies are hidden by `skills.hide`, which is missing",
            ],
        ),
        (
            "skills.hide = { shadowed = 'off', entry = '{p}', json_env.X = { a = 'x{hidden}' } }",
            &[
                "m [skills.hide] copies are hidden either by name (`shadowed`, `won`, `unmerged`) or by path (`entry`)",
                "m [skills.hide.json_env] a list of paths can stand in `args` only",
                "m [skills.hide.json_env.X.a] `{hidden}` stands alone in a text of a JSON document",
                "m [skills.hide.entry] unknown placeholder `{p}` (known here: `{path}`)",
            ],
        ),
        (
            "outcome = { format = 'claude', args = ['--x={y}'] }\noneshot.argument = ['{prompt}']\noneshot.stdin = ['{options}']",
            &[
                "m [oneshot.argument] the template lacks the element `{options}`",
                "m [outcome.args.0] unknown placeholder `{y}` (no placeholder is known here)",
                "m [outcome.format] no agent's output has the format `claude` (known here: `claude-code`, `codex`, `copilot`, `gemini`, `goose`, `grok`, `hermes`, `kimi`, `opencode`, `pi`, `qwen`, `vibe`)",
            ],
        ),
        (
            "outcome = { format = 'gemimi' }",
            &["m [outcome.format] no agent's output has the format `gemimi` (did you mean `gemini`?)"],
        ),
        (
            "trajectory = {}\noutcome = {}\nretention = { file = '~/x' }\nquieten.env = { 'A B' = '1' }",
            &[
                "m [quieten.env] `A B` is no name of a variable",
                "m [trajectory] `format` is missing",
                "m [trajectory] `stores` is missing",
                "m [outcome] `format` is missing",
                "m [retention] `key` is missing",
            ],
        ),
    ] {
        let found_here = problems(&format!("[m]\ncommands = ['m']\n{table}\n"));
        assert_eq!(found_here, found, "{table}");
    }
}

/// A table that is none at all.
#[test]
fn a_table_that_is_no_table_is_refused() {
    assert_eq!(problems("mine = 3\n"), ["mine [] `adapter.mine` is a table"]);
}

/// RUN-0, ADP-2: how a result is read is data too: a user's table adds it, or says it another way.
#[test]
fn a_table_says_how_the_result_is_read() {
    let registry = overlaid(
        "[pi]\noutcome = { args = ['--output=json'], format = 'qwen' }\n\
         [mine]\ncommands = ['mine']\noneshot.argument = ['run', '{options}', '--', '{prompt}']\n\
         oneshot.model.args = ['-m', '{value}']\noutcome = { args = ['-o', 'stream-json'], format = 'gemini' }\n",
    )
    .unwrap();
    let options = PromptOptions { model: Some("m".to_owned()), ..PromptOptions::default() };
    let made = registry.find("mine").unwrap().synthesize(&one_shot("P", &options)).unwrap();
    assert_eq!(made.argv, ["mine", "run", "-o", "stream-json", "-m", "m", "--", "P"]);
    assert_eq!(made.report.as_deref(), Some("gemini"));
    let made = registry.find("pi").unwrap().synthesize(&one_shot("P", &PLAIN)).unwrap();
    assert_eq!(made.argv, ["pi", "-p", "--output=json", "--", "P"]);
    assert_eq!(made.report.as_deref(), Some("qwen"));
}

/// ADP-3: what a table says wrong of trust is found, a placeholder that nothing fills among it.
#[test]
fn mistakes_in_what_shows_trust_are_reported() {
    let table = |target: &str, trust: &str| {
        format!("[mine]\ncommands = ['mine']\n[mine.skills]\ntarget = '{target}'\n{trust}\n")
    };
    let said = |target: &str, trust: &str| problems(&table(target, trust));
    assert_eq!(
        said("{private}", "trust = {}"),
        [
            "mine [skills.trust] a private target is looked at wherever the agent works",
            "mine [skills.trust] `said` is missing",
            "mine [skills.trust] `how` is missing",
        ]
    );
    assert_eq!(
        said(
            ".mine",
            "trust = { said = [{ file = 'x', key = [] }, { file = '~/x', key = ['{foldr}', 'in {folder}'] }], how = 'ask' }"
        ),
        [
            "mine [skills.trust.said.0.file] `x` is no absolute path (begin it with `~/`, `/` or a variable)",
            "mine [skills.trust.said.0.key] `key` is missing",
            "mine [skills.trust.said.1.key.0] unknown placeholder `{foldr}` (did you mean `{folder}`?)",
            "mine [skills.trust.said.1.key.1] `{folder}` stands alone as one element",
        ]
    );
    let good = table(".mine", "trust = { said = [{ file = '~/x', key = ['at', '{folder}'] }], how = 'ask' }");
    assert_eq!(overlaid(&good).err(), None);
}
