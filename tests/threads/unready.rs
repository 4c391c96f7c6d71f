//! A state that may fail: a worker that is not ready takes no task, and the others go on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::common::{self, Door, Random, eventually, hush_quiet_threads, seed, stress_time};
use formic::{Builder, CallError, FnPool, Refused, StateBuilder, WhenFull};

const BRIEF: Duration = Duration::from_millis(1);
/// Longer than any test: what must happen at once does not wait for a pause of this length.
const LONG: Duration = Duration::from_secs(3600);

/// What the workers connect to: one server for each worker's place.
#[derive(Default)]
struct Servers {
    down: Mutex<HashSet<usize>>,
    all_down: AtomicBool,
    attempts: AtomicUsize,
    /// The places that have a connection.
    live: Mutex<HashSet<usize>>,
}

impl Servers {
    fn is_up(&self, worker: usize) -> bool {
        !self.all_down.load(Ordering::SeqCst) && !self.down.lock().unwrap().contains(&worker)
    }

    fn all_down() -> Arc<Self> {
        let servers = Arc::<Servers>::default();
        servers.set_all_down(true);
        servers
    }

    fn set_all_down(&self, down: bool) {
        self.all_down.store(down, Ordering::SeqCst);
    }

    fn set_down(&self, worker: usize, down: bool) {
        let mut set = self.down.lock().unwrap();
        if down {
            set.insert(worker)
        } else {
            set.remove(&worker)
        };
    }

    fn live(&self) -> usize {
        self.live.lock().unwrap().len()
    }

    fn attempts(&self) -> usize {
        self.attempts.load(Ordering::SeqCst)
    }
}

/// Belongs to one worker's place, and to its thread.
struct Connection {
    servers: Arc<Servers>,
    worker: usize,
    home: ThreadId,
}

impl Connection {
    fn open(servers: &Arc<Servers>, worker: usize) -> Result<Self, &'static str> {
        servers.attempts.fetch_add(1, Ordering::SeqCst);
        if !servers.is_up(worker) {
            return Err("connection refused");
        }
        let is_new = servers.live.lock().unwrap().insert(worker);
        assert!(is_new, "two workers have the place {worker}");
        let (servers, home) = (Arc::clone(servers), thread::current().id());
        Ok(Connection { servers, worker, home })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        assert_eq!(self.home, thread::current().id(), "a state is dropped elsewhere");
        self.servers.live.lock().unwrap().remove(&self.worker);
    }
}

/// What a call does; it returns the number of its worker.
enum Query {
    Plain,
    Wait(Door),
    Renew,
    Panic,
    /// Calls this pool.
    Call(Queries),
}

type Queries = FnPool<Query, usize>;
type Settings = StateBuilder<Query, usize, Connection, &'static str>;

fn answer(connection: &mut Connection, query: Query) -> usize {
    assert_eq!(connection.home, thread::current().id(), "a state leaves its thread");
    match query {
        Query::Plain => {}
        Query::Wait(door) => door.wait(),
        Query::Renew => formic::renew_state(),
        Query::Panic => panic!("in the midst of it"),
        Query::Call(pool) => return pool.call(Query::Plain).unwrap(),
    }
    connection.worker
}

fn builder(workers: usize) -> Builder<Queries> {
    FnPool::builder().workers(workers).keep_alive(None).name("quiet")
}

fn settings(servers: &Arc<Servers>, builder: Builder<Queries>) -> Settings {
    hush_quiet_threads();
    let servers = Arc::clone(servers);
    builder.state(move |worker| Connection::open(&servers, worker)).retry(BRIEF, BRIEF)
}

/// A pool that asks whether the server is up before each task.
fn asking(servers: &Arc<Servers>, workers: usize) -> Queries {
    let settings =
        settings(servers, builder(workers)).ready(|state| state.servers.is_up(state.worker));
    settings.build(answer).unwrap()
}

