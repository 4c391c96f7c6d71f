//! One function, many arguments: every way in, every way back, and the same ends as a `Pool`.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{Door, PATIENCE, block_on, eventually, hush_quiet_threads, join, poll_once};
use formic::{Builder, CallError, Control, FnPool, Pool, Refused, SubmitError, WhenFull};

/// An argument that says itself what to do.
type Errand = Box<dyn FnOnce() -> u32 + Send>;
type Errands = FnPool<Errand, u32>;
type Settings = fn(Builder<Errands>) -> Builder<Errands>;

fn errand(act: impl FnOnce() -> u32 + Send + 'static) -> Errand {
    Box::new(act)
}

/// A pool of one worker, without a queue unless set.
fn one_worker(settings: Settings) -> Errands {
    let builder = settings(FnPool::builder().workers(1).queue(0));
    builder.build(|errand: Errand| errand()).expect("good settings")
}

/// The same, and the door that its worker waits at.
fn held(settings: Settings) -> (Errands, Door) {
    let (pool, door) = (one_worker(settings), Door::new());
    let at_door = door.clone();
    pool.submit(errand(move || (at_door.wait(), 0).1)).expect("the worker is free");
    door.await_waiting(1);
    (pool, door)
}

/// A way to have an errand run.
type Way = fn(&Errands, Errand) -> Result<(), SubmitError<Errand>>;

fn refused<T>(error: CallError<T>) -> SubmitError<T> {
    match error {
        CallError::Refused(error) => error,
        other => panic!("{other}"),
    }
}

/// The ways that do as the pool's `when_full` says.
const POLITE: [Way; 3] = [
    |pool, errand| pool.submit(errand),
    |pool, errand| pool.spawn(errand).map(drop),
    |pool, errand| pool.call(errand).map(drop).map_err(refused),
];
const TIMED: Way =
    |pool, errand| pool.call_timeout(errand, Duration::from_millis(3)).map(drop).map_err(refused);
const PATIENT: [Way; 2] = [
    |pool, errand| pool.call_timeout(errand, PATIENCE).map(drop).map_err(refused),
    |pool, errand| block_on(pool.call_async(errand)).map(drop).map_err(refused),
];
const HASTY: [Way; 2] =
    [|pool, errand| pool.try_submit(errand), |pool, errand| pool.try_spawn(errand).map(drop)];

/// Each of these ways is refused for this reason, and gives the very same argument back.
#[track_caller]
fn assert_refused(pool: &Errands, ways: &[Way], reason: Refused) {
    let before = pool.stats();
    for (number, way) in ways.iter().enumerate() {
        let argument = errand(move || number as u32);
        let address = (&raw const *argument).cast::<()>();
        let error = way(pool, argument).expect_err("there is no place");
        assert_eq!(error.reason(), reason, "way {number}");
        let argument = error.into_task();
        assert!(address == (&raw const *argument).cast::<()>(), "way {number}");
        assert_eq!(argument(), number as u32);
    }
    let (after, count) = (pool.stats(), ways.len() as u64);
    assert_eq!((after.accepted, after.refused), (before.accepted, before.refused + count));
}

#[test]
fn every_way_in_runs_the_function_with_its_argument() {
    static SUM: AtomicU64 = AtomicU64::new(0);
    let pool =
        FnPool::new(2, |number| (SUM.fetch_add(number, Ordering::SeqCst), number * number).1);
    pool.submit(1).unwrap();
    pool.try_submit(10).unwrap();
    assert_eq!(pool.spawn(100).unwrap().join().unwrap(), 10_000);
    assert_eq!(pool.try_spawn(1000).unwrap().join().unwrap(), 1_000_000);
    assert_eq!(pool.call(2).unwrap(), 4);
    assert_eq!(pool.call_timeout(20, PATIENCE).unwrap(), 400);
    assert_eq!(block_on(pool.call_async(200)).unwrap(), 40_000);
    pool.drain().unwrap();
    assert_eq!((SUM.load(Ordering::SeqCst), pool.stats().completed), (1333, 7));
}

