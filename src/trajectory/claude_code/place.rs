//! Where Claude Code puts its files, and what their names say.

use serde_json::Value;

use crate::trajectory::layout::PidNote;
use crate::trajectory::record;

/// Longer names of directories are cut here.
const LONGEST: usize = 200;

/// The directory of a project: each UTF-16 unit of its path that is no ASCII letter or digit becomes `-`,
/// and a long name is cut and ends in a hash of the whole path.
pub(super) fn directory(cwd: &str) -> String {
    let plain = |unit| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from);
    let mut name: String = cwd.encode_utf16().map(plain).collect();
    if name.len() > LONGEST {
        name.truncate(LONGEST);
        name.push('-');
        name.push_str(&base36(hash(cwd)));
    }
    name
}

/// The agent's own: 31 times what was there plus the unit, in 32 bits, without its sign.
fn hash(text: &str) -> u32 {
    let next = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    text.encode_utf16().fold(0, next).unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// What the path of a stream says.
pub(super) struct Named<'a> {
    /// The file's name: the session's id, or the sub-agent's.
    pub(super) stem: &'a str,
    /// Whether a sub-agent wrote it.
    pub(super) agent: bool,
    /// The session that the sub-agent belongs to.
    pub(super) session: Option<&'a str>,
}

pub(super) fn named(path: &str) -> Named<'_> {
    let steps: Vec<&str> = path.split('/').collect();
    let file = steps.last().copied().unwrap_or_default();
    let stem = file.strip_suffix(".jsonl").unwrap_or(file);
    let below = steps.iter().position(|step| *step == "subagents").filter(|at| *at > 0);
    let agent = stem.strip_prefix("agent-");
    Named {
        stem: agent.unwrap_or(stem),
        agent: agent.is_some(),
        session: below.and_then(|at| steps.get(at - 1).copied()),
    }
}

/// Whether a file is named after a session, or by somebody else.
pub(super) fn is_uuid(stem: &str) -> bool {
    stem.len() == 36 && uuid::Uuid::try_parse(stem).is_ok()
}

/// `sessions/PID.json`. It is left behind by a process that was killed, so its start is of use.
pub(super) fn pid_note(text: &[u8]) -> Option<PidNote> {
    let note = record::object(text)?;
    let start = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    Some(PidNote {
        pid: i32::try_from(record::number(&note, &["pid"])?).ok()?,
        process_start: note.get("procStart").and_then(start),
        session: record::text(&note, &["sessionId"]).filter(|id| !id.is_empty())?.to_owned(),
    })
}
