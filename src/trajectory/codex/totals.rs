//! Running totals become calls: what was added since the total before.

use serde::{Deserialize, Serialize};

use crate::trajectory::model::Tokens;

/// The total so far, and what it began with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Totals {
    before: Option<Tokens>,
    /// Whether the first total may include another thread's.
    pub(super) inherits: bool,
    /// How often the total began anew.
    rank: u32,
}

/// What a total tells.
pub(super) enum Counted {
    /// It was stated before, or is another thread's.
    Nothing,
    /// It grew by these since; within one rank totals differ.
    Call { tokens: Tokens, rank: u32 },
}

impl Totals {
    /// The total of a copied history is only the baseline.
    pub(super) const fn skip(&mut self, total: Tokens) -> Counted {
        self.before = Some(total);
        Counted::Nothing
    }

    /// `last` is what the agent says that the latest call used.
    pub(super) fn count(&mut self, total: Tokens, last: Option<Tokens>) -> Counted {
        // A total that is no more than the latest call has nothing before it.
        let anew = last == Some(total);
        let base = match self.before.replace(total) {
            Some(before) if before == total => before,
            Some(before) if size(before) <= size(total) && !(anew && size(before) > 0) => before,
            Some(_) => {
                self.rank += 1;
                Tokens::default()
            }
            // Without the latest call nothing tells how much of the total is the thread's own.
            None if self.inherits => last.map_or(total, |last| less(total, last)),
            None => Tokens::default(),
        };
        let tokens = less(total, base);
        if tokens == Tokens::default() {
            return Counted::Nothing;
        }
        Counted::Call { tokens, rank: self.rank }
    }
}

const fn size(tokens: Tokens) -> u64 {
    tokens.input.saturating_add(tokens.output)
}

fn less(total: Tokens, base: Tokens) -> Tokens {
    let input = total.input.saturating_sub(base.input);
    Tokens {
        input,
        cached: total.cached.saturating_sub(base.cached).min(input),
        output: total.output.saturating_sub(base.output),
    }
}
