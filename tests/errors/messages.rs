//! Messages: each error states its fact once along its chain, in lower case, without a full stop or advice.

use std::error::Error;
use std::io;
use std::time::Duration;

use formic::{
    AcquireError, Balance, BuildError, CallError, FnPool, Growth, JoinError, Multi, Pool,
    PrestartError, Refused, ReopenError, ResizeError, Semaphore, StillRunning, SubmitError,
    TaskPanic, WhenFull,
};

use crate::common::{Door, hold_workers, hush_quiet_threads};

pub(crate) type AnyError = Box<dyn Error>;

/// The messages of an error, of its source, of that one's source and so on.
fn chain(error: &dyn Error) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        messages.push(error.to_string());
        source = error.source();
    }
    messages
}

#[track_caller]
pub(crate) fn assert_well_formed(error: &dyn Error) {
    let messages = chain(error);
    for (place, message) in messages.iter().enumerate() {
        let first = message.chars().next().expect("there is a message");
        assert!(!first.is_uppercase(), "it starts in lower case: {message}");
        assert!(!message.ends_with('.'), "it ends without a full stop: {message}");
        for advice in ["use `", "; use", "instead", "try ", "choose", "set it"] {
            assert!(!message.contains(advice), "{advice:?} is advice: {message}");
        }
        let mut others = messages.iter().enumerate().filter(|(other, _)| *other != place);
        assert!(others.all(|(_, other)| !other.contains(&**message)), "said twice: {messages:?}");
    }
}

pub(crate) fn reasons() -> [Refused; 11] {
    [
        Refused::Full,
        Refused::Closed,
        Refused::TimedOut,
        Refused::Cancelled,
        Refused::Expired,
        Refused::Discarded,
        Refused::NoWorker,
        Refused::InRuntime,
        Refused::RuntimeGone,
        Refused::NoRuntime,
        Refused::BatchGone,
    ]
}

/// The operating system's error, as it would tell of a thread that it does not start.
fn no_thread() -> io::Error {
    io::Error::other("the limit of threads is reached")
}

pub(crate) fn panic() -> TaskPanic {
    hush_quiet_threads();
    let pool = Pool::builder().workers(1).name("quiet").build().unwrap();
    let handle = pool.spawn(|| panic!("out of ink")).unwrap();
    handle.join().unwrap_err().into_panic().unwrap()
}

/// What is left of a pool with so many tasks that run and wait, and permits that are held.
fn left(running: usize, queued: usize, permits: usize) -> StillRunning {
    let (pool, door) = (Pool::new(running + permits + 1), Door::new());
    hold_workers(&pool, &door, running);
    let held: Vec<_> = (0..permits).map(|_| pool.admit().unwrap()).collect();
    pool.resize(running.max(1)).unwrap();
    (0..queued).for_each(|_| pool.submit(|| ()).unwrap());
    let left = pool.drain_timeout(Duration::ZERO).unwrap_err();
    drop(held);
    door.open();
    pool.drain().unwrap();
    left
}

/// What a task of the pool is told that waits for its own pool.
fn from_inside() -> StillRunning {
    let pool = Pool::new(1);
    let inner = pool.clone();
    pool.spawn(move || inner.wait_idle().unwrap_err()).unwrap().join().unwrap()
}

fn submit_errors() -> Vec<AnyError> {
    let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::Refuse).build().unwrap();
    let permit = pool.admit().unwrap();
    let full: SubmitError<_> = pool.submit(|| ()).unwrap_err();
    pool.close();
    let closed = pool.submit(|| ()).unwrap_err();
    drop(permit);
    let calls = FnPool::new(1, |n: u32| n);
    calls.close();
    let call: CallError<u32> = calls.call(1).unwrap_err();
    vec![Box::new(full), Box::new(closed), Box::new(call)]
}

fn outcomes() -> Vec<AnyError> {
    let mut errors: Vec<AnyError> = vec![
        Box::new(panic()),
        Box::new(JoinError::Cancelled),
        Box::new(JoinError::Panicked(panic())),
        Box::new(CallError::<u32>::TimedOut),
        Box::new(CallError::<u32>::Cancelled),
        Box::new(CallError::<u32>::Panicked(panic())),
    ];
    for reason in reasons() {
        errors.push(Box::new(reason));
        errors.push(Box::new(JoinError::Refused(reason)));
        errors.push(Box::new(CallError::<u32>::NotAwaited(reason)));
    }
    errors
}

