//! Which words of a command are secrets, and what stands for them where the command is recorded or shown
//! (CTL-12).
//!
//! A convention is all that tells: the name of a flag, a variable or a header that a value is given to, or the
//! mark that an issuer of keys puts before them. Invariant: a word is masked whole or from its name on; what is
//! executed is never touched.

/// What stands for a secret.
const MASK: &str = "<secret>";

/// What a secret's name ends in, without `-`, `_` and case: `--api-key`, `ANTHROPIC_AUTH_TOKEN`, `X-Api-Key`.
/// What is only about secrets ends otherwise: `--max-tokens`, `--token-limit`, `--password-file`.
const NAMES: [&str; 14] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "credential",
    "credentials",
    "authorization",
    "bearer",
];

/// What issuers put before their keys, and how long a word is at least that is one.
const MARKS: [&str; 13] = [
    "sk-",
    "sk_live_",
    "xai-",
    "gsk_",
    "hf_",
    "AIza",
    "AKIA",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
];
const LEAST: usize = 20;

/// The words of a command without its secrets.
#[must_use]
pub fn masked(words: Vec<String>) -> Vec<String> {
    let mut expected = false;
    let one = |word: String| {
        // A flag that asks for a secret is followed by it; by another flag it is not.
        let value = std::mem::take(&mut expected) && !word.starts_with('-');
        expected = word.starts_with('-') && !word.contains(['=', ':', ' ']) && is_secret(&word);
        if value { MASK.to_owned() } else { masked_word(&word) }
    };
    words.into_iter().map(one).collect()
}

/// The value of a variable, unless it is a secret.
#[must_use]
pub fn masked_value(name: &str, value: &str) -> String {
    if is_secret(name) { MASK.to_owned() } else { masked_word(value) }
}

/// A word without its secrets; it may be a line for a shell, which holds words itself.
fn masked_word(word: &str) -> String {
    // A header's value may have several words: `Authorization: Bearer …`.
    let header = word.split_once(": ").filter(|(name, _)| !name.contains(char::is_whitespace));
    if let Some((name, _)) = header.filter(|(name, _)| is_secret(name)) {
        return format!("{name}: {MASK}");
    }
    let mut shown = String::new();
    let mut expected = false;
    for piece in word.split_inclusive(char::is_whitespace) {
        let text = piece.trim_end();
        if !text.is_empty() {
            let value = std::mem::take(&mut expected) && !text.starts_with('-');
            expected = text.starts_with("--") && !text.contains('=') && is_secret(text);
            shown += &if value { MASK.to_owned() } else { masked_piece(text) };
        }
        shown += &piece[text.len()..];
    }
    shown
}

/// `NAME=value`, `--name=value`, `scheme://user:password@host`, or something with a key in it.
fn masked_piece(piece: &str) -> String {
    if let Some((name, value)) = piece.split_once('=')
        && !value.is_empty()
    {
        let value = if is_secret(name) { MASK.to_owned() } else { masked_piece(value) };
        return format!("{name}={value}");
    }
    if let Some((scheme, rest)) = piece.split_once("://") {
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if let Some((who, host)) = authority.rsplit_once('@')
            && let Some((user, _)) = who.split_once(':')
        {
            return format!("{scheme}://{user}:{MASK}@{host}{path}");
        }
    }
    without_keys(piece)
}

/// What issuers have marked as theirs is masked; not a part of a path.
fn without_keys(piece: &str) -> String {
    let of_key = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let (mut shown, mut rest) = (String::new(), piece);
    while !rest.is_empty() {
        let (run, after) = rest.split_at(rest.find(|letter| !of_key(letter)).unwrap_or(rest.len()));
        let marked = run.len() >= LEAST && MARKS.iter().any(|mark| run.starts_with(mark));
        shown += if marked && !shown.ends_with('/') { MASK } else { run };
        let (between, next) = after.split_at(after.find(of_key).unwrap_or(after.len()));
        shown += between;
        rest = next;
    }
    shown
}

/// Whether it is the name of a secret.
fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    NAMES.iter().any(|end| plain.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::masked;

    fn words(line: &[&str]) -> Vec<String> {
        masked(line.iter().map(|word| (*word).to_owned()).collect())
    }

    /// CTL-12: a secret is known by the name that it is given to, beside it or in the same word.
    #[test]
    fn what_is_given_to_the_name_of_a_secret_is_masked() {
        let rows: &[(&[&str], &[&str])] = &[
            (&["a", "--api-key", "k1", "x"], &["a", "--api-key", "<secret>", "x"]),
            (&["a", "--api-key=k1", "x"], &["a", "--api-key=<secret>", "x"]),
            (&["a", "-token", "k1"], &["a", "-token", "<secret>"]),
            (&["env", "OPENAI_API_KEY=k1", "a"], &["env", "OPENAI_API_KEY=<secret>", "a"]),
            (&["a", "-e", "AUTH_TOKEN=k=1"], &["a", "-e", "AUTH_TOKEN=<secret>"]),
            (&["a", "-c", "model.api_key=\"k1\""], &["a", "-c", "model.api_key=<secret>"]),
            (&["curl", "-H", "Authorization: Bearer k1"], &["curl", "-H", "Authorization: <secret>"]),
            (&["curl", "-H", "x-api-key: k1"], &["curl", "-H", "x-api-key: <secret>"]),
            (&["a", "https://me:k1@host/p?q"], &["a", "https://me:<secret>@host/p?q"]),
            (&["a", "--url=https://me:k1@host"], &["a", "--url=https://me:<secret>@host"]),
            (
                &["sh", "-c", "X_TOKEN=k1 a --password k2 | b --secret=k3 -n"],
                &["sh", "-c", "X_TOKEN=<secret> a --password <secret> | b --secret=<secret> -n"],
            ),
        ];
        for (given, expected) in rows {
            assert_eq!(words(given), *expected);
        }
    }

    /// CTL-12: a key is known by its issuer's mark, wherever it stands.
    #[test]
    fn a_key_with_a_known_mark_is_masked() {
        let key = "sk-ant-api03-0123456789";
        assert_eq!(
            words(&["a", key, &format!("--x={key}"), &format!("{{\"k\":\"{key}\"}} y")]),
            ["a", "<secret>", "--x=<secret>", "{\"k\":\"<secret>\"} y"]
        );
        assert_eq!(
            words(&["a", "sk-short", "disk-usage-of-the-machine"]),
            ["a", "sk-short", "disk-usage-of-the-machine"]
        );
        let path = "/home/sk-learn-experiments-2024/x";
        assert_eq!(words(&[path]), [path]);
    }

    /// What is only about secrets, and everything else, is recorded as it is.
    #[test]
    fn other_words_stay_as_they_are() {
        let line = [
            "claude",
            "--max-tokens",
            "4000",
            "--password-file",
            "/run/p",
            "--token",
            "--verbose",
            "a = b",
            "",
            "  two  blanks\n",
            "http://host:80/@x",
            "-p",
            "<prompt>",
            "--key",
            "value",
            "PATH=/bin:/usr/bin",
        ];
        assert_eq!(words(&line), line);
    }
}
