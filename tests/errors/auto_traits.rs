//! What may be sent to other threads, shared between them, moved while it is pinned, and carried over a panic:
//! checked when this file is compiled, for every public type.

use std::cell::Cell;
use std::marker::{PhantomData, PhantomPinned};
use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};

use formic::{
    AcquireError, Balance, Batch, BuildError, Builder, CallError, Control, Error, FnPool,
    ForEachError, Growth, JoinError, JoinHandle, Map, Multi, NoSuchShard, OwnedSemaphorePermit,
    Permit, Pool, PrestartError, Refused, ReopenError, ResizeError, Scope, ScopedHandle, ScopedMap,
    Semaphore, SemaphorePermit, ShardErrors, Stats, StillRunning, SubmitError, TaskError,
    TaskPanic, Unordered, WhenFull, Workers,
};

/// The worst that a task, an argument or a result can be: `Send`, and nothing else.
type Worst = (&'static mut Cell<u32>, PhantomPinned);

/// Each type has all of the traits in the first place, and none of those in the second.
macro_rules! types {
    ($($has:ident)*; not $($lacks:ident)*; $($type:ty),* $(,)?) => {
        types!(@has [$($has)*] $($type)*);
        types!(@lacks [$($lacks)*] $($type)*);
    };
    (@has $bounds:tt $($type:ty)*) => { $( types!(@has_one $bounds $type); )* };
    (@has_one [$($bound:ident)*] $type:ty) => {
        const _: () = {
            const fn check<T: ?Sized $(+ $bound)*>() {}
            check::<$type>();
        };
    };
    (@lacks $bounds:tt $($type:ty)*) => { $( types!(@lacks_one $bounds $type); )* };
    (@lacks_one [$($bound:ident)*] $type:ty) => { $( types!(@lacks_it $bound $type); )* };
    // The inherent constant is chosen where its bound holds, and that of the trait otherwise.
    (@lacks_it $bound:ident $type:ty) => {
        const _: () = {
            trait Otherwise {
                const HOLDS: bool = false;
            }
            impl<T: ?Sized> Otherwise for T {}
            struct Check<T: ?Sized>(PhantomData<T>);
            #[allow(dead_code, reason = "it is there for those that have the trait")]
            impl<T: ?Sized + $bound> Check<T> {
                const HOLDS: bool = true;
            }
            assert!(!Check::<$type>::HOLDS);
        };
    };
}

types! { Send; not Sync Unpin UnwindSafe RefUnwindSafe; Worst }

// Whatever they run, pools and their handles have every trait.
types! {
    Send Sync Unpin UnwindSafe RefUnwindSafe; not;
    Pool,
    FnPool<Worst, Worst>,
    Multi<Pool>,
    Multi<FnPool<Worst, Worst>>,
    Control,
    Permit<'static>,
    formic::OwnedFnPermit<Worst, Worst>,
    formic::CancelToken,
    JoinHandle<Worst>,
    Batch<Worst>,
    Builder<Pool>,
    Builder<FnPool<Worst, Worst>>,
    Semaphore,
    SemaphorePermit<'static>,
    OwnedSemaphorePermit,
}

// Plain values.
types! {
    Send Sync Unpin UnwindSafe RefUnwindSafe; not;
    WhenFull, Workers, Growth, Balance, Stats,
}

// Errors without a payload of a foreign type.
types! {
    Send Sync Unpin UnwindSafe RefUnwindSafe; not;
    Refused,
    JoinError,
    TaskPanic,
    ResizeError,
    StillRunning,
    AcquireError,
    NoSuchShard,
    ShardErrors<StillRunning>,
    ForEachError,
    TaskError<u32>,
    SubmitError<u32>,
    CallError<u32>,
}

// Errors that may hold an `io::Error` are as it is: not safe to carry over a panic, because it can hold any error.
types! {
    Send Sync Unpin; not UnwindSafe RefUnwindSafe;
    BuildError, PrestartError, ReopenError, Error,
}

// A refused task can be moved out of its error, so what a panic may have done to the task counts, and whether it may
// be moved while it is pinned. It is never lent, so it need not be `Sync` or `RefUnwindSafe`.
types! {
    Send Sync RefUnwindSafe; not Unpin UnwindSafe;
    SubmitError<Worst>,
    CallError<Worst>,
}

// A scope and its handles hold the borrows of their tasks, also mutable ones, which a panic may leave half changed.
// The same is true of `std::thread::Scope`.
types! {
    Send Sync; not UnwindSafe;
    Scope<'static, 'static>,
    ScopedHandle<'static, u32>,
}

/// The function of a map.
type Function = fn(u32) -> Worst;

// As the input and the function.
types! {
    Send Sync Unpin UnwindSafe RefUnwindSafe; not;
    Map<std::vec::IntoIter<u32>, Function, Worst>,
    Unordered<Map<std::vec::IntoIter<u32>, Function, Worst>>,
}

// As the scope that it borrows.
types! {
    Send; not UnwindSafe;
    ScopedMap<'static, 'static, std::vec::IntoIter<u32>, fn(u32) -> u32, u32>,
}

#[test]
fn a_pool_and_its_handles_are_used_after_a_panic_was_caught() {
    let (pool, permit) = (Pool::new(1), Semaphore::new(1));
    let handle = pool.spawn(|| Cell::new(7)).unwrap();
    let caught = catch_unwind(|| {
        let held = permit.acquire(1).unwrap();
        pool.submit(|| ()).unwrap();
        assert_eq!(held.weight(), 2, "this is the panic");
    });
    assert!(caught.is_err());
    let value = catch_unwind(|| handle.join().unwrap().get());
    assert_eq!(value.unwrap(), 7);
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, permit.available()), (2, 1));
}

