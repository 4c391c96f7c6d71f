//! Models of drivers: a thread of the model is the runtime that turns one.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::{Event, explore, explore_up_to, settings};
use crate::engine::executor::cell::{Cell, Runnable};
use crate::engine::executor::driver::{Driver, Drives, Turn};
use crate::engine::executor::{DriverThreads, Executor, Owner};
use crate::engine::{
    End, Ended, Engine, Joinable, NoStart, Patience, QueueEntry, QueuedTask, Settings, TaskState,
    Unpack, Work, WorkerKind,
};
use crate::handle::JoinHandle;

mod each;
mod ends;
mod stop;
mod watchdog;
mod lend;
mod wakes;

type Pool = Arc<Engine<Futures>>;
type Boxed = Pin<Box<dyn Future<Output = usize> + Send>>;
type Packed = Arc<Cell<Boxed>>;
type Spawned = TaskState<Futures, Packed, usize>;

/// Futures without a runtime.
struct Futures {
    executor: Arc<Executor>,
    start: StdMutex<Start>,
    /// Drivers that were started and wait to be turned.
    waiting: StdMutex<Vec<Turned>>,
}

/// What happens when a driver is started.
#[derive(Clone, Copy)]
enum Start {
    /// A thread turns it until it leaves.
    Thread,
    /// It waits until the model takes it: see [`drivers`].
    ByHand,
    /// A thread drops it before its first turn.
    Dropped,
    /// It is dropped at once.
    Gone,
}

enum Job {
    Bare(Arc<dyn Runnable>),
    Spawned(QueueEntry<Spawned>),
}

impl Work for Futures {
    type Job = Job;

    const MOST: usize = 8;

    fn worker_kind(&self) -> WorkerKind {
        WorkerKind::Drivers(self.executor.drivers())
    }

    fn queued_task(job: &Job) -> Option<&dyn QueuedTask> {
        match job {
            Job::Bare(_) => None,
            Job::Spawned(queue_entry) => Some(queue_entry.task()),
        }
    }

    fn start(engine: &Pool, index: usize) -> Result<(), NoStart> {
        let alarm = Arc::new(Alarm::default());
        let (driver, rely) = Driver::new(engine, index, Waker::from(Arc::clone(&alarm)));
        let driver = Turned { driver, alarm };
        let start = *engine.work().start.lock().unwrap();
        match start {
            Start::Thread => drop(thread::spawn(move || turn_until_it_leaves(driver))),
            Start::ByHand => engine.work().waiting.lock().unwrap().push(driver),
            Start::Dropped => drop(thread::spawn(move || drop(driver))),
            Start::Gone => drop(driver),
        }
        if rely() { Ok(()) } else { Err(NoStart::RuntimeGone) }
    }

    fn wake_running(&self) {
        self.executor.wake_all();
    }
}

impl Drives for Futures {
    fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    fn begin(_: &Pool, _: usize, job: Job) -> Result<Arc<dyn Runnable>, End> {
        match job {
            Job::Bare(cell) => Ok(cell),
            Job::Spawned(queue_entry) => queue_entry.begin(|task_state, claimed| {
                let cell = task_state.take_to_drive(claimed)?;
                cell.tell(Arc::clone(task_state) as _);
                Ok(cell as _)
            }),
        }
    }
}

impl Unpack<Packed, usize> for Futures {
    fn job(task_state: Arc<Spawned>, claimed: bool) -> Job {
        Job::Spawned(QueueEntry::new(task_state, claimed))
    }
}

fn pool(drivers: usize, start: Start, settings: Settings) -> Pool {
    pool_on(Executor::new(drivers, DriverThreads::Shared), start, settings)
}

fn pool_on(executor: Arc<Executor>, start: Start, settings: Settings) -> Pool {
    Engine::new(
        settings,
        Futures { executor, start: StdMutex::new(start), waiting: StdMutex::default() },
    )
}

