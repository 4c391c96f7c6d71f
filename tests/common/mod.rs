//! What the tests share: a door to hold workers at, a patient look, a seed that is printed.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[cfg(target_os = "linux")]
pub mod child;
#[cfg(feature = "tokio")]
pub mod on_tokio;
pub mod own_process;

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a test waits for what must come: far longer than it can take, also under Miri.
pub const PATIENCE: Duration = Duration::from_secs(if cfg!(miri) { 600 } else { 30 });

/// A door that tasks wait at until the test opens it. It can be seen how many wait.
#[derive(Clone, Default)]
pub struct Door {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    open: bool,
    passes: usize,
    waiting: usize,
}

impl Door {
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until the door is open, or until one pass is given.
    pub fn wait(&self) {
        let (state, change) = &*self.shared;
        let mut state = state.lock().unwrap();
        state.waiting += 1;
        change.notify_all();
        let mut state = change.wait_while(state, |state| !state.open && state.passes == 0).unwrap();
        if !state.open {
            state.passes -= 1;
        }
        state.waiting -= 1;
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        let (state, change) = &*self.shared;
        state.lock().unwrap().open = true;
        change.notify_all();
    }

    /// Lets one through.
    pub fn let_one_pass(&self) {
        let (state, change) = &*self.shared;
        state.lock().unwrap().passes += 1;
        change.notify_all();
    }

    /// Returns when `count` wait at the door.
    pub fn await_waiting(&self, count: usize) {
        let (state, change) = &*self.shared;
        let state = state.lock().unwrap();
        let (state, timeout) =
            change.wait_timeout_while(state, PATIENCE, |state| state.waiting < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} came to the door", state.waiting);
    }
}

/// Looks until `condition` holds; for what only the clock or the operating system can tell.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::yield_now();
    }
}

/// How many threads of this process have a name that begins with `name`. Names are cut to 15
/// bytes by the operating system, so keep them short, and give each test's pool its own.
#[cfg(target_os = "linux")]
pub fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let named = |entry: std::fs::DirEntry| {
        // A thread may end between the two looks.
        std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm.starts_with(name))
    };
    tasks.filter_map(Result::ok).filter_map(|entry| named(entry).then_some(())).count()
}

/// The seed of a random test: given by `FORMIC_SEED`, or taken from the clock. Always printed.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("FORMIC_SEED").ok().and_then(|text| text.parse().ok());
    let clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |time| time.as_nanos() as u64)
    };
    let seed = given.unwrap_or_else(clock);
    println!("{test}: repeat with FORMIC_SEED={seed} cargo test --workspace {test}");
    seed
}

/// How long a random test runs: given by `FORMIC_STRESS_SECONDS`, or `short`.
pub fn stress_time(short: Duration) -> Duration {
    let given = std::env::var("FORMIC_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    given.map_or(short, Duration::from_secs)
}

/// Small, fast and good enough random numbers (`SplitMix64`).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Polls a future on this thread until it is ready, parking in between.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

/// Polls a future once.
pub fn poll_once<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

/// What the operating system tells about one thread.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    pub thread: String,
    /// It waits for something; it neither runs nor wants to.
    pub asleep: bool,
    /// The processor time it has used, in ticks.
    pub ticks: u64,
    /// How often it has left a processor, by itself or not.
    pub switches: u64,
}

/// One glance at each thread whose name begins with `name`, in the order of the names.
#[cfg(target_os = "linux")]
pub fn glance_at(name: &str) -> Vec<Glance> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    let mut seen: Vec<Glance> = tasks
        .filter_map(Result::ok)
        // A thread may end between the looks.
        .filter_map(|entry| glance(&entry.path()))
        .filter(|glance| glance.thread.starts_with(name))
        .collect();
    seen.sort_by(|one, other| one.thread.cmp(&other.thread));
    seen
}

#[cfg(target_os = "linux")]
fn glance(task: &std::path::Path) -> Option<Glance> {
    let read = |file| std::fs::read_to_string(task.join(file)).ok();
    let thread = read("comm")?.trim_end().to_owned();
    // The name may hold anything, so the figures are counted from behind its bracket.
    let stat = read("stat")?;
    let figures: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = figures[11].parse::<u64>().ok()? + figures[12].parse::<u64>().ok()?;
    let status = read("status")?;
    let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
    let switches = switches.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Some(Glance { thread, asleep: figures[0] == "S", ticks, switches: switches.sum() })
}

