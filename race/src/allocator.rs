//! The allocator: the system's unless the parent process asked for mimalloc.
//!
//! A program has one allocator, chosen when it is built; a second program would not be there after
//! `cargo run`, which builds the first one only. So the choice is made once, at the very first
//! allocation, by an environment variable that the parent sets. From then on it costs each call one
//! load and one branch that is always taken the same way.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;
use mimalloc::MiMalloc;
use serde::Serialize;

/// The variable by which a child process is told.
pub(crate) const VARIABLE: &str = "RACE_ALLOCATOR";
const VARIABLE_FOR_C: &std::ffi::CStr = c"RACE_ALLOCATOR";

/// Where tasks get their memory from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Allocator {
    /// The one of the operating system.
    #[default]
    System,
    /// mimalloc.
    Mimalloc,
}

/// As on the command line.
impl std::fmt::Display for Allocator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::System => "system",
            Self::Mimalloc => "mimalloc",
        })
    }
}

const UNDECIDED: u8 = 0;
const SYSTEM: u8 = 1;
const MIMALLOC: u8 = 2;

/// Written once, before the first allocation is given out, and never changed after.
static CHOICE: AtomicU8 = AtomicU8::new(UNDECIDED);

struct Chosen;

#[global_allocator]
static CHOSEN: Chosen = Chosen;

/// Whether mimalloc was asked for.
#[inline]
fn is_mimalloc() -> bool {
    match CHOICE.load(Ordering::Relaxed) {
        SYSTEM => false,
        MIMALLOC => true,
        _ => decide(),
    }
}

/// Reads the environment without allocating. Threads that come here together decide the same.
#[cold]
fn decide() -> bool {
    // SAFETY: the name ends with a zero. Nothing in this program writes to the environment, and it
    // is there before the first allocation.
    let value = unsafe { libc::getenv(VARIABLE_FOR_C.as_ptr()) };
    let is_mimalloc = !value.is_null();
    CHOICE.store(if is_mimalloc { MIMALLOC } else { SYSTEM }, Ordering::Relaxed);
    is_mimalloc
}

// SAFETY: each call is passed on as it came, and all to the same allocator: the choice is made
// before the first of them and then stays.
unsafe impl GlobalAlloc for Chosen {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mimalloc() {
            // SAFETY: the caller keeps the contract of this very method.
            unsafe { MiMalloc.alloc(layout) }
        } else {
            // SAFETY: as above.
            unsafe { System.alloc(layout) }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mimalloc() {
            // SAFETY: the caller keeps the contract of this very method.
            unsafe { MiMalloc.alloc_zeroed(layout) }
        } else {
            // SAFETY: as above.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if is_mimalloc() {
            // SAFETY: the caller keeps the contract, and the memory came from the same allocator.
            unsafe { MiMalloc.dealloc(pointer, layout) }
        } else {
            // SAFETY: as above.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_mimalloc() {
            // SAFETY: the caller keeps the contract, and the memory came from the same allocator.
            unsafe { MiMalloc.realloc(pointer, layout, size) }
        } else {
            // SAFETY: as above.
            unsafe { System.realloc(pointer, layout, size) }
        }
    }
}
