//! The nearest known words to a mistyped one, for help lines.

/// At most three of `known` that are near `text`, nearest first; ties keep the
/// order of `known`.
#[must_use]
pub fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let length = text.chars().count();
    let allowed = length.div_ceil(3).max(1);
    // A distance is at least the difference of the lengths: a key of a megabyte is not measured.
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|word| word.chars().count().abs_diff(length) <= allowed)
        .map(|word| (strsim::osa_distance(text, word), word))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(3).map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    /// CFG-8: an unknown key names the nearest known one.
    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["prompt", "prompt_file", "model", "mcp"];
        assert_eq!(nearest("promt", known), ["prompt"]);
        assert_eq!(nearest("modle", known), ["model"]);
        assert!(nearest("zzzz", known).is_empty());
    }
}
