//! A state per worker: made, kept, made anew and dropped on the worker's own thread.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::common::{self, Door, Random, eventually, hush_quiet_threads, seed, stress_time};
use formic::{CallError, FnPool, Refused, WhenFull};

/// What is known of all states of a pool.
#[derive(Default)]
struct Registry {
    made: AtomicUsize,
    alive: AtomicUsize,
    most: AtomicUsize,
    /// Where each was made and where it was dropped, by number.
    dropped: Mutex<Vec<(usize, ThreadId, ThreadId)>>,
}

impl Registry {
    fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    /// How many have been dropped, each on the thread that made it.
    #[track_caller]
    fn dropped_at_home(&self) -> usize {
        let dropped = self.dropped.lock().expect("nobody panics with it");
        for (number, home, place) in &*dropped {
            assert_eq!(home, place, "state {number} was dropped elsewhere");
        }
        dropped.len()
    }
}

/// A state that is in the registry, and must not leave its thread.
struct State {
    registry: Arc<Registry>,
    number: usize,
    calls: Rc<Cell<u32>>,
    home: ThreadId,
}

impl State {
    fn new(registry: &Arc<Registry>) -> Self {
        let number = registry.made.fetch_add(1, Ordering::SeqCst);
        let alive = registry.alive.fetch_add(1, Ordering::SeqCst) + 1;
        registry.most.fetch_max(alive, Ordering::SeqCst);
        let (calls, home) = (Rc::new(Cell::new(0)), thread::current().id());
        State { registry: Arc::clone(registry), number, calls, home }
    }

