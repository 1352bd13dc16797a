//! RUN-5: what `[notify]` says.

use std::sync::Arc;
use std::time::Duration;

use super::{complaints, global, loaded, project};
use crate::base::Outcome;
use crate::config::{Input, Notify};

fn notify(inputs: &[Input]) -> Option<Arc<Notify>> {
    loaded(inputs).configuration.unwrap().notify
}

/// RUN-5: without a list it is told of every end that asks for a person.
#[test]
fn by_default_it_hears_of_all_but_the_ends_that_nobody_needs_to_see() {
    let made = notify(&[global("[notify]\ncommand = \"mail\"\n")]).unwrap();
    assert_eq!((made.command.as_slice(), made.timeout), (&["mail".to_owned()][..], Duration::from_secs(30)));
    let unheard: Vec<&Outcome> = Outcome::ALL.iter().filter(|outcome| !made.on.contains(outcome)).collect();
    assert_eq!(unheard, [&Outcome::Ok, &Outcome::Stopped, &Outcome::Replaced, &Outcome::Skipped]);
}

/// RUN-5: what is said is kept, each outcome once.
#[test]
fn what_is_said_is_kept() {
    let text = "[notify]\ncommand = [\"mail\", \"-s\", \"two words\"]\non = [\"lost\", \"ok\", \"lost\"]\ntimeout = \"5s\"\n";
    let expected = Notify {
        command: vec!["mail".to_owned(), "-s".to_owned(), "two words".to_owned()],
        on: vec![Outcome::Lost, Outcome::Ok],
        timeout: Duration::from_secs(5),
    };
    assert_eq!(notify(&[global(text)]).as_deref(), Some(&expected));
    assert_eq!(notify(&[global("")]), None);
}

/// CFG-4: a project file has nobody told of anything, and nothing of the table is looked at.
#[test]
fn a_project_file_may_not_say_it() {
    let inputs = [global(""), project("[notify]\ncommand = 3\n")];
    assert_eq!(complaints(&inputs), ["1:1 -: `[notify]` may stand in the global file only"]);
}

/// RUN-5: a shell line is warned of as it is for `cmd`, and is still one program.
#[test]
fn a_shell_line_is_warned_of() {
    let inputs = [global("[notify]\ncommand = \"mail me\"\n")];
    let expected = "2:11 -: `command` is one program, not a shell line: `mail me` is looked up as a whole";
    assert_eq!(complaints(&inputs), [expected]);
    assert_eq!(notify(&inputs).unwrap().command, ["mail me"]);
}
