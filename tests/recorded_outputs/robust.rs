//! Whatever an agent writes, reading it ends, holds little, and comes to the same however it arrives.

use std::fs;

use chrono_tz::Tz;
use harnessd::base::{ExitStatus, Outcome, Report};
use harnessd::report::{Decoder, Format, Renderer};
use proptest::prelude::*;

use crate::fixtures::{Fixture, all};
use crate::{now, outcome, rendered};

fn bytes(fixture: &Fixture) -> Vec<u8> {
    fs::read(fixture.path()).unwrap()
}

/// RUN-3: bytes may be cut anywhere, also inside a character.
#[test]
fn every_output_reads_the_same_byte_by_byte() {
    for fixture in all() {
        let output = bytes(&fixture);
        let mut decoder = Decoder::new(fixture.format);
        let mut renderers = [Renderer::new(fixture.format, true), Renderer::new(fixture.format, false)];
        let mut texts = [Vec::new(), Vec::new()];
        for byte in &output {
            decoder.feed(&[*byte]);
            for (renderer, text) in renderers.iter_mut().zip(&mut texts) {
                text.extend(renderer.feed(&[*byte]));
            }
        }
        decoder.finish();
        let report = decoder.report(Some(fixture.status), now(), Tz::UTC);
        assert_eq!(report, outcome(fixture.format, &output, fixture.status), "{}", fixture.name);
        for ((renderer, mut text), quiet) in renderers.iter_mut().zip(texts).zip([true, false]) {
            text.extend(renderer.finish());
            assert_eq!(String::from_utf8_lossy(&text), rendered(fixture.format, &output, quiet));
        }
    }
}

/// CTL-11: a decoder that is handed over goes on where it was, wherever that is.
#[test]
fn a_decoder_that_is_written_down_and_read_back_goes_on() {
    for fixture in all() {
        let output = bytes(&fixture);
        for at in (0..output.len()).step_by(97) {
            let mut decoder = Decoder::new(fixture.format);
            decoder.feed(&output[..at]);
            let text = serde_json::to_string(&decoder).unwrap();
            let mut decoder: Decoder = serde_json::from_str(&text).unwrap();
            decoder.feed(&output[at..]);
            decoder.finish();
            let report = decoder.report(Some(fixture.status), now(), Tz::UTC);
            assert_eq!(report, outcome(fixture.format, &output, fixture.status), "{}", fixture.name);
        }
    }
    for &format in Format::ALL {
        assert_eq!(serde_json::to_value(format).unwrap(), format.as_str());
    }
}

/// The answers of the agents that state a result; Hermes' exit status does.
fn stated_ones() -> impl Iterator<Item = Fixture> {
    all().into_iter().filter(|one| one.name.ends_with("/ok") && one.format != Format::Hermes)
}

/// RUN-0: an output that breaks off before its end states nothing, wherever that is.
#[test]
fn an_output_that_breaks_off_is_no_success() {
    for fixture in stated_ones() {
        let output = bytes(&fixture);
        let text = String::from_utf8(output).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let mut seen = 0;
        while lines.pop().is_some() {
            let cut = lines.join("\n");
            let report = outcome(fixture.format, cut.as_bytes(), ExitStatus::Code(0)).unwrap();
            // pi says it twice, at its very end; vibe ends with an empty line.
            if matches!(fixture.format, Format::Pi | Format::Vibe)
                && seen == 0
                && report.outcome == Outcome::Ok
            {
                continue;
            }
            let cause = Some("ended without stating a result".to_owned());
            assert_eq!(report, Report { outcome: Outcome::Failed, cause, until: None }, "{}", fixture.name);
            seen += 1;
        }
        assert!(seen > 1, "{}", fixture.name);
    }
}

/// RUN-0: a result that is the last line counts without its line break, and among foreign bytes.
#[test]
fn foreign_bytes_around_the_result_do_not_matter() {
    for fixture in stated_ones() {
        let output = bytes(&fixture);
        let cut = output.strip_suffix(b"\n").unwrap();
        let around = [b"\xff\xfe\n{\n\n\"type\"\r\n", cut].concat();
        assert_eq!(outcome(fixture.format, &around, ExitStatus::Code(0)).unwrap().outcome, Outcome::Ok);
        let terminal: Vec<u8> = output
            .iter()
            .flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] })
            .collect();
        assert_eq!(outcome(fixture.format, &terminal, ExitStatus::Code(0)).unwrap().outcome, Outcome::Ok);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// RUN-0: no output can upset the reading.
    #[test]
    fn mutated_outputs_are_read_without_a_panic(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..12),
        split in any::<prop::sample::Index>(),
    ) {
        let fixtures = all();
        let fixture = &fixtures[which.index(fixtures.len())];
        let mut output = bytes(fixture);
        for (at, byte, how) in cuts {
            if output.is_empty() {
                break;
            }
            let at = at.index(output.len());
            match how {
                0 => output[at] = byte,
                1 => output.insert(at, byte),
                2 => output.truncate(at.max(1)),
                _ => {
                    let end = (at + usize::from(byte)).min(output.len());
                    output.drain(at..end);
                }
            }
        }
        let split = split.index(output.len() + 1);
        for &format in Format::ALL {
            let mut decoder = Decoder::new(format);
            decoder.feed(&output[..split]);
            decoder.feed(&output[split..]);
            decoder.finish();
            for status in [None, Some(ExitStatus::Code(0)), Some(ExitStatus::Code(1)), Some(ExitStatus::Signal(9))] {
                let report = decoder.report(status, now(), Tz::Europe__Berlin);
                if let Some(Report { outcome, cause, .. }) = report {
                    prop_assert_eq!(outcome == Outcome::Ok, cause.is_none());
                    prop_assert!(cause.is_none_or(|cause| cause.chars().count() <= 301 * 10));
                }
            }
            let _text = rendered(format, &output, false);
        }
    }

    /// RUN-0: words of any kind are classed and read for a time without a panic.
    #[test]
    fn any_words_are_read_without_a_panic(words in "(resets |try again |in |\\||\\{|[0-9]{1,12}|pm|am|:|\\(|\\)|Dec |[^x]){0,30}") {
        let record = serde_json::json!({"type": "turn.failed", "error": {"message": words}});
        let report = outcome(Format::Codex, record.to_string().as_bytes(), ExitStatus::Code(1)).unwrap();
        prop_assert!(report.outcome != Outcome::Ok && report.cause.is_some());
    }
}

/// RUN-3: a text that comes in pieces without an end is shown as it comes, and not held till its end.
#[test]
fn a_text_in_endless_pieces_is_not_held() {
    let piece = serde_json::json!({
        "type": "message", "role": "assistant", "content": "x".repeat(1 << 20), "delta": true,
    });
    let mut renderer = Renderer::new(Format::Gemini, false);
    let shown: usize = (0..32).map(|_| renderer.feed(format!("{piece}\n").as_bytes()).len()).sum();
    assert!(shown >= 24 << 20, "{shown} bytes are shown");
    let all = shown + renderer.finish().len();
    assert!((32 << 20..33 << 20).contains(&all), "{all} bytes are shown in all");
}
