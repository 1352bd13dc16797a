use harnessd::trajectory::{Format, Needs};
use crate::drive;
#[test]
fn dump() {
    for case in std::fs::read_dir(drive::dir("pi")).unwrap() {
        for file in std::fs::read_dir(case.unwrap().path()).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|e| e != "jsonl") { continue }
            let lines = std::fs::read(&file).unwrap();
            let (d, e) = drive::whole(Format::Pi, "x/chats/y.jsonl", &[], &lines, Needs::Everything);
            println!("== {} {} {:?}\n{}", file.display(), drive::facts(&d), d.oddities(), drive::shown(&e));
        }
    }
}
