//! Terminal output as lines of text.
//!
//! Invariant: no control character comes out, and what is held is bounded by one line of bounded length.

const BEL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;
const ESC: u8 = 0x1b;

/// A longer line is cut into several.
const LONGEST: usize = 64 * 1024;

/// Where in a control sequence the output is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After the first byte of a designation like `ESC ( B`.
    Designation,
    Csi,
    /// OSC, DCS, APC, PM and SOS.
    Text,
    TextEscape,
}

/// Turns the output of a terminal into lines: control sequences are left out, and of what was written over
/// after a carriage return the last remains. Moving the cursor to another row begins another line.
#[derive(Debug, Default)]
pub struct Plain {
    state: State,
    line: Vec<u8>,
    /// A carriage return came: what follows, unless it ends the line, begins the line anew.
    returned: bool,
}

impl Plain {
    /// Takes the next bytes, however they are cut.
    pub fn feed(&mut self, bytes: &[u8], line: &mut dyn FnMut(String)) {
        for byte in bytes {
            self.step(*byte, line);
        }
    }

    /// Takes the last line, which may lack its break.
    pub fn finish(&mut self, line: &mut dyn FnMut(String)) {
        if !self.line.is_empty() {
            self.end(line);
        }
    }

    fn step(&mut self, byte: u8, line: &mut dyn FnMut(String)) {
        self.state = match (self.state, byte) {
            (State::Text, ESC) => State::TextEscape,
            (State::Text, BEL) | (State::TextEscape, b'\\') => State::Ground,
            (State::Text, _) => State::Text,
            (_, ESC) => State::Escape,
            (State::Escape | State::TextEscape, b'[') => State::Csi,
            (State::Escape | State::TextEscape, b']' | b'P' | b'_' | b'^' | b'X') => State::Text,
            (State::Escape, b' '..=b'/') => State::Designation,
            (State::Escape | State::TextEscape | State::Designation, _) => State::Ground,
            (State::Csi, 0x40..=0x7e) => {
                // Cursor to another row, or the screen is cleared.
                if matches!(byte, b'A' | b'B' | b'E' | b'F' | b'H' | b'J' | b'd' | b'f')
                    && !self.line.is_empty()
                {
                    self.end(line);
                }
                State::Ground
            }
            (State::Csi, _) => State::Csi,
            (State::Ground, _) => {
                self.text(byte, line);
                State::Ground
            }
        };
    }

    fn text(&mut self, byte: u8, line: &mut dyn FnMut(String)) {
        match byte {
            b'\n' => self.end(line),
            b'\r' => self.returned = true,
            BACKSPACE => drop(self.line.pop()),
            b'\t' | b' '..=0x7e | 0x80.. => {
                if std::mem::take(&mut self.returned) {
                    self.line.clear();
                }
                self.line.push(byte);
                if self.line.len() >= LONGEST {
                    self.end(line);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, line: &mut dyn FnMut(String)) {
        self.returned = false;
        let text = String::from_utf8_lossy(&self.line);
        // The control characters of the second block, which some terminals obey.
        line(text.chars().filter(|c| *c == '\t' || !c.is_control()).collect());
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Plain;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut plain = Plain::default();
        for piece in pieces {
            plain.feed(piece, &mut |line| found.push(line));
        }
        plain.finish(&mut |line| found.push(line));
        found
    }

    /// TRJ-7: terminal output is rendered to text: what a person would have seen, without what drew it.
    #[test]
    fn control_sequences_leave_the_text() {
        for (output, text) in [
            (&b"a\r\nb\n"[..], vec!["a", "b"]),
            (b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b\\", vec!["red x"]),
            (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", vec!["link"]),
            (b" 10%\r 20%\rdone\n", vec!["done"]),
            (b"ab\x08c\n\n", vec!["ac", ""]),
            (b"one\x1b[2;1Htwo\x1b(Bx", vec!["one", "twox"]),
            ("é\u{9b}31m\u{7}".as_bytes(), vec!["é31m"]),
            (b"\x1bP1$r\x1b\\\x1b_hidden\x1b\\", vec![]),
        ] {
            assert_eq!(lines(&[output]), text, "{output:?}");
            let bytes: Vec<&[u8]> = output.chunks(1).collect();
            assert_eq!(lines(&bytes), text, "{output:?} byte by byte");
        }
    }

    /// TRJ-3: a line without an end is cut, so that memory stays bounded.
    #[test]
    fn an_endless_line_is_cut() {
        let found = lines(&[&vec![b'x'; 3 * super::LONGEST + 1]]);
        assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [65536, 65536, 65536, 1]);
    }
}
