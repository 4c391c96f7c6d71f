//! Arguments whose call has not started come back.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use formic::{Balance, FnPool, JoinError, Multi};

use crate::common::{eventually, join};

/// A pool of one worker, whose function notes its argument and then waits for the door.
fn pool(door: Receiver<()>, ran: &Arc<Mutex<Vec<u32>>>) -> FnPool<u32, ()> {
    let (door, ran) = (Mutex::new(door), Arc::clone(ran));
    let builder = FnPool::builder().workers(1).queue(4);
    let built = builder.build(move |number| {
        ran.lock().unwrap().push(number);
        door.lock().unwrap().recv().ok();
    });
    built.unwrap()
}

#[test]
fn arguments_that_have_not_started_come_back_in_their_order() {
    let ((open, door), ran) = (channel(), Arc::default());
    let pool = pool(door, &ran);
    pool.submit(0).unwrap();
    eventually("it runs", || ran.lock().unwrap().len() == 1);
    pool.submit(1).unwrap();
    let (handle, cancelled) = (pool.spawn(2).unwrap(), pool.spawn(3).unwrap());
    pool.submit(4).unwrap();
    assert!(cancelled.cancel());
    assert_eq!(pool.take_queued(), [1, 2, 4], "the cancelled one is gone already");
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    assert_eq!((pool.take_queued(), pool.queued()), (vec![], 0));
    pool.submit(5).unwrap();
    drop(open);
    pool.drain().unwrap();
    assert_eq!(*ran.lock().unwrap(), [0, 5], "the pool goes on");
    let stats = pool.stats();
    assert_eq!((stats.completed, stats.cancelled), (2, 4));
    assert!(stats.adds_up(), "{stats:?}");
}

#[test]
fn a_submitter_that_waits_gets_a_place_that_was_cleared() {
    let ((open, door), ran) = (channel(), Arc::default());
    let pool = pool(door, &ran);
    (0..5).for_each(|number| pool.submit(number).unwrap());
    let other = pool.clone();
    let submitter = std::thread::spawn(move || other.submit(5).is_ok());
    eventually("it waits", || pool.stats().waiting == 1);
    eventually("the first one runs", || ran.lock().unwrap().len() == 1);
    assert_eq!(pool.take_queued(), [1, 2, 3, 4]);
    assert!(join(submitter));
    drop(open);
    pool.drain().unwrap();
    assert_eq!(*ran.lock().unwrap(), [0, 5]);
}

#[test]
fn a_multi_gives_back_what_all_shards_have_queued() {
    let (doors, ran) = (Mutex::new(Vec::new()), Arc::default());
    let multi = Multi::new(2, Balance::RoundRobin, || {
        let (open, door) = channel();
        doors.lock().unwrap().push(open);
        pool(door, &ran)
    });
    (0..2).for_each(|number| multi.submit(number).unwrap());
    eventually("both run", || ran.lock().unwrap().len() == 2);
    (2..6).for_each(|number| multi.submit(number).unwrap());
    let mut taken = multi.take_queued();
    taken.sort_unstable();
    assert_eq!(taken, [2, 3, 4, 5]);
    doors.lock().unwrap().clear();
    multi.drain().unwrap();
    assert_eq!(ran.lock().unwrap().len(), 2);
}