#[cfg(feature = "tokio")]
mod futures {
    use super::*;
    use formic::{AsyncFnPool, AsyncMap, AsyncPermit, AsyncPool, FromStream};

    types! {
        Send Sync Unpin UnwindSafe RefUnwindSafe; not;
        AsyncPool,
        AsyncFnPool<Worst, Worst>,
        Multi<AsyncPool>,
        Multi<AsyncFnPool<Worst, Worst>>,
        AsyncPermit<'static>,
        formic::OwnedAsyncFnPermit<Worst, Worst>,
        Builder<AsyncPool>,
        Builder<AsyncFnPool<Worst, Worst>>,
    }

    // A stream is polled through a `&mut`, by one thread at a time, and what it polls is a future of a foreign type.
    types! { Send Unpin; not Sync UnwindSafe RefUnwindSafe; AsyncMap<Worst> }

    // As the stream in it, which is pinned to its own place.
    types! { Send Unpin; not Sync UnwindSafe RefUnwindSafe; FromStream<Worst> }

    fn is_send<T: Send>(_: T) {}

    /// Every verb that returns a future, none of which is polled. Their futures may be moved to other threads.
    #[allow(dead_code, reason = "to be compiled is its test")]
    fn futures_are_send(pool: &AsyncPool, calls: &AsyncFnPool<Cell<u32>, Cell<u32>>) {
        is_send(pool.submit(async {}));
        is_send(pool.spawn(async { Cell::new(1) }));
        is_send(pool.admit());
        is_send(pool.for_each(0..3, |_| async {}));
        is_send(pool.wait_idle());
        is_send(pool.drain());
        is_send(pool.drain_timeout(std::time::Duration::ZERO));
        is_send(calls.submit(Cell::new(1)));
        is_send(calls.spawn(Cell::new(1)));
        is_send(calls.call(Cell::new(1)));
        is_send(calls.call_timeout(Cell::new(1), std::time::Duration::ZERO));
    }

    #[allow(dead_code, reason = "to be compiled is its test")]
    fn futures_of_shards_are_send(
        pools: &Multi<AsyncPool>,
        calls: &Multi<AsyncFnPool<Cell<u32>, Cell<u32>>>,
    ) {
        is_send(pools.submit(async {}));
        is_send(pools.spawn(async { Cell::new(1) }));
        is_send(pools.wait_idle_async());
        is_send(pools.drain_async());
        is_send(calls.submit(Cell::new(1)));
        is_send(calls.spawn(Cell::new(1)));
    }
}

#[cfg(feature = "tower")]
mod services {
    use super::*;
    #[cfg(feature = "tokio")]
    use formic::tower::{AsyncFnService, OnPool, PoolLayer};
    use formic::tower::{FlatResponse, Flatten, FnService, Response, ServiceError};

    // A router shares its services between threads, so they are `Sync`.
    types! {
        Send Sync Unpin UnwindSafe RefUnwindSafe; not;
        FnService<Worst, Worst>,
        Flatten<FnService<Worst, Result<Worst, Worst>>>,
        Response<Worst>,
        FlatResponse<Worst, Worst>,
        ServiceError,
        ServiceError<u32>,
    }

    #[cfg(feature = "tokio")]
    types! {
        Send Sync Unpin UnwindSafe RefUnwindSafe; not;
        AsyncFnService<Worst, Worst>,
        PoolLayer,
        OnPool<u32>,
    }
}

fn is_send<T: Send>(_: T) {}

/// Likewise, of pools of threads.
#[allow(dead_code, reason = "to be compiled is its test")]
fn futures_are_send(
    pool: &Pool,
    calls: &FnPool<Cell<u32>, Cell<u32>>,
    batch: &mut Batch<Cell<u32>>,
) {
    is_send(pool.admit_async());
    is_send(pool.wait_idle_async());
    is_send(pool.drain_async());
    is_send(calls.call_async(Cell::new(1)));
    is_send(batch.next_async());
    is_send(Semaphore::new(1).acquire_async(1));
}
