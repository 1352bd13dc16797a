//! What one project, one request or one reading means to others (CFG-5, CFG-10).

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use super::{listed, server, wait_listed};
use crate::control::connect;
use crate::support::Home;

/// CFG-10, CFG-3: a project that takes the name of another one is refused alone: the other is neither blamed nor
/// kept from starting with the next daemon, whichever is listed first.
#[test]
fn a_project_that_takes_anothers_name_hurts_itself_alone() {
    let mut home = Home::new("[daemon]\nwatch = false\nprojects = [\"~/one\", \"~/two\"]\n");
    home.write("one/harness.toml", &server("web", "600"));
    home.write("two/harness.toml", &server("web", "600"));
    home.start_daemon();
    wait_listed(&home, &["one/web", "two/web"]);
    let states = |home: &Home| {
        let status = home.ok(&["status", "--json"]).json();
        let one = |unit: &Value| (unit["name"].clone(), unit["state"].clone());
        status["projects"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    let pids = ["one/web", "two/web"].map(|name| home.pid(name));

    home.write("one/harness.toml", &format!("[project]\nname = \"two\"\n{}", server("web", "601")));
    let refused = home.harnessd(&["reload"]);
    assert!(refused.err.starts_with("error: project `one` has 1 error;"), "{refused:?}");
    let kept = [(json!("one"), json!("rejected")), (json!("two"), json!("ok"))];
    assert_eq!(states(&home), kept);
    assert_eq!(["one/web", "two/web"].map(|name| home.pid(name)), pids);
    let diagnostics = &home.ok(&["status", "--json"]).json()["config"]["diagnostics"];
    assert_eq!((&diagnostics[0]["line"], &diagnostics[0]["column"]), (&json!(2), &json!(8)), "{diagnostics}");

    // With another mistake beside it nothing of that file is in force, its name neither.
    home.write("one/harness.toml", "[project]\nname = \"two\"\n[harness.web]\ncmd = 7\n");
    home.stop_daemon();
    home.start_daemon();
    wait_listed(&home, &["two/web"]);
    assert_eq!(states(&home)[1], kept[1]);
}

/// CFG-10: while the global file is refused, its mistakes are placed in the text that it has now, though projects
/// are read beside the one that is in force.
#[test]
fn mistakes_of_a_refused_global_file_stand_where_they_are() {
    let listed = "[daemon]\nwatch = false\nprojects = [\"~/app\"]\n";
    let mut home = Home::new(listed);
    home.write("app/harness.toml", &server("web", "600"));
    home.start_daemon();
    home.configure(&format!("# one\n# two\n# three\n{listed}wrong = 1\n"));
    assert_eq!(home.harnessd(&["reload"]).code, 1);
    let diagnostics = &home.ok(&["status", "--json"]).json()["config"]["diagnostics"];
    assert_eq!((&diagnostics[0]["line"], &diagnostics[0]["column"]), (&json!(7), &json!(1)), "{diagnostics}");
}

/// CFG-5: what is asked of one project takes effect in the order in which it is asked, also while the files are
/// being read for the one before.
#[test]
fn up_and_down_count_in_their_order() {
    let mut home = Home::new("");
    home.write("app/harness.toml", &server("web", "600"));
    home.start_daemon();
    home.within("app", &["up"]);
    let file = home.path("app/harness.toml").canonicalize().unwrap();
    let file = file.to_str().unwrap();
    let up = json!({"op": "up", "file": file});
    let (down, reload) = (json!({"op": "down", "name": "app"}), json!({"op": "reload"}));
    for (asked, left) in [
        (vec![&up, &down], vec![]),
        (vec![&up, &down, &up], vec!["app/web"]),
        (vec![&down, &up], vec!["app/web"]),
        (vec![&reload, &up, &down], vec![]),
    ] {
        if listed(&home).is_empty() {
            home.within("app", &["up"]);
        }
        home.wait_state("app/web", "running");
        let told = at_once(&home, &asked);
        assert_eq!(told.len(), asked.len());
        for (reply, asked) in told.iter().zip(&asked) {
            assert!(reply["ok"].is_object(), "{asked}: {reply}");
        }
        wait_listed(&home, &left);
        home.stop_daemon();
        home.start_daemon();
        assert_eq!(listed(&home), left, "{asked:?}");
    }
}

/// CFG-5: each of several projects that come at once is registered and answered, whatever a reading asks for to be
/// read again.
#[test]
fn projects_that_come_at_once_are_each_answered() {
    let mut home = Home::new("");
    let ups = ["a", "b", "c"].map(|name| {
        home.write(format!("{name}/harness.toml"), &server("web", "600"));
        json!({"op": "up", "file": home.path(name).canonicalize().unwrap().join("harness.toml")})
    });
    home.start_daemon();
    for (reply, name) in at_once(&home, &ups.each_ref()).iter().zip(["a", "b", "c"]) {
        assert_eq!(reply["ok"]["project"]["name"], name, "{reply}");
    }
    assert_eq!(listed(&home), ["a/web", "b/web", "c/web"]);
    let downs = ["a", "b", "c"].map(|name| json!({"op": "down", "name": name}));
    for (reply, name) in at_once(&home, &downs.each_ref()).iter().zip(["a", "b", "c"]) {
        assert_eq!(reply["ok"]["project"]["name"], name, "{reply}");
        assert_eq!(reply["ok"]["harnesses"][0]["name"], format!("{name}/web"), "{reply}");
    }
    wait_listed(&home, &[]);
}

/// Sends requests together; the replies in the order of the requests.
fn at_once(home: &Home, requests: &[&Value]) -> Vec<Value> {
    let (mut to, from) = connect(home);
    let mut text = json!({"id": 0, "op": "hello", "protocol": 1, "version": "test"}).to_string();
    for (id, request) in (1..).zip(requests) {
        let mut request = Value::clone(request);
        request["id"] = json!(id);
        text.push_str(&format!("\n{request}"));
    }
    to.write_all(format!("{text}\n").as_bytes()).unwrap();
    let lines = from.lines().take(requests.len() + 1);
    let mut replies: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    replies.sort_by_key(|reply| reply["id"].as_u64());
    replies.split_off(1)
}

/// RUN-6: a plan of all is the daemon's for each harness that the daemon has, wherever it is asked for; what it has by
/// the name of a second checkout is not that checkout's.
#[test]
fn a_plan_of_all_is_the_daemons_for_each_project_that_is_up() {
    let mut home = Home::new("[harness.free]\ncmd = \"true\"\n");
    for (dir, length) in [("app", "600"), ("lib", "601"), ("copy/app", "602"), ("down", "603")] {
        home.write(format!("{dir}/harness.toml"), &server("web", length));
    }
    home.start_daemon();
    home.within("app", &["up"]);
    home.within("lib", &["up"]);
    let planned = |dir: &str| {
        let plans = home.within(dir, &["plan", "--json"]).json()["plans"].clone();
        let one = |plan: &Value| json!([plan["harness"], plan["made_by"], plan["command"][1]]);
        plans.as_array().unwrap().iter().map(one).collect::<Value>()
    };
    let (lib, free) = (json!(["lib/web", "daemon", "601"]), json!(["free", "daemon", null]));
    let up = json!([["app/web", "daemon", "600"], free, lib]);
    assert_eq!([planned(""), planned("app")], [up.clone(), up]);
    assert_eq!(planned("copy/app"), json!([["app/web", "caller", "602"], free, lib]));
    let (app, down) = (json!(["app/web", "daemon", "600"]), json!(["down/web", "caller", "603"]));
    assert_eq!(planned("down"), json!([app, down, free, lib]));
}
