//! From an adapter and what a harness wants to the exact command.
//!
//! Invariant: the prompt reaches the agent byte for byte or not at all, and
//! stands in nothing that is shown; no placeholder of a template is left over.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;
use thiserror::Error;

use super::merge::join;
use super::model::{Adapter, JsonVariables, Launch};
use super::options::{OptionKey, PromptOptions, spell};
use super::skills::{Handover, Told, hand_over};
use super::template::{fill, holes};

/// The longest argument (or `NAME=value`) that Linux passes on, without its NUL.
pub const LONGEST_ARGUMENT: usize = 131_071;

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
}

/// What is to be executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synthesis {
    /// The command; its first word is the program before it is looked up.
    pub argv: Vec<String>,
    /// The same without the prompt.
    pub shown: Vec<String>,
    /// Variables that the adapter sets. See [`Synthesis::environment`].
    pub env: BTreeMap<String, String>,
    /// Which of them hold a JSON document.
    pub json: Vec<String>,
    /// The prompt, if it goes by standard input.
    pub stdin: Option<Vec<u8>>,
    /// Files to be written into the skill target: relative path and contents.
    pub documents: Vec<(String, String)>,
}

/// Why there is no command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SynthesisError {
    /// The adapter has no command of its own.
    #[error("adapter `{adapter}` has no command of its own: `cmd` is required")]
    NoProgram {
        /// The adapter's id.
        adapter: String,
    },
    /// The adapter takes no prompt.
    #[error("adapter `{adapter}` takes no prompt")]
    NoPrompt {
        /// The adapter's id.
        adapter: String,
    },
    /// The agent's terminal mode takes no prompt.
    #[error("adapter `{adapter}` takes no prompt in its terminal mode (`oneshot = false`)")]
    NoResidentPrompt {
        /// The adapter's id.
        adapter: String,
    },
    /// The prompt is blank.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// The prompt does not fit into one argument, and there is no other way.
    #[error("the prompt is {size} bytes, adapter `{adapter}` can be handed at most {bound}")]
    PromptTooLong {
        /// The adapter's id.
        adapter: String,
        /// The prompt's bytes.
        size: usize,
        /// The most that is possible.
        bound: usize,
    },
    /// The prompt holds a NUL, and goes by argument only.
    #[error("the prompt holds a NUL byte, which adapter `{adapter}` cannot be handed")]
    PromptNul {
        /// The adapter's id.
        adapter: String,
    },
    /// The agent would take the prompt for something else.
    #[error("adapter `{adapter}` takes a prompt like `{pattern}` for something else")]
    PromptMisread {
        /// The adapter's id.
        adapter: String,
        /// Which prompts.
        pattern: String,
    },
    /// An option that the agent cannot fulfil.
    #[error("adapter `{adapter}` has no means for `{option}`")]
    Unsupported {
        /// The adapter's id.
        adapter: String,
        /// The option.
        option: OptionKey,
    },
    /// `{workdir}` is used and there is none.
    #[error("argument `{argument}` uses `{{workdir}}`, but the harness has no `workdir`")]
    NoWorkdir {
        /// The argument.
        argument: String,
    },
    /// Something other than the prompt is too long.
    #[error("{what} is {size} bytes, at most {LONGEST_ARGUMENT} can be passed on")]
    TooLong {
        /// What it is.
        what: String,
        /// Its bytes.
        size: usize,
    },
}

/// A command before the prompt is put in.
struct Draft {
    words: Vec<String>,
    options: Vec<String>,
    env: BTreeMap<String, String>,
    stdin: bool,
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
        let draft = match wanted.prompt {
            Some(prompt) => self.prompted(prompt, wanted)?,
            None => Draft::plain(wanted)?,
        };

        let mut shown = vec![program];
        for word in &draft.words {
            match word.as_str() {
                "{options}" => shown.extend(draft.options.iter().cloned()),
                "{skills}" => shown.append(&mut told.args),
                "{quieten}" => shown.extend(self.quieten.args.iter().cloned()),
                _ => shown.push(word.clone()),
            }
        }
        if wanted.prompt.is_none() {
            shown.append(&mut told.args);
            shown.extend(draft.options.iter().cloned());
        }
        let (mut argv, mut stdin) = (shown.clone(), None);
        if let Some(prompt) = wanted.prompt {
            if draft.stdin {
                stdin = Some(prompt.as_bytes().to_vec());
            } else {
                for (word, shown) in argv.iter_mut().zip(&mut shown) {
                    if holes(word).contains(&"prompt") {
                        *shown = fill(word, "prompt", SHOWN_PROMPT);
                        *word = fill(word, "prompt", prompt);
                    }
                }
            }
        }
        let mut env = self.quieten.env.clone();
        env.extend(draft.env);
        env.extend(told.env);
        let json = told.json_env.keys().cloned().collect();
        env.extend(documents_of(&told.json_env));
        bounded(&argv, &env)?;
        Ok(Synthesis { argv, shown, env, json, stdin, documents: told.documents })
    }

    fn prompted(&self, prompt: &str, wanted: &Invocation<'_>) -> Result<Draft, SynthesisError> {
        let adapter = || self.id.clone();
        let launch = match (wanted.resident, &self.oneshot, &self.resident) {
            (false, Some(launch), _) | (true, _, Some(launch)) if launch.is_possible() => launch,
            (true, Some(_), _) => return Err(SynthesisError::NoResidentPrompt { adapter: adapter() }),
            _ => return Err(SynthesisError::NoPrompt { adapter: adapter() }),
        };
        if prompt.trim().is_empty() {
            return Err(SynthesisError::EmptyPrompt);
        }
        let stdin = match launch.refusal(prompt) {
            None => false,
            Some(_) if !launch.stdin.is_empty() => true,
            Some(Refusal::Long(bound)) => {
                return Err(SynthesisError::PromptTooLong { adapter: adapter(), size: prompt.len(), bound });
            }
            Some(Refusal::Nul) => return Err(SynthesisError::PromptNul { adapter: adapter() }),
            Some(Refusal::Misread(pattern)) => {
                return Err(SynthesisError::PromptMisread { adapter: adapter(), pattern });
            }
        };
        let (options, env) = spell(self, launch, wanted.options)
            .map_err(|option| SynthesisError::Unsupported { adapter: adapter(), option })?;
        let words = if stdin { &launch.stdin } else { &launch.argument };
        Ok(Draft { words: words.clone(), options, env, stdin })
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
        let search = self.search.iter().filter_map(|place| super::place::resolve(place, env, home));
        self.commands.first().cloned().into_iter().chain(search.map(String::from)).collect()
    }
}

impl Draft {
    /// `args`, with the workdir filled in, after whatever else is handed over.
    fn plain(wanted: &Invocation<'_>) -> Result<Self, SynthesisError> {
        let fill_in = |word: &String| match wanted.workdir {
            Some(workdir) => Ok(fill(word, "workdir", workdir.as_str())),
            None if holes(word).contains(&"workdir") => {
                Err(SynthesisError::NoWorkdir { argument: word.clone() })
            }
            None => Ok(word.clone()),
        };
        let options = wanted.args.iter().map(fill_in).collect::<Result<_, _>>()?;
        Ok(Self { words: Vec::new(), options, env: BTreeMap::new(), stdin: false })
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

fn documents_of(variables: &JsonVariables) -> impl Iterator<Item = (String, String)> + '_ {
    variables.iter().map(|(name, value)| (name.clone(), value.to_string()))
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
