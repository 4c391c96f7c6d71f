//! The executors of pools of futures: a runtime with two threads, a current-thread runtime, or the pool's own
//! threads.

use std::sync::LazyLock;

use formic::{Builder, OnTokio};
use tokio::runtime::{Handle, Runtime};

use crate::common::on_tokio::runtime;
use crate::model::{Plan, Variant};

pub(crate) const EXECUTORS: &[Variant] =
    &[Variant::OnRuntime, Variant::OnCurrentThread, Variant::OnOwnThreads];

static TWO_THREADS: LazyLock<Runtime> = LazyLock::new(|| runtime(2));

/// The current-thread runtime. A thread of its own drives it.
static ONE_THREAD: LazyLock<Handle> = LazyLock::new(|| {
    let runtime = runtime(0);
    let handle = runtime.handle().clone();
    let drive = move || runtime.block_on(std::future::pending::<()>());
    let thread = std::thread::Builder::new().name("quiet-current".to_owned());
    thread.spawn(drive).expect("a thread can be started");
    handle
});

/// Sets the executor of the plan.
pub(crate) fn on_executor<P: OnTokio>(builder: Builder<P>, plan: &Plan) -> Builder<P> {
    match plan.variant {
        Variant::OnRuntime => builder.runtime(TWO_THREADS.handle().clone()),
        Variant::OnCurrentThread => builder.runtime(ONE_THREAD.clone()),
        Variant::OnOwnThreads => builder.own_threads(2),
        other => unreachable!("a pool of futures does not run on {other:?}"),
    }
}