#[test]
fn a_refusal_gives_the_very_same_argument_back() {
    let every_way = [&POLITE[..], &[TIMED], &PATIENT, &HASTY].concat();
    let (pool, door) = held(|builder| builder.waiters(0));
    assert_refused(&pool, &every_way, Refused::Full);
    pool.close();
    assert_refused(&pool, &every_way, Refused::Closed);
    door.open();

    let (pool, door) = held(|builder| builder.when_full(WhenFull::Refuse));
    assert_refused(&pool, &POLITE, Refused::Full);
    assert_refused(&pool, &[TIMED, TIMED], Refused::TimedOut);
    assert_eq!(pool.waiting(), 0);
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 1, "nothing refused was run");
    let pool = one_worker(|builder| builder.stack_size(1 << 60));
    assert_refused(&pool, &every_way, Refused::NoWorker);
}

#[test]
fn those_who_wait_for_a_place_get_one_or_their_argument() {
    for close in [false, true] {
        let (pool, door) = held(|builder| builder);
        let start = |way: Way| {
            let pool = pool.clone();
            thread::spawn(move || way(&pool, errand(|| 9)).map_err(|error| error.into_task()()))
        };
        let threads: Vec<_> = POLITE.into_iter().chain(PATIENT).map(start).collect();
        eventually("all of them wait", || pool.waiting() == 5);
        let end: &dyn Fn() = if close { &|| pool.close() } else { &|| door.open() };
        let (outcome, completed) = if close { (Err(9), 1) } else { (Ok(()), 6) };
        end();
        assert!(threads.into_iter().all(|thread| join(thread) == outcome));
        door.open();
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, completed);
    }
}

#[test]
fn a_panic_costs_one_argument_and_tells_where_it_came_from() {
    hush_quiet_threads();
    let (sender, receiver) = mpsc::channel();
    let pool = FnPool::builder().workers(1).name("quiet").on_panic(move |panic| {
        let line = panic.submitted_at().map(|location| (location.file(), location.line()));
        sender.send((panic.message().to_owned(), line)).unwrap();
    });
    let function = |text: &'static str| if text.is_empty() { text } else { panic!("no {text}") };
    let pool = pool.build(function).unwrap();
    let submitted = line!() + 1;
    pool.submit("tea").unwrap();
    assert_eq!(receiver.recv().unwrap(), ("no tea".to_owned(), Some((file!(), submitted))));

    let spawn = || pool.spawn("milk").unwrap().join().map_err(CallError::from);
    let outcomes = [
        (line!() - 2, spawn()),
        (line!(), pool.call("milk")),
        (line!(), pool.call_timeout("milk", PATIENCE)),
    ];
    for (line, outcome) in outcomes {
        let Err(CallError::Panicked(panic)) = outcome else { panic!("it did panic") };
        assert_eq!((panic.message(), panic.worker()), ("no milk", "quiet-0"));
        assert_eq!(panic.submitted_at().map(|at| (at.file(), at.line())), Some((file!(), line)));
    }
    assert!(matches!(block_on(pool.call_async("milk")), Err(CallError::Panicked(_))));
    assert_eq!(pool.call("").unwrap(), "", "the worker has its place");
    pool.drain().unwrap();
    assert_eq!((pool.stats().panicked, pool.stats().completed), (5, 1));
    assert!(receiver.try_recv().is_err(), "what a handle tells is not told to the hook");
}

/// A question that is answered by asking the same pool.
#[derive(Debug)]
struct Fibonacci(FnPool<Fibonacci, u64>, u64);

#[test]
fn a_function_may_call_its_own_pool_also_with_one_worker() {
    for queue in [0, 4096] {
        let pool = FnPool::builder().workers(1).queue(queue).build(|Fibonacci(pool, number)| {
            let ask = |number| pool.call(Fibonacci(pool.clone(), number)).unwrap();
            if number < 2 { number } else { ask(number - 1) + ask(number - 2) }
        });
        let pool = pool.unwrap();
        assert_eq!(pool.call(Fibonacci(pool.clone(), 15)).unwrap(), 610);
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 1973, "each call is one task");
    }
}

#[test]
fn a_call_whose_time_is_over_while_it_is_queued_never_runs() {
    let (pool, door) = held(|builder| builder.queue(1));
    let never = errand(|| panic!("it was taken back"));
    let error = pool.call_timeout(never, Duration::from_millis(3)).unwrap_err();
    assert_eq!(refused(error).reason(), Refused::Expired);
    assert_eq!((pool.stats().cancelled, pool.queued()), (1, 0));
    pool.try_submit(errand(|| 1)).expect("its place is free");
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.stats().panicked), (2, 0));
}

