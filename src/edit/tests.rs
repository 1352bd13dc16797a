//! Edits by example: each form that a table can be written in.

use super::{EditError, add, diff, set, string, unset, value};

/// WRT-1: a value is replaced where it stands, in whatever form its table is written.
#[test]
fn a_value_is_replaced_where_it_stands() {
    let forms = [
        ("[harness.a]\ncmd=  'x'  # why\nb = 1", "[harness.a]\ncmd=  \"y\"  # why\nb = 1"),
        ("[harness]\na.cmd = \"x\"\n", "[harness]\na.cmd = \"y\"\n"),
        ("harness = { a = { cmd = 'x', b = 1 } }\n", "harness = { a = { cmd = \"y\", b = 1 } }\n"),
        ("[ harness . \"a\" ]\r\n\tcmd = [\r\n 1, # c\r\n]\r\n", "[ harness . \"a\" ]\r\n\tcmd = \"y\"\r\n"),
        ("harness.a.cmd = '''\nx'''\n", "harness.a.cmd = \"y\"\n"),
    ];
    for (old, new) in forms {
        assert_eq!(set(old, &["harness", "a", "cmd"], "\"y\"").as_deref(), Ok(new), "{old}");
    }
    let same = "[harness.a]\ncmd = 'y'\n";
    assert_eq!(set(same, &["harness", "a", "cmd"], "\"y\"").as_deref(), Ok(same), "it means the same");
}

/// WRT-1: a new key stands after the last one of its table, in the form of the table.
#[test]
fn a_new_key_follows_the_last_one_of_its_table() {
    let path = ["harness", "a", "model"];
    let forms = [
        (
            "[harness.a]\n  cmd = 'x' # why\n# end\n\n[harness.b]\n",
            "[harness.a]\n  cmd = 'x' # why\n  model = 1\n# end\n\n[harness.b]\n",
        ),
        ("[harness.a]", "[harness.a]\nmodel = 1"),
        ("[harness.a]\r\ncmd = 'x'", "[harness.a]\r\ncmd = 'x'\r\nmodel = 1"),
        (
            "[harness.a]\nargs = [\n  'x',\n]\n[harness.a.env]\nA = '1'\n",
            "[harness.a]\nargs = [\n  'x',\n]\nmodel = 1\n[harness.a.env]\nA = '1'\n",
        ),
        ("[harness]\na.cmd = 'x'\nb.cmd = 'x'\n", "[harness]\na.cmd = 'x'\na.model = 1\nb.cmd = 'x'\n"),
        ("harness = { a = { cmd = 'x' } }\n", "harness = { a = { cmd = 'x', model = 1 } }\n"),
        ("harness.a = {}\n", "harness.a = { model = 1 }\n"),
        (
            "harness = { a.cmd = 'x', b.cmd = 'y', }\n",
            "harness = { a.cmd = 'x', a.model = 1, b.cmd = 'y', }\n",
        ),
        ("[harness.a.env]\nA = '1'\n", "[harness.a.env]\nA = '1'\n\n[harness.a]\nmodel = 1\n"),
    ];
    for (old, new) in forms {
        assert_eq!(set(old, &path, "1").as_deref(), Ok(new), "{old}");
        assert_eq!(unset(new, &path).map(|text| set(&text, &path, "1")), Ok(Ok(new.to_owned())), "{old}");
    }
    let below = set("[harness.a]\ncmd = 'x'\n", &["harness", "a", "env", "RUST.LOG"], "\"1\"");
    assert_eq!(below.as_deref(), Ok("[harness.a]\ncmd = 'x'\nenv.\"RUST.LOG\" = \"1\"\n"));
    let headed = "[harness.a]\ncmd = 'x'\n[harness.a.env]\nA = '1'\n";
    let below = set(headed, &["harness", "a", "env", "B"], "\"2\"");
    assert_eq!(below, Ok(format!("{headed}B = \"2\"\n")));
}

/// WRT-1: a table that is written over several lines gives way to a value.
#[test]
fn a_table_of_several_lines_gives_way_to_a_value() {
    let text = "[harness.a]\ncmd = 'x'\nenv.A = '1'\nenv.B = '1'\ntty = true\n";
    let new = set(text, &["harness", "a", "env"], "{ C = \"2\" }").unwrap();
    assert_eq!(new, "[harness.a]\ncmd = 'x'\ntty = true\nenv = { C = \"2\" }\n");
    let text = "[harness.a]\ncmd = 'x'\n\n[harness.a.env]\nA = '1'\n";
    let new = set(text, &["harness", "a", "env"], "{}").unwrap();
    assert_eq!(new, "[harness.a]\ncmd = 'x'\nenv = {}\n");
}

/// WRT-1: a key goes with its lines, an entry with its comma.
#[test]
fn a_key_goes_with_its_line_and_an_entry_with_its_comma() {
    let path = ["harness", "a", "x"];
    let forms = [
        ("[harness.a]\nx = [\n1,\n] # why\n# stays\ny = 1\n", "[harness.a]\n# stays\ny = 1\n"),
        ("[harness.a]\ny = 1\nx = 1", "[harness.a]\ny = 1"),
        ("harness.a = { x = 1, y = 2 }\n", "harness.a = { y = 2 }\n"),
        ("harness.a = { y = 2, x = 1 }\n", "harness.a = { y = 2 }\n"),
        ("harness.a = { y = 2, x.p = 1, z = 3, x.q = 1, }\n", "harness.a = { y = 2, z = 3, }\n"),
        ("harness.a = { x.p = 1, x.q = 1, z = 3 }\n", "harness.a = { z = 3 }\n"),
        ("harness.a = { x = 1, }\n", "harness.a = {}\n"),
        ("harness.a = { x = 1 # a\n, # b\n y = 2 }\n", "harness.a = { # b\n y = 2 }\n"),
        ("[harness.a]\ny = 1\n\n[harness.a.x]\np = 1\n\n[b]\n", "[harness.a]\ny = 1\n\n[b]\n"),
        ("[harness.a]\nx.p = 1\ny = 1\nx.q = 2\n", "[harness.a]\ny = 1\n"),
    ];
    for (old, new) in forms {
        assert_eq!(unset(old, &path).as_deref(), Ok(new), "{old}");
    }
    assert_eq!(unset("[harness.a]\n", &path), Err(EditError::Missing("harness.a.x".into())));
}