/// Returns when all workers there may be are not ready.
fn await_unready(pool: &Queries) {
    eventually("no worker is ready", || pool.stats().unready == pool.capacity());
}

#[test]
fn a_worker_that_cannot_connect_takes_no_task_and_others_go_on() {
    let servers = Arc::<Servers>::default();
    servers.set_down(0, true);
    let (tell, told) = mpsc::channel();
    let pool = settings(&servers, builder(2))
        .on_state_error(move |worker, error, _| tell.send((worker, *error)).unwrap())
        .build(answer)
        .unwrap();
    for _ in 0..200 {
        assert_eq!(pool.call(Query::Plain).unwrap(), 1);
    }
    assert_eq!(told.recv().unwrap(), (0, "connection refused"));
    assert!(told.try_iter().all(|(worker, _)| worker == 0));
    assert_eq!((pool.stats().completed, pool.stats().panicked), (200, 0));
}

#[test]
fn a_worker_whose_connection_dies_takes_no_task_until_it_is_back() {
    let servers = Arc::<Servers>::default();
    let (pool, door) = (asking(&servers, 2), Door::new());
    let held = [0, 1].map(|_| pool.spawn(Query::Wait(door.clone())).unwrap());
    door.await_waiting(2);
    door.open();
    held.into_iter().for_each(|handle| _ = handle.join().unwrap());
    for dead in [0, 1, 0, 1] {
        servers.set_down(dead, true);
        for _ in 0..100 {
            assert_eq!(pool.call(Query::Plain).unwrap(), 1 - dead);
        }
        servers.set_down(dead, false);
    }
    // While the other one is busy, the task is for the one that is back.
    servers.set_down(0, true);
    let door = Door::new();
    let held = pool.spawn(Query::Wait(door.clone())).unwrap();
    door.await_waiting(1);
    let handle = pool.spawn(Query::Plain).unwrap();
    eventually("the worker declines", || pool.stats().unready == 1);
    servers.set_down(0, false);
    assert_eq!(handle.join().unwrap(), 0);
    door.open();
    assert_eq!(held.join().unwrap(), 1);
    assert_eq!(servers.attempts(), 2, "it is the same connection");
}

#[test]
fn while_no_worker_is_ready_tasks_wait_and_then_each_runs_once() {
    for asks in [false, true] {
        let servers = Servers::all_down();
        let (ran, settings) = (Arc::new(AtomicUsize::new(0)), settings(&servers, builder(3)));
        let settings = if asks { settings.ready(|_| true) } else { settings };
        let count = Arc::clone(&ran);
        let call = move |state: &mut Connection, query| {
            count.fetch_add(1, Ordering::SeqCst);
            answer(state, query)
        };
        let pool = settings.build(call).unwrap();
        let handles: Vec<_> = (0..100).map(|_| pool.spawn(Query::Plain).unwrap()).collect();
        (0..100).for_each(|_| pool.submit(Query::Plain).unwrap());
        await_unready(&pool);
        let left = pool.drain_timeout(Duration::from_millis(20)).unwrap_err();
        assert_eq!((left.queued(), left.running()), (200, 0));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        servers.set_all_down(false);
        pool.drain().unwrap();
        handles.into_iter().for_each(|handle| _ = handle.join().unwrap());
        assert_eq!((ran.load(Ordering::SeqCst), pool.stats().completed), (200, 200));
        assert_eq!(servers.live(), 0, "the workers took their states with them");
    }
}

#[test]
fn attempts_are_counted_from_the_last_success() {
    let (failures, (tell, told)) = (AtomicUsize::new(3), mpsc::channel());
    let init = move |_| {
        let failed = failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            Some(left.checked_sub(1).unwrap_or(2))
        });
        if failed == Ok(0) { Ok(()) } else { Err("not yet") }
    };
    let pool = FnPool::builder()
        .workers(1)
        .state(init)
        .retry(BRIEF, BRIEF)
        .on_state_error(move |_, _, attempt| tell.send(attempt).unwrap())
        .build(|(), ()| formic::renew_state())
        .unwrap();
    for attempts in [vec![1, 2, 3], vec![1, 2], vec![1, 2]] {
        pool.call(()).unwrap();
        pool.wait_idle().unwrap();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), attempts);
    }
}

