//! Whether an agent that looks at a project's skills only in a folder that the user trusts looks at them.
//!
//! Invariant: only what the agent's own files state counts as trust, and nothing makes a folder trusted here.

use camino::{Utf8Path, Utf8PathBuf};
use toml_edit::{Document, TableLike};

use crate::adapter::{TrustFacts, TrustFlag};
use crate::host::files;
use crate::host::git::Repository;

/// Why the agent does not look at a target, if nothing shows that the folder of a working directory is trusted.
pub(super) fn untrusted(
    trust: &TrustFacts,
    target: &Utf8Path,
    workdir: &Utf8Path,
    home: &Utf8Path,
) -> Option<String> {
    let folder = folder(workdir);
    // What lies in the home is the user's own, and looked at everywhere.
    if folder == files::physical(home) || trust.flags.iter().any(|flag| says(flag, &folder, workdir)) {
        return None;
    }
    let said = trust.flags.first().map_or_else(String::new, |flag| format!(" in `{}`", flag.file));
    Some(format!(
        "the agent sees none of these skills: it reads `{target}` only where the user trusts the folder, and \
         nothing{said} shows that for `{folder}`: {}",
        trust.how
    ))
}

/// What is trusted or not: the root of the repository, else the directory itself.
fn folder(workdir: &Utf8Path) -> Utf8PathBuf {
    Repository::holding(workdir).and_then(|one| one.root()).unwrap_or_else(|| files::physical(workdir))
}

/// Whether the agent's file says so. One that is not there or cannot be read says nothing.
fn says(flag: &TrustFlag, folder: &Utf8Path, workdir: &Utf8Path) -> bool {
    let Ok(bytes) = files::read_config(&workdir.join(&flag.file)) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    let Ok(document) = Document::parse(text) else { return false };
    let keys: Vec<&str> = flag.path(folder).collect();
    let Some((last, above)) = keys.split_last() else { return false };
    let top: Option<&dyn TableLike> = Some(document.as_table());
    let table = above.iter().fold(top, |table, key| table?.get(key)?.as_table_like());
    let found = table.and_then(|table| table.get(last)).and_then(|item| item.as_bool());
    found == Some(flag.is)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use camino::{Utf8Path, Utf8PathBuf};

    use super::untrusted;
    use crate::adapter::Registry;

    fn repository(dir: &Utf8Path) {
        for part in ["objects", "refs"] {
            fs::create_dir_all(dir.join(".git").join(part)).unwrap();
        }
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    /// SKL-7: Grok looks at a project's skills only in a folder that the user trusts: the root of the repository
    /// (of a linked working tree that of the repository), else the directory itself, without links. Where its
    /// files do not state that, it is said.
    #[test]
    fn a_folder_is_trusted_where_the_agents_own_files_say_so() {
        let dir = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
        let (app, tree, plain) = (home.join("app"), home.join("tree"), home.join("plain"));
        for made in [&app.join("sub"), &tree, &plain.join("sub"), &home.join(".grok")] {
            fs::create_dir_all(made).unwrap();
        }
        repository(&app);
        let own = app.join(".git/worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {own}\n")).unwrap();
        std::os::unix::fs::symlink(&app, home.join("link")).unwrap();
        let file = home.join(".grok/trusted_folders.toml");
        let grok = Registry::builtin().find("grok").unwrap();
        let asked = |workdir: &Utf8Path, env: &[(&str, &str)]| {
            let env: BTreeMap<_, _> =
                env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let trust = grok.skill_facts(&env, &home).trust?;
            untrusted(&trust, &workdir.join(".grok/skills"), workdir, &home)
        };
        let places: [Utf8PathBuf; 5] =
            [app.clone(), app.join("sub"), tree.clone(), home.join("link/sub"), plain.clone()];
        let untold = |dir: &Utf8Path, folder: &Utf8Path| {
            Some(format!(
                "the agent sees none of these skills: it reads `{dir}/.grok/skills` only where the user trusts \
                 the folder, and nothing in `{file}` shows that for `{folder}`: run `grok --trust` there once"
            ))
        };
        for place in &places {
            let folder = if *place == plain { &plain } else { &app };
            assert_eq!(asked(place, &[]), untold(place, folder));
            assert_eq!(asked(place, &[("GROK_FOLDER_TRUST", "0")]), None);
        }
        assert_eq!(asked(&home, &[]), None, "the home is the user's own");
        fs::write(
            &file,
            format!("[folders.\"{app}\"]\ntrusted = true\n\n[folders.\"{plain}\"]\ntrusted = true\n"),
        )
        .unwrap();
        for place in &places {
            assert_eq!(asked(place, &[]), None, "{place}");
        }
        let below = plain.join("sub");
        assert_eq!(asked(&below, &[]), untold(&below, &below), "outside a repository each is its own");
        for broken in ["[folders", "folders = 1", "[folders]\n", "\u{0}"] {
            fs::write(&file, broken).unwrap();
            assert_eq!(asked(&app, &[]), untold(&app, &app), "{broken:?}");
        }
        fs::write(&file, format!("[folders.\"{app}\"]\ntrusted = false\n")).unwrap();
        assert_eq!(asked(&app, &[]), untold(&app, &app));
        fs::write(home.join(".grok/config.toml"), "[folder_trust]\nenabled = false\n").unwrap();
        assert_eq!(asked(&app, &[]), None);
    }
}
