//! Places that are held for tasks to come.

use std::borrow::Cow;
use std::mem::take;
use std::sync::Arc;

use crate::engine::{Engine, Work};

/// Places at the gate that are held for tasks to come. Dropped, they go to the next submitters.
pub(crate) struct Held<'a, W: Work> {
    engine: Cow<'a, Arc<Engine<W>>>,
    places: usize,
}

impl<'a, W: Work> Held<'a, W> {
    /// For so many places that are counted as held.
    pub(crate) fn new(engine: &'a Arc<Engine<W>>, places: usize) -> Self {
        Held { engine: Cow::Borrowed(engine), places }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine<W>> {
        &self.engine
    }

    /// Borrows nothing from now on. Does not keep the pool open.
    pub(crate) fn into_owned(mut self) -> Held<'static, W> {
        let (engine, places) = (Arc::clone(&self.engine), take(&mut self.places));
        Held { engine: Cow::Owned(engine), places }
    }

    /// Puts a job into the one place that is held.
    pub(crate) fn put(mut self, job: W::Job) {
        debug_assert_eq!(self.places, 1, "a job takes one place");
        let places = take(&mut self.places);
        let mut scheduler = self.engine.lock();
        scheduler.release_places(places);
        // If whatever ran the drivers is no more, no worker will take it.
        let is_lost = scheduler.worker_table.workers() == 0;
        self.engine.put(scheduler, job);
        if is_lost {
            self.engine.discard();
        }
    }

    /// Holds the places that are free now, too, until there are `most`. None of them if submitters wait or the
    /// pool is closed.
    pub(super) fn widen(mut self, most: usize) -> Self {
        if most > self.places {
            let more = self.engine.lock().hold_free_places(most - self.places);
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
        Some(Held { engine: self.engine.clone(), places: 1 })
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
        self.engine.decide(|scheduler, actions| {
            scheduler.release_places(places);
            scheduler.serve_waiters(actions);
            scheduler.call_last_to_go(actions);
        });
    }
}
