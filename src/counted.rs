//! The standard library's primitives, which count what they are used for: the build of `race --count`.
//!
//! Each thread adds to counters of its own, by plain loads and stores, so that counting adds no shared write
//! to what is counted. Not counted are reference counts, the two writes of each lock, and the few
//! atomics that do not come from [`sync`](crate::engine::sync).

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64 as Counter, Ordering::Relaxed};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

/// What the engines of this process have done since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Locks that were acquired.
    pub locks: u64,
    /// Acquisitions that found the lock held by another thread.
    pub contended: u64,
    /// How long locks were held, in nanoseconds; estimated from every sixteenth acquisition.
    pub held_ns: u64,
    /// Read-modify-writes of atomics, whether or not a compare-exchange succeeded.
    pub writes: u64,
    /// Calls of `unpark`.
    pub wakes: u64,
}

/// The counts of all threads, also of those that have ended.
pub fn counts() -> Counts {
    let all = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().fold(Counts::default(), |sum, own| Counts {
        locks: sum.locks + own.locks.load(Relaxed),
        contended: sum.contended + own.contended.load(Relaxed),
        held_ns: sum.held_ns + own.held_ns.load(Relaxed),
        writes: sum.writes + own.writes.load(Relaxed),
        wakes: sum.wakes + own.wakes.load(Relaxed),
    })
}

/// The counters of one thread, which alone writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counters {
    locks: Counter,
    contended: Counter,
    held_ns: Counter,
    writes: Counter,
    wakes: Counter,
}

static REGISTRY: std::sync::Mutex<Vec<&'static Counters>> = std::sync::Mutex::new(Vec::new());

thread_local! {
    // Without a destructor, so that threads can count until their very end.
    static OWN: Cell<Option<&'static Counters>> = const { Cell::new(None) };
    // The lock of the last attempt, if it failed.
    static MISSED: Cell<usize> = const { Cell::new(0) };
}

#[inline]
fn own() -> &'static Counters {
    OWN.get().unwrap_or_else(register)
}

/// The counters stay when the thread ends, so that nothing is lost.
#[cold]
fn register() -> &'static Counters {
    let counters: &'static Counters = Box::leak(Box::default());
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).push(counters);
    OWN.set(Some(counters));
    counters
}

#[inline]
fn add(counter: &Counter, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

/// One acquisition in so many is timed: to read the clock twice costs more than most locks are held.
const SAMPLE: u64 = 16;

/// A mutex that is never poisoned: the engine goes on after a panic anyway.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

/// A held lock.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    guard: std::sync::MutexGuard<'a, T>,
    since: Option<Instant>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.try_lock() {
            Ok(guard) => Ok(guard),
            Err(_) => Ok(self.acquired(self.0.lock().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(self.acquired(guard)),
            Err(TryLockError::Poisoned(guard)) => Ok(self.acquired(guard.into_inner())),
            Err(TryLockError::WouldBlock) => {
                MISSED.set(self.address());
                Err(TryLockError::WouldBlock)
            }
        }
    }

    #[inline]
    fn acquired<'a>(&self, guard: std::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let own = own();
        add(&own.locks, 1);
        if MISSED.replace(0) == self.address() {
            add(&own.contended, 1);
        }
        let is_sample = own.locks.load(Relaxed).is_multiple_of(SAMPLE);
        MutexGuard { guard, since: is_sample.then(Instant::now) }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// The clock is read while the lock is still held; it is released afterwards.
impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(since) = self.since {
            let held = since.elapsed().saturating_sub(cost_of_the_clock());
            let held = u64::try_from(held.as_nanos()).unwrap_or(u64::MAX);
            add(&own().held_ns, held.saturating_mul(SAMPLE));
        }
    }
}

/// What a span of nothing takes, which each sample contains. The least of many is the cost without
/// interruptions.
fn cost_of_the_clock() -> Duration {
    static COST: std::sync::OnceLock<Duration> = std::sync::OnceLock::new();
    *COST.get_or_init(|| (0..1000).map(|_| Instant::now().elapsed()).min().unwrap_or_default())
}