/// Returns when the thread of this name has gone to sleep, or for good.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn await_sleep(name: &str) {
    let asleep = || glance_at(name).iter().all(|glance| glance.asleep);
    eventually(&format!("{name} sleeps"), || asleep() && asleep());
}

/// No thread of this name gets a processor, not even once.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn assert_silent(name: &str, threads: usize) {
    eventually("all threads sleep", || {
        let seen = glance_at(name);
        seen.len() == threads && seen.iter().all(|glance| glance.asleep)
    });
    // Settled: what a worker does before it rests for good is over within this time, unless
    // the machine stands still; then there is another look.
    eventually("the pool falls silent", || {
        let before = glance_at(name);
        std::thread::park_timeout(Duration::from_millis(300));
        before == glance_at(name)
    });
    // Silent once is silent for good.
    let before = glance_at(name);
    std::thread::park_timeout(Duration::from_millis(300));
    assert_eq!(before, glance_at(name));
}

/// Sends `count` tasks to the pool that wait at the door, and returns when all of them do.
pub fn hold_workers(pool: &formic::Pool, door: &Door, count: usize) {
    for _ in 0..count {
        let door = door.clone();
        pool.submit(move || door.wait()).expect("there is a place for what holds a worker");
    }
    door.await_waiting(count);
}

/// Runs so many tiny tasks that the pool takes them the fast way, and waits for their end.
pub fn warm_up(pool: &formic::Pool) {
    for _ in 0..5_000 {
        pool.submit(|| ()).expect("the pool is open");
    }
    pool.wait_idle().expect("this is no task of the pool");
}

/// Joins a thread that must come to its end; if it hangs, the test fails instead of hanging too.
#[track_caller]
pub fn join<T>(thread: std::thread::JoinHandle<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    while !thread.is_finished() {
        assert!(Instant::now() < deadline, "a thread hangs for {PATIENCE:?}");
        std::thread::sleep(Duration::from_micros(200));
    }
    thread.join().expect("the thread does not panic")
}

/// Keeps panics of threads whose name begins with `quiet` off the standard error.
pub fn hush_quiet_threads() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let current = std::thread::current();
            if !current.name().is_some_and(|name| name.starts_with("quiet")) {
                print(panic);
            }
        }));
    });
}

/// Counts threads from their start to their very end, when their thread-locals are dropped. Unlike
/// the list of the operating system, which shows a thread for a moment after it has been joined,
/// this one is exact: a thread that has been joined is not counted, one that has not may be.
#[derive(Clone, Default)]
pub struct Census(Arc<std::sync::atomic::AtomicUsize>);

struct Counted(Census);

thread_local! {
    static COUNTED: std::cell::RefCell<Option<Counted>> = const { std::cell::RefCell::new(None) };
}

impl Census {
    /// A hook that counts the calling thread.
    pub fn hook(&self) -> impl Fn(usize) + Send + Sync + 'static {
        let census = self.clone();
        move |_| {
            census.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            COUNTED.set(Some(Counted(census.clone())));
        }
    }

    pub fn count(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Slow, so that whoever does not wait for the thread's end is found out.
        (0..20).for_each(|_| std::thread::yield_now());
        self.0.0.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Submits tasks that wait at the door; returns the count of those that have run.
pub fn submit_held(
    pool: &formic::Pool,
    door: &Door,
    tasks: usize,
) -> Arc<std::sync::atomic::AtomicUsize> {
    let ran = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for _ in 0..tasks {
        let (door, ran) = (door.clone(), Arc::clone(&ran));
        let task = move || {
            door.wait();
            ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        pool.submit(task).expect("the pool is open");
    }
    ran
}

/// Runs a task that is given the pool and waits for what it returns.
#[track_caller]
pub fn inside<T: Send + 'static>(
    pool: &formic::Pool,
    task: impl FnOnce(&formic::Pool) -> T + Send + 'static,
) -> T {
    let (handle, (sender, receiver)) = (pool.clone(), std::sync::mpsc::channel());
    let task = move || drop(sender.send(task(&handle)));
    pool.submit(task).expect("the pool is open");
    receiver.recv_timeout(PATIENCE).expect("the task neither hangs nor panics")
}
