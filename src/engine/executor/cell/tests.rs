use std::sync::OnceLock;

use super::*;
use crate::engine::tests::stubs::{cell, run};

type Cells = Arc<OnceLock<Arc<dyn Runnable>>>;

fn poll_once(cell: &Arc<dyn Runnable>) -> Option<End> {
    run(Arc::clone(cell))
}

/// A cell that is given up while it is polled for the second time, and what is gone with its future.
fn given_up_meanwhile() -> (Arc<dyn Runnable>, Arc<()>) {
    let (own, owned) = (Cells::default(), Arc::new(()));
    let (its_cell, inside, mut polls) = (Arc::clone(&own), Arc::clone(&owned), 0);
    let cell: Arc<dyn Runnable> = cell(move |_| {
        polls += 1;
        if polls == 2 {
            let cell = its_cell.get().expect("it was set");
            assert_eq!(cell.abandon(), End::Counted, "the thread that polls it counts it");
            assert_eq!(Arc::strong_count(&inside), 2, "and drops it");
        }
        Poll::Pending
    });
    own.set(Arc::clone(&cell)).ok();
    (cell, owned)
}

#[test]
fn what_was_never_polled_is_taken_once() {
    let cell = cell(|_| Poll::Pending);
    assert!(cell.take().is_some());
    assert!(cell.take().is_none());
    let cell = cell as Arc<dyn Runnable>;
    assert_eq!(poll_once(&cell), None, "there is nothing to poll");
    assert_eq!(cell.abandon(), End::Counted);
}

#[test]
fn the_thread_that_polls_a_cell_drops_it_if_it_is_given_up_meanwhile() {
    let (cell, owned) = given_up_meanwhile();
    assert_eq!(poll_once(&cell), None);
    cell.header().wake();
    assert_eq!(poll_once(&cell), Some(End::Cancelled));
    assert_eq!(Arc::strong_count(&owned), 1);
}
