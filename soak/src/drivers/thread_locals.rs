//! Thread-locals: what a pool's own threads and others leave behind uses the pool when their thread ends.
//!
//! A *guest* is a thread-local value with a destructor. Tasks leave one with the worker that runs them.
//! Short threads outside of the pool have one, too, from before or after their first use of the pool. So
//! the thread-locals of the pool are there when the destructor runs, or have been destroyed before.

use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use formic::{AsyncPool, Control, JoinHandle, Pool, Refused};

use super::threads;
use crate::books::{Books, Ticket};
use crate::floor::Floor;
use crate::host::{AT_ONCE, give_back};
use crate::plan::Plan;
use crate::random::Random;
use crate::watch::Watch;

thread_local! {
    static GUEST: RefCell<Option<Guest>> = const { RefCell::new(None) };
}

/// A phase with a pool whose threads have guests.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let floor = Floor::new(plan.settings.ceiling());
    let visited: Arc<dyn Visited> = if plan.seed.is_multiple_of(3) {
        let builder = plan.settings.on_tokio(AsyncPool::builder());
        match builder.own_threads(plan.shards).build() {
            Ok(pool) => Arc::new(pool),
            Err(error) => return books.fault(format!("the pool could not be built: {error}")),
        }
    } else {
        match plan.settings.on_threads(Pool::builder(), &floor).build() {
            Ok(pool) => Arc::new(pool),
            Err(error) => return books.fault(format!("the pool could not be built: {error}")),
        }
    };
    let seen = Arc::downgrade(&visited);
    watch.show(move || seen.upgrade().map(|visited| format!("{:?}", visited.control().stats())));
    drive(plan, watch, books, &visited);
    let control = visited.control();
    threads::end(plan.ending, control, &floor, books, &mut Random::of(plan.seed, 0));
    books.compare(control.stats());
}

/// Starts short threads that use the pool, and closes and reopens it, until the phase is over.
fn drive(plan: &Plan, watch: &Watch, books: &Arc<Books>, visited: &Arc<dyn Visited>) {
    let end = Instant::now() + plan.time;
    let over = || books.are_full() || Instant::now() >= end;
    thread::scope(|scope| {
        for number in 1..=plan.threads.min(4) as u64 {
            let (visited, over) = (visited, &over);
            scope.spawn(move || {
                let mut random = Random::of(plan.seed, number);
                while !over() {
                    start_and_join(visited, books, &mut random);
                    watch.beat();
                }
            });
        }
        let mut random = Random::new(plan.seed);
        while !over() {
            disturb(visited.control(), books, &mut random);
            watch.beat();
        }
    });
}

fn disturb(control: &Control, books: &Books, random: &mut Random) {
    match random.below(6) {
        0 => control.close(),
        1 => drop(control.blocking_drain()),
        2 => drop(control.blocking_drain_timeout(random.micros(500))),
        _ => books.sample(control.stats()),
    }
    thread::park_timeout(random.micros(1000));
    drop(control.reopen());
}

/// A short thread. It is joined, and so its destructors have run.
fn start_and_join(visited: &Arc<dyn Visited>, books: &Arc<Books>, random: &mut Random) {
    let (guest, mut random) = (Guest::new(visited, books, random), Random::new(random.next()));
    let (its_visited, its_books) = (Arc::clone(visited), Arc::clone(books));
    let main = move || {
        let (before, acts) = (random.once_in(2), random.within(1, 6));
        let mut guest = Some(guest);
        if before {
            leave_here(guest.take());
        }
        for _ in 0..acts {
            let wait = random.below(3) > 0;
            submit(&its_visited, &its_books, wait, &mut random);
        }
        leave_here(guest);
    };
    match thread::Builder::new().name("soak-short".to_owned()).spawn(main) {
        Ok(thread) => {
            if thread.join().is_err() {
                books.fault("a thread that only submits panicked");
            }
        }
        Err(error) => books.fault(format!("a thread could not be started: {error}")),
    }
}

/// Leaves a guest with the calling thread, unless it has one or is about to end.
fn leave_here(guest: Option<Guest>) {
    let Some(guest) = guest else { return };
    let is_free =
        |here: &RefCell<Option<Guest>>| here.try_borrow().is_ok_and(|here| here.is_none());
    if GUEST.try_with(is_free).unwrap_or(false) {
        GUEST.set(Some(guest));
    } else {
        guest.leave();
    }
}

