//! From an adapter and what a harness wants to the exact command.
//!
//! Invariant: the prompt reaches the agent byte for byte or not at all, and
//! stands in nothing that is shown, nor does a secret (CTL-12); no placeholder of a template is left over.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;

use super::error::{LONGEST_ARGUMENT, SynthesisError};
use super::merge::{join, join_documents};
use super::model::{Adapter, JsonVariables, Launch};
use super::options::{PromptOptions, spell};
use super::place::resolve;
use super::secrets::masked;
use super::session::{Session, without_prompt};
use super::skills::{Handover, Told, hand_over};
use super::template::{fill, holes};

/// What stands for the prompt where a command is shown.
const SHOWN_PROMPT: &str = "<prompt>";

/// What a harness wants of its agent.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// `cmd`; none: the adapter's own command.
    pub program: Option<&'a str>,
    /// `args`; empty beside a prompt.
    pub args: &'a [String],
    /// The prompt's text.
    pub prompt: Option<&'a str>,
    /// Whether the agent stays in its terminal mode after the prompt.
    pub resident: bool,
    /// The options beside the prompt.
    pub options: &'a PromptOptions,
    /// The resolved working directory.
    pub workdir: Option<&'a Utf8Path>,
    /// The finished projection.
    pub skills: Option<Handover<'a>>,
    /// The session; none: whichever the agent takes. A resident agent that goes on with one, or with a copy
    /// of one, is not given its prompt again.
    pub session: Option<Session<'a>>,
}

/// What is to be executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synthesis {
    /// The command; its first word is the program before it is looked up.
    pub argv: Vec<String>,
    /// The same without the prompt and without secrets.
    pub shown: Vec<String>,
    /// Variables that the adapter sets. See [`Synthesis::environment`].
    pub env: BTreeMap<String, String>,
    /// Which of them hold a JSON document.
    pub json: Vec<String>,
    /// The prompt, if it goes by standard input.
    pub stdin: Option<Vec<u8>>,
    /// Files to be written into the skill target: relative path and contents.
    pub documents: Vec<(String, String)>,
    /// The format of the machine-readable output that is asked for.
    pub report: Option<String>,
    /// The id of the session that the agent will work in, where it is told one.
    pub session: Option<String>,
}

/// A command and how it is shown, word beside word.
struct Words {
    argv: Vec<String>,
    shown: Vec<String>,
}

impl Words {
    fn begin(program: String) -> Self {
        Self { argv: vec![program.clone()], shown: vec![program] }
    }

    fn push_all(&mut self, words: impl IntoIterator<Item = String>) {
        for word in words {
            self.argv.push(word.clone());
            self.shown.push(word);
        }
    }

    fn push_prompt(&mut self, template: &str, prompt: &str) {
        self.argv.push(fill(template, "prompt", prompt));
        self.shown.push(fill(template, "prompt", SHOWN_PROMPT));
    }
}

impl Adapter {
    /// Whether a one-shot of this agent takes a prompt.
    #[must_use]
    pub fn takes_prompt(&self) -> bool {
        self.oneshot.as_ref().is_some_and(Launch::is_possible)
    }

    /// Whether a resident agent can be given a prompt first.
    #[must_use]
    pub fn resident_takes_prompt(&self) -> bool {
        self.resident.as_ref().is_some_and(Launch::is_possible)
    }

    /// The bytes of the largest prompt that a one-shot can be handed; none: any.
    #[must_use]
    pub fn prompt_bound(&self) -> Option<usize> {
        self.oneshot.as_ref().map_or(Some(0), Launch::bound)
    }

    /// The same for a resident agent that is given a prompt first.
    #[must_use]
    pub fn resident_prompt_bound(&self) -> Option<usize> {
        self.resident.as_ref().map_or(Some(0), Launch::bound)
    }

