//! WRT-1 as properties. 300 files a property; 100,000 with `HARNESSD_FULL=1`, as many as wanted with
//! `HARNESSD_ROUNDS=N`; `HARNESSD_SEED=N` looks at that one alone. The same each time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use harnessd::config::{TableKind, known_keys, written};
use harnessd::edit;

use crate::dice::Dice;
use crate::files::{Sample, example, sample};
use crate::meaning::{Meaning, meaning, said};
use crate::seeds::seeds;

fn each_sample(property: impl Fn(&Sample, &mut Dice)) {
    for seed in seeds(300, 100_000) {
        let mut dice = Dice::new(seed);
        let sample = sample(&mut dice);
        let run = catch_unwind(AssertUnwindSafe(|| property(&sample, &mut dice)));
        assert!(run.is_ok(), "HARNESSD_SEED={seed}, as said above:\n{}", sample.text);
    }
}

/// The path as writers take it.
pub(crate) fn steps(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// The piece of `old` that `new` has something else for: all before and behind it is the same.
fn changed<'t>(old: &'t str, new: &'t str) -> (&'t str, &'t str) {
    let (one, other) = (old.as_bytes(), new.as_bytes());
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let most = one.len().min(other.len()) - head;
    let tail = one.iter().rev().zip(other.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let text = |bytes: &'t [u8]| std::str::from_utf8(&bytes[head..bytes.len() - tail]).unwrap_or("…");
    (text(one), text(other))
}

/// What a file says with something else at a path.
pub(crate) fn with(mut old: Meaning, path: &[String], new: Option<&str>) -> Meaning {
    old.retain(|key, _| !key.starts_with(path));
    for (key, word) in new.map(said).into_iter().flatten() {
        old.insert(path.iter().cloned().chain(key.into_iter().skip(1)).collect(), word);
    }
    old
}

/// WRT-1: another value for a key that is there changes the bytes of the old value, and no others.
#[test]
fn a_changed_value_changes_its_own_bytes_only() {
    each_sample(|sample, dice| {
        let chosen = dice.below(sample.keys.len());
        let Some((path, value)) = sample.keys.get(chosen).zip(sample.values.get(chosen)) else { return };
        let new = "\"another 'value'\"";
        let text = edit::set(&sample.text, &steps(path), new).unwrap();
        let key = edit::place(&sample.text, &steps(path)).unwrap();
        let (before, after) = sample.text[key.end..].split_once(value.as_str()).unwrap();
        assert_eq!(text, format!("{}{before}{new}{after}", &sample.text[..key.end]));
        assert_eq!(meaning(&text).unwrap(), with(meaning(&sample.text).unwrap(), path, Some(new)));
    });
}

/// WRT-1: a new key is a line or an entry more, and taken out again it leaves no trace.
#[test]
fn a_new_key_is_put_in_and_taken_out_without_a_trace() {
    each_sample(|sample, dice| {
        let known = known_keys(TableKind::Harness);
        let name = known[dice.below(known.len())].name;
        let Some(first) = sample.keys.first() else { return };
        let path = [first[0].clone(), first[1].clone(), name.to_owned()];
        if sample.keys.iter().any(|key| key.starts_with(&path)) {
            return;
        }
        let text = edit::set(&sample.text, &steps(&path), example(name)).unwrap();
        let (gone, _) = changed(&sample.text, &text);
        assert_eq!(gone.trim(), "", "something went for {path:?} in\n{text}");
        assert_eq!(meaning(&text).unwrap(), with(meaning(&sample.text).unwrap(), &path, Some(example(name))));
        let back = edit::unset(&text, &steps(&path)).unwrap();
        if gone.is_empty() {
            assert_eq!(back, sample.text);
        }
    });
}

/// WRT-1: a key that is taken out goes with its line or its entry, and all else stays.
#[test]
fn a_key_is_taken_out_and_nothing_else() {
    each_sample(|sample, dice| {
        let Some(path) = sample.keys.get(dice.below(sample.keys.len())) else { return };
        let text = edit::unset(&sample.text, &steps(path)).unwrap();
        let (_, come) = changed(&sample.text, &text);
        assert_eq!(come.trim(), "", "something came in\n{text}");
        assert_eq!(meaning(&text).unwrap(), with(meaning(&sample.text).unwrap(), path, None));
        // Without a final newline the last line that stays may be an empty one, which then has none.
        assert!(text.is_empty() || text.ends_with('\n') || !sample.text.ends_with('\n'), "{text}");
    });
}

/// WRT-1: an added harness is whole tables more, and removed it leaves no trace; so is one that was there.
#[test]
fn a_harness_is_added_and_removed_without_a_trace() {
    each_sample(|sample, dice| {
        let entries = [(vec!["cmd"], "\"x\"".to_owned()), (vec!["env", "A"], "\"1\"".to_owned())];
        let text = edit::add(&sample.text, &["harness", "new"], &entries).unwrap();
        let (gone, _) = changed(&sample.text, &text);
        assert_eq!(gone.trim(), "", "something went in\n{text}");
        let back = edit::unset(&text, &["harness", "new"]).unwrap();
        if gone.is_empty() && !sample.text.replace('\r', "").ends_with("\n\n") {
            assert_eq!(back, sample.text);
        }
        if let Some(path) = sample.keys.get(dice.below(sample.keys.len())) {
            let text = edit::unset(&sample.text, &steps(&path[..2])).unwrap();
            assert_eq!(meaning(&text).unwrap(), with(meaning(&sample.text).unwrap(), &path[..2], None));
        }
    });
}

/// WRT-1, issue B: every key of the schema survives an edit of every other.
#[test]
fn every_key_survives_an_edit_of_every_other() {
    let keys = known_keys(TableKind::Harness);
    let line = |name: &str| format!("{name}  = {} # of {name}\n", example(name));
    for eol in ["\n", "\r\n"] {
        let all = format!("[harness.a]\n{}", keys.iter().map(|key| line(key.name)).collect::<String>());
        let all = all.replace('\n', eol);
        for key in keys {
            let path = ["harness", "a", key.name];
            let own = line(key.name).replace('\n', eol);
            let set = edit::set(&all, &path, "\"new\"").unwrap();
            assert_eq!(set, all.replace(&own, &own.replace(example(key.name), "\"new\"")), "{}", key.name);
            let gone = edit::unset(&all, &path).unwrap();
            assert_eq!(gone, all.replace(&own, ""), "{}", key.name);
            let again = edit::set(&gone, &path, example(key.name)).unwrap();
            assert_eq!(again, format!("{gone}{} = {}{eol}", key.name, example(key.name)), "{}", key.name);
        }
    }
}

/// WRT-1: what stands in the table of keys as an example is written as it stands there.
#[test]
fn every_example_is_written_as_it_stands() {
    for key in known_keys(TableKind::Harness) {
        let example = example(key.name);
        let given = example.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(example);
        assert_eq!(written(&[key.name], given), example, "{}", key.name);
    }
}