/// WRT-1: a harness goes with all its tables; comments around it and all else stay.
#[test]
fn a_table_goes_with_all_that_is_in_it() {
    let text = "# mine\n[harness.a]\n# of a\ncmd = 'x'\n# behind\n\n[harness.b]\ncmd = 'y'\n\n[harness.a.env]\nA = '1'\n";
    let new = unset(text, &["harness", "a"]).unwrap();
    assert_eq!(new, "# mine\n# behind\n\n[harness.b]\ncmd = 'y'\n");
    assert_eq!(unset("[[harness.a]]\nx=1\n[[harness.a]]\n[b]\n", &["harness", "a"]).as_deref(), Ok("[b]\n"));
    assert_eq!(
        unset("[harness]\na.x = 1\nb.x = 1\na.y = 1", &["harness", "a"]).as_deref(),
        Ok("[harness]\nb.x = 1")
    );
}

/// WRT-1: an added table stands at the end, or in the one table that holds all; removed again, it
/// leaves the file as it was.
#[test]
fn an_added_table_can_be_removed_without_a_trace() {
    let entries = [(vec!["cmd"], "\"x\"".to_owned()), (vec!["env", "A"], "\"1\"".to_owned())];
    let table = "[harness.new]\ncmd = \"x\"\nenv.A = \"1\"";
    let forms = [
        ("", format!("{table}\n")),
        ("# only this", format!("# only this\n\n{table}")),
        ("[harness.a]\ncmd = 'x'\n", format!("[harness.a]\ncmd = 'x'\n\n{table}\n")),
        (
            "[harness]\r\na.x = 1\r\n",
            format!("[harness]\r\na.x = 1\r\n\r\n{}\r\n", table.replace('\n', "\r\n")),
        ),
        ("harness = {}\n", "harness = { new = { cmd = \"x\", env.A = \"1\" } }\n".to_owned()),
        ("harness = { a = {} }", "harness = { a = {}, new = { cmd = \"x\", env.A = \"1\" } }".to_owned()),
    ];
    let path = ["harness", "new"];
    for (old, new) in forms {
        assert_eq!(add(old, &path, &entries), Ok(new.clone()), "{old}");
        assert_eq!(unset(&new, &path).as_deref(), Ok(old), "{old}");
        assert_eq!(add(&new, &path, &entries), Err(EditError::Present("harness.new".into())));
    }
    assert_eq!(
        add("x = 1\n\n", &path, &[]).as_deref(),
        Ok("x = 1\n\n[harness.new]\n"),
        "one empty line is enough"
    );
}

/// WRT-1: what cannot be done is said, and says where.
#[test]
fn what_cannot_be_edited_is_named() {
    let no_table = |name: &str| Err(EditError::NoTable(name.to_owned()));
    assert_eq!(set("harness = 1\n", &["harness", "a", "b"], "1"), no_table("harness"));
    assert_eq!(set("[[harness]]\na = 1\n", &["harness", "a", "b"], "1"), no_table("harness"));
    assert_eq!(set("[harness.a]\nenv = 1\n", &["harness", "a", "env", "X"], "1"), no_table("harness.a.env"));
    assert_eq!(set("", &["a"], "1 # x"), Err(EditError::NoValue("1 # x".into())));
    assert!(matches!(set("a = \n", &["a"], "1"), Err(EditError::Syntax(_))));
    assert_eq!(EditError::Missing("a.b".into()).to_string(), "there is no `a.b` to take out");
}

#[test]
fn a_string_reads_as_its_text_again() {
    for text in ["", "x", "a\"b", "a\\b", "'", "'\"", "a\nb\r\tc", "\u{1b}[2J\u{7f}\u{9b}", "é\u{202e}"] {
        let quoted = string(text);
        assert!(!quoted.contains(|c: char| c.is_control()), "{quoted}");
        assert_eq!(value(&quoted).unwrap().as_str(), Some(text), "{quoted}");
    }
    assert_eq!(string("say \"hi\""), "'say \"hi\"'");
    for text in ["", " 1", "1 ", "1\ny = 2", "x", "1 # c"] {
        assert!(value(text).is_none(), "{text:?}");
    }
}

/// WRT-4: the diff is one that `patch` takes.
#[test]
fn a_diff_shows_the_changed_lines_and_three_around() {
    assert_eq!(diff("f", "a\n", "a\n"), "");
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9";
    let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9";
    let shown = " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
    assert_eq!(diff("f", old, new), format!("--- f\n+++ f\n@@ -2,7 +2,7 @@\n{shown}"));
    let end = "\\ No newline at end of file\n";
    assert_eq!(diff("f", "a", "a\nb"), format!("--- f\n+++ f\n@@ -1,1 +1,2 @@\n-a\n{end}+a\n+b\n{end}"));
    assert_eq!(diff("f", "", "a\n"), "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
}
