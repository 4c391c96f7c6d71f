//! What a function of futures is told after all tasks were cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formic::AsyncFnPool;

#[tokio::test]
async fn a_call_that_comes_after_cancel_all_is_not_cancelled_before_its_first_poll() {
    let wrong = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&wrong);
    let function = move |number: u32| {
        seen.fetch_or(formic::is_cancelled(), Ordering::SeqCst);
        async move { number }
    };
    let pool = AsyncFnPool::builder().workers(2).build(function).unwrap();
    for number in 0..3 {
        assert_eq!(pool.call(number).await.unwrap(), number);
        pool.cancel_all();
    }
    assert!(!wrong.load(Ordering::SeqCst));
}