/// One refusal of each setting.
fn build_errors() -> Vec<AnyError> {
    let builder = || Pool::builder().workers(2);
    let by_load = Growth::by_load;
    #[expect(clippy::reversed_empty_ranges, reason = "this is the bad input")]
    let builders = [
        builder().workers(0),
        builder().workers(5..=2),
        builder().workers(1 << 20),
        builder().prestart(3),
        builder().keep_alive(Duration::ZERO),
        builder().stack_size(1),
        builder().name("a\0b"),
        builder().unlimited().preallocate(),
        builder().queue_unbounded().preallocate(),
        builder().queue(usize::MAX).preallocate(),
        builder().growth(by_load(0, 0.5, 0.1)),
        builder().growth(by_load(1, 1.5, 0.1)),
        builder().growth(by_load(1, 0.5, 0.5)),
        builder().growth(by_load(1, 0.5, 0.1)).queue(0),
        builder().growth(by_load(1, 0.5, 0.1)).queue_unbounded(),
    ];
    let refused = builders.into_iter().map(|builder| builder.build().unwrap_err());
    let mut errors: Vec<AnyError> = refused.map(AnyError::from).collect();
    let none = Multi::try_new(0, Balance::RoundRobin, || Pool::builder().build());
    errors.push(Box::new(none.unwrap_err()));
    errors.push(Box::new(BuildError::Thread(no_thread())));
    errors.push(Box::new(BuildError::GlobalExists));
    errors
}

fn sizes_and_ends() -> Vec<AnyError> {
    vec![
        Box::new(ResizeError::NoWorkers),
        Box::new(ResizeError::BelowMinimum { workers: 1, minimum: 2 }),
        Box::new(ResizeError::TooManyWorkers { workers: 9, limit: 8 }),
        Box::new(PrestartError::AboveCapacity { workers: 3, capacity: 2 }),
        Box::new(PrestartError::Closed),
        Box::new(PrestartError::Thread(no_thread())),
        Box::new(PrestartError::RuntimeGone),
        Box::new(left(1, 1, 1)),
        Box::new(from_inside()),
        Box::new(ReopenError::Open),
        Box::new(ReopenError::StillRunning(left(1, 0, 0))),
        Box::new(ReopenError::Thread(no_thread())),
        Box::new(ReopenError::RuntimeGone),
        Box::new(ReopenError::Dropped),
    ]
}

fn shards_and_semaphores() -> Vec<AnyError> {
    let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    let open = multi.reopen().unwrap_err();
    let permit = multi.shard(0).unwrap().admit().unwrap();
    multi.close();
    let held = multi.reopen().unwrap_err();
    drop(permit);
    vec![
        Box::new(multi.shard(2).unwrap_err()),
        Box::new(multi.resize(0).unwrap_err()),
        Box::new(open),
        Box::new(held),
        Box::new(Semaphore::new(1).acquire(2).unwrap_err()),
        Box::new(AcquireError::NoPermits),
        Box::new(AcquireError::TimedOut),
        Box::new(AcquireError::Cancelled),
        Box::new(AcquireError::Closed),
    ]
}

#[test]
fn every_error_states_its_fact_once() {
    let all =
        [submit_errors(), outcomes(), build_errors(), sizes_and_ends(), shards_and_semaphores()];
    for error in all.iter().flatten() {
        assert_well_formed(&**error);
    }
}

#[test]
fn the_error_of_the_operating_system_is_the_source() {
    let errors: [AnyError; 3] = [
        Box::new(BuildError::Thread(no_thread())),
        Box::new(PrestartError::Thread(no_thread())),
        Box::new(ReopenError::Thread(no_thread())),
    ];
    for error in errors {
        let source = error.source().expect("the reason is there");
        assert!(source.is::<io::Error>());
        assert_eq!(source.to_string(), no_thread().to_string());
    }
}

#[test]
fn a_shard_that_has_not_ended_says_what_is_left_of_it_in_the_source() {
    let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    let permit = multi.shard(1).unwrap().admit().unwrap();
    multi.shard(1).unwrap().close();
    let chain = chain(&multi.reopen().unwrap_err());
    drop(permit);
    assert_eq!(
        chain,
        [
            "shard 0: reopen: the pool is open; shard 1: reopen: the pool has not ended",
            "0 tasks run, 0 are queued, 1 permit is held, 1 worker is alive",
        ]
    );
}

#[test]
fn numbers_agree_with_their_verbs() {
    // How many workers there are is another figure.
    let text = |running, queued, permits| {
        let text = left(running, queued, permits).to_string();
        text.rsplit_once(", ").map(|(text, _)| text.to_owned()).unwrap()
    };
    assert_eq!(text(1, 1, 1), "1 task runs, 1 is queued, 1 permit is held");
    assert_eq!(text(2, 2, 2), "2 tasks run, 2 are queued, 2 permits are held");
    assert_eq!(text(0, 0, 1), "0 tasks run, 0 are queued, 1 permit is held");
    assert_eq!(text(1, 0, 0), "1 task runs, 0 are queued, 0 permits are held");
}
