//! The choice of a shard for each task of a `Multi`. The model covers round robin and least loaded. It leaves out
//! the choice between two random shards.

use formic::Balance;

use super::places::Ruling;
use super::shard::{Load, Standing};
use super::{Model, Variant};

impl Model {
    /// The shard that accepts the task, makes it wait or refuses it.
    pub(super) fn choose(&mut self) -> usize {
        let first = self.pick();
        match self.shards[first].places.rule(1) {
            Ruling::Enter => first,
            Ruling::Closed => {
                self.least_loaded(|shard, load| judge(shard == first, load, Standing::Closed))
            }
            _ => self.least_loaded(|shard, load| judge(shard == first, load, Standing::Full)),
        }
    }

    fn pick(&mut self) -> usize {
        match self.plan.variant {
            Variant::Balanced(Balance::LeastLoaded) => self.least_loaded(|_, load| load),
            _ => {
                self.turn += 1;
                (self.turn - 1) % self.shards.len()
            }
        }
    }

    fn least_loaded(&self, judge: impl Fn(usize, Load) -> Load) -> usize {
        let load = |shard: &usize| judge(*shard, self.shards[*shard].load());
        (0..self.shards.len()).min_by_key(load).expect("there is a shard")
    }
}

/// The shard that refused the task first is judged by that refusal.
fn judge(refused: bool, load: Load, known: Standing) -> Load {
    let standing = if refused { known.max(load.standing) } else { load.standing };
    Load { standing, ..load }
}
