//! The examples with what stands behind a comment sign in force.

/// Lines like `# key = value` and `# [table]` without their comment signs.
pub(crate) fn uncommented(text: &str) -> String {
    let bare = |line: &str| {
        let rest = line.strip_prefix("# ").filter(|rest| {
            let word = rest.split(' ').next().unwrap_or_default();
            rest.starts_with('[') || rest[word.len()..].starts_with(" = ")
        });
        rest.unwrap_or(line).to_owned()
    };
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
}
