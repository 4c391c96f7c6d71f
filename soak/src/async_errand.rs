//! An errand as a future: what a task of an async pool does, chosen when it is made.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use formic::{Control, JoinHandle, Refused, Stats};
use futures_util::FutureExt;

use crate::books::{Books, Expected, Ticket, give_up};
use crate::errand::DEEPEST;
use crate::floor::Floor;
use crate::host::AT_ONCE;
use crate::random::Random;

/// A future with a type of its own no more.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Any pool of futures.
pub(crate) trait AsyncHost: Send + Sync + 'static {
    /// Submits, and waits for a place. What is refused is dropped.
    fn submit(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<(), Refused>>;
    /// The same with a handle.
    fn spawn(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<JoinHandle<u64>, Refused>>;
    /// Without waiting.
    fn try_submit(&self, errand: AsyncErrand) -> Result<(), Refused>;
    /// Without waiting.
    fn try_spawn(&self, errand: AsyncErrand) -> Result<JoinHandle<u64>, Refused>;
    /// On a thread that is in no runtime.
    fn blocking_submit(&self, errand: AsyncErrand) -> Result<(), Refused>;
    /// What only this kind of pool can do.
    fn extra(self: Arc<Self>, site: Site, random: Random) -> Boxed<Random>;
    /// The pool, or each of its shards.
    fn controls(&self) -> Vec<&Control>;
    /// The figures of all of them.
    fn stats(&self) -> Stats {
        self.controls()[0].stats()
    }
    /// Whether a task of the pool gets an error if it waits for the pool's end.
    fn refuses_end_from_inside(self: Arc<Self>) -> Boxed<bool> {
        Box::pin(async move {
            let drained = self.controls()[0].drain_async().await;
            drained.is_err_and(|left| left.is_from_inside())
        })
    }
    /// Whether every second errand uses its own pool.
    fn is_entangled(&self) -> bool {
        false
    }
    /// Why it may refuse, if the submitter waits.
    fn fair(&self) -> &[Refused];
    /// Why it may refuse, if the submitter does not.
    fn fair_at_once(&self) -> &[Refused] {
        &AT_ONCE
    }
}

/// Where errands are made.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) host: Arc<dyn AsyncHost>,
    pub(crate) books: Arc<Books>,
    pub(crate) floor: Arc<Floor>,
    pub(crate) depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ready,
    Yield,
    Sleep,
    Panic,
    Nest,
    End,
}

/// A future with its page in the books.
pub(crate) struct AsyncErrand {
    ticket: Ticket,
    kind: Kind,
    seed: u64,
    site: Option<Site>,
    /// None for one that a task has started: it may be polled in the place of that task.
    floor: Option<Arc<Floor>>,
}

impl Site {
    /// Any errand; `None` if there is no page left for it.
    pub(crate) fn errand(&self, random: &mut Random) -> Option<AsyncErrand> {
        self.make(true, random)
    }

    /// One that does no harm when it is dropped.
    pub(crate) fn item(&self, random: &mut Random) -> Option<AsyncErrand> {
        self.make(false, random)
    }

    fn make(&self, bombs: bool, random: &mut Random) -> Option<AsyncErrand> {
        let mut ticket = self.books.ticket()?;
        let kind = match random.below(100) {
            0..45 => Kind::Ready,
            45..78 => Kind::Yield,
            78..82 => Kind::Sleep,
            82..88 => Kind::Panic,
            88..90 => Kind::End,
            _ if self.depth < DEEPEST => Kind::Nest,
            _ => Kind::Ready,
        };
        let nests = self.depth < DEEPEST && self.host.is_entangled() && random.once_in(2);
        let kind = if nests { Kind::Nest } else { kind };
        // What is pulled may never get to the pool, and then its owner drops it.
        if bombs && random.once_in(25) {
            ticket.arm();
        }
        let site = matches!(kind, Kind::Nest | Kind::End).then(|| self.deeper());
        let floor = (self.depth == 0).then(|| Arc::clone(&self.floor));
        Some(AsyncErrand { ticket, kind, seed: random.next(), site, floor })
    }

    fn deeper(&self) -> Site {
        Site { depth: self.depth + 1, ..self.clone() }
    }