#[test]
fn an_init_that_panics_costs_no_task() {
    hush_quiet_threads();
    let (left, (tell, told)) = (AtomicUsize::new(3), mpsc::channel());
    let init = move |_| {
        let left = left.fetch_sub(1, Ordering::SeqCst);
        assert!(left == 0, "no ink yet");
        Ok::<_, ()>(())
    };
    let builder = FnPool::builder().workers(1).name("quiet");
    let builder = builder.on_panic(move |panic| tell.send(panic.message().to_owned()).unwrap());
    let state = builder.state(init).retry(BRIEF, BRIEF);
    let pool = state.build(|(), number: u32| number + 1).unwrap();
    assert_eq!(pool.call(1).unwrap(), 2);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), vec!["no ink yet"; 3]);
    assert_eq!((pool.stats().panicked, pool.stats().completed), (0, 1));
}

#[test]
fn after_a_panic_of_ready_or_of_a_call_the_state_is_made_anew() {
    hush_quiet_threads();
    let (servers, broken) = (Arc::<Servers>::default(), Arc::new(AtomicBool::new(true)));
    let settings = settings(&servers, builder(1));
    let breaks = Arc::clone(&broken);
    let ready = move |_: &mut Connection| {
        assert!(!breaks.swap(false, Ordering::SeqCst), "ready panics once");
        true
    };
    let pool = settings.ready(ready).build(answer).unwrap();
    assert_eq!(pool.call(Query::Plain).unwrap(), 0);
    assert_eq!((servers.attempts(), servers.live()), (2, 1));
    assert!(matches!(pool.call(Query::Panic), Err(CallError::Panicked(_))));
    assert_eq!(pool.call(Query::Plain).unwrap(), 0);
    assert_eq!((servers.attempts(), servers.live()), (3, 1));
}

#[test]
fn a_call_can_have_the_state_made_anew() {
    for asks in [false, true] {
        let servers = Arc::<Servers>::default();
        let settings = settings(&servers, builder(1).queue(5000));
        let settings = if asks { settings.ready(|_| true) } else { settings };
        let pool = settings.build(answer).unwrap();
        pool.call(Query::Plain).unwrap();
        pool.call(Query::Renew).unwrap();
        eventually("it is dropped before the next call", || servers.live() == 0);
        pool.call(Query::Plain).unwrap();
        pool.call(Query::Plain).unwrap();
        assert_eq!(servers.attempts(), 2);
        // Also where workers take tasks without the lock.
        for _ in 0..1000 {
            pool.submit(Query::Plain).unwrap();
            pool.submit(Query::Renew).unwrap();
        }
        pool.wait_idle().unwrap();
        assert_eq!((servers.attempts(), pool.stats().completed), (1001, 2004));
    }
}

#[test]
fn only_the_call_itself_renews_its_state() {
    formic::renew_state(); // no call: nothing happens
    let plain = formic::Pool::new(1);
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let call = move |_: &mut (), ()| {
        // The worker runs the task that it joins, or another one does: it has no state in either case.
        plain.spawn(formic::renew_state).unwrap().join().unwrap();
    };
    let init = move || _ = count.fetch_add(1, Ordering::SeqCst);
    let pool = FnPool::with_state(1, init, call);
    (0..20).for_each(|_| pool.call(()).unwrap());
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[test]
fn one_call_makes_one_state() {
    let servers = Arc::<Servers>::default();
    let pool = asking(&servers, 8);
    for _ in 0..20 {
        pool.call(Query::Plain).unwrap();
        pool.wait_idle().unwrap();
    }
    assert_eq!((servers.attempts(), pool.workers()), (1, 1));
}

#[test]
fn an_init_that_hangs_holds_no_other_worker_up() {
    let (door, entered) = (Door::new(), Door::new());
    let (hang, first) = (door.clone(), entered.clone());
    let init = move |worker: usize| {
        if worker == 0 {
            first.open();
            hang.wait();
        }
        Ok::<_, ()>(worker)
    };
    let builder = FnPool::builder().workers(2).keep_alive(None);
    let pool = builder.build_with_state(init, |worker: &mut usize, ()| *worker).unwrap();
    let first = pool.spawn(()).unwrap();
    entered.wait();
    let second = pool.spawn(()).unwrap();
    assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 1));
    for _ in 0..100 {
        assert_eq!(pool.call(()).unwrap(), 1);
    }
    assert_eq!(pool.stats().unready, 1);
    door.open();
    pool.drain().unwrap();
}

