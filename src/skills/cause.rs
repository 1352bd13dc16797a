//! What the system said, as a fragment for messages: lower case, no error number.

use std::io;

use nix::errno::Errno;

/// The cause of `error` without the number that std appends.
pub(super) fn cause(error: &io::Error) -> String {
    let text = match error.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    };
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text,
    }
}

/// Whether `error` is the system's `number`.
pub(super) fn is(error: &io::Error, number: Errno) -> bool {
    error.raw_os_error() == Some(number as i32)
}

#[cfg(test)]
mod tests {
    use std::io;

    use nix::errno::Errno;

    /// SKL-11: a cause reads like the source specification's example.
    #[test]
    fn a_cause_is_lower_case_and_without_a_number() {
        let text = |number: Errno| super::cause(&io::Error::from(number));
        assert_eq!(text(Errno::EACCES), "permission denied");
        assert_eq!(text(Errno::ENOTDIR), "not a directory");
        assert_eq!(text(Errno::ENOSPC), "no space left on device");
        assert_eq!(super::cause(&io::Error::other("Odd")), "odd");
    }
}
