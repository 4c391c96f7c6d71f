//! Random numbers for pauses, the same in each run.

/// A xorshift generator.
pub(super) struct Random(u64);

impl Random {
    /// A generator for one of several threads. The constant only spreads small numbers over all bits.
    pub(super) fn new(thread: u64) -> Self {
        Random((thread + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The next number, below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
