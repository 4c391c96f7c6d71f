//! Fetching ahead: a cell that is polled soon comes into the cache while another one is polled.
//!
//! With thousands of futures in flight each poll begins with a cell that was last touched long ago, and
//! memory takes as long as half a poll. Only for x86-64, where it can be said in stable Rust.

/// So many bytes of a cell are fetched. What a poll touches lies in them, unless its future is large.
const BYTES: usize = 256;
const LINE: usize = 64;

/// Has what an `Arc` points to fetched. Nothing is read, so it need not be there any more.
#[inline]
pub(in crate::engine) fn fetch<T: ?Sized>(place: *const T) {
    // The counts of an `Arc` lie before what it points to.
    let first = place.cast::<u8>().wrapping_sub(size_of::<[usize; 2]>());
    for offset in (0..BYTES).step_by(LINE) {
        fetch_line(first.wrapping_add(offset));
    }
}

/// Has the first bytes of what lies there fetched.
#[inline]
pub(in crate::engine) fn fetch_line<T: ?Sized>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has the instruction, and it does not fault, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
