//! Adding calls up as the account does: the last one of a key is the one that counts.

use std::collections::BTreeMap;

use harnessd::trajectory::{Call, Event, What};

fn calls(events: &[Event]) -> impl Iterator<Item = &Call> {
    events.iter().filter_map(|event| if let What::Usage(call) = &event.what { Some(call) } else { None })
}

/// Input, cached, output and the number of calls.
pub(crate) type Sums = (u64, u64, u64, usize);

/// The sums of the calls that count; a cost that is stated apart is no call.
pub(crate) fn sums(events: &[Event]) -> Sums {
    let last: BTreeMap<&str, _> =
        calls(events).filter_map(|call| Some((call.key.as_str(), call.tokens?))).collect();
    let sum = |of: fn(&harnessd::trajectory::Tokens) -> u64| last.values().map(of).sum();
    (sum(|tokens| tokens.input), sum(|tokens| tokens.cached), sum(|tokens| tokens.output), last.len())
}

/// The sums of so many calls as the model server answered them, each with these tokens.
pub(crate) const fn served(calls: usize, input: u64, cached: u64, output: u64) -> Sums {
    let many = calls as u64;
    (many * input, many * cached, many * output, calls)
}

/// The costs that are stated apart from tokens, with their keys.
pub(crate) fn costs(events: &[Event]) -> Vec<(String, f64)> {
    let cost = |call: &Call| Some((call.key.clone(), call.cost_usd?));
    calls(events).filter_map(cost).collect()
}
