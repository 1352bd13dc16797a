//! What agents really printed, what it comes to, how people see it, and that nothing can upset the reading.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod copilot;
mod ends;
mod fixtures;
mod goose;
mod grok;
mod hermes;
mod kimi;
mod rendering;
mod robust;
mod vibe;

use chrono_tz::Tz;
use harnessd::base::{ExitStatus, Report, Wall};
use harnessd::report::{Decoder, Format, Renderer};

/// The moment at which everything here is read.
fn now() -> Wall {
    Wall::parse_rfc3339("2026-11-30T16:00:00Z").unwrap()
}

/// What an output comes to when its program ends so.
fn outcome(format: Format, output: &[u8], status: ExitStatus) -> Option<Report> {
    let mut decoder = Decoder::new(format);
    decoder.feed(output);
    decoder.finish();
    decoder.report(Some(status), now(), Tz::UTC)
}

/// An output as people see it.
fn rendered(format: Format, output: &[u8], quiet: bool) -> String {
    let mut renderer = Renderer::new(format, quiet);
    let mut text = renderer.feed(output);
    text.extend(renderer.finish());
    String::from_utf8_lossy(&text).into_owned()
}