    /// One act, of whoever can await.
    pub(crate) async fn act(&self, mut random: Random) -> Random {
        if random.once_in(8) {
            return Arc::clone(&self.host).extra(self.clone(), random).await;
        }
        let Some(errand) = self.errand(&mut random) else { return random };
        let (number, host) = (errand.number(), Arc::clone(&self.host));
        let (fair, at_once) = (self.host.fair(), self.host.fair_at_once());
        match random.below(10) {
            0..3 => self.note(host.submit(errand).await, fair),
            3 => self.note(host.try_submit(errand), at_once),
            4 => give_up_waiting(host.submit(errand)),
            5 => give_up_waiting(host.spawn(errand)),
            way => {
                let fair = if way == 6 { at_once } else { fair };
                let spawned =
                    if way == 6 { host.try_spawn(errand) } else { host.spawn(errand).await };
                match spawned {
                    Ok(handle) => self.treat(handle, number, &mut random).await,
                    Err(refused) => self.note(Err(refused), fair),
                }
            }
        }
        random
    }

    /// Somebody is about to have a future dropped that may be running.
    pub(crate) fn note_halt(&self) {
        self.books.halts.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes a refusal.
    pub(crate) fn note(&self, answer: Result<(), Refused>, fair: &[Refused]) {
        if let Err(refused) = answer {
            self.books.refused(refused, fair);
        }
    }

    async fn treat(&self, handle: JoinHandle<u64>, number: usize, random: &mut Random) {
        let outcome = match random.below(6) {
            0 => return drop(handle),
            1 => {
                self.note_halt();
                return drop(handle.cancel_on_drop());
            }
            2 => {
                // Whoever began with it does not go on.
                return drop(handle.now_or_never());
            }
            3 => {
                self.note_halt();
                handle.cancel();
                handle.await
            }
            _ => handle.await,
        };
        self.books.outcome(number, outcome.as_ref().copied());
    }
}

/// Polls it once, and drops it if it has to wait.
fn give_up_waiting<T>(mut waiting: Boxed<T>) {
    drop(waiting.as_mut().now_or_never());
    give_up(waiting);
}

impl AsyncErrand {
    /// The number of the task.
    pub(crate) fn number(&self) -> usize {
        self.ticket.number()
    }

    /// Runs it; its number is its result.
    pub(crate) async fn run(self) -> u64 {
        let mut entered = self.floor.as_ref().map(|floor| floor.enter(1, self.ticket.books()));
        self.ticket.begin();
        // What may await others lends its place.
        if self.kind == Kind::Nest
            && let Some(entered) = &mut entered
        {
            entered.lend();
        }
        self.work().await;
        if self.kind == Kind::Panic {
            self.ticket.panic();
            resume_unwind(Box::new(Expected));
        }
        if self.ticket.is_armed() {
            self.ticket.panic();
        } else {
            self.ticket.complete();
        }
        self.ticket.number() as u64
    }

    async fn work(&self) {
        let mut random = Random::new(self.seed);
        match (self.kind, &self.site) {
            (Kind::Yield, _) => {
                for _ in 0..random.within(1, 4) {
                    tokio::task::yield_now().await;
                }
            }
            (Kind::Sleep, _) => tokio::time::sleep(random.micros(1500)).await,
            (Kind::Nest, Some(site)) => {
                if site.host.is_entangled() {
                    // Its shard may be closed meanwhile.
                    tokio::time::sleep(random.micros(1500)).await;
                }
                for _ in 0..random.within(1, 3) {
                    // A type that contained itself would have no size.
                    let act: Boxed<Random> = Box::pin(site.clone().act_owned(random));
                    random = act.await;
                }
            }
            (Kind::End, Some(site)) => {
                let refused = Arc::clone(&site.host).refuses_end_from_inside().await;
                if !refused {
                    site.books.fault("a future was let wait for its own pool");
                }
            }
            _ => {}
        }
    }
}

impl Site {
    async fn act_owned(self, mut random: Random) -> Random {
        if self.host.is_entangled() && random.once_in(2) {
            self.spawn_and_await(&mut random).await;
            return random;
        }
        self.act(random).await
    }

    /// Awaits a task of the same pool, come what may.
    async fn spawn_and_await(&self, random: &mut Random) {
        let Some(errand) = self.errand(random) else { return };
        let number = errand.number();
        match Arc::clone(&self.host).spawn(errand).await {
            Ok(handle) => self.books.outcome(number, handle.await.as_ref().copied()),
            Err(refused) => self.note(Err(refused), self.host.fair()),
        }
    }
}
