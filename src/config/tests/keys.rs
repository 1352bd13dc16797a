//! The lists of keys beside the structures that read them.

use figment::Figment;
use figment::error::Kind;
use serde::de::DeserializeOwned;

use super::{complaints, global};
use crate::config::raw::{RawDaemon, RawHarness, RawNotify, RawProfile, RawProject};
use crate::config::{CODES, TableKind, known_keys, layers::Layer};

/// The fields that a structure knows, from its refusal of another one.
fn fields<T: DeserializeOwned + std::fmt::Debug>() -> Vec<&'static str> {
    let dict = [("?".to_owned(), 1_i64.into())].into_iter().collect();
    let error = Figment::from(Layer::new("test", dict)).extract::<T>().unwrap_err();
    match error.kind {
        Kind::UnknownField(_, known) => known.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// CFG-8: each key that is read has its help line, and the other way round.
#[test]
fn the_lists_name_the_keys_that_are_read() {
    let listed = |kind: TableKind| known_keys(kind).iter().map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(listed(TableKind::Harness), fields::<RawHarness>());
    assert_eq!(listed(TableKind::Daemon), fields::<RawDaemon>());
    assert_eq!(listed(TableKind::Notify), fields::<RawNotify>());
    assert_eq!(listed(TableKind::Profile), fields::<RawProfile>());
    assert_eq!(listed(TableKind::Project), fields::<RawProject>());
}

/// Each example of a key is legal by itself, or refused as later and only so.
#[test]
fn the_examples_of_the_keys_are_legal() {
    for key in known_keys(TableKind::Harness) {
        let text = format!("[defaults]\n{}\n", key.example);
        let expected: &[String] =
            if key.later { &[format!("2:1 -: not supported yet: {}", key.name)] } else { &[] };
        assert_eq!(complaints(&[global(&text)]), expected, "{}", key.name);
    }
    for key in known_keys(TableKind::Daemon) {
        let found = complaints(&[global(&format!("[daemon]\n{}\n", key.example))]);
        assert_eq!(found.is_empty(), !key.later, "{}: {found:?}", key.name);
    }
    for key in known_keys(TableKind::Profile) {
        let text = format!("[profile.day]\n{}\n[harness.web]\ncmd = \"serve\"\n", key.example);
        assert_eq!(complaints(&[global(&text)]), [""; 0], "{}", key.name);
    }
    for key in known_keys(TableKind::Notify).iter().filter(|key| key.name != "command") {
        let text = format!("[notify]\ncommand = \"mail\"\n{}\n", key.example);
        assert_eq!(complaints(&[global(&text)]), [""; 0], "{}", key.name);
    }
}

/// A code is stable: it is one word of a fixed form, and there is one of each.
#[test]
fn the_codes_are_unique() {
    let mut codes: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
    assert!(codes.iter().all(|code| code.starts_with("harnessd::config::")));
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), CODES.len());
}
