//! The balance: which shard a task goes to.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::Ordering;

use super::load::{Load, Standing};
use super::{Multi, Shard};
use crate::error::Refused;

/// How a [`Multi`] chooses the shard for a task.
///
/// What a shard has to do is counted as queued plus running tasks, so that one whose workers are few
/// and whose queue is long does not look free. A shard without a free place is chosen only if none
/// has one, and a closed one only if all are. All of this is read without any pool's lock, so it is a
/// hint that may be a moment old; a [`Permit`](crate::Permit) that is held is not counted.
///
/// # Examples
///
/// ```
/// use formic::{Balance, Multi, Pool};
///
/// let multi = Multi::new(3, Balance::RoundRobin, || Pool::new(1));
/// for _ in 0..6 {
///     multi.submit(|| ())?;
/// }
/// multi.wait_idle()?;
/// assert!(multi.shards().iter().all(|shard| shard.stats().completed == 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "LoadBalancingStrategy")]
pub enum Balance {
    /// The shards in turn, whatever they have to do: even by number, and the cheapest choice.
    #[default]
    #[doc(alias = "round_robin")]
    RoundRobin,
    /// The shard with the fewest tasks, and the first of those that have equally few, so that shards
    /// which are not needed start no threads. Looks at every shard: for a few of them, and for tasks
    /// that differ much in length.
    #[doc(alias = "LeastTasks")]
    #[doc(alias = "least_tasks")]
    LeastLoaded,
    /// The better of two shards picked at random. Nearly as even as looking at all of them, and the
    /// cost does not grow with their number: for many shards.
    #[doc(alias = "PowerOfTwoChoices")]
    #[doc(alias = "p2c")]
    PowerOfTwo,
}

impl<P: Shard> Multi<P> {
    /// The number of the shard that is next.
    #[inline]
    pub(super) fn pick(&self) -> usize {
        let shards = self.shards().len();
        match self.balance() {
            Balance::RoundRobin => self.shared.turn.fetch_add(1, Ordering::Relaxed) % shards,
            Balance::LeastLoaded => self.least_loaded(0..shards, |_, load| load),
            Balance::PowerOfTwo if shards == 1 => 0,
            Balance::PowerOfTwo => self.least_loaded(two_below(shards), |_, load| load),
        }
    }

    /// The shard for a task that another one has refused: the least loaded one, and the same one
    /// again only if the others are worse.
    pub(super) fn second_choice(&self, first: usize, refused: Refused) -> usize {
        // What is known of the first by its own word, whatever its load may look like.
        let known = match refused {
            Refused::Full
            | Refused::TimedOut
            | Refused::Cancelled
            | Refused::Expired
            | Refused::Discarded => Standing::Full,
            Refused::Closed
            | Refused::NoWorker
            | Refused::InRuntime
            | Refused::NoRuntime
            | Refused::BatchGone
            | Refused::RuntimeGone => Standing::Closed,
        };
        self.least_loaded(0..self.shards().len(), |shard, load| {
            let standing = if shard == first { known.max(load.standing) } else { load.standing };
            Load { standing, ..load }
        })
    }

    fn least_loaded(
        &self,
        candidates: impl IntoIterator<Item = usize>,
        judge: impl Fn(usize, Load) -> Load,
    ) -> usize {
        let load = |shard: &usize| judge(*shard, self.shards()[*shard].load());
        candidates.into_iter().min_by_key(load).unwrap_or(0)
    }
}

/// Two different numbers below `end`, which is at least two.
fn two_below(end: usize) -> [usize; 2] {
    let random = random();
    let first = below(random as u32, end);
    let second = below((random >> 32) as u32, end - 1);
    [first, if second < first { second } else { second + 1 }]
}

/// A number below `end` from 32 random bits, without a division.
fn below(random: u32, end: usize) -> usize {
    ((u64::from(random) * end as u64) >> 32) as usize
}

/// Random enough to spread tasks: xorshift, with a state per thread, so that producers share nothing.
fn random() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    let mut state = STATE.get();
    if state == 0 {
        // Zero is the one state that xorshift never leaves, and never comes to.
        state = RandomState::new().hash_one(0) | 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    STATE.set(state);
    // The low bits of the state alone are weak; a product spreads the high ones over all.
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

#[cfg(test)]
mod tests {
    use super::two_below;

    #[test]
    fn two_numbers_are_different_and_each_pair_comes() {
        for end in [2, 3, 5] {
            let mut seen = vec![vec![0_u32; end]; end];
            for _ in 0..10_000 {
                let [first, second] = two_below(end);
                seen[first][second] += 1;
            }
            for (first, row) in seen.iter().enumerate() {
                for (second, count) in row.iter().enumerate() {
                    assert_eq!(*count > 0, first != second, "{first} and {second} of {end}");
                }
            }
        }
    }
}
