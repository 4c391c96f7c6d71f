//! Several pools, used as one: shards, the three ways to choose one, totals, and what happens when
//! the chosen shard is full.
//!
//! ```sh
//! cargo run --example multi_pool
//! ```

use std::error::Error;
use std::sync::{Arc, RwLock};

use formic::{Balance, Multi, Pool, Refused};

fn main() -> Result<(), Box<dyn Error>> {
    let by_turns = spread(Balance::RoundRobin)?;
    assert_eq!(by_turns, [50, 20, 20], "the same to each, whatever it has to do");
    let by_load = spread(Balance::LeastLoaded)?;
    assert_eq!(by_load, [30, 30, 30], "the others catch up");
    let by_two = spread(Balance::PowerOfTwo)?;
    assert_eq!(by_two.iter().sum::<u64>(), 90, "much the same, by chance");
    fall_over()
}

/// The first of three shards has 30 tasks to do already. Where do the next 60 go?
fn spread(balance: Balance) -> Result<Vec<u64>, Box<dyn Error>> {
    let multi = Multi::new(3, balance, || Pool::new(1));
    let door = Door::default();
    let shut = door.write();
    for _ in 0..30 {
        multi.shard(0)?.submit(waiting_at(&door))?;
    }
    for _ in 0..60 {
        multi.submit(waiting_at(&door))?;
    }
    let each: Vec<u64> = multi.shards().iter().map(|shard| shard.stats().accepted).collect();
    println!("{balance:?}: {each:?}");

    drop(shut);
    multi.drain()?;
    assert_eq!(multi.stats().completed, 90, "the totals");
    Ok(each)
}

/// Each of two shards has a place for one task.
fn fall_over() -> Result<(), Box<dyn Error>> {
    let make = || Pool::builder().workers(1).queue(0).build();
    let multi = Multi::try_new(2, Balance::RoundRobin, make)?;
    let door = Door::default();
    let shut = door.write();
    multi.shard(0)?.submit(waiting_at(&door))?;
    // The turn is shard 0's, which is full: the least loaded one takes the task.
    multi.try_submit(waiting_at(&door))?;
    assert_eq!(multi.shard(1)?.stats().accepted, 1);
    // Now both are full, and the task comes back.
    match multi.try_submit(|| println!("run by whoever made it")) {
        Ok(()) => return Err("there was no place for it".into()),
        Err(error) => {
            println!("{error}");
            assert_eq!(error.reason(), Refused::Full);
            error.into_task()();
        }
    }
    drop(shut);
    multi.drain()?;
    assert_eq!((multi.stats().completed, multi.stats().refused), (2, 1));
    Ok(())
}

/// Tasks wait at the door while somebody holds it shut, that is, has it locked for writing.
type Door = Arc<RwLock<()>>;

fn waiting_at(door: &Door) -> impl FnOnce() + Send + 'static {
    let door = Arc::clone(door);
    move || drop(door.read())
}
