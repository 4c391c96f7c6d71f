//! The drivers: one file for each kind of pool.

pub(crate) mod threads; // what is done to every pool of threads
pub(crate) mod verbs; // .. by the verbs that all of them have
pub(crate) mod pool;
pub(crate) mod groups; // .. its batches, scopes and maps
pub(crate) mod batches; // .. filled by other threads
pub(crate) mod global;
pub(crate) mod fn_pool;
pub(crate) mod fn_pool_unready; // .. whose workers have a state that may fail
pub(crate) mod multi;
pub(crate) mod futures; // what is done to every pool of futures
pub(crate) mod async_verbs; // .. by the verbs that all of them have
pub(crate) mod async_pool;
pub(crate) mod async_fn_pool;
pub(crate) mod multi_async;
pub(crate) mod streams; // items that an async pool waits for
pub(crate) mod start_order; // .. of tasks on one worker
pub(crate) mod dropped_waiters; // futures that leave a queue
pub(crate) mod goal; // .. and what they wait for
pub(crate) mod ended_runtimes; // under a pool of futures
pub(crate) mod thread_locals; // that use a pool when their thread ends
pub(crate) mod semaphore;
