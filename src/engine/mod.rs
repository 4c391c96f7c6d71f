//! The engine: one for every pool, generic over what a worker is handed.
//!
//! The files stand in the order a task passes them; the README beside them names the states, the
//! invariants, and why no wake-up is lost.

mod block; // .. in a cell
mod crew; // who takes it: every decision about workers
mod ends; // resize, wait until idle, close, drain, reopen
mod entry; // a task comes in: admitted at once, after a wait, or refused
mod gate; // who may enter, and who must wait
mod lane; // .. and how short tasks are taken without the lock
mod load; // .. and how much there is to do
mod line; // where it waits for a worker
mod pace; // .. how long tasks take
mod books; // .. and what became of every task
mod call; // .. who is called
mod growth; // .. how many there are, by load
mod idle; // .. who rests, and who goes
mod roster; // .. what each worker is doing
mod run; // how it is called
pub(crate) mod sync; // std or loom
pub(crate) mod task; // what it is
mod handle; // how its outcome gets to whoever waits for it
mod spin; // .. or spins before that
mod slip; // .. what stands in the line meanwhile
mod join; // .. how a thread waits for it
mod current; // .. how the task hears that it is to stop
pub(crate) mod wait; // how anybody waits
pub(crate) mod wait_list; // .. and in which order
mod threads; // the threads of a pool
mod worker; // .. and how one takes it
mod context; // what a thread runs
mod lend; // the places of tasks that wait
mod waits; // .. for handles
mod drive; // .. or the driver, which takes many
mod driver; // .. polls them
mod list; // .. when they are ready
mod latch; // .. behind a lock that is open again at once
mod lookout; // .. and is watched while it is the only one at work
mod cell; // .. in their cells
mod fetch; // .. which are there when they are needed
mod polling; // .. each of which knows where it is polled
mod remains; // .. of which the memory is left
#[cfg(any(feature = "tokio", loom))]
mod watched; // .. what a cell holds
#[cfg(feature = "tokio")]
mod bare; // .. if there is no handle

#[cfg(all(test, not(loom)))]
mod decisions;
#[cfg(all(test, not(loom)))]
mod faults;
#[cfg(all(test, not(loom)))]
pub(crate) mod stubs;
#[cfg(all(test, not(loom)))]
mod unmanned;

#[cfg(all(test, loom))]
pub(crate) mod models;

use std::io;
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

pub(crate) use self::crew::Hands;
use self::crew::{Acts, Crew, Limits, Phase};
use self::lane::Lane;
use self::line::Line;
use self::roster::Duty;
use self::sync::{Arc as Shared, Mutex, MutexGuard, lock};
use self::threads::{PoolId, Threads};

pub(crate) use self::context::{Kind, inside, resume_on_thread};
pub(crate) use self::crew::CloseListener;
pub(crate) use self::current::is_cancelled;
#[cfg(feature = "tokio")]
pub(crate) use self::ends::CloseSubscription;
pub(crate) use self::ends::Ended;
pub(crate) use self::entry::{Held, Patience};
pub(crate) use self::growth::ByLoad;
pub(crate) use self::handle::{Joinable, Parcel, Unpack};
pub(crate) use self::join::{
    block_on, block_on_or_retry, check_wait, poll_outcome, suspend_on, wait_for, wait_with,
};
pub(crate) use self::lane::MOST_BUSY as MAX_WORKERS;
pub(crate) use self::lend::{Lent, Release};
pub(crate) use self::load::{Load, Standing};
pub(crate) use self::run::{Counts, End, Hooks, contain};
pub(crate) use self::slip::Slip;
pub(crate) use self::sync::Padded;
pub(crate) use self::waits::Suspension;
pub(crate) use self::worker::start_worker;
#[cfg(feature = "tokio")]
pub(crate) use self::{
    bare::Bare,
    cell::{Cell, Errand, Runnable, Stock},
    driver::{Begin, Driver, Drives, Turn},
    list::{Board, List},
    polling::{forget_waits, is_away, polls_are_short},
    watched::Watched,
};

/// What the workers of a pool do, whatever they are.
pub(crate) trait Work: Send + Sync + Sized + 'static {
    /// What a worker is handed.
    type Job: Send + 'static;

    /// More tasks than this cannot run at once.
    const MOST: usize;

    /// What its workers are.
    fn hands(&self) -> Hands {
        Hands::Threads
    }

    /// Whether its tasks need nothing of a worker but its thread: no state.
    fn runs_anywhere(&self) -> bool {
        true
    }

    /// Starts a worker for a place of the roster.
    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart>;

    /// An error if no worker could be started, as far as can be known without starting one.
    fn check_start(&self) -> Result<(), NoStart> {
        Ok(())
    }

    /// Whether the calling thread may block until tasks of such a pool end.
    fn may_block() -> bool {
        true
    }

    /// Makes sure that a job will not run. False if it would not have run anyway.
    fn kill(job: &Self::Job) -> bool;

    /// Whether a job would not run, because its handle had it cancelled or run elsewhere.
    fn is_ghost(job: &Self::Job) -> bool;

    /// Where the job was submitted, if that is known.
    fn origin(job: &Self::Job) -> Option<&'static Location<'static>>;
}

/// Why a worker could not be started.
#[derive(Debug)]
pub(crate) enum NoStart {
    /// The operating system would not start a thread.
    Thread(io::Error),
    /// The runtime that would run it has shut down.
    RuntimeGone,
}

impl From<io::Error> for NoStart {
    fn from(error: io::Error) -> Self {
        NoStart::Thread(error)
    }
}

/// The work of threads, which run one job at a time.
pub(crate) trait ThreadWork: Work {
    /// What a worker keeps for itself between jobs.
    type State;

