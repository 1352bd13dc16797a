//! Acceptance by units (CFG-10, CFG-5), as the daemon asks for it.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::{InForce, Raised, Reading, Request, project_key, read_units};
use crate::base::Wall;
use crate::loader::{GlobalFile, Selection};
use crate::wire::RegisteredProject;

struct Place {
    _dir: tempfile::TempDir,
    home: Utf8PathBuf,
    registered: Vec<RegisteredProject>,
    in_force: InForce,
}

impl Place {
    fn new(global: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
        let place = Self { _dir: dir, home, registered: Vec::new(), in_force: InForce::default() };
        place.write("harness.toml", global);
        place
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.home.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Reads all, and keeps what is in force and what was registered.
    fn read(&mut self, raise: &[&str]) -> Reading {
        let global = GlobalFile { file: self.home.join("harness.toml"), named: true };
        let request = Request {
            selection: Selection { global, drop_ins: Vec::new(), project: None },
            registered: self.registered.clone(),
            raise: raise.iter().map(|dir| project_key(&self.home.join(dir))).collect(),
            in_force: self.in_force.clone(),
        };
        let reading = read_units(request, &self.home, Wall::parse_rfc3339("2026-11-30T08:00:00Z").unwrap());
        self.in_force = reading.in_force.clone();
        self.registered.extend(reading.asked.iter().filter_map(|one| match &one.raised {
            Raised::Registered(row) => Some(row.clone()),
            _ => None,
        }));
        reading
    }
}

fn names(reading: &Reading) -> Vec<&str> {
    reading.configuration.harnesses.keys().map(|name| name.as_str()).collect()
}

const WEB: &str = "[harness.web]\ncmd = \"true\"\n";
const BROKEN: &str = "[harness.web]\ncolour = 1\n";

/// CFG-10: each unit that is refused keeps its own last good definition and touches no other.
#[test]
fn each_unit_keeps_its_own_last_good_definition() {
    let mut place = Place::new("projects = 1");
    let listed = format!("[daemon]\nprojects = [\"{0}/one\", \"{0}/two\"]\n{WEB}", place.home);
    place.write("harness.toml", &listed);
    place.write("one/harness.toml", WEB);
    place.write("two/harness.toml", WEB);
    let reading = place.read(&[]);
    assert!(reading.accepted() && !reading.configuration.partial);
    assert_eq!(names(&reading), ["one/web", "two/web", "web"]);
    place.write("one/harness.toml", BROKEN);
    place.write("two/harness.toml", &WEB.replace("web", "new"));
    let reading = place.read(&[]);
    assert_eq!(names(&reading), ["one/web", "two/new", "web"]);
    let states: Vec<_> = reading.projects.iter().map(|one| (one.accepted, one.in_force)).collect();
    assert_eq!((reading.global_accepted, states), (true, vec![(false, true), (true, true)]));
    place.write("harness.toml", &listed.replace("cmd", "cdm"));
    place.write("one/harness.toml", &WEB.replace("web", "late"));
    let reading = place.read(&[]);
    assert_eq!((reading.global_accepted, names(&reading)), (false, vec!["one/late", "two/new", "web"]));
    assert!(!reading.configuration.partial, "something of each is in force");
}

/// CFG-10, LIF-2: at a boot nothing is known of a refused unit: what is in force is marked as a part.
#[test]
fn what_is_refused_at_boot_leaves_a_part() {
    let mut place = Place::new(WEB);
    place.write("harness.toml", &format!("[daemon]\nprojects = [\"{}/one\"]\n{WEB}", place.home));
    place.write("one/harness.toml", BROKEN);
    let reading = place.read(&[]);
    assert_eq!((names(&reading), reading.configuration.partial), (vec!["web"], true));
    place.write("harness.toml", BROKEN);
    place.in_force = InForce::default();
    let reading = place.read(&[]);
    assert_eq!((names(&reading), reading.configuration.partial), (vec![], true));
}

/// CFG-5: what `up` accepted is in force whatever its file says later; listed as well, it counts as listed.
#[test]
fn a_registered_project_is_as_it_was_accepted_until_it_is_listed() {
    let mut place = Place::new(WEB);
    place.write("one/harness.toml", WEB);
    assert_eq!(names(&place.read(&["one"])), ["one/web", "web"]);
    place.write("one/harness.toml", &WEB.replace("web", "new"));
    let reading = place.read(&[]);
    assert_eq!(names(&reading), ["one/web", "web"]);
    assert!(reading.projects[0].changed && !reading.projects[0].listed);
    place.write("harness.toml", &format!("[daemon]\nprojects = [\"{}/one\"]\n{WEB}", place.home));
    let reading = place.read(&[]);
    assert_eq!(names(&reading), ["one/new", "web"]);
    assert_eq!(reading.projects.len(), 1);
    assert!(reading.projects[0].listed && !reading.projects[0].changed);
}

/// CFG-3, CFG-5: of two projects of one name the one that came first keeps it, and `up` of the other registers
/// nothing.
#[test]
fn a_second_project_of_a_name_is_refused() {
    let mut place = Place::new(WEB);
    place.write("a/one/harness.toml", WEB);
    place.write("b/one/harness.toml", &WEB.replace("web", "new"));
    place.read(&["a/one"]);
    let reading = place.read(&["b/one"]);
    assert_eq!(names(&reading), ["one/web", "web"]);
    let Raised::Refused(found) = &reading.asked[0].raised else { panic!("{:?}", reading.asked) };
    let places = [&found[0].place.file, &found[0].related[0].place.file];
    assert_eq!(places, [&place.home.join("b/one/harness.toml"), &place.home.join("a/one/harness.toml")]);
    assert_eq!(place.registered.len(), 1);
}
