//! The seat: how a task awaits another one of a full pool without waiting for its own place.
//!
//! A task that awaits one which nobody has begun with, in a pool that is full, takes it in: it polls it
//! as a part of itself, in its own place. One at a time, so that what runs stays within the capacity. The others who want the
//! seat are woken when it is free.

use std::sync::Arc;
use std::task::{Context, Waker};

use super::cell::Runnable;
use super::handle::Joinable;
use super::polling::{current_seat, poll_within};
use super::sync::{Mutex, lock};
use super::worker::{Kind, inside};

/// A task's seat for one that it takes in.
#[derive(Default)]
pub(crate) struct Seat {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: bool,
    wanting: Vec<Waker>,
}

/// A task that was taken in by the one that awaits it.
pub(crate) struct TakenIn<R> {
    parcel: Arc<dyn Joinable<R>>,
    /// None when it has ended.
    cell: Option<Arc<dyn Runnable>>,
    /// Where it sits.
    seat: Arc<Seat>,
    /// Its own, for one that it takes in.
    inner: Arc<Seat>,
}

impl<R> TakenIn<R> {
    /// Takes a task in, if the calling thread polls one that may do that.
    pub(crate) fn take(parcel: &Arc<dyn Joinable<R>>, waker: &Waker) -> Option<Self> {
        // If there are places for all in the line, a driver will begin with it. Whoever takes the last
        // place and awaits another task finds the pool full when it asks, so somebody always goes on.
        if inside() != Some(Kind::Task) || parcel.is_begun() {
            return None;
        }
        // It is known who waits before the pool is asked: if the pool shrinks after that, he is woken.
        if !parcel.watch(waker) || !parcel.is_crowded() {
            return None;
        }
        let seat = current_seat()?;
        if !seat.take(waker) {
            return None;
        }
        // From here on the seat is freed with it.
        let mut taken =
            TakenIn { parcel: Arc::clone(parcel), cell: None, seat, inner: Arc::default() };
        let mut take_in = || taken.cell = Arc::clone(parcel).take_in();
        parcel.at_home(&mut take_in);
        taken.cell.is_some().then_some(taken)
    }

    /// Whether the calling thread polls the task that has taken it in.
    pub(crate) fn sits_here(&self) -> bool {
        current_seat().is_some_and(|seat| Arc::ptr_eq(&seat, &self.seat))
    }

    /// True if it has ended, and its outcome is there.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        let Some(cell) = &self.cell else { return true };
        let (inner, mut ended) = (&self.inner, false);
        self.parcel.at_home(&mut || ended = poll_within(cell, inner, context).is_some());
        if ended {
            self.cell = None;
        }
        ended
    }
}

impl<R> Drop for TakenIn<R> {
    fn drop(&mut self) {
        if let Some(cell) = self.cell.take() {
            Arc::clone(&self.parcel).give_back(cell);
        }
        self.seat.free();
    }
}

impl Seat {
    /// Takes the seat if it is free; otherwise `waker` is woken when it is.
    pub(crate) fn take(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.state);
        if state.taken {
            if !state.wanting.iter().any(|other| other.will_wake(waker)) {
                state.wanting.push(waker.clone());
            }
            return false;
        }
        state.taken = true;
        true
    }

    pub(crate) fn free(&self) {
        let mut state = lock(&self.state);
        state.taken = false;
        let wanting = std::mem::take(&mut state.wanting);
        drop(state);
        wanting.into_iter().for_each(Waker::wake);
    }
}
