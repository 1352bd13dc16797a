//! What an edit changes, for people and for `patch`.

/// So many lines are shown around a change.
const AROUND: usize = 3;

/// The difference of two texts of one file as a unified diff: one hunk from the first line that
/// differs to the last one. Nothing for equal texts.
#[must_use]
pub fn diff(file: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let before: Vec<&str> = old.split_inclusive('\n').collect();
    let after: Vec<&str> = new.split_inclusive('\n').collect();
    let shorter = before.len().min(after.len());
    let head = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let ends = before.iter().rev().zip(after.iter().rev());
    let tail = ends.take(shorter - head).take_while(|(one, other)| one == other).count();
    let from = head.saturating_sub(AROUND);
    let below = tail.min(AROUND);
    let range = |lines: &[&str]| {
        let count = lines.len() - tail + below - from;
        // A hunk without lines is named by the line before it.
        format!("{},{count}", if count == 0 { from } else { from + 1 })
    };
    let mut out = format!("--- {file}\n+++ {file}\n@@ -{} +{} @@\n", range(&before), range(&after));
    let mut show = |sign: char, lines: &[&str]| {
        for line in lines {
            out.push(sign);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    show(' ', &before[from..head]);
    show('-', &before[head..before.len() - tail]);
    show('+', &after[head..after.len() - tail]);
    show(' ', &before[before.len() - tail..][..below]);
    out
}
