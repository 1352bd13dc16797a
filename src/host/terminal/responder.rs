//! Answering what programs ask a terminal.
//!
//! A program that queries its terminal may wait for the answer for ever, so
//! every query of common use gets one. Pure: bytes in, bytes to write back
//! out. Invariant: text that a program merely prints never yields an answer.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::CELL;
use super::parser::{Parser, Sequence};
use crate::base::version;

/// The colours that are told: light grey on black.
const FOREGROUND: [u8; 3] = [0xd0, 0xd0, 0xd0];
const BACKGROUND: [u8; 3] = [0, 0, 0];
/// The first sixteen colours of xterm's palette.
const PALETTE: [[u8; 3]; 16] = [
    [0x00, 0x00, 0x00],
    [0xcd, 0x00, 0x00],
    [0x00, 0xcd, 0x00],
    [0xcd, 0xcd, 0x00],
    [0x00, 0x00, 0xee],
    [0xcd, 0x00, 0xcd],
    [0x00, 0xcd, 0xcd],
    [0xe5, 0xe5, 0xe5],
    [0x7f, 0x7f, 0x7f],
    [0xff, 0x00, 0x00],
    [0x00, 0xff, 0x00],
    [0xff, 0xff, 0x00],
    [0x5c, 0x5c, 0xff],
    [0xff, 0x00, 0xff],
    [0x00, 0xff, 0xff],
    [0xff, 0xff, 0xff],
];

/// Answers the queries found in the output of one terminal's program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Responder {
    parser: Parser,
    columns: u16,
    rows: u16,
}

impl Responder {
    /// For a terminal of this size.
    #[must_use]
    pub fn new(columns: u16, rows: u16) -> Self {
        Self { parser: Parser::default(), columns, rows }
    }

    /// The terminal's size has changed.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (columns, rows);
    }

    /// Reads a piece of output; what is returned is to be written to the
    /// terminal. Mostly that is nothing. Queries may be cut anywhere.
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (columns, rows) = (self.columns, self.rows);
        let mut answers = String::new();
        self.parser.feed(bytes, |sequence| match sequence {
            Sequence::Csi(body) => csi(body, columns, rows, &mut answers),
            Sequence::Osc { body, bell } => osc(body, bell, &mut answers),
            Sequence::Dcs(body) => dcs(body, &mut answers),
        });
        answers.into_bytes()
    }
}

/// Adds to a text; writing to a `String` cannot fail.
macro_rules! say {
    ($out:expr, $($part:tt)*) => {{ let _ = write!($out, $($part)*); }};
}

fn csi(body: &[u8], columns: u16, rows: u16, out: &mut String) {
    match body {
        b"5n" => out.push_str("\x1b[0n"),
        b"6n" => out.push_str("\x1b[1;1R"),
        b"?6n" => out.push_str("\x1b[?1;1R"),
        b"?996n" => out.push_str("\x1b[?997;1n"),
        b"c" | b"0c" => out.push_str("\x1b[?62;22c"),
        b">c" | b">0c" => out.push_str("\x1b[>1;10;0c"),
        b"=c" | b"=0c" => out.push_str("\x1bP!|00000000\x1b\\"),
        b">q" | b">0q" => say!(out, "\x1bP>|harnessd {}\x1b\\", version()),
        b"?u" => out.push_str("\x1b[?0u"),
        b"11t" => out.push_str("\x1b[1t"),
        b"13t" => out.push_str("\x1b[3;0;0t"),
        b"14t" => say!(out, "\x1b[4;{};{}t", pixels(rows, CELL.1), pixels(columns, CELL.0)),
        b"16t" => say!(out, "\x1b[6;{};{}t", CELL.1, CELL.0),
        b"18t" => say!(out, "\x1b[8;{rows};{columns}t"),
        b"19t" => say!(out, "\x1b[9;{rows};{columns}t"),
        _ => mode_report(body, out),
    }
}

fn pixels(cells: u16, size: u16) -> u32 {
    u32::from(cells) * u32::from(size)
}

/// DECRQM: whether a mode is set. None is known here, and that is an answer.
fn mode_report(body: &[u8], out: &mut String) {
    let Some(asked) = body.strip_suffix(b"$p") else { return };
    let private = asked.strip_prefix(b"?");
    if let Some(mode) = number(private.unwrap_or(asked)) {
        let mark = if private.is_some() { "?" } else { "" };
        say!(out, "\x1b[{mark}{mode};0$y");
    }
}

/// Colours: `10;?` the text, `11;?` the background, `12;?` the cursor, `4;N;?`
/// the palette. One sequence may ask for several.
fn osc(body: &[u8], bell: bool, out: &mut String) {
    let end = if bell { "\x07" } else { "\x1b\\" };
    let mut parts = body.split(|byte| *byte == b';');
    let Some(command) = parts.next().and_then(number) else { return };
    match command {
        4 => {
            while let (Some(index), Some(value)) = (parts.next(), parts.next()) {
                if let (Some(index), b"?") = (number(index).and_then(|one| u8::try_from(one).ok()), value) {
                    say!(out, "\x1b]4;{index};{}{end}", color(indexed(index)));
                }
            }
        }
        10..=12 => {
            for (which, value) in (command..=12).zip(parts) {
                let told = if which == 11 { BACKGROUND } else { FOREGROUND };
                if value == b"?" {
                    say!(out, "\x1b]{which};{}{end}", color(told));
                }
            }
        }
        _ => {}
    }
}