/// A pool that guests use.
trait Visited: Send + Sync {
    fn control(&self) -> &Control;
    fn submit(&self, task: Task, wait: bool) -> Result<(), Refused>;
    fn spawn(&self, task: Task) -> Result<JoinHandle<()>, Refused>;
}

impl Visited for Pool {
    fn control(&self) -> &Control {
        self
    }

    fn submit(&self, task: Task, wait: bool) -> Result<(), Refused> {
        let task = move || task.run();
        let answer = if wait { Pool::submit(self, task) } else { self.try_submit(task) };
        answer.map_err(give_back)
    }

    fn spawn(&self, task: Task) -> Result<JoinHandle<()>, Refused> {
        Pool::spawn(self, move || task.run()).map_err(give_back)
    }
}

impl Visited for AsyncPool {
    fn control(&self) -> &Control {
        self
    }

    fn submit(&self, task: Task, wait: bool) -> Result<(), Refused> {
        let task = async move { task.run() };
        let answer = if wait { self.blocking_submit(task) } else { self.try_submit(task) };
        answer.map_err(give_back)
    }

    fn spawn(&self, task: Task) -> Result<JoinHandle<()>, Refused> {
        self.try_spawn(async move { task.run() }).map_err(give_back)
    }
}

/// A task that may leave a guest with its worker.
struct Task {
    ticket: Ticket,
    guest: Option<Guest>,
}

impl Task {
    fn any(visited: &Arc<dyn Visited>, books: &Arc<Books>, random: &mut Random) -> Option<Self> {
        let ticket = books.ticket()?;
        let guest = random.once_in(3).then(|| Guest::new(visited, books, random));
        Some(Task { ticket, guest })
    }

    fn run(mut self) {
        self.ticket.begin();
        leave_here(self.guest.take());
        self.ticket.complete();
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // The guest of a task that never ran does nothing.
        self.guest.take().into_iter().for_each(Guest::leave);
    }
}

fn submit(visited: &Arc<dyn Visited>, books: &Arc<Books>, wait: bool, random: &mut Random) {
    let Some(task) = Task::any(visited, books, random) else { return };
    if let Err(refused) = visited.submit(task, wait) {
        books.refused(refused, &AT_ONCE);
    }
}

fn spawn_and_join(visited: &Arc<dyn Visited>, books: &Arc<Books>, random: &mut Random) {
    let Some(task) = Task::any(visited, books, random) else { return };
    match visited.spawn(task) {
        Ok(handle) => drop(handle.join()),
        Err(refused) => books.refused(refused, &AT_ONCE),
    }
}

/// A value that uses the pool when it is dropped.
struct Guest {
    /// None after it has left without a word.
    visited: Option<Weak<dyn Visited>>,
    books: Arc<Books>,
    random: Random,
}

impl Guest {
    fn new(visited: &Arc<dyn Visited>, books: &Arc<Books>, random: &mut Random) -> Self {
        Guest {
            visited: Some(Arc::downgrade(visited)),
            books: Arc::clone(books),
            random: Random::new(random.next()),
        }
    }

    /// Drops it without an act.
    fn leave(mut self) {
        self.visited = None;
    }

    fn act(&mut self, visited: &Arc<dyn Visited>) {
        let (books, random, control) = (&self.books, &mut self.random, visited.control());
        match random.below(10) {
            0..3 => submit(visited, books, true, random),
            3 => submit(visited, books, false, random),
            4 => spawn_and_join(visited, books, random),
            // A worker's thread may be refused, because it would wait for its own end.
            5 => drop(control.blocking_drain()),
            6 => drop(control.blocking_drain_timeout(random.micros(300))),
            7 => drop(control.blocking_wait_idle()),
            8 => drop(control.prestart(1)),
            _ => books.sample(control.stats()),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let Some(visited) = self.visited.as_ref().and_then(Weak::upgrade) else { return };
        for _ in 0..self.random.within(1, 2) {
            self.act(&visited);
        }
    }
}
