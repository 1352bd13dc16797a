//! What may be asked of an agent beside its prompt.
//!
//! Invariant: whether an option is fulfilled is read from the adapter's data,
//! never from its name.

use super::merge::join_documents;
use super::model::{Adapter, JsonVariables, Launch, Means, Variables};
use super::template::fill;
use crate::base::words;

/// `model`, `auto_accept`, `max_turns` and `quiet` of a harness.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptOptions {
    /// The model, in the agent's own spelling.
    pub model: Option<String>,
    /// Whether the agent may act without asking.
    pub auto_accept: bool,
    /// The bound of its turns; none (or 0): no bound.
    pub max_turns: Option<u32>,
    /// Whether only the answer is wanted.
    pub quiet: bool,
}

words! {
    /// The key of one option, as it is written in a configuration; in the order in which they stand in a command.
    OptionKey as "option" {
        /// `model`
        Model = "model",
        /// `auto_accept`
        AutoAccept = "auto_accept",
        /// `max_turns`
        MaxTurns = "max_turns",
        /// `quiet`
        Quiet = "quiet",
    }
}

/// How an agent fulfils an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fulfilment {
    /// By arguments or variables of its own.
    ByFlag,
    /// It does so anyway.
    Already,
    /// Not at all.
    Never,
}

impl Fulfilment {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ByFlag => "by-flag",
            Self::Already => "already",
            Self::Never => "never",
        }
    }
}

impl Adapter {
    /// How a one-shot of this agent fulfils an option.
    #[must_use]
    pub fn fulfils(&self, key: OptionKey) -> Fulfilment {
        self.oneshot.as_ref().map_or(Fulfilment::Never, |launch| self.fulfilment(launch, key))
    }

    /// How a resident agent that is given a prompt first fulfils an option.
    #[must_use]
    pub fn resident_fulfils(&self, key: OptionKey) -> Fulfilment {
        self.resident.as_ref().map_or(Fulfilment::Never, |launch| self.fulfilment(launch, key))
    }

    fn fulfilment(&self, launch: &Launch, key: OptionKey) -> Fulfilment {
        match self.means(launch, key) {
            None => Fulfilment::Never,
            Some(means) if means.already => Fulfilment::Already,
            Some(_) => Fulfilment::ByFlag,
        }
    }

    pub(super) fn means<'a>(&'a self, launch: &'a Launch, key: OptionKey) -> Option<&'a Means> {
        match key {
            OptionKey::Model => launch.model.as_ref(),
            OptionKey::AutoAccept => launch.auto_accept.as_ref().or(self.approval.as_ref()),
            OptionKey::MaxTurns => launch.max_turns.as_ref(),
            OptionKey::Quiet => launch.quiet.as_ref(),
        }
    }
}

/// What is said to the agent for the options that were asked for.
#[derive(Debug, Default)]
pub(super) struct Spelt {
    pub(super) args: Vec<String>,
    pub(super) json_args: JsonVariables,
    pub(super) env: Variables,
}

/// How the options that were asked for are said, or the first one that the
/// agent cannot fulfil. `quiet` is a wish: it is on by default,
/// so an agent that cannot be quiet is started all the same.
pub(super) fn spell(adapter: &Adapter, launch: &Launch, options: &PromptOptions) -> Result<Spelt, OptionKey> {
    let mut spelt = Spelt::default();
    let turns = options.max_turns.filter(|turns| *turns > 0).map(|turns| turns.to_string());
    for &key in OptionKey::ALL {
        let value = match key {
            OptionKey::Model => options.model.as_deref(),
            OptionKey::AutoAccept => options.auto_accept.then_some(""),
            OptionKey::MaxTurns => turns.as_deref(),
            OptionKey::Quiet => options.quiet.then_some(""),
        };
        let Some(value) = value else { continue };
        match adapter.means(launch, key) {
            Some(means) if means.already => {}
            Some(means) => {
                let env = means.env.iter().map(|(name, text)| (name.clone(), fill(text, "value", value)));
                spelt.env.extend(env);
                spelt.args.extend(means.args.iter().map(|word| fill(word, "value", value)));
                join_documents(&mut spelt.json_args, &means.json_args);
            }
            None if key == OptionKey::Quiet => {}
            None => return Err(key),
        }
    }
    Ok(spelt)
}
