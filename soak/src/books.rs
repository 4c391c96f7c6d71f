//! The books: what became of every task, written by the tasks and their owners, never by the pool.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use formic::{JoinError, Refused, Stats};

/// What an expected panic carries.
pub(crate) struct Expected;

/// What became of a task. Each changes once from `Made` to `Running` or to one of the last four, and
/// once from `Running` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Made,
    Running,
    Completed,
    Panicked,
    /// Dropped while it ran, as only a future can be.
    Halted,
    /// Dropped by the pool before it ran.
    Dropped,
    /// Refused, and dropped by its owner.
    Returned,
    /// Its owner stopped waiting for a place: neither accepted nor refused.
    GivenUp,
    /// Came back to its owner, either from the gate or from the queue; that cannot be told apart.
    Unclear,
}

const STATES: usize = 9;
/// Set when everything the task owned has been dropped.
const GONE: u8 = 0x80;

/// The books of one phase.
pub(crate) struct Books {
    /// By the number of the task.
    tasks: Box<[AtomicU8]>,
    made: AtomicUsize,
    counts: [AtomicU64; STATES],
    /// Permits that were refused: there was no task yet.
    turned_away: AtomicU64,
    /// What `discard` said, and handles that said they had cancelled a task.
    pub(crate) discarded: AtomicU64,
    /// Items that their owner ran itself, so that the pool may have counted them or not.
    pub(crate) own_items: AtomicU64,
    /// How often a running future was to be dropped, which may come while it ends: then it counts as
    /// cancelled, although it ran to its end.
    pub(crate) halts: AtomicU64,
    /// An item that was refused was tried again, so there are more refusals than tasks.
    pub(crate) retries: AtomicBool,
    /// Tasks of scopes. A task that the pool refuses runs on the calling thread, and counts as refused all the same.
    pub(crate) scoped: AtomicU64,
    /// Arguments were taken out of a queue: their handles say that they were cancelled before they are dropped.
    pub(crate) taken: AtomicBool,
    /// Items were pulled: the pool counts seats, and not items.
    pub(crate) seats: AtomicBool,
    faults: Mutex<Vec<String>>,
}

thread_local! {
    /// What it means if this thread drops a task that has not run.
    static MEANING: Cell<State> = const { Cell::new(State::Dropped) };
}

/// Drops what was refused.
pub(crate) fn take_back<T>(task: T) {
    drop_as(State::Returned, task);
}

/// Drops what waits for a place.
pub(crate) fn give_up<T>(waiting: T) {
    drop_as(State::GivenUp, waiting);
}

/// Drops what came back, from wherever.
pub(crate) fn drop_unclear<T>(task: T) {
    drop_as(State::Unclear, task);
}

/// Calls something that may drop tasks of ours which it could not give to the pool.
pub(crate) fn unclear<T>(call: impl FnOnce() -> T) -> T {
    let _meaning = Meaning::new(State::Unclear);
    call()
}

/// The same for a future that may drop tasks of ours in any of its polls.
pub(crate) async fn unclear_while<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| unclear(|| future.as_mut().poll(context))).await
}

/// A future that may wait for a place, with a task in its hands. Dropped with whoever awaits it, it drops
/// a task that the pool may not have heard of.
pub(crate) struct Waiting<T>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T> Waiting<T> {
    /// Wraps the future.
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Waiting(Some(Box::pin(future)))
    }
}

impl<T> Future for Waiting<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // It is taken out only when it is dropped.
        self.0.as_mut().map_or(Poll::Pending, |future| future.as_mut().poll(context))
    }
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        drop_unclear(self.0.take());
    }
}

fn drop_as<T>(meaning: State, what: T) {
    let _meaning = Meaning::new(meaning);
    drop(what);
}

/// Changes what a drop means, until it is dropped itself.
struct Meaning(State);

impl Meaning {
    fn new(meaning: State) -> Self {
        Meaning(MEANING.replace(meaning))
    }
}

impl Drop for Meaning {
    fn drop(&mut self) {
        MEANING.set(self.0);
    }
}