    /// Runs a job. May panic. The state is made when it is first needed, so that a panic there is the
    /// job's. `counts` says who counts the job, if it does so itself.
    fn run(&self, state: &mut Option<Self::State>, job: Self::Job, counts: Counts) -> End;
}

/// Everything that is fixed when a pool is built; see `Builder` for what each one means.
pub(crate) struct Settings {
    pub(crate) capacity: usize,
    pub(crate) minimum: usize,
    pub(crate) queue: usize,
    pub(crate) waiters: usize,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) growth: Option<ByLoad>,
    pub(crate) preallocate: bool,
    pub(crate) name: Arc<str>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) hooks: Hooks,
    #[cfg(test)]
    pub(crate) faults: Option<Faults>,
}

impl Settings {
    /// How many tasks may be queued and running when `capacity` of them may run.
    fn places(&self, capacity: usize) -> usize {
        self.queue.saturating_add(capacity)
    }
}

/// Says which attempts to start a thread fail.
#[cfg(test)]
pub(crate) type Faults = Arc<dyn Fn() -> bool + Send + Sync>;

/// A pool without its handle: what workers and handles share.
pub(crate) struct Engine<W: Work> {
    /// On cache lines of its own: submitters write here while workers read what stands beside it.
    crew: Padded<Mutex<Crew<W::Job>>>,
    lane: Shared<Lane>,
    id: PoolId,
    /// The threads that have not been joined. Nobody decides anything by these.
    threads: Mutex<Threads>,
    /// Held by whoever joins all of them.
    joining: Mutex<()>,
    settings: Settings,
    work: W,
}

impl<W: Work> Engine<W> {
    pub(crate) fn new(settings: Settings, work: W) -> Arc<Self> {
        #[cfg(not(loom))]
        crate::error::install_panic_hook();
        let lane = Shared::new(Lane::new());
        lane.set_places(settings.places(settings.capacity));
        let limits = limits(&settings, work.hands());
        let mut crew = Crew::new(Line::new(lane.clone()), limits, settings.waiters);
        crew.line.keep_room(settings.queue);
        if settings.preallocate {
            crew.line.reserve(settings.places(settings.capacity));
            crew.roster.reserve(settings.capacity);
        }
        let crew = Padded(Mutex::new(crew));
        let (threads, joining) = (Mutex::new(Threads::default()), Mutex::new(()));
        let id = PoolId::new();
        Arc::new(Engine { crew, lane, id, threads, joining, settings, work })
    }

    fn lock(&self) -> MutexGuard<'_, Crew<W::Job>> {
        lock(&self.crew)
    }

    /// Does what was decided under the lock, now that it is free.
    fn perform(self: &Arc<Self>, acts: Acts) {
        // A waker is somebody else's code, and one that panics must not keep the others asleep.
        acts.wake.iter().for_each(|waiter| contain(|| waiter.wake()));
        acts.call.iter().for_each(Waker::wake_by_ref);
        if !acts.tell_closed.is_empty() {
            tell_closed(&acts.tell_closed);
        }
        acts.release.into_iter().for_each(|held| contain(|| drop(held)));
        for index in acts.start {
            // If there are other workers, the pool is only slower.
            drop(self.start_at(index));
        }
    }

    /// Starts a worker for a place that is being started. If that fails the place is vacant again, and what
    /// no worker will ever take is dropped.
    fn start_at(self: &Arc<Self>, index: usize) -> Result<(), NoStart> {
        self.start(index).inspect_err(|error| {
            let mut acts = Acts::default();
            let mut crew = self.lock();
            crew.could_not_start(index, &mut acts);
            if matches!(error, NoStart::RuntimeGone) && crew.roster.workers() == 0 {
                crew.close(Phase::RuntimeGone, &mut acts);
                self.lane.set_places(0);
            }
            let lost = crew.abandon();
            self.drop_lost(crew, lost, acts);
        })
    }

    /// Starts a worker for a place of the roster.
    fn start(self: &Arc<Self>, index: usize) -> Result<(), NoStart> {
        #[cfg(test)]
        if self.settings.faults.as_ref().is_some_and(|fails| fails()) {
            return Err(NoStart::Thread(io::ErrorKind::WouldBlock.into()));
        }
        W::start(self, index)
    }

    /// Starts the first worker. The lock is held meanwhile: nobody else could do anything with a
    /// pool that has no worker, and nobody may rely on one that cannot be started.
    fn start_first(self: &Arc<Self>, crew: &mut Crew<W::Job>) -> Result<(), NoStart> {
        let index = crew.roster.add(Duty::Called);
        let started = self.start(index);
        if started.is_err() {
            crew.roster.remove(index);
        }
        started
    }

    /// Whether the calling thread is running a task of this pool.
    pub(crate) fn is_inside(&self) -> bool {
        context::is_inside(std::ptr::from_ref(self).addr())
    }

    pub(crate) fn work(&self) -> &W {
        &self.work
    }

    pub(crate) fn minimum(&self) -> usize {
        self.settings.minimum
    }

    fn name(&self) -> &str {
        &self.settings.name
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.settings.hooks
    }
}

#[cold]
fn tell_closed(listeners: &[Weak<dyn CloseListener>]) {
    for listener in listeners.iter().filter_map(Weak::upgrade) {
        // The listener may be dropped here, with a user's source and function.
        contain(|| {
            listener.pool_closed();
            drop(listener);
        });
    }
}

fn limits(settings: &Settings, hands: Hands) -> Limits {
    let cores = spin::cores();
    Limits {
        capacity: settings.capacity,
        minimum: settings.minimum,
        queue: settings.queue,
        lookers: (cores / 2).max(1),
        cores,
        expires: settings.keep_alive.is_some(),
        growth: settings.growth,
        hands,
    }
}
