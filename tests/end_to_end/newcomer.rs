//! The newcomer's hour, as the README and the help tell it: from an empty home to a project that runs, changes and
//! goes (CTL-5, CFG-5, WRT-1, RUN-6). Outputs are compared whole; process ids, times and columns do not count.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::support::{Home, Said, path_with, stand_in_dir, until};

/// Somebody with a home that nothing is in yet.
struct Newcomer {
    home: Home,
    /// The home as `$HOME` names it, and without links.
    named: String,
    real: String,
}

impl Newcomer {
    /// `real` is the home's directory in the test's own, `named` a link to it, if they differ.
    fn new(real: &str, named: &str) -> Self {
        let mut home = Home::new("");
        fs::remove_dir_all(home.path(".config")).unwrap();
        fs::create_dir_all(home.path(real).join("app")).unwrap();
        if real != named {
            symlink(home.path(real), home.path(named)).unwrap();
        }
        let at = |inside: &str| home.text(inside).trim_end_matches('/').to_owned();
        let (real, named) = (at(real), at(named));
        home.set("HOME", &named);
        home.set("PATH", &path_with(&stand_in_dir()));
        Self { home, named, real }
    }

    /// Runs a verb in a directory of the home.
    fn says(&self, dir: &str, args: &[&str]) -> Said {
        self.home.within(format!("{}/{dir}", self.named), args)
    }

    /// A verb succeeds and says exactly this.
    #[track_caller]
    fn does(&self, dir: &str, args: &[&str], expected: &str) {
        let said = self.says(dir, args);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}: {said:?}");
        assert_eq!(self.shape(&said.out), shape(expected), "{args:?}");
    }

    /// A verb fails and says exactly this, on standard error.
    #[track_caller]
    fn refuses(&self, dir: &str, args: &[&str], expected: &str) {
        let said = self.says(dir, args);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{args:?}: {said:?}");
        assert_eq!(self.shape(&said.err), shape(expected), "{args:?}");
    }

    /// What was said, with this home's directory as `~` (as `$HOME` names it) or `≈` (without links).
    fn shape(&self, text: &str) -> String {
        shape(
            &text
                .replace(&self.named, "~")
                .replace(&self.real, if self.real == self.named { "~" } else { "≈" }),
        )
    }

    /// Adds to a file by hand.
    fn append(&self, file: &str, text: &str) {
        let path = format!("{}/{file}", self.real);
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, old + text).unwrap();
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let path = format!("{}/{file}", self.real);
        let old = fs::read_to_string(&path).unwrap();
        assert!(old.contains(from), "{old}");
        fs::write(path, old.replace(from, to)).unwrap();
    }
}