impl Books {
    /// Books with a page for each of so many tasks.
    pub(crate) fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Books {
            tasks: (0..tasks).map(|_| AtomicU8::new(State::Made as u8)).collect(),
            made: AtomicUsize::new(0),
            counts: Default::default(),
            turned_away: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
            own_items: AtomicU64::new(0),
            halts: AtomicU64::new(0),
            retries: AtomicBool::new(false),
            scoped: AtomicU64::new(0),
            taken: AtomicBool::new(false),
            seats: AtomicBool::new(false),
            faults: Mutex::new(Vec::new()),
        })
    }

    /// A ticket for a new task; `None` if all pages are written.
    pub(crate) fn ticket(self: &Arc<Self>) -> Option<Ticket> {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        if number < self.tasks.len() {
            return Some(Ticket { books: Arc::clone(self), number, bomb: false });
        }
        self.made.fetch_sub(1, Ordering::SeqCst);
        None
    }

    /// How many tasks there are.
    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst).min(self.tasks.len())
    }

    /// Whether there is no page for another task.
    pub(crate) fn are_full(&self) -> bool {
        self.made() == self.tasks.len()
    }

    /// Notes what must not be. The first faults are kept.
    pub(crate) fn fault(&self, what: impl Into<String>) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() < 20 {
            faults.push(what.into());
        }
    }

    /// What must not have been.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A refusal for one of these reasons is in order.
    pub(crate) fn refused(&self, reason: Refused, fair: &[Refused]) {
        if !fair.contains(&reason) {
            self.fault(format!("refused as {reason:?}, where only {fair:?} are in order"));
        }
    }

    /// A permit was refused.
    pub(crate) fn turned_away(&self, reason: Refused, fair: &[Refused]) {
        self.turned_away.fetch_add(1, Ordering::SeqCst);
        self.refused(reason, fair);
    }

    fn change(&self, number: usize, from: State, to: State) {
        let page = &self.tasks[number];
        let changed =
            page.compare_exchange(from as u8, to as u8, Ordering::SeqCst, Ordering::SeqCst);
        match changed {
            Ok(_) => _ = self.counts[to as usize].fetch_add(1, Ordering::SeqCst),
            Err(found) => self.fault(format!("task {number} became {to:?}, and was {found:#x}")),
        }
    }

    fn count(&self, state: State) -> u64 {
        self.counts[state as usize].load(Ordering::SeqCst)
    }

    /// A handle told the outcome of a task: by now it must have become just that, and be gone.
    pub(crate) fn outcome(&self, number: usize, outcome: Result<u64, &JoinError>) {
        let page = self.tasks[number].load(Ordering::SeqCst);
        let fits = |states: &[State]| states.iter().any(|state| page == *state as u8 | GONE);
        let right = match outcome {
            Ok(value) => value == number as u64 && fits(&[State::Completed]),
            Err(JoinError::Cancelled) => {
                let late = self.halts.load(Ordering::SeqCst) > 0;
                // What was taken may be about to be dropped.
                let is_left =
                    [State::Made, State::Dropped].iter().any(|state| page == *state as u8);
                let taken = self.taken.load(Ordering::SeqCst) && is_left;
                fits(&[State::Dropped, State::Halted, State::Unclear])
                    || taken
                    || late && fits(&[State::Completed, State::Panicked])
            }
            Err(_) => fits(&[State::Panicked]),
        };
        if !right {
            self.fault(format!("task {number} is {page:#x}, and its handle says {outcome:?}"));
        }
    }

    /// Whether everything that the task owned has been dropped.
    pub(crate) fn is_gone(&self, number: usize) -> bool {
        self.tasks[number].load(Ordering::SeqCst) & GONE != 0
    }

    /// What a sample of the figures must say at any instant.
    pub(crate) fn sample(&self, stats: Stats) {
        if !stats.adds_up() {
            self.fault(format!("the figures do not add up: {stats:?}"));
        }
    }

    /// Every task came to one end, whatever the pool says.
    pub(crate) fn audit(&self) {
        let (made, mut ended) = (self.made() as u64, 0);
        for state in [State::Completed, State::Panicked, State::Halted, State::Dropped] {
            ended += self.count(state);
        }
        for state in [State::Returned, State::GivenUp, State::Unclear] {
            ended += self.count(state);
        }
        if made != ended {
            self.fault(format!("{made} tasks were made, {ended} came to an end"));
        }
        for (number, page) in self.tasks[..self.made()].iter().enumerate() {
            let page = page.load(Ordering::SeqCst);
            if page & GONE == 0 {
                self.fault(format!("task {number} was never dropped; it is {page:#x}"));
            }
        }
    }

    /// The figures of a pool that came to its end are those of the books.
    pub(crate) fn compare(&self, stats: Stats) {
        if !stats.adds_up() || stats.queued + stats.busy + stats.workers + stats.waiting > 0 {
            self.fault(format!("a drained pool says {stats:?}"));
        }
        if self.seats.load(Ordering::SeqCst) {
            return;
        }
        let unclear = self.count(State::Unclear);
        let own = self.own_items.load(Ordering::SeqCst);
        let dropped = self.count(State::Dropped) + self.count(State::Halted);
        let retries = if self.retries.load(Ordering::SeqCst) { u64::MAX / 4 } else { 0 };
        let unsure = own + self.halts.load(Ordering::SeqCst);
        let at_least = |state| self.count(state).saturating_sub(unsure);
        let at_most = |state| self.count(state).min(unsure);
        let refused = self.count(State::Returned) + self.turned_away.load(Ordering::SeqCst);
        for (what, told, state) in [
            ("completed", stats.completed, State::Completed),
            ("panicked", stats.panicked, State::Panicked),
        ] {
            self.between(what, told, at_least(state), at_most(state));
        }
        self.between("cancelled", stats.cancelled, dropped, unclear + unsure);
        // Whatever is unsure, no task is missing.
        let ran = self.count(State::Completed) + self.count(State::Panicked);
        self.between("accepted", stats.accepted, ran + dropped - own, own + unclear);
        let scoped = self.scoped.load(Ordering::SeqCst);
        self.between("refused", stats.refused, refused, unclear + retries + scoped);
    }

    /// Exactly `sure`, unless something cannot be known.
    fn between(&self, what: &str, told: u64, sure: u64, unsure: u64) {
        if told < sure || told > sure + unsure {
            self.fault(format!(
                "{what}: the pool says {told}, the books {sure} and {unsure} unsure"
            ));
        }
    }

    /// What the pool said that it discarded was dropped. Also if that is unclear: a thread that may have to
    /// drop tasks of its own runs others meanwhile, and what these cancel is dropped there.
    pub(crate) fn compare_discarded(&self) {
        let (dropped, unclear) = (self.count(State::Dropped), self.count(State::Unclear));
        let said = self.discarded.load(Ordering::SeqCst);
        if said > dropped + unclear {
            self.fault(format!(
                "{dropped} tasks were dropped, and perhaps {unclear} more; {said} were said to be"
            ));
        }
    }

    /// Tasks that ran.
    pub(crate) fn ran(&self) -> u64 {
        self.count(State::Completed) + self.count(State::Panicked) + self.count(State::Halted)
    }

    /// Tasks that were dropped before they ran, in one word.
    pub(crate) fn cancelled(&self) -> u64 {
        self.count(State::Dropped) + self.count(State::Unclear)
    }

    /// Tasks that came back.
    pub(crate) fn returned(&self) -> u64 {
        self.count(State::Returned) + self.count(State::GivenUp)
    }
}

