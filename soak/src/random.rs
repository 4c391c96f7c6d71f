//! Random numbers that a seed repeats.

use std::time::Duration;

use fastrand::Rng;

/// A source of random numbers.
#[derive(Debug)]
pub(crate) struct Random(Rng);

impl Random {
    /// The same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        Random(Rng::with_seed(seed))
    }

    /// A source of its own for everyone with a number, independent of the others.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        // The factor is odd, so two numbers never share a seed. The fork keeps apart two sources
        // whose seeds lie close together.
        let mut rng = Rng::with_seed(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        Random(rng.fork())
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end.max(1))
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn within(&mut self, least: usize, most: usize) -> usize {
        self.0.usize(least..=most)
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Any of these.
    pub(crate) fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Puts these into any order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }

    /// Up to so many microseconds.
    pub(crate) fn micros(&mut self, most: usize) -> Duration {
        Duration::from_micros(self.0.u64(..=most as u64))
    }
}