/// XTGETTCAP and DECRQSS: every capability and setting is unknown here.
fn dcs(body: &[u8], out: &mut String) {
    if let Some(names) = body.strip_prefix(b"+q") {
        for name in names.split(|byte| *byte == b';').filter(|name| name.iter().all(u8::is_ascii_hexdigit)) {
            say!(out, "\x1bP0+r{}\x1b\\", String::from_utf8_lossy(name));
        }
    } else if body.starts_with(b"$q") {
        out.push_str("\x1bP0$r\x1b\\");
    }
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}

fn color([red, green, blue]: [u8; 3]) -> String {
    format!("rgb:{red:02x}{red:02x}/{green:02x}{green:02x}/{blue:02x}{blue:02x}")
}

/// The 256 colours: sixteen named ones, a cube of six levels, a ramp of greys.
fn indexed(index: u8) -> [u8; 3] {
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    match index {
        0..=15 => PALETTE[usize::from(index)],
        16..=231 => {
            let cube = index - 16;
            [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
        }
        232..=255 => [8 + (index - 232) * 10; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::Responder;

    const QUERIES: &[(&str, &str)] = &[
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[6n", "\x1b[1;1R"),
        ("\x1b[?6n", "\x1b[?1;1R"),
        ("\x1b[?996n", "\x1b[?997;1n"),
        ("\x1b[c", "\x1b[?62;22c"),
        ("\x1b[0c", "\x1b[?62;22c"),
        ("\x1b[>c", "\x1b[>1;10;0c"),
        ("\x1b[>0c", "\x1b[>1;10;0c"),
        ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
        ("\x1b[>q", concat!("\x1bP>|harnessd ", env!("CARGO_PKG_VERSION"), "\x1b\\")),
        ("\x1b[>0q", concat!("\x1bP>|harnessd ", env!("CARGO_PKG_VERSION"), "\x1b\\")),
        ("\x1b[?2026$p", "\x1b[?2026;0$y"),
        ("\x1b[4$p", "\x1b[4;0$y"),
        ("\x1b[?u", "\x1b[?0u"),
        ("\x1b[11t", "\x1b[1t"),
        ("\x1b[13t", "\x1b[3;0;0t"),
        ("\x1b[14t", "\x1b[4;640;960t"),
        ("\x1b[16t", "\x1b[6;16;8t"),
        ("\x1b[18t", "\x1b[8;40;120t"),
        ("\x1b[19t", "\x1b[9;40;120t"),
        ("\x1b]10;?\x07", "\x1b]10;rgb:d0d0/d0d0/d0d0\x07"),
        ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
        ("\x1b]12;?\x1b\\", "\x1b]12;rgb:d0d0/d0d0/d0d0\x1b\\"),
        ("\x1b]10;?;?\x07", "\x1b]10;rgb:d0d0/d0d0/d0d0\x07\x1b]11;rgb:0000/0000/0000\x07"),
        ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"),
        ("\x1b]4;21;?;255;?\x07", "\x1b]4;21;rgb:0000/0000/ffff\x07\x1b]4;255;rgb:eeee/eeee/eeee\x07"),
        ("\x1bP+q544e;524742\x1b\\", "\x1bP0+r544e\x1b\\\x1bP0+r524742\x1b\\"),
        ("\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"),
    ];

    fn answer(output: &str) -> String {
        String::from_utf8(Responder::new(120, 40).feed(output.as_bytes())).unwrap()
    }

    /// Issue A, 7: the queries of a terminal are answered so that no agent blocks on them.
    #[test]
    fn every_query_is_answered() {
        for (query, expected) in QUERIES {
            assert_eq!(&answer(query), expected, "{query:?}");
        }
    }

    #[test]
    fn queries_cut_anywhere_and_amid_text_are_answered_in_order() {
        let output: String = QUERIES.iter().map(|(query, _)| format!("tëxt\r\n{query}")).collect();
        let expected: String = QUERIES.iter().map(|(_, answer)| *answer).collect();
        let mut responder = Responder::new(120, 40);
        let bytewise: Vec<u8> = output.bytes().flat_map(|byte| responder.feed(&[byte])).collect();
        assert_eq!(String::from_utf8(bytewise).unwrap(), expected);
        assert_eq!(answer(&output), expected);
    }

    #[test]
    fn what_is_no_query_gets_no_answer() {
        for quiet in [
            "plain text [6n",
            "\x1b[31mred\x1b[0m",
            "\x1b[2J\x1b[H",
            "\x1b]0;a title; ?\x07",
            "\x1b]10;#ff0000\x07",
            "\x1b]52;c;?\x07",
            "\x1b[21t",
            "\x1b[+6$p",
            "\x1b_Gi=1,a=q;\x1b[\x1b\\",
            "\x1b[6\x18n",
            "\x1bP+qzz\x1b\\",
        ] {
            assert_eq!(answer(quiet), "", "{quiet:?}");
        }
    }

    #[test]
    fn a_text_without_an_end_costs_no_memory_and_hides_no_later_query() {
        let mut responder = Responder::new(120, 40);
        assert!(responder.feed(b"\x1b]10;").is_empty());
        for _ in 0..100 {
            assert!(responder.feed(&[b'x'; 1000]).is_empty());
        }
        assert!(responder.feed(b";?\x07").is_empty());
        assert_eq!(responder.feed(b"\x1b]0;lost\x1b[5n"), b"\x1b[0n");
    }

    #[test]
    fn a_resized_terminal_tells_its_new_size() {
        let mut responder = Responder::new(120, 40);
        responder.resize(80, 24);
        assert_eq!(responder.feed(b"\x1b[18t"), b"\x1b[8;24;80t");
    }
}