/// A task's own page in the books.
pub(crate) struct Ticket {
    books: Arc<Books>,
    number: usize,
    bomb: bool,
}

impl Ticket {
    /// Makes the drop of this ticket panic.
    pub(crate) fn arm(&mut self) {
        self.bomb = true;
    }

    /// Whether its drop will panic.
    pub(crate) fn is_armed(&self) -> bool {
        self.bomb
    }

    /// The books it belongs to.
    pub(crate) fn books(&self) -> &Arc<Books> {
        &self.books
    }

    /// The number of the task.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The task begins.
    pub(crate) fn begin(&self) {
        self.books.change(self.number, State::Made, State::Running);
    }

    /// The task is about to return.
    pub(crate) fn complete(&self) {
        self.books.change(self.number, State::Running, State::Completed);
    }

    /// The task is about to panic.
    pub(crate) fn panic(&self) {
        self.books.change(self.number, State::Running, State::Panicked);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let page = &self.books.tasks[self.number];
        let state = page.load(Ordering::SeqCst);
        if state == State::Made as u8 {
            self.books.change(self.number, State::Made, MEANING.get());
        } else if state == State::Running as u8 {
            self.books.change(self.number, State::Running, State::Halted);
        }
        if page.fetch_or(GONE, Ordering::SeqCst) & GONE != 0 {
            self.books.fault(format!("task {} was dropped twice", self.number));
        }
        // What comes back to its owner is the owner's to drop, so there it does no harm.
        let ours = state == State::Made as u8 && MEANING.get() != State::Dropped;
        if self.bomb && !ours && !std::thread::panicking() {
            resume_unwind(Box::new(Expected));
        }
    }
}
