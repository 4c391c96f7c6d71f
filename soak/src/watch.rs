//! The watch: whether anything happens, and what to say if nothing does.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::books::Books;

/// Without an act for so long, a phase hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Says something about the pools of a phase, as long as there are any.
type Show = Box<dyn Fn() -> Option<String> + Send>;

/// Counts what is done, and knows whom to ask when nothing is.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Shared>);

#[derive(Default)]
struct Shared {
    beats: AtomicU64,
    /// Looks of somebody who waits with a deadline of its own.
    looks: AtomicU64,
    show: Mutex<Option<Show>>,
}

impl Watch {
    /// Something was done.
    pub(crate) fn beat(&self) {
        self.0.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// How much was done.
    pub(crate) fn beats(&self) -> u64 {
        self.0.beats.load(Ordering::Relaxed)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Show>> {
        self.0.show.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to print of the pools if they hang.
    pub(crate) fn show(&self, show: impl Fn() -> Option<String> + Send + 'static) {
        *self.slot() = Some(Box::new(show));
    }

    /// The phase has no pools any more.
    pub(crate) fn forget(&self) {
        *self.slot() = None;
    }

    /// What the pools say.
    pub(crate) fn shown(&self) -> String {
        self.slot().as_ref().and_then(|show| show()).unwrap_or_else(|| "no pool is left".to_owned())
    }

    /// Waits for what must come soon; a fault if it does not.
    pub(crate) fn await_that(&self, books: &Books, what: &str, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            if Instant::now() >= deadline {
                return books.fault(format!("{what}: not within {PATIENCE:?}; {}", self.shown()));
            }
            thread::sleep(Duration::from_micros(50));
            self.0.looks.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Calls `hangs`, on a thread of its own, when nothing has been done for too long.
    pub(crate) fn guard(&self, hangs: impl FnOnce(String) + Send + 'static) {
        let watch = self.clone();
        let patrol = move || {
            let all = || watch.beats() + watch.0.looks.load(Ordering::Relaxed);
            let (mut seen, mut since) = (all(), Instant::now());
            while since.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(250));
                if all() != seen {
                    (seen, since) = (all(), Instant::now());
                }
            }
            let mut text = format!("nothing was done for {PATIENCE:?}\n");
            _ = write!(text, "{}", watch.shown());
            hangs(text);
        };
        // It lasts as long as the process.
        drop(thread::Builder::new().name("watch".to_owned()).spawn(patrol));
    }
}