/// A text without what differs each time: words apart by one blank, `PID`, `TIME` and `DATE` for what they are.
fn shape(text: &str) -> String {
    let word = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let date = |word: &str| word.len() >= 10 && word.split('-').count() >= 3 && digits >= 8;
        match word {
            _ if digits == word.len() && digits > 1 => "PID".to_owned(),
            _ if digits == 6 && word.split(':').count() == 3 => "TIME".to_owned(),
            _ if date(word) && word.starts_with("20") => "DATE".to_owned(),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

const NIGHT: &str = "30 2 * * mon-fri";

/// Writes the project's file: by command and by hand, with a mistake each time.
fn writes_a_sweep(one: &Newcomer, file: &str) {
    let init = one.says("app", &["init", "--project"]);
    assert_eq!(init.code, 0, "{init:?}");
    let lines = fs::read_to_string(format!("{}/app/harness.toml", one.real)).unwrap().lines().count();
    let add = ["add", "sweep", "--agent", "claude-code", "--exclusive", "--prompt", "stand-in:say=swept"];
    let at = lines + 5;
    one.refuses(
        "app",
        &[&add[..], &["--schedule", "@dayly"]].concat(),
        &format!(
            "harnessd::config::bad_value\n\n  × `schedule`: `@dayly` is not known: allowed are `@hourly`, `@daily`, \
             `@midnight`, `@weekly`,\n  │ `@monthly`, `@yearly`, `@annually`, `@every`\n    ╭─[{file}:{at}:13]\n \
             {} │ prompt = \"stand-in:say=swept\"\n {at} │ schedule = \"@dayly\"\n    ·             ───┬──\n    ·     \
                        ╰── in harness `app/sweep`\n {} │ exclusive = true\n    ╰────\n  help: did you mean `@daily`?\n\
             error: nothing was written: {file} would have 1 error\n  help: the places are those of the text as it \
             would be; a file that has errors already is mended first\n",
            at - 1,
            at + 1
        ),
    );
    one.does("app", &[&add[..], &["--schedule", NIGHT]].concat(), &format!("{file}: written\n"));
    one.append(
        "app/harness.toml",
        "\n[harness.evening]\nagent = \"claude-code\"\nprompt = \"stand-in:say=tidied\"\nshedule = \"@daily\"\nexclusive \
         = true\n\n[harness.web]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n",
    );
    let said = one.says("app", &["validate"]);
    let mistake = "shedule = \"@daily\"\n    · ───┬───\n    ·    ╰── in harness `app/evening`\n";
    assert_eq!(said.code, 1);
    assert!(said.out.contains(mistake), "{said:?}");
    assert!(said.out.ends_with("help: did you mean `schedule`?\n2 files, 1 error, 0 warnings\n"), "{said:?}");
    one.replace("app/harness.toml", "shedule", "schedule");
    one.does("app", &["validate"], "2 files, 0 errors, 0 warnings\n");
}

const UP: &str = "NAME AGENT STATE PID RESTARTS NEXT LAST\n\
                  app/evening claude-code stopped - 0 DATE TIME -\n\
                  app/sweep claude-code stopped - 0 DATE TIME -\n";

/// Brings the project up, changes its file and takes it down again.
fn runs_the_project(one: &Newcomer, file: &str) {
    one.does("app", &["ps"], &format!("the project is not up: `harnessd up` registers it ({file})\n"));
    one.refuses(
        "app",
        &["start", "sweep"],
        &format!(
            "error: no harness is named `app/sweep`: the project is not up\n  help: `harnessd up` registers {file}; \
             `--global` takes `sweep` as a global harness\n"
        ),
    );
    one.does("app", &["up"], &format!("project `app` is up: {file}\n{UP}app/web generic starting - 0 - -\n"));
    let state = "~/.local/state/harnessd";
    let quote = if one.named.contains(' ') { "\"" } else { "" };
    let plugin = format!("{quote}{state}/skills/app@sweep{quote}");
    one.does(
        "app",
        &["plan", "sweep"],
        &format!(
            "app/sweep (claude-code), planned in the daemon's environment\n  program: {}/claude\n  command: claude -p \
             --session-id <session> --output-format stream-json --verbose --plugin-dir {plugin} --settings \
             \"{{\\\"permissions\\\":{{\\\"additionalDirectories\\\":[\\\"{state}/skills/app@sweep\\\"]}}}}\" -- \
             <prompt>\n  workdir: {}\n  standard input: nothing\n  session: a new one\n  log: {state}/logs/app@sweep/<run>.log\n  \
             variables: CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_AUTOUPDATER HARNESSD_HARNESS \
             HARNESSD_PROJECT HARNESSD_RUN_ID HOME LANG PATH\n  skills go to {state}/skills/app@sweep/skills \
             (private)\n  file for the agent: {state}/skills/app@sweep/.claude-plugin/plugin.json\nnext firings:\n{}",
            stand_in_dir().display(),
            file.trim_end_matches("/harness.toml"),
            "DATE = DATE\n".repeat(5)
        ),
    );
    one.home.wait_state("app/web", "running");
    one.does("app", &["ps"], &format!("{UP}app/web generic running PID 0 - -\n"));
    one.does("app", &["start", "sweep", "--wait"], "app/sweep: started\n");
    one.does("app", &["logs", "sweep"], "swept\n");

    one.does("app", &["set", "sweep", "timeout", "20m"], &format!("{file}: written\n"));
    let ran = format!("{}TIME ok\n", UP.strip_suffix("TIME -\n").unwrap());
    let changed = ran.replace("stopped", "stopped (changed since up)");
    one.does(
        "app",
        &["ps"],
        &format!(
            "project `app` has changed since `up`: `harnessd up` applies it ({file})\n{changed}app/web generic running \
             (changed since up) PID 0 - -\n"
        ),
    );
    let pid = one.home.pid("app/web");
    one.does(
        "app",
        &["up"],
        &format!("project `app` is up: {file}\n{ran}app/web generic running PID 0 - -\n"),
    );
    assert_eq!(one.home.pid("app/web"), pid, "what runs is not bounced");
    one.does(
        "app",
        &["down"],
        "project `app` is down\napp/evening: stopped\napp/sweep: stopped\napp/web: stopping\n",
    );
    one.does("app", &["ps"], &format!("the project is not up: `harnessd up` registers it ({file})\n"));
    until("nothing of it is left", || {
        let runs = one.says("app", &["runs", "web", "--json"]).json();
        (runs["runs"][0]["outcome"] == "stopped").then_some(())
    });
}

/// The whole hour. `≈` or `~` stands for the home in `file`, the project's.
fn hour(one: &mut Newcomer, file: &str, link: bool) {
    one.does(
        "",
        &["validate"],
        "no configuration file was found; `harnessd validate FILE` checks one, `harnessd init` writes one\n",
    );
    let agents = one.says("", &["agents", "--json"]).json();
    let installed = |one: &&Value| one.get("path").is_some();
    let found: Vec<&str> = agents["agents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(installed)
        .filter_map(|one| one["id"].as_str())
        .collect();
    one.does(
        "",
        &["init"],
        &format!(
            "wrote ~/.config/harnessd/harness.toml\nfound {}\nedit it, then `harnessd validate` checks it and \
             `harnessd run` starts the daemon\n",
            found.join(", ")
        ),
    );
    if link {
        let (place, dotfiles) =
            (format!("{}/.config/harnessd/harness.toml", one.real), format!("{}/dotfiles", one.real));
        fs::create_dir(&dotfiles).unwrap();
        fs::rename(&place, format!("{dotfiles}/harness.toml")).unwrap();
        symlink("../../dotfiles/harness.toml", &place).unwrap();
    }
    one.does("", &["validate"], "1 file, 0 errors, 0 warnings\n");
    one.home.start_daemon();
    writes_a_sweep(one, file);
    runs_the_project(one, file);
    // A global harness beside all that: written through the link, and taken over.
    one.does(
        "",
        &["add", "ticker", "--cmd", "sleep", "--args", "[\"600\"]"],
        "~/.config/harnessd/harness.toml: written\n",
    );
    one.home.wait_state("ticker", "stopped");
    one.does("", &["start", "ticker", "--wait"], "ticker: started\n");
    let text = fs::read_to_string(format!(
        "{}/{}",
        one.real,
        if link { "dotfiles/harness.toml" } else { ".config/harnessd/harness.toml" }
    ))
    .unwrap();
    assert!(text.ends_with("[harness.ticker]\ncmd = \"sleep\"\nargs = [\"600\"]\n"), "{text}");
    one.does("", &["ps"], "no project is up\n");
}

/// Issue B: the newcomer's hour.
#[test]
fn the_newcomers_hour() {
    hour(&mut Newcomer::new("home", "home"), "~/app/harness.toml", false);
}

/// Issue B, CFG-7: the same in a home with blanks and other letters that is a link, with a global file that leads
/// into a checkout of dotfiles.
#[test]
fn the_newcomers_hour_in_an_odd_home() {
    hour(&mut Newcomer::new("Müllers Heim", "zu Hause"), "≈/app/harness.toml", true);
}

/// CTL-6, CFG-3: in a second checkout of a project that is up nothing reaches the first one by a bare name; what
/// needs no daemon goes by the file that is here.
#[test]
fn a_second_checkout_does_not_reach_the_first() {
    let mut one = Newcomer::new("home", "home");
    one.home.start_daemon();
    let web =
        |length: &str| format!("[harness.web]\ncmd = \"sleep\"\nargs = [\"{length}\"]\nenabled = true\n");
    one.append("app/harness.toml", &web("600"));
    fs::create_dir_all(one.home.path("home/second/app")).unwrap();
    one.append("second/app/harness.toml", &web("601"));
    assert_eq!(one.says("app", &["up"]).code, 0);
    one.home.wait_state("app/web", "running");
    let pid = one.home.pid("app/web");
    let refusal = "error: `app/web` is not this project's: `~/app` is up by that name\n  help: say `app/web` in full to \
                   mean that one; to run this one too, give it another `[project] name` in ~/second/app/harness.toml\n";
    for verb in [
        &["stop", "web"][..],
        &["start", "web"],
        &["restart", "web"],
        &["describe", "web"],
        &["skills", "sync", "web"],
        &["logs", "web"],
        &["runs", "web"],
    ] {
        one.refuses("second/app", verb, refusal);
    }
    one.refuses(
        "second/app",
        &["down"],
        "error: the project is not up: ~/second/app/harness.toml\n  help: `harnessd status` shows the projects that \
         are; `harnessd down NAME` takes one down\n",
    );
    one.refuses(
        "second/app",
        &["up"],
        "error: ~/second/app/harness.toml has an error: two projects are named `app`: `~/app` and `~/second/app`\n  \
         help: give one of them another `[project] name`\n",
    );
    for args in [&["plan", "web"][..], &["plan"]] {
        let plan = one.says("second/app", args).out;
        assert!(
            plan.contains("in this environment: no daemon runs it\n") && plan.contains("sleep 601"),
            "{plan}"
        );
    }
    assert_eq!(
        (one.home.pid("app/web"), one.home.harness("app/web")["state"].as_str()),
        (pid, Some("running"))
    );
    one.does("second/app", &["stop", "app/web", "--wait"], "app/web: stopped\n");
    // A project that is up is known by its directory, also while its file is broken or says another name.
    for text in ["[harness.web\n", "[project]\nname = \"other\"\n"] {
        fs::write(one.home.path("home/app/harness.toml"), text).unwrap();
        one.does("app", &["start", "web", "--wait"], "app/web: started\n");
        one.does("app", &["stop", "web", "--wait"], "app/web: stopped\n");
        assert_eq!(one.says("app", &["logs", "web"]).code, 0);
    }
}

/// CFG-3, CFG-5: what is no project says why, and what to do instead.
#[test]
fn what_is_no_project_says_what_it_is() {
    let mut one = Newcomer::new("home", "home");
    fs::create_dir_all(one.home.path("home/.config/harnessd")).unwrap();
    fs::create_dir_all(one.home.path("home/dotfiles")).unwrap();
    one.append("dotfiles/harness.toml", "[daemon]\nwatch = false\n");
    symlink("../../dotfiles/harness.toml", one.home.path("home/.config/harnessd/harness.toml")).unwrap();
    one.home.start_daemon();
    one.refuses(
        "dotfiles",
        &["up"],
        "error: no project encloses `~/dotfiles`\n  help: the `harness.toml` here is the global file, which the daemon \
         has without `up`\n",
    );
    one.refuses(
        "",
        &["up", "app"],
        "error: ~/app/harness.toml: the file does not exist\n  help: `up` takes a directory with a `harness.toml`; \
         `harnessd init --project` writes one there\n",
    );
    // A name that only the new text has, which has a mistake.
    one.append("dotfiles/harness.toml", "[harness.fresh]\ncmd = \"sleep\"\ncolour = 1\n");
    assert_eq!(one.says("", &["reload"]).code, 1);
    one.refuses(
        "",
        &["start", "fresh"],
        "error: no harness is named `fresh`\n  help: the configuration has errors, so that what it said before is in \
         force: `harnessd status` shows them\n",
    );
}

/// CFG-7, WRT-4: a link that leads nowhere is said to be one.
#[test]
fn a_link_that_leads_nowhere_is_said() {
    let one = Newcomer::new("home", "home");
    fs::create_dir_all(one.home.path("home/.config/harnessd")).unwrap();
    symlink("nowhere.toml", one.home.path("home/.config/harnessd/harness.toml")).unwrap();
    one.refuses(
        "",
        &["init"],
        "error: `~/.config/harnessd/harness.toml` was not written: it is a link to a file that does not exist\n  help: \
         make the file that it leads to, `--dry-run` prints what to begin with; or remove the link\n",
    );
    one.refuses(
        "",
        &["add", "ticker", "--cmd", "sleep"],
        "error: ~/.config/harnessd/harness.toml: it is a link to a file that does not exist\n  help: make the file that \
         it leads to (it may be empty), or remove the link\n",
    );
}
