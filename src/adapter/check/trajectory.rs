//! What must hold of an adapter's `trajectory`.
//!
//! Invariant: whatever is said of stores can be resolved without a mistake.

use crate::adapter::model::Trajectory;

use super::Checker;

impl Checker<'_> {
    pub(super) fn trajectory(&mut self, trajectory: &Trajectory) {
        self.at("stores").places(&trajectory.stores, true);
        self.required("format", trajectory.format.is_empty());
        self.required("stores", trajectory.stores.is_empty());
        for (at, flag) in trajectory.flags.iter().enumerate() {
            if !flag.starts_with('-') || flag.trim_matches('-').is_empty() || flag.contains('=') {
                let message = format!("`{}` is no flag", flag.escape_debug());
                self.at("flags").at(&at.to_string()).add(message, None);
            }
        }
        if let Some(below) = &trajectory.below {
            self.at("below").inside(below);
        }
        for (at, setting) in trajectory.settings.iter().enumerate() {
            let mut all = self.at("settings");
            let mut one = all.at(&at.to_string());
            one.at("files").places(&setting.files, true);
            one.required("files", setting.files.is_empty());
            one.required("key", setting.key.is_empty());
        }
        if let Some(registry) = &trajectory.registry {
            self.at("registry").at("file").place(&registry.file, false);
            for (key, value) in
                [("list", &registry.list), ("workdir", &registry.workdir), ("store", &registry.store)]
            {
                self.at("registry").required(key, value.is_empty());
            }
        }
    }
}