/// Starts all drivers of a pool. The model turns them.
fn drivers<const COUNT: usize>(pool: &Pool) -> [Turned; COUNT] {
    pool.prestart(COUNT).unwrap();
    let drivers = std::mem::take(&mut *pool.work().waiting.lock().unwrap());
    drivers.try_into().ok().expect("as many drivers as the pool may have")
}

/// A task without a handle.
fn bare(future: impl Future<Output = usize> + Send + 'static) -> Job {
    Job::Bare(Cell::new(Box::pin(future) as Boxed, Location::caller()))
}

fn submit(pool: &Pool, future: impl Future<Output = usize> + Send + 'static) {
    assert!(pool.submit(bare(future), Patience::None).is_ok());
}

fn pack(pool: &Pool, future: impl Future<Output = usize> + Send + 'static) -> (Arc<Spawned>, Job) {
    let origin = Location::caller();
    TaskState::new(pool, Cell::new(Box::pin(future) as Boxed, origin), origin)
}

fn spawn(
    pool: &Pool,
    future: impl Future<Output = usize> + Send + 'static,
) -> Arc<dyn Joinable<usize>> {
    let (task_state, job) = pack(pool, future);
    // From inside it enters however full the pool is.
    assert!(pool.submit(job, Patience::Future).is_ok());
    task_state
}

fn outcome(task_state: Arc<dyn Joinable<usize>>) -> Option<usize> {
    block_on(JoinHandle::new(task_state)).ok()
}

/// Closes the pool and waits until its drivers have gone.
fn drain(pool: &Pool) {
    pool.close();
    block_on(pool.until(Ended::Workers)).unwrap();
    assert!(pool.stats().adds_up());
}

/// How many tasks were completed and cancelled.
fn ended(pool: &Pool) -> (u64, u64) {
    let stats = pool.stats();
    assert!(stats.adds_up());
    (stats.completed, stats.cancelled)
}

// ---- The runtime ---------------------------------------------------------------------------------

/// Wakes a thread of the model. Unlike loom's own way to park, it is not confused by a thread that
/// waits for a lock when it is woken.
#[derive(Default)]
struct Alarm {
    rings: Mutex<bool>,
    ring: Condvar,
}

impl Alarm {
    fn sleep(&self) {
        let mut rings = self.rings.lock().unwrap();
        while !*rings {
            rings = self.ring.wait(rings).unwrap();
        }
        *rings = false;
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        *self.rings.lock().unwrap() = true;
        self.ring.notify_all();
    }
}

fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = std::pin::pin!(future);
    let alarm = Arc::new(Alarm::default());
    let waker = Waker::from(Arc::clone(&alarm));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        alarm.sleep();
    }
}

/// A driver, and what wakes it.
struct Turned {
    driver: Driver<Futures>,
    alarm: Arc<Alarm>,
}

/// One turn of a driver.
fn turn(driver: &mut Turned) -> Turn {
    driver.driver.turn(|| ())
}

fn turn_until_it_leaves(mut driver: Turned) {
    // If it was woken before, the first turn is for that.
    *driver.alarm.rings.lock().unwrap() = false;
    loop {
        match turn(&mut driver) {
            Turn::Leave => return,
            Turn::Sleep => driver.alarm.sleep(),
            Turn::Yield => unreachable!("it polls less than a turn's worth"),
        }
    }
}

// ---- What tasks do -------------------------------------------------------------------------------

/// Counts in what has been dropped with it.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicDrops>);

struct AtomicDrops(AtomicUsize);

impl Default for AtomicDrops {
    fn default() -> Self {
        AtomicDrops(AtomicUsize::new(0))
    }
}

impl Drops {
    fn count(&self) -> usize {
        self.0.0.load(Ordering::Relaxed)
    }

    fn guard(&self) -> Guard {
        Guard(self.clone())
    }
}

struct Guard(Drops);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.0.fetch_add(1, Ordering::Relaxed);
    }
}
