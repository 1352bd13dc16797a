//! The time zone of the system.

use chrono_tz::Tz;

/// `TZ` where it names an IANA zone, else the zone of `/etc/localtime` (or
/// `/etc/timezone`), else UTC. Its name is [`Tz::name`].
#[must_use]
pub fn system() -> Tz {
    chosen(std::env::var("TZ").ok().as_deref(), iana_time_zone::get_timezone().ok().as_deref())
}

/// `TZ` may be written with a leading colon; a POSIX rule such as `CET-1` names no zone.
fn chosen(variable: Option<&str>, configured: Option<&str>) -> Tz {
    let known = |name: &str| name.parse::<Tz>().ok();
    variable
        .map(|name| name.strip_prefix(':').unwrap_or(name))
        .and_then(known)
        .or_else(|| configured.and_then(known))
        .unwrap_or(Tz::UTC)
}

#[cfg(test)]
mod tests {
    use super::chosen;
    use chrono_tz::Tz;

    /// SCH-3: the default zone is the system's.
    #[test]
    fn the_variable_wins_over_the_file_and_utc_is_last() {
        assert_eq!(chosen(Some(":Europe/Berlin"), Some("Asia/Kathmandu")), Tz::Europe__Berlin);
        assert_eq!(chosen(Some(""), Some("Asia/Kathmandu")), Tz::Asia__Kathmandu);
        assert_eq!(chosen(Some("XXX-1YYY"), Some("Asia/Kathmandu")), Tz::Asia__Kathmandu);
        assert_eq!(chosen(None, Some("nowhere")), Tz::UTC);
        assert_eq!(chosen(None, None), Tz::UTC);
    }
}