    /// The command for what a harness wants.
    ///
    /// # Errors
    /// If the agent cannot be asked for it, or the prompt cannot reach it whole.
    pub fn synthesize(&self, wanted: &Invocation<'_>) -> Result<Synthesis, SynthesisError> {
        let program = match wanted.program.or_else(|| self.commands.first().map(String::as_str)) {
            Some(program) => program.to_owned(),
            None => return Err(SynthesisError::NoProgram { adapter: self.id.clone() }),
        };
        let mut told = match (&self.skills, &wanted.skills) {
            (Some(skills), Some(handover)) => hand_over(skills, handover),
            _ => Told::default(),
        };
        let mut words = Words::begin(program);
        let mut env = self.quieten.env.clone();
        let mut stdin = None;
        let mut report = None;
        let told_session = self.session_words(wanted)?;
        match wanted.prompt {
            None => {
                let mut args = plain_args(wanted)?;
                take_documents(&mut told.json_args, &mut args);
                words.push_all(told.words());
                words.push_all(told_session.words.iter().cloned());
                words.push_all(args);
            }
            Some(prompt) => {
                let (launch, by_stdin) = self.launch(prompt, wanted.resident)?;
                let mut options = spell(self, launch, wanted.options)
                    .map_err(|option| SynthesisError::Unsupported { adapter: self.id.clone(), option })?;
                env.append(&mut options.env);
                if let Some(outcome) = self.outcome.as_ref().filter(|_| !wanted.resident) {
                    options.args.splice(0..0, outcome.args.iter().cloned());
                    report = Some(outcome.format.clone());
                }
                options.args.splice(0..0, told_session.words.iter().cloned());
                // Of one flag given twice an agent may heed the last alone.
                let (shared, alone): (JsonVariables, JsonVariables) =
                    options.json_args.into_iter().partition(|(flag, _)| told.json_args.contains_key(flag));
                join_documents(&mut told.json_args, &shared);
                let documents = alone.into_iter().flat_map(|(flag, value)| [flag, value.to_string()]);
                options.args.extend(documents);
                let form = if by_stdin { &launch.stdin } else { &launch.argument };
                let unprompted;
                let (form, by_stdin) = if wanted.goes_on() {
                    unprompted =
                        without_prompt(if launch.argument.is_empty() { form } else { &launch.argument });
                    (&unprompted, false)
                } else {
                    (form, by_stdin)
                };
                for word in form {
                    match word.as_str() {
                        "{options}" => words.push_all(options.args.iter().cloned()),
                        "{skills}" => words.push_all(told.words()),
                        "{quieten}" => words.push_all(self.quieten.args.iter().cloned()),
                        template => words.push_prompt(template, prompt),
                    }
                }
                stdin = by_stdin.then(|| prompt.as_bytes().to_vec());
            }
        }
        env.extend(told.env);
        let json = told.json_env.keys().cloned().collect();
        env.extend(told.json_env.into_iter().map(|(name, value)| (name, value.to_string())));
        let Words { argv, shown } = words;
        let shown = shown.into_iter().map(|word| told_session.masked(word)).collect();
        bounded(&argv, &env)?;
        let (session, documents) = (told_session.id, told.documents);
        Ok(Synthesis { argv, shown: masked(shown), env, json, stdin, documents, report, session })
    }

    /// The template for a prompt, and whether it goes by standard input.
    fn launch(&self, prompt: &str, resident: bool) -> Result<(&Launch, bool), SynthesisError> {
        let adapter = || self.id.clone();
        let launch = if resident { &self.resident } else { &self.oneshot };
        let Some(launch) = launch.as_ref().filter(|launch| launch.is_possible()) else {
            return Err(if resident && self.takes_prompt() {
                SynthesisError::NoResidentPrompt { adapter: adapter() }
            } else {
                SynthesisError::NoPrompt { adapter: adapter() }
            });
        };
        if prompt.trim().is_empty() {
            return Err(SynthesisError::EmptyPrompt);
        }
        match launch.refusal(prompt) {
            None => Ok((launch, false)),
            Some(_) if !launch.stdin.is_empty() => Ok((launch, true)),
            Some(Refusal::Long(bound)) => {
                Err(SynthesisError::PromptTooLong { adapter: adapter(), size: prompt.len(), bound })
            }
            Some(Refusal::Nul) => Err(SynthesisError::PromptNul { adapter: adapter() }),
            Some(Refusal::Misread(pattern)) => {
                Err(SynthesisError::PromptMisread { adapter: adapter(), pattern })
            }
        }
    }

    /// The words by which the program may be found, best first: a word with a
    /// `/` is a path, any other one is looked up in PATH. `env` is the
    /// environment in which the adapter's override variable is looked for.
    #[must_use]
    pub fn command_words(
        &self,
        program: Option<&str>,
        env: &BTreeMap<String, String>,
        home: &Utf8Path,
    ) -> Vec<String> {
        let overriding = || {
            let name = self.command_env.as_ref()?;
            env.get(name).map(String::as_str).filter(|word| !word.is_empty())
        };
        if let Some(word) = program.or_else(overriding) {
            return vec![word.to_owned()];
        }
        let search = self.search.iter().filter_map(|place| resolve(place, env, home));
        self.commands.first().cloned().into_iter().chain(search.map(String::from)).collect()
    }
}

