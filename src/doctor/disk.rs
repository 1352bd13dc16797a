//! The room where logs, records and copies of skills go.

use super::Sight;
use crate::base::size_text;
use crate::host::cause;
use crate::host::disk::{Space, space};
use crate::wire::Finding;

/// Below this much a daemon is about to be unable to write.
const SCARCE: u64 = 64 << 20;
/// Below this much it is time to make room.
const LITTLE: u64 = 1 << 30;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let state = &sight.patient.state;
    // A directory that is not made yet will lie where its nearest parent does.
    let place = state.ancestors().find(|place| place.exists()).unwrap_or(state);
    vec![match space(place) {
        Ok(space) => judge(state.as_str(), space),
        Err(error) => Finding::warning(format!("the room at `{place}` cannot be told: {}", cause(&error))),
    }]
}

fn judge(state: &str, space: Space) -> Finding {
    let text = format!("{} of {} are free at `{state}`", size_text(space.free), size_text(space.total));
    let help = "make room there; `keep_runs` and `log_max_bytes` bound what harnessd keeps";
    match space {
        Space { more_files: false, .. } => {
            Finding::error(format!("no more files can be made at `{state}`")).help("remove files there")
        }
        Space { free, .. } if free < SCARCE => Finding::error(text).help(help),
        Space { free, .. } if free < LITTLE => Finding::warning(text).help(help),
        _ => Finding::ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::host::disk::Space;
    use crate::wire::Level;

    /// CTL-9: little room is a warning, next to none an error.
    #[test]
    fn little_room_is_said_in_time() {
        let level = |free, more_files| judge("/s", Space { free, total: 1 << 40, more_files }).level;
        assert_eq!(level(2 << 30, true), Level::Ok);
        assert_eq!(level(2 << 30, false), Level::Error);
        assert_eq!(level(1 << 29, true), Level::Warning);
        assert_eq!(level(1 << 20, true), Level::Error);
    }
}