    /// One call more; says how many there were.
    fn call(&self) -> u32 {
        assert_eq!(self.home, thread::current().id(), "a state leaves its thread");
        self.calls.set(self.calls.get() + 1);
        self.calls.get()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let told = (self.number, self.home, thread::current().id());
        if let Ok(mut dropped) = self.registry.dropped.lock() {
            dropped.push(told);
        }
        self.registry.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a worker is to do with its state.
enum Act {
    Call,
    Panic,
    Wait(Door),
    /// Calls its own pool, which has one worker.
    CallBack(Acts),
}

/// The function tells the number of its state and how often that was called.
type Acts = FnPool<Act, (usize, u32)>;

/// Settings for a pool of such states. Panics are not printed.
fn pool(
    registry: &Arc<Registry>,
    settings: impl FnOnce(formic::Builder<Acts>) -> formic::Builder<Acts>,
) -> Acts {
    hush_quiet_threads();
    let registry = Arc::clone(registry);
    let function = |state: &mut State, act: Act| {
        let calls = state.call();
        match act {
            Act::Call => {}
            Act::Panic => panic!("in the midst of it"),
            Act::Wait(door) => door.wait(),
            Act::CallBack(pool) => {
                let (number, calls) = call(&pool, Act::Call);
                assert_eq!(calls, 1, "a call inside has a fresh state");
                assert_eq!(state.calls.get(), 1, "and the outer one is left alone");
                return (number, state.number as u32);
            }
        }
        (state.number, calls)
    };
    let builder = settings(FnPool::builder().name("quiet"));
    builder.build_with(move || State::new(&registry), function).expect("good settings")
}

#[track_caller]
fn call(pool: &Acts, act: Act) -> (usize, u32) {
    pool.call(act).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_worker_makes_its_own_state_and_keeps_it() {
    let registry = Arc::<Registry>::default();
    let pool = pool(&registry, |builder| builder.workers(3).keep_alive(None));
    for round in 1..=4 {
        let door = Door::new();
        let handles: Vec<_> =
            (0..3).map(|_| pool.spawn(Act::Wait(door.clone())).unwrap()).collect();
        door.await_waiting(3);
        door.open();
        let mut told: Vec<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        told.sort_unstable();
        assert_eq!(told, [(0, round), (1, round), (2, round)]);
    }
    assert_eq!((registry.made(), registry.alive()), (3, 3));
    pool.drain().unwrap();
    assert_eq!((registry.alive(), registry.dropped_at_home()), (0, 3), "drain waits for that");
}

#[test]
fn a_state_is_made_anew_after_a_panic() {
    let registry = Arc::<Registry>::default();
    let pool = pool(&registry, |builder| builder.workers(1).keep_alive(None));
    assert_eq!((call(&pool, Act::Call), call(&pool, Act::Call)), ((0, 1), (0, 2)));
    assert!(matches!(pool.call(Act::Panic), Err(CallError::Panicked(_))));
    assert_eq!((call(&pool, Act::Call), call(&pool, Act::Call)), ((1, 1), (1, 2)));
    pool.submit(Act::Panic).unwrap();
    assert_eq!(call(&pool, Act::Call), (2, 1));
    assert_eq!((registry.alive(), registry.dropped_at_home()), (1, 2));
    assert_eq!(pool.workers(), 1, "it is still the same worker");
}

#[test]
fn a_state_is_dropped_with_its_worker() {
    let registry = Arc::<Registry>::default();
    let brief = Duration::from_millis(1);
    let pool = pool(&registry, |builder| builder.workers(2).keep_alive(brief));
    for round in 0..5 {
        assert_eq!(call(&pool, Act::Call), (round, 1), "a new worker has a new state");
        eventually("the worker retires", || pool.workers() == 0);
        assert_eq!(registry.alive(), 0, "a worker counts until its state is gone");
        assert_eq!(registry.dropped_at_home(), round + 1);
    }
}

#[test]
fn a_smaller_pool_drops_the_states_of_those_who_go() {
    let (registry, door) = (Arc::<Registry>::default(), Door::new());
    let pool = pool(&registry, |builder| builder.workers(4).keep_alive(None));
    (0..4).for_each(|_| pool.submit(Act::Wait(door.clone())).unwrap());
    door.await_waiting(4);
    assert_eq!(registry.alive(), 4);
    pool.resize(1).unwrap();
    assert_eq!(registry.alive(), 4, "nobody is sent away from a task");
    door.open();
    eventually("three workers go", || pool.workers() == 1);
    assert_eq!((registry.alive(), registry.dropped_at_home()), (1, 3));
}

#[test]
fn the_last_handle_takes_the_states_with_it() {
    let registry = Arc::<Registry>::default();
    let pool = pool(&registry, |builder| builder.workers(1).keep_alive(None));
    call(&pool, Act::Call);
    assert_eq!(registry.alive(), 1);
    drop(pool);
    eventually("the worker goes", || registry.alive() == 0);
    assert_eq!(registry.dropped_at_home(), 1);
}

#[test]
fn never_more_states_are_alive_than_there_may_be_workers() {
    let (registry, workers) = (Arc::<Registry>::default(), 3);
    let (mut random, door) = (Random(seed("never_more_states")), Door::new());
    let brief = Duration::from_micros(50);
    let pool = pool(&registry, |builder| builder.workers(workers).keep_alive(brief));
    door.open();
    let begin = Instant::now();
    let mut submitted = 0;
    while begin.elapsed() < stress_time(Duration::from_millis(800)) {
        for _ in 0..random.below(20) {
            let act = match random.below(4) {
                0 => Act::Panic,
                1 => Act::Wait(door.clone()),
                _ => Act::Call,
            };
            pool.submit(act).unwrap();
            submitted += 1;
        }
        if random.below(4) == 0 {
            eventually("all workers retire", || pool.workers() == 0);
            assert_eq!(registry.alive(), 0);
        }
    }
    pool.drain().unwrap();
    let stats = pool.stats();
    assert_eq!(stats.completed + stats.panicked, submitted);
    assert_eq!((registry.alive(), registry.dropped_at_home()), (0, registry.made()));
    assert!(registry.most.load(Ordering::SeqCst) <= workers, "{:?}", registry.most);
    assert!(registry.made() > workers, "some were made anew");
}

#[test]
fn an_init_that_panics_costs_the_task_and_is_tried_again() {
    hush_quiet_threads();
    let (fails, (sender, receiver)) = (Arc::new(AtomicBool::new(true)), mpsc::channel());
    let failing = Arc::clone(&fails);
    let hook = move |panic: &formic::TaskPanic| {
        let line = panic.submitted_at().map(std::panic::Location::line);
        sender.send((panic.message().to_owned(), line)).unwrap();
    };
    let init = move || assert!(!failing.load(Ordering::SeqCst), "no ink yet");
    let builder = FnPool::builder().workers(1).queue(8).name("quiet").on_panic(hook);
    let pool = builder.build_with(init, |(): &mut (), number: u32| number + 1).unwrap();
    for _ in 0..3 {
        let line = line!() + 1;
        pool.submit(1).unwrap();
        assert_eq!(receiver.recv().unwrap(), ("no ink yet".to_owned(), Some(line)));
    }
    assert!(pool.call(1).is_err(), "a call does not hang");
    pool.wait_idle().unwrap();
    assert_eq!((pool.stats().panicked, pool.workers()), (4, 1), "the worker has its place");
    fails.store(false, Ordering::SeqCst);
    assert_eq!(pool.call(1).unwrap(), 2);
    pool.drain().unwrap();
    assert_eq!((pool.stats().panicked, pool.stats().completed), (4, 1));
}

#[test]
fn a_state_whose_drop_panics_does_no_harm() {
    struct Bomb(mpsc::Sender<()>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.send(()).expect("the test listens");
            panic!("a state that will not go");
        }
    }
    hush_quiet_threads();
    let (sender, receiver) = mpsc::channel();
    let builder = FnPool::builder().workers(1).name("quiet").keep_alive(Duration::from_millis(1));
    let init = move || Bomb(sender.clone());
    let pool = builder.build_with(init, |_: &mut Bomb, fine: bool| assert!(fine, "oh")).unwrap();
    // After a panic, on retirement, and at the end.
    assert!(matches!(pool.call(false), Err(CallError::Panicked(_))));
    receiver.recv_timeout(common::PATIENCE).unwrap();
    pool.call(true).unwrap();
    receiver.recv_timeout(common::PATIENCE).unwrap();
    eventually("the worker retires", || pool.workers() == 0);
    pool.call(true).unwrap();
    pool.drain().unwrap();
    receiver.try_recv().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.completed, stats.panicked, stats.workers), (2, 1, 0));
}

