//! An allocator that counts, for a test binary that has it as its own by
//! `#[path = "../common/counting.rs"] mod counting;`.

#![allow(unreachable_pub, reason = "it is a part of what tests share")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: it does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps the same promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        FREED.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps the same promises, and `pointer` comes from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many allocations the process has made, on all of its threads.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::SeqCst)
}

/// How many of them have not been freed.
#[allow(dead_code, reason = "not every test needs it")]
pub fn live() -> u64 {
    // In this order: what is freed was allocated before.
    let freed = FREED.load(Ordering::SeqCst);
    allocations() - freed
}

/// How many bytes have not been freed.
#[allow(dead_code, reason = "not every test needs it")]
pub fn live_bytes() -> u64 {
    LIVE_BYTES.load(Ordering::SeqCst)
}

/// So many tasks made `count` allocations: `each` for every one of them, and a few beside that. A wake-up
/// costs one, and how many of these there are is up to the machine.
#[allow(dead_code, reason = "not every test needs it")]
#[track_caller]
pub fn assert_costs(each: u64, tasks: u64, count: u64) {
    println!("{count} allocations for {tasks} tasks");
    let (least, beside) = (each * tasks, tasks / 10);
    assert!((least..=least + beside).contains(&count), "{count}, not {each} for each of {tasks}");
}
