//! Which seeds a test of random input looks at: `HARNESSD_SEED=N` that one alone, `HARNESSD_ROUNDS=N` so many,
//! `HARNESSD_FULL=1` many, else few. The same each time.

/// The seeds to look at.
pub(crate) fn seeds(few: u64, many: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let full = std::env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1");
    match (number("HARNESSD_SEED"), number("HARNESSD_ROUNDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(rounds)) => 0..rounds,
        (None, None) => 0..if full { many } else { few },
    }
}
