//! The state store: whether every page of it is whole.

use super::Sight;
use crate::store::{Store, StoreProblem};
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let opened = Store::open_read(&sight.patient.state);
    let looked = opened.and_then(|store| match store {
        Some(store) => store.examine().map(|()| Some(store)),
        None => Ok(None),
    });
    vec![match looked {
        Ok(Some(store)) => Finding::ok(format!("`{}` is whole", store.path())),
        Ok(None) => Finding::note("there is none yet: the first daemon or run makes it"),
        Err(error) => {
            let help = match &error.problem {
                StoreProblem::Older => "the next `harnessd run` brings it up to date",
                problem if problem.is_damage() => {
                    "restart the daemon: it moves the file aside and keeps what can be read of it"
                }
                _ => "see `docs/state.md` for what lies there and what may be removed",
            };
            match &error.problem {
                StoreProblem::Older => Finding::note(error.to_string()).help(help),
                StoreProblem::Locked => Finding::warning(error.to_string()),
                _ => Finding::error(error.to_string()).help(help),
            }
        }
    }]
}
