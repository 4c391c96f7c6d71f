//! A pool whose tasks count themselves, and how many of them run at once.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering};

use super::Event;
use crate::engine::{
    Counts, End, Engine, MAX_WORKERS, NoStart, Settings, ThreadWork, Work, start_worker,
};

/// What the tasks of a model do: they count themselves, and how many run at once. The job [`BLOCKS`] waits for the
/// release, which comes from the job [`RELEASES`] or from the model.
pub(super) struct Count {
    pub(super) ran: AtomicUsize,
    running: AtomicUsize,
    pub(super) most: AtomicUsize,
    pub(super) release: Event,
}

pub(super) const BLOCKS: usize = 1000;
pub(super) const RELEASES: usize = 10_000;

impl Work for Arc<Count> {
    type Job = usize;

    const MOST: usize = MAX_WORKERS;

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }
}

impl ThreadWork for Arc<Count> {
    type State = ();

    fn run(&self, _: &mut Option<()>, job: usize, _: Counts) -> End {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.ran.fetch_add(job, Ordering::SeqCst);
        match job {
            BLOCKS => self.release.block(),
            RELEASES => self.release.happen(),
            _ => {}
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        End::Completed
    }
}

pub(super) fn engine(settings: Settings) -> (Arc<Engine<Arc<Count>>>, Arc<Count>) {
    let count = Arc::new(Count {
        ran: AtomicUsize::new(0),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        release: Event::default(),
    });
    (Engine::new(settings, Arc::clone(&count)), count)
}
