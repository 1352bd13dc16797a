//! Giving memory back to the system.

use std::ffi::c_void;
use std::ptr::{NonNull, without_provenance_mut};

use nix::sys::mman::{MmapAdvise, madvise};

/// Returns what the allocator keeps for itself: parsing a thousand harnesses
/// leaves megabytes behind. To be called when the process comes to rest after work.
pub fn trim() {
    forget_program();
    #[cfg(target_env = "gnu")]
    // SAFETY: `malloc_trim` takes no pointer, may be called at any time from any thread, and
    // only releases pages that hold no live allocation.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

/// Takes the program's own code and constants out of this process; what is needed again comes
/// back from the page cache. Most of it was needed only to read the configuration.
fn forget_program() {
    let (Ok(maps), Ok(own)) =
        (std::fs::read_to_string("/proc/self/maps"), std::fs::read_link("/proc/self/exe"))
    else {
        return;
    };
    for line in maps.lines().filter(|line| own.to_str().is_some_and(|own| line.ends_with(own))) {
        let Some((start, length)) = unchanged_part(line) else { continue };
        let Some(start) = NonNull::new(without_provenance_mut::<c_void>(start)) else { continue };
        // SAFETY: a private mapping of the program's file that is not writable and holds nothing
        // that the loader has changed, so that what is read again from the file is the same. The
        // file cannot be written to while it is executed. A refusal changes nothing.
        let _kept = unsafe { madvise(start, length, MmapAdvise::MADV_DONTNEED) };
    }
}

/// Start and length of a mapping, from its line in `maps`, if it is code, or the read-only
/// beginning of the file. Not what lies between: there the loader writes addresses into
/// constants before it protects them.
fn unchanged_part(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let beginning = offset.bytes().all(|digit| digit == b'0');
    if rights != "r-xp" && !(rights == "r--p" && beginning) {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    Some((start, end.checked_sub(start)?))
}

#[cfg(test)]
mod tests {
    use super::{trim, unchanged_part};

    #[test]
    fn only_what_the_loader_leaves_alone_is_forgotten() {
        let part = |rights, offset| unchanged_part(&format!("1000-3000 {rights} {offset} fe:00 7   /bin/x"));
        assert_eq!(part("r-xp", "00216000"), Some((0x1000, 0x2000)));
        assert_eq!(part("r--p", "00000000"), Some((0x1000, 0x2000)));
        assert_eq!(part("r--p", "0088a000"), None);
        assert_eq!(part("rw-p", "00000000"), None);
    }

    #[test]
    fn live_memory_survives_a_trim() {
        let kept = vec![7_u8; 1 << 20];
        drop(vec![0_u8; 8 << 20]);
        trim();
        assert!(kept.iter().all(|byte| *byte == 7));
    }
}