#[test]
fn a_call_that_a_call_waits_for_has_a_worker_with_a_state() {
    let servers = Arc::<Servers>::default();
    let pool = asking(&servers, 1);
    for _ in 0..50 {
        let inner = pool.call(Query::Call(pool.clone())).unwrap();
        assert!(inner < 2, "one worker beyond the capacity is enough");
    }
    pool.drain().unwrap();
    assert_eq!(servers.live(), 0);
}

#[test]
fn a_place_has_one_worker_at_a_time() {
    let (servers, mut random) = (Arc::<Servers>::default(), Random(seed("a_place_has_one")));
    let builder = builder(4).keep_alive(Duration::from_micros(50)).queue(200);
    let settings = settings(&servers, builder).retry(Duration::from_micros(20), BRIEF);
    let pool = settings.ready(|state| state.servers.is_up(state.worker)).build(answer).unwrap();
    let (begin, mut submitted) = (Instant::now(), 0);
    while begin.elapsed() < stress_time(Duration::from_millis(800)) {
        for _ in 0..random.below(20) {
            let query = match random.below(8) {
                0 => Query::Panic,
                1 => Query::Renew,
                _ => Query::Plain,
            };
            submitted += u64::from(pool.try_submit(query).is_ok());
        }
        match random.below(6) {
            0 => pool.resize(1 + random.below(6) as usize).unwrap(),
            1 => servers.set_down(random.below(6) as usize, true),
            2 => servers.set_all_down(true),
            3 => servers.set_all_down(false),
            _ => servers.set_down(random.below(6) as usize, false),
        }
    }
    (0..6).for_each(|worker| servers.set_down(worker, false));
    servers.set_all_down(false);
    pool.drain().unwrap();
    let stats = pool.stats();
    assert_eq!(stats.completed + stats.panicked, submitted);
    assert_eq!((servers.live(), stats.workers, stats.unready), (0, 0, 0));
}

/// A pool of three workers that are not ready for the three queued tasks, and are not asked again.
fn stuck(when_full: WhenFull) -> (Arc<Servers>, Queries) {
    let servers = Servers::all_down();
    let builder = builder(3).queue(0).when_full(when_full);
    let pool = settings(&servers, builder).retry(LONG, LONG).build(answer).unwrap();
    (0..3).for_each(|_| pool.submit(Query::Plain).unwrap());
    await_unready(&pool);
    (servers, pool)
}

#[test]
fn a_smaller_pool_lets_workers_go_that_are_not_ready() {
    let (servers, pool) = stuck(WhenFull::Wait);
    pool.resize(1).unwrap();
    eventually("two workers go", || pool.workers() == 1);
    assert_eq!((pool.queued(), servers.attempts()), (3, 3), "none was asked again");
    // A larger one has new workers, and they are asked.
    servers.set_all_down(false);
    pool.resize(2).unwrap();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 3);
}

