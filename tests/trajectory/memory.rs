//! How much memory a thread holds, at most.

#![expect(unsafe_code, reason = "an allocator is unsafe by its contract")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts the bytes of each thread.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// Bytes that are held now, and the most that were. What another thread frees is not known here, so that
    /// it may be negative.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(change: isize) {
    // A thread that ends frees when its own variables are gone.
    let _gone = HELD.try_with(|held| {
        let (now, most) = held.get();
        let now = now + change;
        held.set((now, most.max(now)));
    });
}

fn size(layout: Layout) -> isize {
    isize::try_from(layout.size()).unwrap_or(isize::MAX)
}

// SAFETY: every request goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-size(layout));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        // While it is moved there are both.
        count(isize::try_from(new).unwrap_or(isize::MAX));
        count(-size(layout));
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, new) }
    }
}

/// The most bytes that the work held beyond what was there before it.
pub(crate) fn most(work: impl FnOnce()) -> usize {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    work();
    let (_, most) = HELD.with(Cell::get);
    usize::try_from(most - before).unwrap_or(0)
}

/// A bound on memory that nothing could break would be none.
#[test]
fn what_is_held_and_let_go_again_is_counted() {
    let most = most(|| {
        drop(vec![1_u8; 1000]);
        drop(vec![1_u8; 3000]);
    });
    assert!((3000..4000).contains(&most), "{most}");
}
