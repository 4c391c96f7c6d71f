//! The stage: a runtime of one thread or two, and a producer that it waits for.

use std::future::Future;

use async_executor::Executor;
use futures_lite::future;

use super::Contender;
use super::executors::AsyncExecutor;
use crate::failure::Failure;
use crate::workloads::{Params, Runtime};

/// How many threads a runtime has when it has not just one.
const THREADS: usize = 2;

/// Runs `producer` to its end on tokio.
///
/// With two threads the producer stands outside of them, on this thread; with one they share it.
pub(crate) fn on_tokio<T>(
    params: &Params,
    producer: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut builder = match params.runtime {
        Some(Runtime::CurrentThread) => tokio::runtime::Builder::new_current_thread(),
        Some(Runtime::TwoThreads) | None => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(THREADS);
            builder
        }
    };
    let runtime = builder.enable_time().build().map_err(Failure::new)?;
    let outcome = runtime.block_on(producer);
    // Tasks that loop for good are dropped where they stand.
    runtime.shutdown_background();
    outcome
}

/// Runs what `producer` makes to its end beside or on `async-executor`, in the same two ways.
pub(crate) fn on_executor<T, F: Future<Output = Result<T, Failure>>>(
    params: &Params,
    producer: impl FnOnce(&'static Executor<'static>) -> F,
) -> Result<T, Failure> {
    if params.runtime == Some(Runtime::CurrentThread) {
        let contender = AsyncExecutor::on_threads(0)?;
        let executor = contender.executor();
        return future::block_on(executor.run(producer(executor)));
    }
    let contender = AsyncExecutor::on_threads(THREADS)?;
    let outcome = future::block_on(producer(contender.executor()));
    contender.shut_down()?;
    outcome
}
