//! Adding calls up as the account does: the last one of a key is the one that counts.

use std::collections::BTreeMap;

use harnessd::trajectory::{Call, Event, What};

fn calls(events: &[Event]) -> impl Iterator<Item = &Call> {
    events.iter().filter_map(|event| if let What::Usage(call) = &event.what { Some(call) } else { None })
}

/// Input, cached, output and the number of calls.
pub(crate) fn sums(events: &[Event]) -> (u64, u64, u64, usize) {
    let last: BTreeMap<&str, _> =
        calls(events).filter_map(|call| Some((call.key.as_str(), call.tokens?))).collect();
    let sum = |of: fn(&harnessd::trajectory::Tokens) -> u64| last.values().map(of).sum();
    (sum(|tokens| tokens.input), sum(|tokens| tokens.cached), sum(|tokens| tokens.output), last.len())
}

/// The costs that are stated apart from tokens, with their keys.
pub(crate) fn costs(events: &[Event]) -> Vec<(String, f64)> {
    let cost = |call: &Call| Some((call.key.clone(), call.cost_usd?));
    calls(events).filter_map(cost).collect()
}
