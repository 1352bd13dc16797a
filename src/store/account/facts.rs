//! What attribution goes by, of all runs that are known and of those that are pruned (COR-4, COR-6).

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use super::ask::{json, many, name, word};
use crate::base::{HarnessName, Wall};
use crate::correlate::{Facts, Known, Window};
use crate::store::error::StoreProblem;
use crate::store::prune::WINDOW;
use crate::store::rows;
use crate::trajectory::Format;
use crate::wire::Evidence;

/// Of a run without a trail (it was started before there were any, or was never executed) its own row tells
/// adapter and directory, and no store.
pub(in crate::store) const WINDOWS: &str = "
    SELECT r.id, r.harness, r.adapter, r.workdir, r.started_at, r.ended_at, t.format, t.workdir, t.stores
    FROM runs AS r LEFT JOIN trails AS t ON t.run = r.id WHERE r.started_at IS NOT NULL
    UNION ALL
    SELECT w.id, w.harness, w.adapter, w.workdir, w.started_at, w.ended_at, t.format, t.workdir, t.stores
    FROM windows AS w LEFT JOIN trails AS t ON t.run = w.id WHERE w.ended_at >= ?1";

/// The session that a run was told to begin or to go on with is known as well as any other evidence.
const KNOWN: &str = "
    SELECT run, format, session, evidence FROM evidence
    UNION
    SELECT run, format, session, ?1 FROM trails WHERE session IS NOT NULL AND format IS NOT NULL";

/// Harnesses that have run and were never seen are older than this store, or than its way to remember that.
const SINCE: &str = "
    SELECT harness, first_seen FROM seen
    UNION ALL
    SELECT harness, (SELECT value FROM meta WHERE key = 'made_at')
    FROM (SELECT DISTINCT harness FROM runs UNION SELECT DISTINCT harness FROM windows)
    WHERE harness NOT IN (SELECT harness FROM seen)";

pub(super) fn facts(connection: &Connection, from: Wall, now: Wall) -> Result<Facts, StoreProblem> {
    Ok(Facts {
        windows: windows(connection, from)?,
        since: since(connection, now)?,
        known: known(connection)?,
        ..Facts::default()
    })
}

fn windows(connection: &Connection, from: Wall) -> Result<Vec<Window>, StoreProblem> {
    many(connection, WINDOWS, vec![Value::from(from.0)], |row| {
        let run: String = row.get(0)?;
        let adapter: String = row.get(2)?;
        let stores: Option<String> = row.get(8)?;
        let (format, workdir) = match stores {
            // A format of an adapter that is no more, or is described in a file, may be none of ours.
            Some(_) => (row.get::<_, Option<String>>(6)?.and_then(|word| word.parse().ok()), row.get(7)?),
            None => (adapter.parse::<Format>().ok(), row.get(3)?),
        };
        Ok(Window {
            run: rows::id(&run)?,
            harness: name(&run, &row.get::<_, String>(1)?)?,
            adapter,
            format,
            workdir,
            stores: stores.map_or_else(|| Ok(Vec::new()), |stores| json(&run, "stores", &stores))?,
            from: Wall(row.get(4)?),
            to: row.get::<_, Option<i64>>(5)?.map(Wall),
            live: false,
        })
    })
}

fn known(connection: &Connection) -> Result<Vec<Known>, StoreProblem> {
    let launched = vec![Value::from(Evidence::LaunchId.as_str().to_owned())];
    // What is of no format of ours ties nothing, as in `windows`.
    let ours = |row: &Row<'_>| Ok::<_, StoreProblem>(row.get::<_, String>(1)?.parse::<Format>().is_ok());
    let found = many(connection, KNOWN, launched, |row| ours(row)?.then(|| evidence(row)).transpose())?;
    Ok(found.into_iter().flatten().collect())
}

/// Reads a row of [`KNOWN`].
pub(in crate::store) fn evidence(row: &Row<'_>) -> Result<Known, StoreProblem> {
    let run: String = row.get(0)?;
    Ok(Known {
        run: rows::id(&run)?,
        format: word(&run, "format", &row.get::<_, String>(1)?)?,
        session: row.get(2)?,
        evidence: word(&run, "evidence", &row.get::<_, String>(3)?)?,
    })
}

/// What is older than the windows that are kept is not known whole, whenever it was first seen.
fn since(connection: &Connection, now: Wall) -> Result<BTreeMap<HarnessName, Wall>, StoreProblem> {
    let kept = now - WINDOW;
    let found = many(connection, SINCE, Vec::new(), |row| {
        let harness: String = row.get(0)?;
        // A store that does not know when it was made knows nothing whole.
        let seen = row.get::<_, Option<i64>>(1)?.map_or(now, Wall);
        Ok((name(&harness, &harness)?, seen.max(kept)))
    })?;
    Ok(found.into_iter().collect())
}