/// Threads that count how often they are woken.
pub(crate) mod thread {
    pub(crate) use std::thread::*;

    /// A handle of a thread.
    #[derive(Clone, Debug)]
    pub(crate) struct Thread(std::thread::Thread);

    pub(crate) fn current() -> Thread {
        Thread(std::thread::current())
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            super::add(&super::own().wakes, 1);
            self.0.unpark();
        }
    }

    impl std::ops::Deref for Thread {
        type Target = std::thread::Thread;

        fn deref(&self) -> &std::thread::Thread {
            &self.0
        }
    }
}

/// Atomics that count their read-modify-writes.
pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::Ordering;

    #[inline]
    fn count() {
        super::add(&super::own().writes, 1);
    }

    /// An atomic with what every type has, and its own read-modify-writes.
    macro_rules! counted {
        ($($name:ident($value:ty): $($fetch:ident)*;)*) => {$(
            #[derive(Debug, Default)]
            pub(crate) struct $name(std::sync::atomic::$name);

            #[allow(dead_code, reason = "the engine uses some of these with each type")]
            impl $name {
                pub(crate) const fn new(value: $value) -> Self {
                    $name(std::sync::atomic::$name::new(value))
                }

                #[inline]
                pub(crate) fn load(&self, order: Ordering) -> $value {
                    self.0.load(order)
                }

                #[inline]
                pub(crate) fn store(&self, value: $value, order: Ordering) {
                    self.0.store(value, order);
                }

                #[inline]
                pub(crate) fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                #[inline]
                pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                    count();
                    self.0.swap(value, order)
                }

                #[inline]
                pub(crate) fn compare_exchange(
                    &self,
                    from: $value,
                    to: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    count();
                    self.0.compare_exchange(from, to, success, failure)
                }

                #[inline]
                pub(crate) fn compare_exchange_weak(
                    &self,
                    from: $value,
                    to: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    count();
                    self.0.compare_exchange_weak(from, to, success, failure)
                }

                $(#[inline]
                pub(crate) fn $fetch(&self, value: $value, order: Ordering) -> $value {
                    count();
                    self.0.$fetch(value, order)
                })*
            }
        )*};
    }

    counted! {
        AtomicBool(bool): fetch_and fetch_or fetch_xor;
        AtomicU8(u8): fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min;
        AtomicU16(u16): fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min;
        AtomicU32(u32): fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min;
        AtomicU64(u64): fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min;
        AtomicUsize(usize): fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_thread_does_is_counted() {
        let mutex = Mutex::new(0);
        let number = atomic::AtomicU64::new(0);
        let before = of_this_thread();
        for _ in 0..32 {
            *mutex.lock().expect("it is never poisoned") += 1;
        }
        number.fetch_add(1, Relaxed);
        number.store(1, Relaxed);
        assert_eq!(number.compare_exchange(7, 8, Relaxed, Relaxed), Err(1));
        thread::current().unpark();
        let after = of_this_thread();
        assert_eq!(after.0 - before.0, 32, "locks");
        assert_eq!(after.1 - before.1, 0, "contended");
        assert_eq!(after.2 - before.2, 2, "writes");
        assert_eq!(after.3 - before.3, 1, "wakes");
    }

    #[test]
    fn a_lock_that_was_held_at_the_first_attempt_was_contended_once() {
        let mutex = Mutex::new(0);
        let held = mutex.lock();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(mutex.try_lock().is_err());
                assert!(mutex.try_lock().is_err());
                tell.send(()).expect("the other one listens");
                drop(mutex.lock());
                drop(mutex.lock());
                assert_eq!(of_this_thread().0, 2, "locks");
                assert_eq!(of_this_thread().1, 1, "contended");
            });
            told.recv().expect("it tells");
            drop(held);
        });
    }

    fn of_this_thread() -> (u64, u64, u64, u64) {
        let own = own();
        let read = |counter: &Counter| counter.load(Relaxed);
        (read(&own.locks), read(&own.contended), read(&own.writes), read(&own.wakes))
    }
}
