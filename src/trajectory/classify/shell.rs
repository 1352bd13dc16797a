//! The words of a shell command, as far as they tell what it executes.
//!
//! Invariant: nothing is expanded. Quotes, comments and the bodies of here-documents never become commands.

use std::iter::Peekable;
use std::str::Chars;

/// One simple command: what stands between `|`, `;`, `&`, `&&`, `||`, brackets and line breaks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    /// Its words without quotes.
    pub(super) words: Vec<String>,
    /// Its output goes to a file.
    pub(super) writes: bool,
    /// It holds the output of another command, which is not looked into.
    pub(super) opaque: bool,
}

/// Splits a command into its segments.
pub(super) fn segments(text: &str) -> Vec<Segment> {
    let mut splitter = Splitter::over(text);
    splitter.run();
    splitter.done
}

struct Splitter<'a> {
    rest: Peekable<Chars<'a>>,
    done: Vec<Segment>,
    segment: Segment,
    word: Option<String>,
    /// The ends of the here-documents whose bodies follow the line.
    bodies: Vec<(String, bool)>,
    awaited: Awaited,
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Word,
    OutputFile,
    InputFile,
    BodyEnd { indented: bool },
}

impl<'a> Splitter<'a> {
    fn over(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            done: Vec::new(),
            segment: Segment::default(),
            word: None,
            bodies: Vec::new(),
            awaited: Awaited::Word,
        }
    }

    fn run(&mut self) {
        while let Some(char) = self.rest.next() {
            match char {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(char) => self.push(char),
                },
                '`' => self.substitution('`'),
                '$' if self.rest.next_if_eq(&'(').is_some() => self.substitution(')'),
                '#' if self.word.is_none() => while self.rest.next_if(|char| *char != '\n').is_some() {},
                '\n' => {
                    self.end_segment();
                    self.skip_bodies();
                }
                ';' | '|' | '(' | ')' => self.end_segment(),
                '&' if self.rest.next_if_eq(&'>').is_some() => self.output(),
                '&' => self.end_segment(),
                '>' => {
                    self.end_descriptor();
                    self.output();
                }
                '<' => {
                    self.end_descriptor();
                    self.input();
                }
                char if char.is_whitespace() => self.end_word(),
                char => self.push(char),
            }
        }
        self.end_segment();
    }

    fn push(&mut self, char: char) {
        self.word.get_or_insert_default().push(char);
    }

    fn single_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(char) = self.rest.next().filter(|char| *char != '\'') {
            self.push(char);
        }
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(char) = self.rest.next().filter(|char| *char != '"') {
            match char {
                '\\' => match self.rest.next() {
                    Some(char @ ('"' | '\\' | '$' | '`')) => self.push(char),
                    Some('\n') | None => {}
                    Some(char) => {
                        self.push('\\');
                        self.push(char);
                    }
                },
                '`' => self.substitution('`'),
                '$' if self.rest.next_if_eq(&'(').is_some() => self.substitution(')'),
                char => self.push(char),
            }
        }
    }

    /// Passes over a command whose output becomes part of a word.
    fn substitution(&mut self, end: char) {
        self.segment.opaque = true;
        self.push('…');
        let mut depth = 1;
        let mut quote = None;
        while let Some(char) = self.rest.next() {
            match char {
                '\\' if quote != Some('\'') => drop(self.rest.next()),
                '\'' | '"' if end == ')' => match quote {
                    None => quote = Some(char),
                    Some(open) if open == char => quote = None,
                    Some(_) => {}
                },
                '(' if end == ')' && quote.is_none() => depth += 1,
                char if char == end && quote.is_none() => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }

    /// A number before `<` or `>` names a descriptor and is no word.
    fn end_descriptor(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
    }

    fn output(&mut self) {
        self.rest.next_if(|char| matches!(char, '>' | '|'));
        if self.rest.next_if_eq(&'&').is_some() {
            // `>&2` names a descriptor, `>&file` a file.
            let mut ahead = self.rest.clone();
            if ahead.next_if(|char| char.is_ascii_digit() || *char == '-').is_some() {
                while self.rest.next_if(|char| char.is_ascii_digit() || *char == '-').is_some() {}
                return;
            }
        }
        self.awaited = Awaited::OutputFile;
    }

    fn input(&mut self) {
        self.awaited = Awaited::InputFile;
        if self.rest.next_if_eq(&'<').is_some() && self.rest.next_if_eq(&'<').is_none() {
            let indented = self.rest.next_if_eq(&'-').is_some();
            self.awaited = Awaited::BodyEnd { indented };
        } else if self.rest.next_if_eq(&'(').is_some() {
            self.awaited = Awaited::Word;
            self.substitution(')');
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.awaited, Awaited::Word) {
            Awaited::Word => self.segment.words.push(word),
            Awaited::OutputFile => self.segment.writes |= word != "/dev/null",
            Awaited::InputFile => {}
            Awaited::BodyEnd { indented } => self.bodies.push((word, indented)),
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        let segment = std::mem::take(&mut self.segment);
        if segment != Segment::default() {
            self.done.push(segment);
        }
    }

    fn skip_bodies(&mut self) {
        for (end, indented) in std::mem::take(&mut self.bodies) {
            loop {
                let line: String = std::iter::from_fn(|| self.rest.next_if(|char| *char != '\n')).collect();
                let line = if indented { line.trim_start_matches('\t') } else { &line };
                if self.rest.next().is_none() || line == end {
                    break;
                }
            }
        }
    }
}
