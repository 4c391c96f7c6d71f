//! Places that are held for tasks to come.

use std::mem::take;
use std::sync::Arc;

use crate::engine::scheduler::core::Scheduler;
use crate::engine::sync::MutexGuard;
use crate::engine::{Engine, Work};

/// Places at the gate that are held for tasks to come. Dropped, they go to the next submitters.
pub(crate) struct Held<'a, W: Work> {
    engine: Owner<'a, W>,
    places: usize,
}

/// How the engine of a held place is kept.
enum Owner<'a, W: Work> {
    Borrowed(&'a Arc<Engine<W>>),
    Owned(Arc<Engine<W>>),
}

impl<'a, W: Work> Held<'a, W> {
    /// For so many places that are counted as held.
    pub(in crate::engine) fn new(engine: &'a Arc<Engine<W>>, places: usize) -> Self {
        Held { engine: Owner::Borrowed(engine), places }
    }

    /// Holds the place that the caller may enter, and others that are free, up to `most` together.
    pub(super) fn hold(
        engine: &'a Arc<Engine<W>>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        most: usize,
    ) -> Self {
        scheduler.hold_place();
        let more = if most > 1 { scheduler.hold_free_places(most - 1) } else { 0 };
        Held::new(engine, 1 + more)
    }

    pub(crate) fn engine(&self) -> &Arc<Engine<W>> {
        match &self.engine {
            Owner::Borrowed(engine) => engine,
            Owner::Owned(engine) => engine,
        }
    }

    /// No place.
    pub(crate) fn none(engine: &'a Arc<Engine<W>>) -> Self {
        Held::new(engine, 0)
    }

    /// Borrows nothing from now on. Does not keep the pool open.
    pub(crate) fn into_owned(mut self) -> Held<'static, W> {
        let (engine, places) = (Arc::clone(self.engine()), take(&mut self.places));
        Held { engine: Owner::Owned(engine), places }
    }

    /// Puts a job into the one place that is held.
    pub(crate) fn put(mut self, job: W::Job) {
        debug_assert_eq!(self.places, 1, "a job takes one place");
        let places = take(&mut self.places);
        let mut scheduler = self.engine().lock();
        scheduler.release_places(places);
        self.engine().put_promised(scheduler, job);
    }

    /// Holds the places that are free now, too, until there are `most`. None of them if submitters wait or the
    /// pool is closed.
    pub(super) fn widen(mut self, most: usize) -> Self {
        if most > self.places {
            let more = self.engine().lock().hold_free_places(most - self.places);
            self.places += more;
        }
        self
    }
}

/// Takes one place after the other out of those that are held here.
impl<W: Work> Iterator for Held<'_, W> {
    type Item = Self;

    fn next(&mut self) -> Option<Self> {
        self.places = self.places.checked_sub(1)?;
        let engine = match &self.engine {
            Owner::Borrowed(engine) => Owner::Borrowed(engine),
            Owner::Owned(engine) => Owner::Owned(Arc::clone(engine)),
        };
        Some(Held { engine, places: 1 })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.places, Some(self.places))
    }
}

impl<W: Work> ExactSizeIterator for Held<'_, W> {}

impl<W: Work> Drop for Held<'_, W> {
    fn drop(&mut self) {
        let places = take(&mut self.places);
        if places == 0 {
            return;
        }
        self.engine().decide(|scheduler, actions| {
            scheduler.release_places(places);
            scheduler.serve_waiters(actions);
            scheduler.call_last_to_go(actions);
        });
    }
}