/// `args`, with the workdir filled in.
fn plain_args(wanted: &Invocation<'_>) -> Result<Vec<String>, SynthesisError> {
    let fill_in = |word: &String| match wanted.workdir {
        Some(workdir) => Ok(fill(word, "workdir", workdir.as_str())),
        None if holes(word).contains(&"workdir") => Err(SynthesisError::NoWorkdir { argument: word.clone() }),
        None => Ok(word.clone()),
    };
    wanted.args.iter().map(fill_in).collect()
}

/// Moves the user's own documents for our flags into ours, where theirs win: of one flag given
/// twice an agent may heed the last alone. A text that is no JSON object stays where it is.
fn take_documents(ours: &mut JsonVariables, args: &mut Vec<String>) {
    let object = |text: &str| serde_json::from_str(text).ok().filter(Value::is_object);
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| *word != "--") {
        let (flag, attached) = word.split_once('=').map_or((word.as_str(), None), |(a, b)| (a, Some(b)));
        let text = attached.or_else(|| args.get(at + 1).map(String::as_str));
        if let (Some(document), Some(theirs)) = (ours.get_mut(flag), text.and_then(object)) {
            let end = at + if attached.is_some() { 1 } else { 2 };
            join(document, theirs);
            args.drain(at..end);
        } else {
            at += 1;
        }
    }
}

/// Why a prompt cannot go by argument.
enum Refusal {
    Long(usize),
    Nul,
    Misread(String),
}

impl Launch {
    pub(super) fn is_possible(&self) -> bool {
        !self.argument.is_empty() || !self.stdin.is_empty()
    }

    /// The bytes of the largest prompt; none: any.
    fn bound(&self) -> Option<usize> {
        if self.stdin.is_empty() { Some(self.argument_bound()) } else { None }
    }

    /// An attached form (`--prompt={prompt}`) shares its argument.
    fn argument_bound(&self) -> usize {
        let carrier = self.argument.iter().find(|word| holes(word).contains(&"prompt"));
        carrier.map_or(0, |word| LONGEST_ARGUMENT - fill(word, "prompt", "").len().min(LONGEST_ARGUMENT))
    }

    fn refusal(&self, prompt: &str) -> Option<Refusal> {
        let bound = self.argument_bound();
        if prompt.len() > bound {
            return Some(Refusal::Long(bound));
        }
        if prompt.contains('\0') {
            return Some(Refusal::Nul);
        }
        let misread = self.misreads.iter().find(|pattern| match pattern.strip_suffix('*') {
            Some(head) => prompt.starts_with(head),
            None => prompt == pattern.as_str(),
        });
        misread.map(|pattern| Refusal::Misread(pattern.clone()))
    }
}

impl Synthesis {
    /// The variables of the child: `inherited`, over it the adapter's, over
    /// that the harness's `own` (`env_file` and `env`). Of a variable that
    /// holds a JSON document both documents count: they are joined, and where
    /// they disagree the user's wins. A user's text that is no JSON object wins whole.
    #[must_use]
    pub fn environment(
        &self,
        inherited: &BTreeMap<String, String>,
        own: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut all = inherited.clone();
        all.extend(self.env.clone());
        all.extend(own.clone());
        for name in &self.json {
            let theirs = own.get(name).or_else(|| inherited.get(name)).filter(|text| !text.is_empty());
            let Some(ours) = self.env.get(name) else { continue };
            let joined = match theirs {
                None => ours.clone(),
                Some(theirs) => joined(ours, theirs).unwrap_or_else(|| theirs.clone()),
            };
            all.insert(name.clone(), joined);
        }
        all
    }
}

fn joined(ours: &str, theirs: &str) -> Option<String> {
    let mut ours: Value = serde_json::from_str(ours).ok()?;
    let theirs: Value = serde_json::from_str(theirs).ok().filter(Value::is_object)?;
    join(&mut ours, theirs);
    Some(ours.to_string())
}

fn bounded(argv: &[String], env: &BTreeMap<String, String>) -> Result<(), SynthesisError> {
    let too_long = |what: String, size: usize| {
        if size > LONGEST_ARGUMENT { Err(SynthesisError::TooLong { what, size }) } else { Ok(()) }
    };
    for (at, word) in argv.iter().enumerate() {
        too_long(format!("argument {at}"), word.len())?;
    }
    for (name, value) in env {
        too_long(format!("variable `{name}`"), name.len() + 1 + value.len())?;
    }
    Ok(())
}
