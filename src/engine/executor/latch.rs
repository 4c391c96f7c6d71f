//! A latch: a lock for what takes a few instructions, and waits for nothing.
//!
//! To let go of a `Mutex` takes as long as to get hold of it, because somebody may sleep there who has to be
//! woken. Nobody sleeps at a latch: whoever finds it closed looks again, after a while only when others
//! had a chance to run, and in the end after short naps. So it opens by a plain store. Each future passes
//! two of them on its way, from the one who wakes it to the driver.
//!
//! Never hold one while something of a user's runs.

#[cfg(not(loom))]
pub(crate) use self::spinning::{Held, Latch};

/// In a model it is a mutex: loom knows who waits there, and has the others run.
#[cfg(loom)]
pub(crate) use self::modelled::{Held, Latch};

#[cfg(not(loom))]
mod spinning {
    use std::cell::UnsafeCell;
    use std::ops::{Deref, DerefMut};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    /// So often it is looked at in a row.
    const IN_A_ROW: u32 = 100;
    /// .. and up to so often when others had a chance to run. Then something has a higher priority than
    /// whoever holds it, and must sleep for it to go on.
    const IN_TURNS: u32 = 200;
    const NAP: Duration = Duration::from_micros(50);

    /// See the module's first lines.
    #[derive(Debug, Default)]
    pub(crate) struct Latch<T> {
        closed: AtomicBool,
        value: UnsafeCell<T>,
    }

    // SAFETY: it is closed while somebody has the value, so that one thread after the other has it.
    unsafe impl<T: Send> Sync for Latch<T> {}

    /// While it lives the latch is closed.
    #[must_use]
    pub(crate) struct Held<'a, T>(&'a Latch<T>);

    impl<T> Latch<T> {
        pub(crate) fn new(value: T) -> Self {
            Latch { closed: AtomicBool::new(false), value: UnsafeCell::new(value) }
        }

        #[inline]
        pub(crate) fn hold(&self) -> Held<'_, T> {
            if self.is_closed_to_me() {
                self.wait();
            }
            Held(self)
        }

        /// False if it was open, and is closed by this thread now.
        #[inline]
        fn is_closed_to_me(&self) -> bool {
            // Acquire: pairs with the Release of whoever had it before.
            self.closed.swap(true, Ordering::Acquire)
        }

        #[cold]
        fn wait(&self) {
            for look in 0_u32.. {
                match look {
                    ..IN_A_ROW => std::hint::spin_loop(),
                    IN_A_ROW..IN_TURNS => thread::yield_now(),
                    IN_TURNS.. => thread::sleep(NAP),
                }
                // First it is only read: to write it would take it away from whoever opens it.
                if !self.closed.load(Ordering::Relaxed) && !self.is_closed_to_me() {
                    return;
                }
            }
        }
    }

    impl<T> Deref for Held<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: it is closed, by this one.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> DerefMut for Held<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: it is closed, by this one.
            unsafe { &mut *self.0.value.get() }
        }
    }

    impl<T> Drop for Held<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.0.closed.store(false, Ordering::Release);
        }
    }
}

#[cfg(loom)]
mod modelled {
    use crate::engine::sync::{Mutex, MutexGuard, lock};

    pub(crate) type Held<'a, T> = MutexGuard<'a, T>;

    #[derive(Debug)]
    pub(crate) struct Latch<T>(Mutex<T>);

    impl<T> Latch<T> {
        pub(crate) fn new(value: T) -> Self {
            Latch(Mutex::new(value))
        }

        pub(crate) fn hold(&self) -> Held<'_, T> {
            lock(&self.0)
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let rounds = if cfg!(miri) { 50 } else { 100_000 };
        let latch = Latch::new((0_u64, 0_u64));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let mut held = latch.hold();
                        assert_eq!(held.0, held.1, "somebody else is between the two");
                        held.0 += 1;
                        std::hint::spin_loop();
                        held.1 += 1;
                    }
                });
            }
        });
        assert_eq!(*latch.hold(), (4 * rounds, 4 * rounds));
    }

    #[test]
    fn whoever_finds_it_closed_waits_for_as_long_as_it_takes() {
        let latch = Latch::new(0);
        let (come, came) = mpsc::channel();
        thread::scope(|scope| {
            let mut held = latch.hold();
            scope.spawn(|| {
                come.send(()).expect("it is awaited");
                *latch.hold() += 1;
            });
            came.recv().expect("it comes");
            // Long enough to have it nap.
            (0..1000).for_each(|_| thread::yield_now());
            *held = 10;
            drop(held);
        });
        assert_eq!(*latch.hold(), 11);
    }

    #[test]
    fn a_panic_opens_it() {
        let latch = Latch::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut held = latch.hold();
            *held = 2;
            panic!("while it is closed");
        }));
        assert!(panicked.is_err());
        assert_eq!(*latch.hold(), 2);
    }
}
