//! Giving memory back to the system.

/// Returns what the allocator keeps for itself: parsing a thousand harnesses
/// leaves megabytes behind. To be called after a configuration was (re)loaded.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `malloc_trim` takes no pointer, may be called at any time from any thread, and
    // only releases pages that hold no live allocation.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::trim;

    #[test]
    fn live_memory_survives_a_trim() {
        let kept = vec![7_u8; 1 << 20];
        drop(vec![0_u8; 8 << 20]);
        trim();
        assert!(kept.iter().all(|byte| *byte == 7));
    }
}
