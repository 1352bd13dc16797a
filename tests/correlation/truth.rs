//! What nobody could mistake: the measure of a rule that refuses too much. It goes by the world, not by the
//! facts, and keeps a wide berth of every limit. And what nobody can know, by which no rule is measured.

use harnessd::base::RunId;

use crate::fleet::{Fleet, Harness, Process, Session};

const SECOND: i64 = 1_000_000;
const FAR: i64 = 10 * SECOND;

/// COR-10: a process that nobody supervises cannot be told from a run in the same directory that is under way,
/// by however little its time may be wrong; of a store without directories, in any that has it.
pub(crate) fn is_beyond_knowledge(fleet: &Fleet, session: &Session, credited: RunId) -> bool {
    let run = fleet.processes.iter().find(|process| process.run == credited).unwrap();
    let about =
        run.from - 3 * SECOND <= session.began && (session.began <= run.to + 3 * SECOND || !run.ended);
    let place = run.harness.stores.iter().find(|place| place.path == session.found.store);
    let here = run.harness.directory() == session.directory || place.is_some_and(|place| place.cwd.is_some());
    session.author.is_none() && about && here && run.harness.format == Some(session.found.format)
}

/// Whether a session has one possible author for everybody who knows the fleet.
pub(crate) fn is_clear(fleet: &Fleet, session: &Session) -> bool {
    let author = fleet.processes.iter().find(|process| Some(process.run) == session.author);
    author.is_some_and(|author| is_known(fleet, author, session) && is_alone(fleet, author, session))
}

/// Whether the author is one to be credited, well inside of its time.
fn is_known(fleet: &Fleet, author: &Process, session: &Session) -> bool {
    let harness = &author.harness;
    let reads = harness.stores.iter().any(|store| store.path == session.found.store);
    let inside = author.from <= session.began && session.began <= author.to;
    let supervised = author.ended
        || fleet.facts.daemon_started.is_none_or(|at| author.from > at.0 || session.began < at.0);
    let known = fleet.facts.known.iter().any(|known| known.session == session.found.id);
    author.recorded && harness.workdir.is_some() && reads && inside && supervised && !known
}

/// Whether nobody else was about: not in the directory, or not then, or not with this kind of session.
fn is_alone(fleet: &Fleet, author: &Process, session: &Session) -> bool {
    let own = |process: &Process| process.harness.name == author.harness.name;
    let near = |process: &Process| {
        let end = if process.ended { process.to } else { i64::MAX - FAR };
        process.from - FAR < session.began && session.began < end + FAR
    };
    let others = fleet.processes.iter().filter(|process| process.run != author.run);
    let quiet = others
        .clone()
        .filter(|process| near(process))
        .all(|process| !own(process) && stranger(fleet, process, author, session));
    let recorded = |harness: &Harness| harness.since + FAR < session.began;
    let unseen = others.filter(|process| !own(process) && !recorded(&process.harness));
    let remembered = unseen.clone().all(|process| stranger(fleet, process, author, session));
    let peers = fleet.facts.peers.iter().filter(|peer| peer.harness != author.harness.name);
    let settled = peers.into_iter().all(|peer| {
        let since = fleet.facts.since[&peer.harness].0;
        let directory = peer.workdir.as_deref() != Some(author.harness.directory());
        since + FAR < session.began || (directory && peer.workdir.is_some() && !fleet.without_directories)
    });
    quiet && remembered && settled
}

/// Whether a process can have nothing to do with a session of the author's.
fn stranger(fleet: &Fleet, process: &Process, author: &Process, session: &Session) -> bool {
    let elsewhere = process.harness.directory() != author.harness.directory() && !fleet.without_directories;
    let other_kind = process.harness.format.is_some_and(|format| format != session.found.format);
    let apart = |store: &str, other: &str| !store.starts_with(other) && !other.starts_with(store);
    let separate = process.harness.is_named()
        && author.harness.is_named()
        && process.harness.stores.iter().all(|store| apart(&store.path, &session.found.store));
    elsewhere || other_kind || separate
}
