//! An agent's machine-readable output as text for people.
//!
//! Invariant: lines come out in the order in which they came in; what is no record of the format
//! is shown as it is, byte for byte. What is held is bounded by a few of the longest lines.

use super::format::{Format, Reader};
use super::lines::{LONGEST, Line, Lines};
use super::told::Told;
use super::words::harmless;

/// Turns the output of one run into text as it comes.
///
/// Quiet it shows the final answer, errors, and what is no record; otherwise also what the agent
/// says meanwhile, and a line for each tool that it calls.
#[derive(Debug)]
pub struct Renderer {
    lines: Lines,
    reader: Reader,
    page: Page,
}

/// What was shown, and what waits.
#[derive(Debug)]
struct Page {
    quiet: bool,
    /// The last text of the agent: quiet it waits, as the next one may be the answer.
    last: String,
    /// The text that comes in pieces now.
    pieces: String,
    /// The last trouble that was shown.
    trouble: String,
    out: Vec<u8>,
}

impl Renderer {
    /// Renders this format.
    #[must_use]
    pub fn new(format: Format, quiet: bool) -> Self {
        let page = Page {
            quiet,
            last: String::new(),
            pieces: String::new(),
            trouble: String::new(),
            out: Vec::new(),
        };
        Self { lines: Lines::default(), reader: Reader::new(format), page }
    }

    /// Takes the next bytes, however they are cut, and gives the text that they make.
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Self { lines, reader, page } = self;
        lines.feed(bytes, |line| page.line(line, reader));
        std::mem::take(&mut page.out)
    }

    /// The text that is left when nothing follows.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let Self { lines, reader, page } = self;
        lines.finish(|line| page.line(line, reader));
        page.end_pieces();
        page.show_held();
        std::mem::take(&mut page.out)
    }
}

impl Page {
    fn line(&mut self, line: Line<'_>, reader: &mut Reader) {
        match line {
            Line::Whole(line) => {
                if !reader.read(line, &mut |told| self.told(told)) {
                    self.end_pieces();
                    self.out.extend_from_slice(line);
                    self.out.push(b'\n');
                }
            }
            Line::Skipped(length) => {
                self.end_pieces();
                self.put(&format!("[a line of {length} bytes is not shown]"));
            }
        }
    }

    fn told(&mut self, told: Told) {
        if !matches!(told, Told::Piece(_)) {
            self.end_pieces();
        }
        match told {
            Told::Piece(piece) => {
                self.pieces.push_str(&piece);
                if self.pieces.len() > LONGEST {
                    self.end_pieces();
                }
            }
            Told::Text(text) => self.text(text),
            Told::Answer(answer) => {
                if !answer.is_empty() && answer != self.last {
                    self.text(answer);
                }
            }
            Told::Tool(name, what) => {
                if self.quiet {
                    self.last.clear();
                } else {
                    self.put(format!("[{name}] {what}").trim_end());
                }
            }
            Told::Trouble(words) => self.trouble(&words),
            Told::End(statement) => {
                let words = statement.words().unwrap_or_default();
                // An error may have been told as a text, or as a trouble, just before.
                let told = words.is_empty() || words == self.last || words == self.trouble;
                self.show_held();
                if !told {
                    self.trouble(words);
                }
            }
            Told::Session(_) | Told::Perhaps(_) => {}
            Told::Resumed => self.trouble.clear(),
        }
    }

    fn text(&mut self, text: String) {
        if !self.quiet {
            self.put(&text);
        }
        self.last = text;
    }

    fn trouble(&mut self, words: &str) {
        if words != self.trouble {
            self.put(&format!("error: {words}"));
            words.clone_into(&mut self.trouble);
        }
    }

    fn end_pieces(&mut self) {
        let text = std::mem::take(&mut self.pieces);
        if !text.is_empty() {
            self.text(text);
        }
    }

    /// What was held back because another text could have followed.
    fn show_held(&mut self) {
        let last = std::mem::take(&mut self.last);
        if self.quiet {
            self.put(&last);
        }
    }

    fn put(&mut self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            self.out.extend_from_slice(harmless(text).as_bytes());
            self.out.push(b'\n');
        }
    }
}