/// Begins, waits until it is asked to stop, and tells so.
fn obey(begun: &Door, stopped: &Door) -> Errand {
    let (begun, stopped) = (begun.clone(), stopped.clone());
    errand(move || {
        begun.open();
        eventually("the call is asked to stop", formic::is_cancelled);
        (stopped.open(), 0).1
    })
}

#[test]
fn a_call_without_time_on_a_free_pool_was_not_started_in_time() {
    let pool = one_worker(|builder| builder);
    for _ in 0..100 {
        match pool.call_timeout(errand(|| 0), Duration::ZERO) {
            Ok(0) | Err(CallError::TimedOut) => {}
            Err(error) => assert_eq!(refused(error).reason(), Refused::Expired),
            Ok(other) => panic!("{other}"),
        }
    }
    pool.drain().unwrap();
}

#[test]
fn a_call_whose_caller_waits_no_longer_is_asked_to_stop() {
    let (pool, mut time) = (one_worker(|builder| builder), Duration::from_millis(3));
    let (begun, stopped) = (Door::new(), Door::new());
    let error = loop {
        match pool.call_timeout(obey(&begun, &stopped), time).unwrap_err() {
            // Only the operating system knows how long it takes until a call has begun.
            CallError::Refused(_) => time *= 2,
            other => break other,
        }
    };
    assert!(matches!(error, CallError::TimedOut), "{error}");
    stopped.wait();
    let asked = pool.call(errand(|| u32::from(formic::is_cancelled()))).ok();
    assert_eq!((asked, pool.workers()), (Some(0), 1), "the worker serves on");

    let (begun, stopped) = (Door::new(), Door::new());
    let mut running = Box::pin(pool.call_async(obey(&begun, &stopped)));
    assert!(poll_once(running.as_mut()).is_pending());
    begun.wait();
    drop(running);
    stopped.wait();
    assert_eq!(block_on(pool.call_async(errand(|| 8))).ok(), Some(8), "the worker serves on");
}

#[test]
fn a_future_dropped_before_its_call_has_begun_has_it_cancelled() {
    let (pool, door) = held(|builder| builder.queue(1));
    let owned = Arc::new(());
    let never = |owned| errand(move || panic!("it was dropped: {owned:?}"));
    let mut queued = Box::pin(pool.call_async(never(Arc::clone(&owned))));
    assert!(poll_once(queued.as_mut()).is_pending());
    let mut waiting = Box::pin(pool.call_async(never(Arc::new(()))));
    assert!(poll_once(waiting.as_mut()).is_pending());
    assert_eq!((pool.queued(), pool.waiting()), (1, 1));
    drop(waiting);
    assert_eq!((pool.queued(), pool.waiting(), pool.stats().cancelled), (1, 0, 0));
    drop(queued);
    assert_eq!((pool.queued(), pool.stats().cancelled, Arc::strong_count(&owned)), (0, 1, 1));
    pool.try_submit(errand(|| 1)).expect("its place is free");
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.stats().panicked), (2, 0));
}

/// What every pool can do beside running something; this one has run one task.
fn put_to_the_test(pool: &Control) -> Result<(), Box<dyn std::error::Error>> {
    pool.blocking_wait_idle()?;
    assert!(pool.stats().adds_up() && pool.stats().completed == 1, "{pool:?}");
    pool.resize(3)?;
    pool.prestart(3)?;
    assert_eq!((pool.capacity(), pool.workers(), pool.busy(), pool.free()), (3, 3, 0, 3));
    pool.blocking_drain_timeout(PATIENCE)?;
    assert!(pool.is_closed() && pool.workers() == 0);
    pool.reopen()?;
    assert!(!pool.is_closed());
    Ok(())
}

#[test]
fn the_figures_and_the_ends_are_those_of_every_pool() {
    let (closures, pool) = (Pool::new(1), one_worker(|builder| builder));
    closures.submit(|| ()).unwrap();
    put_to_the_test(&closures).unwrap();
    assert_eq!(pool.call(errand(|| 4)).ok(), Some(4));
    put_to_the_test(&pool).unwrap();
}

