//! The reducer allocates nothing per event in the steady state of a partition.
#![expect(unsafe_code, reason = "counting allocations takes a global allocator, and that is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use amends_core::lifecycle::event::Event;
use steady::{Steady, TENURE, batches};

#[path = "../benches/steady/mod.rs"]
mod steady;

/// The system's allocator, which counts what this thread asks for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the count neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise about `layout` is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above, hence from the system's allocator, with this `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

#[test]
fn steady_state_allocates_nothing() {
    let batches = batches(300, 500);
    let mut steady = Steady::new();
    // What is kept between events finds its size.
    steady.decide(&batches[0]);
    let before = allocations();
    for offsets in &batches[1..] {
        steady.decide(offsets);
        steady.step(&Event::PollEmpty { tenure: TENURE });
        // Three seconds: the bounds grow old, the periodic check and the idle read of the row come due.
        steady.after(3_000);
        steady.step(&Event::PollEmpty { tenure: TENURE });
        steady.answer();
    }
    assert_eq!(allocations() - before, 0, "in {} cycles", batches.len() - 1);
}

#[test]
fn allocations_are_counted() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8]));
    assert_eq!(allocations() - before, 1);
}
