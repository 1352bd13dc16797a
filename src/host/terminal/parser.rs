//! Finding control sequences in a stream of output, wherever reads cut it.
//!
//! Invariant: what is kept between two reads is bounded; a sequence longer
//! than that is passed over, never answered in part.

use serde::{Deserialize, Serialize};

/// The longest sequence that is kept.
const LONGEST: usize = 4096;

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;

/// A whole sequence without its introducer and terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sequence<'a> {
    /// `ESC [ body`, the final byte being the body's last.
    Csi(&'a [u8]),
    /// `ESC ] body`; `bell` if it ended by BEL and not by `ESC \`.
    Osc { body: &'a [u8], bell: bool },
    /// `ESC P body`.
    Dcs(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Text {
    #[default]
    Osc,
    Dcs,
    /// APC, PM and SOS: read to their end, for what they hold is no sequence.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    Text(Text),
    /// An ESC inside a text: its end if `\` follows, else the begin of another sequence.
    TextEscape(Text),
}

/// The state between two reads.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Parser {
    state: State,
    body: Vec<u8>,
    overlong: bool,
}

impl Parser {
    /// Reads on, and calls `found` for every sequence that is complete.
    pub(super) fn feed(&mut self, bytes: &[u8], mut found: impl FnMut(Sequence<'_>)) {
        for byte in bytes {
            self.step(*byte, &mut found);
        }
    }

    fn step(&mut self, byte: u8, found: &mut impl FnMut(Sequence<'_>)) {
        self.state = match (self.state, byte) {
            (_, CAN | SUB) => State::Ground,
            (State::Text(kind), ESC) => State::TextEscape(kind),
            (State::Text(Text::Osc), BEL) => self.end(Text::Osc, true, found),
            (State::Text(kind), _) => {
                self.keep(byte);
                State::Text(kind)
            }
            (State::TextEscape(kind), b'\\') => self.end(kind, false, found),
            (_, ESC) => State::Escape,
            (State::Escape | State::TextEscape(_), _) => self.begin(byte),
            (State::Csi, 0x20..=0x3f) => {
                self.keep(byte);
                State::Csi
            }
            (State::Csi, 0x40..=0x7e) => {
                self.keep(byte);
                if !self.overlong {
                    found(Sequence::Csi(&self.body));
                }
                State::Ground
            }
            // A control character inside a sequence acts on the screen and does not end it.
            (State::Csi, 0x00..=0x1f | 0x7f) => State::Csi,
            (State::Csi | State::Ground, _) => State::Ground,
        };
    }

    fn begin(&mut self, byte: u8) -> State {
        self.body.clear();
        self.overlong = false;
        match byte {
            b'[' => State::Csi,
            b']' => State::Text(Text::Osc),
            b'P' => State::Text(Text::Dcs),
            b'_' | b'^' | b'X' => State::Text(Text::Other),
            _ => State::Ground,
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.body.len() < LONGEST {
            self.body.push(byte);
        } else {
            self.overlong = true;
        }
    }

    fn end(&mut self, kind: Text, bell: bool, found: &mut impl FnMut(Sequence<'_>)) -> State {
        if !self.overlong {
            match kind {
                Text::Osc => found(Sequence::Osc { body: &self.body, bell }),
                Text::Dcs => found(Sequence::Dcs(&self.body)),
                Text::Other => {}
            }
        }
        self.body.clear();
        State::Ground
    }
}