#[test]
fn discarded_tasks_let_workers_go_that_are_not_ready() {
    let (_, pool) = stuck(WhenFull::Wait);
    assert!(pool.drain_timeout(BRIEF).is_err());
    assert_eq!(pool.discard(), 3);
    pool.drain().unwrap();
    assert_eq!((pool.workers(), pool.stats().cancelled), (0, 3));
    // The other way round.
    let (servers, pool) = stuck(WhenFull::Wait);
    assert_eq!(pool.discard(), 3);
    pool.drain().unwrap();
    servers.set_all_down(false);
    pool.reopen().unwrap();
    pool.call(Query::Plain).unwrap();
}

#[test]
fn the_last_handle_may_be_dropped_while_no_worker_is_ready() {
    let servers = Servers::all_down();
    let pool = settings(&servers, builder(2)).build(answer).unwrap();
    let handles = [0, 1, 2].map(|_| pool.spawn(Query::Plain).unwrap());
    await_unready(&pool);
    drop(pool);
    servers.set_all_down(false);
    handles.into_iter().for_each(|handle| _ = handle.join().unwrap());
    eventually("the workers go", || servers.live() == 0);
}

#[test]
fn cancelled_tasks_need_no_worker_that_is_ready() {
    let servers = Servers::all_down();
    let pool = settings(&servers, builder(2)).build(answer).unwrap();
    let handles = [0, 1, 2].map(|_| pool.spawn(Query::Plain).unwrap());
    await_unready(&pool);
    assert!(handles.iter().all(formic::JoinHandle::cancel));
    pool.drain().unwrap();
    assert_eq!((pool.stats().cancelled, servers.live()), (3, 0));
}

#[test]
fn a_call_gives_its_argument_back_when_its_time_is_over_before_a_worker_is_ready() {
    let pool = asking(&Servers::all_down(), 1);
    let error = pool.call_timeout(Query::Renew, BRIEF).unwrap_err();
    let CallError::Refused(refused) = error else { panic!("{error}") };
    assert_eq!(refused.reason(), Refused::Expired);
    assert!(matches!(refused.into_task(), Query::Renew));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let setting = |settings: Settings| settings.build(answer).unwrap_err().setting();
    let servers = Servers::all_down();
    assert_eq!(setting(settings(&servers, builder(1).unlimited())), Some("unlimited"));
    assert_eq!(setting(settings(&servers, builder(1)).retry(BRIEF, Duration::ZERO)), Some("retry"));
    let none = settings(&servers, builder(1)).retry(Duration::ZERO, BRIEF);
    assert_eq!(setting(none), Some("retry"));
    assert_eq!(setting(settings(&servers, builder(0))), Some("workers"));
}

#[test]
fn a_caller_runs_nothing_that_needs_a_state() {
    let (servers, pool) = stuck(WhenFull::CallerRuns);
    let refused = pool.submit(Query::Renew).unwrap_err();
    assert_eq!(refused.reason(), Refused::Full);
    assert!(matches!(refused.into_task(), Query::Renew));
    assert_eq!(pool.spawn(Query::Plain).unwrap_err().reason(), Refused::Full);
    assert_eq!(servers.attempts(), 3);
    pool.discard();
}

#[test]
fn an_unready_worker_has_no_timer_when_no_task_is_queued() {
    let servers = Servers::all_down();
    let pool = settings(&servers, builder(1)).build(answer).unwrap();
    pool.submit(Query::Plain).unwrap();
    await_unready(&pool);
    pool.discard();
    eventually("it is idle", || pool.stats().unready == 0);
    let attempts = servers.attempts();
    assert_eq!((pool.workers(), pool.stats().idle), (1, 1));
    servers.set_all_down(false);
    pool.call(Query::Plain).unwrap();
    assert_eq!(servers.attempts(), attempts + 1, "it is asked when there is a task");
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_pool_whose_workers_are_not_ready_is_silent() {
    let servers = Servers::all_down();
    let state = settings(&servers, builder(2).name("mute"));
    let pool = state.build(answer).unwrap();
    (0..2).for_each(|_| pool.submit(Query::Plain).unwrap());
    await_unready(&pool);
    pool.discard();
    eventually("all are idle", || pool.stats().unready == 0);
    common::assert_silent("mute", 2);
}
