//! Random numbers that a seed repeats: small, fast and good enough (`SplitMix64`).

use std::time::Duration;

/// A source of random numbers.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// A source of its own for everyone with a number, independent of the others.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        let mut random = Random(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn within(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Any of these.
    pub(crate) fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Up to so many microseconds.
    pub(crate) fn micros(&mut self, most: usize) -> Duration {
        Duration::from_micros(self.below(most + 1) as u64)
    }
}