#[test]
fn a_call_that_a_call_waits_for_has_a_state_of_its_own() {
    let registry = Arc::<Registry>::default();
    let pool = pool(&registry, |builder| builder.workers(1).keep_alive(None));
    assert_eq!(call(&pool, Act::CallBack(pool.clone())), (1, 0));
    assert_eq!(registry.made(), 2);
    // The worker beyond the capacity leaves, or the other one does in its place.
    eventually("one worker has left", || registry.alive() == 1);
    assert_eq!(registry.dropped_at_home(), 1);
}

#[test]
fn a_call_that_its_submitter_runs_has_a_state_of_its_own() {
    let (registry, door) = (Arc::<Registry>::default(), Door::new());
    let settings = |builder: formic::Builder<Acts>| builder.workers(1).queue(0).keep_alive(None);
    let pool = pool(&registry, |builder| settings(builder).when_full(WhenFull::CallerRuns));
    let outer = pool.spawn(Act::Wait(door.clone())).unwrap();
    door.await_waiting(1);
    assert_eq!((call(&pool, Act::Call), call(&pool, Act::Call)), ((1, 1), (2, 1)));
    pool.submit(Act::Call).unwrap();
    assert_eq!(pool.stats().completed, 3, "they have run when the calls return");
    assert_eq!((registry.made(), registry.alive(), registry.dropped_at_home()), (4, 1, 3));
    let here = thread::current().id();
    assert!(registry.dropped.lock().unwrap().iter().all(|(_, home, _)| *home == here));
    assert_eq!(pool.try_submit(Act::Call).unwrap_err().reason(), Refused::Full);
    assert_eq!(pool.try_spawn(Act::Call).unwrap_err().reason(), Refused::Full);
    door.open();
    assert_eq!(outer.join().unwrap(), (0, 1));
}
