//! The primitives the engine stands on: the standard library's, loom's while a model runs, or those that
//! count for `race --count`.

#[cfg(not(any(loom, formic_count)))]
pub(crate) use std::{
    sync::{Arc, Mutex, MutexGuard, atomic},
    thread,
};

#[cfg(all(formic_count, not(loom)))]
pub(crate) use crate::counted::{Mutex, MutexGuard, atomic, thread};
#[cfg(all(formic_count, not(loom)))]
pub(crate) use std::sync::Arc;

#[cfg(loom)]
pub(crate) use loom::{
    sync::{Arc, Mutex, MutexGuard, atomic},
    thread,
};

use std::time::{Duration, Instant};

/// Locks, and goes on after a panic: no panic of a user's code leaves a place where a lock is held, so what a lock
/// guards is whole even if the thread that held it is gone.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The time. In a model it stands still, so that nothing there depends on the clock.
#[inline]
pub(crate) fn now() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    if cfg!(loom) { *START.get_or_init(Instant::now) } else { Instant::now() }
}

/// Parks this thread until it is unparked or `rest` is over; it may also return for no reason.
#[cfg(not(loom))]
pub(crate) fn park(rest: Option<Duration>) {
    match rest {
        Some(rest) => thread::park_timeout(rest),
        None => thread::park(),
    }
}

/// In a model every rest with an end is over at once: the other threads run in between. The longest has none.
#[cfg(loom)]
pub(crate) fn park(rest: Option<Duration>) {
    match rest {
        Some(Duration::MAX) | None => thread::park(),
        Some(_) => thread::yield_now(),
    }
}

/// A value on cache lines of its own, so that writing it does not slow down its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A place that several threads reach by a rule of their own; loom checks the rule in a model.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Place<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Place<T> {
    pub(crate) fn with_mut<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        act(self.0.get())
    }
}

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell as Place;
