//! Whether the calling thread may block until futures end.
//!
//! A thread that polls a task, or the future of a `block_on`, must not: the futures that it waits for may
//! need this very thread, and on a current-thread runtime they always do. The public API of tokio does not
//! name these threads, and a current [`Handle`] proves nothing: `spawn_blocking`, `block_in_place` and an
//! entered runtime have one, too, and may block.
//!
//! Tokio's budget of operations tells them apart. Tokio sets a finite budget around each poll of a task and
//! of a `block_on`, and lifts it in `spawn_blocking` and `block_in_place`. So this function spends up to more
//! than any budget holds, and restores what it spent.
//!
//! One case stays hidden: tokio lifts the budget in `tokio::task::unconstrained` as well.

use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;
use tokio::task::coop;

/// Operations. Tokio keeps a budget in a byte, and starts it at 128, so no budget holds as many.
const MORE_THAN_A_BUDGET: usize = 256;

/// See the module's first lines. Reads one thread-local outside of a runtime, and spends up to 256 operations
/// inside.
pub(super) fn may_block() -> bool {
    Handle::try_current().is_err() || !has_budget()
}

/// Whether the budget is finite. The budget is the same afterwards.
fn has_budget() -> bool {
    let mut context = Context::from_waker(Waker::noop());
    // Restores the budget to what it was before the first operation, when it is dropped.
    let mut restore = None;
    for _ in 0..MORE_THAN_A_BUDGET {
        // Asked first, because tokio defers the waker of an operation for which there is no budget.
        if !coop::has_budget_remaining() {
            return true;
        }
        let Poll::Ready(spent) = coop::poll_proceed(&mut context) else { return true };
        if restore.is_some() {
            spent.made_progress();
        } else {
            restore = Some(spent);
        }
    }
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use tokio::runtime::{Builder, Runtime};
    use tokio::task::{LocalSet, block_in_place, spawn_blocking, unconstrained};

    use super::*;
    use crate::AsyncPool;

    fn runtimes() -> [Runtime; 2] {
        let one = Builder::new_current_thread().build();
        let two = Builder::new_multi_thread().worker_threads(2).build();
        [one, two].map(|runtime| runtime.expect("a runtime can be built"))
    }

    async fn asks() -> bool {
        may_block()
    }

    /// Spends `operations` of the budget. How many of them it had.
    fn spend(operations: usize) -> usize {
        let mut context = Context::from_waker(Waker::noop());
        let mut has_more = || match coop::poll_proceed(&mut context) {
            Poll::Ready(spent) => {
                spent.made_progress();
                true
            }
            Poll::Pending => false,
        };
        (0..operations).take_while(|_| has_more()).count()
    }

    #[test]
    fn a_thread_that_polls_for_a_runtime_must_not_block() {
        for runtime in runtimes() {
            assert!(!runtime.block_on(asks()));
            assert!(!runtime.block_on(runtime.spawn(asks())).unwrap());
            let local = LocalSet::new();
            assert!(!local.block_on(&runtime, async {
                assert!(!asks().await);
                tokio::task::spawn_local(asks()).await.unwrap()
            }));
        }
    }

    #[test]
    fn a_future_of_a_pool_must_not_block() {
        for runtime in runtimes() {
            let inside = runtime.enter();
            let pool = AsyncPool::new(1);
            drop(inside);
            let handle = pool.try_spawn(asks()).unwrap();
            assert!(!runtime.block_on(handle).unwrap());
        }
        let pool = AsyncPool::builder().own_threads(1).build().unwrap();
        assert!(!pool.try_spawn(asks()).unwrap().join().unwrap());
    }

    #[test]
    fn a_thread_that_polls_nothing_may_block() {
        assert!(may_block());
        for runtime in runtimes() {
            let entered = runtime.enter();
            assert!(may_block());
            drop(entered);
            assert!(runtime.block_on(async { spawn_blocking(may_block).await.unwrap() }));
        }
        let [_, several] = runtimes();
        assert!(several.block_on(async { block_in_place(may_block) }));
        assert!(several.block_on(several.spawn(async { block_in_place(may_block) })).unwrap());
    }

    #[test]
    fn a_thread_that_may_block_polls_in_a_block_on_of_its_own() {
        let [one, several] = runtimes();
        let nested = || several.handle().block_on(asks());
        assert!(!nested());
        let handle = several.handle().clone();
        let blocking = async { spawn_blocking(move || handle.block_on(asks())).await };
        assert!(!one.block_on(blocking).unwrap());
        assert!(!several.block_on(async { block_in_place(nested) }));
    }

    #[test]
    fn the_budget_is_as_before() {
        for spent in [0, 1, 100, 127, 128] {
            for runtime in runtimes() {
                let budget = |asks: bool| {
                    runtime.block_on(async {
                        let before = spend(spent);
                        assert!(!asks || !may_block(), "{spent} spent");
                        before + spend(MORE_THAN_A_BUDGET)
                    })
                };
                let all = budget(false);
                assert!((128..MORE_THAN_A_BUDGET).contains(&all));
                assert_eq!(budget(true), all, "{spent} spent");
            }
        }
    }

    /// The limit that the module's first lines name. If this fails, tokio tells more: so should they.
    #[test]
    fn an_unconstrained_future_is_not_recognised() {
        let [one, _] = runtimes();
        assert!(one.block_on(unconstrained(asks())));
    }
}