#[test]
fn what_is_discarded_is_cancelled_and_what_was_accepted_outlives_the_last_handle() {
    let (pool, door) = held(|builder| builder.queue(4));
    let handles: Vec<_> = (0..3).map(|_| pool.spawn(errand(|| 2)).unwrap()).collect();
    assert_eq!((pool.queued(), pool.discard()), (3, 3));
    assert!(handles.into_iter().all(|handle| handle.join().unwrap_err().is_cancelled()));
    assert_eq!(pool.stats().cancelled, 3);

    let (last, accepted) = (pool.clone(), pool.spawn(errand(|| 3)).unwrap());
    drop(pool);
    let also = last.spawn(errand(|| 5)).expect("a clone keeps the pool open");
    drop(last);
    door.open();
    assert_eq!((accepted.join().unwrap(), also.join().unwrap()), (3, 5));
}

#[test]
fn a_server_answers_those_it_has_no_worker_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, door) = (listener.local_addr().unwrap(), Door::new());
    let at_door = door.clone();
    let pool = FnPool::builder().workers(2).queue(0).build(move |mut client: TcpStream| {
        at_door.wait();
        client.write_all(b"served").unwrap();
    });
    let pool = pool.unwrap();
    let serve = |()| {
        let client = TcpStream::connect(address).unwrap();
        if let Err(error) = pool.try_submit(listener.accept().unwrap().0) {
            assert_eq!(error.reason(), Refused::Full);
            error.into_task().write_all(b"full").unwrap();
        }
        client
    };
    let clients = [(); 5].map(serve);
    door.open();
    let answers = clients.map(|client| io::read_to_string(client).unwrap());
    assert_eq!(answers, ["served", "served", "full", "full", "full"]);
}

#[test]
fn many_callers_get_each_their_own_result() {
    let pool = FnPool::builder().workers(4).queue(8).build(|number: u64| number * 3).unwrap();
    let start = |caller: u64| {
        let pool = pool.clone();
        let call = move |number| pool.call(number).unwrap() == number * 3;
        thread::spawn(move || (caller * 2000..(caller + 1) * 2000).all(call))
    };
    let callers: Vec<_> = (0..16).map(start).collect();
    assert!(callers.into_iter().all(join));
    assert_eq!(pool.stats().completed, 32_000, "a call is counted before its result shows");
}

#[test]
fn arguments_may_be_large() {
    type Large = [u8; 32 << 10];
    let pool = FnPool::new(2, |argument: Large| argument[argument.len() - 1]);
    assert_eq!(pool.call([7; 32 << 10]).unwrap(), 7);
    (0..300).for_each(|_| pool.submit([8; 32 << 10]).unwrap());
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 301);
}

#[test]
fn a_result_without_a_handle_goes_to_the_hook() {
    hush_quiet_threads();
    let (tell, told) = mpsc::channel();
    let (tell_panic, told_panics) = mpsc::channel();
    let hook = move |result: Result<u32, String>| {
        assert!(result != Ok(13), "the hook panics");
        tell.send(result).unwrap();
    };
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let pool = FnPool::builder()
        .workers(1)
        .name("quiet")
        .on_panic(move |panic| tell_panic.send(panic.message().to_owned()).unwrap())
        .on_result(hook)
        .build_with(
            move || _ = count.fetch_add(1, Ordering::SeqCst),
            |_, number: u32| {
                assert!(number != 99, "the call panics");
                if number.is_multiple_of(2) { Err(format!("{number} is even")) } else { Ok(number) }
            },
        )
        .unwrap();
    pool.submit(1).unwrap();
    pool.try_submit(2).unwrap();
    pool.submit(13).unwrap();
    pool.admit().unwrap().submit(3);
    assert_eq!(pool.call(5).unwrap(), Ok(5));
    drop(pool.spawn(7).unwrap());
    pool.wait_idle().unwrap();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Ok(1), Err("2 is even".to_owned()), Ok(3)]);
    assert_eq!(told_panics.try_iter().collect::<Vec<_>>(), ["the hook panics"]);
    let stats = pool.stats();
    assert_eq!((stats.completed, stats.panicked), (6, 0), "the call has completed");
    assert_eq!(made.load(Ordering::SeqCst), 1, "and its worker keeps its state");
    pool.submit(99).unwrap();
    pool.drain().unwrap();
    assert_eq!(told_panics.try_iter().collect::<Vec<_>>(), ["the call panics"]);
    assert_eq!(told.try_iter().count(), 0);
}
