//! An errand: what a task on a thread does, chosen when it is made.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::books::{Books, Expected, Ticket};
use crate::floor::{OnThread, is_worker};
use crate::host::{Host, nest};
use crate::random::Random;

/// How deep tasks submit and join tasks.
pub(crate) const DEEPEST: usize = 3;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Yield,
    Spin,
    Nap,
    /// Waits for a while to be asked to stop.
    Listen,
    Panic,
    /// Uses its own pool.
    Nest,
    /// Tries to end its own pool, which is an error.
    End,
}

/// A task with its page in the books.
pub(crate) struct Errand {
    ticket: Ticket,
    kind: Kind,
    seed: u64,
    /// The pool, for those who use it.
    host: Option<Arc<dyn Host>>,
    depth: usize,
}

impl Errand {
    /// Any errand for this pool; `None` if there is no page left for it.
    pub(crate) fn any(
        books: &Arc<Books>,
        host: &Arc<dyn Host>,
        depth: usize,
        random: &mut Random,
    ) -> Option<Self> {
        let mut ticket = books.ticket()?;
        let kind = match random.below(100) {
            0..60 => Kind::Nothing,
            60..70 => Kind::Yield,
            70..80 => Kind::Spin,
            80..83 => Kind::Nap,
            83..84 => Kind::Listen,
            84..89 => Kind::Panic,
            89..90 => Kind::End,
            _ if depth < DEEPEST => Kind::Nest,
            _ => Kind::Nothing,
        };
        let nests = depth < DEEPEST && host.is_entangled() && random.once_in(2);
        let kind = if nests { Kind::Nest } else { kind };
        if random.once_in(25) {
            ticket.arm();
        }
        let host = matches!(kind, Kind::Nest | Kind::End).then(|| Arc::clone(host));
        Some(Errand { ticket, kind, seed: random.next(), host, depth })
    }

    /// An errand that has nothing to do with its pool.
    pub(crate) fn alone(books: &Arc<Books>, random: &mut Random) -> Option<Self> {
        let ticket = books.ticket()?;
        let kind = random.any(&[Kind::Nothing, Kind::Nothing, Kind::Spin, Kind::Panic]);
        Some(Errand { ticket, kind, seed: random.next(), host: None, depth: DEEPEST })
    }

    /// The number of the task.
    pub(crate) fn number(&self) -> usize {
        self.ticket.number()
    }

    /// The books it belongs to.
    pub(crate) fn books(&self) -> &Arc<Books> {
        self.ticket.books()
    }

    /// Runs it on the calling thread; its number is its result.
    pub(crate) fn run(self) -> u64 {
        let mut on_thread = OnThread::enter(self.books());
        self.ticket.begin();
        self.work(&mut on_thread);
        if self.kind == Kind::Panic {
            self.ticket.panic();
            // Unwinds without the message that a panic prints.
            resume_unwind(Box::new(Expected));
        }
        if self.ticket.is_armed() {
            self.ticket.panic();
        } else {
            self.ticket.complete();
        }
        // The ticket is dropped here, and panics if it is armed.
        self.ticket.number() as u64
    }

    fn work(&self, on_thread: &mut OnThread) {
        let mut random = Random::new(self.seed);
        match self.kind {
            Kind::Nothing | Kind::Panic => {}
            Kind::Yield => thread::yield_now(),
            Kind::Spin => (0..random.below(2000)).for_each(|_| std::hint::spin_loop()),
            Kind::Nap => thread::park_timeout(random.micros(200)),
            Kind::Listen => listen(random.micros(500), self.books()),
            Kind::Nest => {
                if let Some(host) = &self.host {
                    if host.is_entangled() {
                        // Its shard may be closed meanwhile.
                        thread::park_timeout(random.micros(500));
                    }
                    on_thread.lend();
                    nest(host, self.books(), self.depth + 1, &mut random);
                }
            }
            Kind::End => self.try_to_end(),
        }
    }

    /// A task cannot wait for its own pool.
    fn try_to_end(&self) {
        // A submitter that runs its task itself is outside, and a drain would do what it says.
        if let Some(host) = &self.host
            && is_worker()
            && !host.refuses_end_from_inside()
        {
            self.books().fault("a task was let wait for its own pool");
        }
    }
}

fn listen(time: Duration, books: &Arc<Books>) {
    let end = Instant::now() + time;
    let called = Arc::new(AtomicBool::new(false));
    let calls = Arc::clone(&called);
    let guard = formic::on_cancel(move || calls.store(true, Ordering::SeqCst));
    while !formic::is_cancelled() && Instant::now() < end {
        thread::yield_now();
    }
    // Afterwards nothing of the function runs any more.
    drop(guard);
    let was_called = called.load(Ordering::SeqCst);
    if was_called && !formic::is_cancelled() {
        books.fault("the function of a task was called that is not cancelled");
    }
    thread::yield_now();
    if !was_called && called.load(Ordering::SeqCst) {
        books.fault("the function of a task was called after its guard was dropped");
    }
}
