//! Where reading stopped, as the account has it.

use std::fmt::Debug;

use camino::Utf8PathBuf;

use super::follow::Warning;
use crate::store::{Cursor, Store, StoreError};
use crate::trajectory::Format;
use crate::wire::StorePlace;

/// What knows how far streams are read.
pub(super) trait Cursors: Debug + Send {
    /// The cursors of a store.
    fn of(&self, format: Format, store: &StorePlace) -> Result<Vec<Cursor>, Warning>;
}

/// The account in a state directory.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) state: Utf8PathBuf,
}

impl Cursors for Account {
    fn of(&self, format: Format, store: &StorePlace) -> Result<Vec<Cursor>, Warning> {
        let account = match Store::open_read(&self.state) {
            Ok(Some(account)) => account,
            Ok(None) => return Ok(Vec::new()),
            Err(error) => {
                return Err(unreadable(error));
            }
        };
        account.cursors(format, store).map_err(unreadable)
    }
}

fn unreadable(error: StoreError) -> Warning {
    Warning { path: error.path.into(), message: error.problem.to_string(), store: None }
}

/// Nothing is read yet.
#[derive(Debug)]
pub(super) struct Nothing;

impl Cursors for Nothing {
    fn of(&self, _format: Format, _store: &StorePlace) -> Result<Vec<Cursor>, Warning> {
        Ok(Vec::new())
    }
}
