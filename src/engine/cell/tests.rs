use std::sync::OnceLock;

use super::super::stubs::errand;
use super::*;

type Cells = Arc<OnceLock<Arc<dyn Runnable>>>;

/// A future that tells what it was told.
struct Told {
    counts: Arc<Mutex<Vec<Counts>>>,
}

impl Future for Told {
    type Output = End;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<End> {
        Poll::Pending
    }
}

impl Errand for Told {
    fn set_counts(self: Pin<&mut Self>, counts: Counts) {
        self.counts.lock().expect("nothing panics here").push(counts);
    }

    fn origin(&self) -> Option<&'static Location<'static>> {
        None
    }

    fn end_by_drop(&self) -> End {
        End::Cancelled
    }
}

fn poll_once(cell: &Arc<dyn Runnable>) -> Polled {
    poll(cell, |_| End::Panicked)
}

fn run_within(cell: &Arc<dyn Runnable>) -> Option<End> {
    cell.run_within(&mut Context::from_waker(Waker::noop())).unwrap_or(Some(End::Panicked))
}

/// A cell that is given up while it is polled for the second time, and what is gone with its future.
fn given_up_meanwhile() -> (Arc<dyn Runnable>, Arc<()>) {
    let (own, owned) = (Cells::default(), Arc::new(()));
    let (its_cell, inside, mut polls) = (Arc::clone(&own), Arc::clone(&owned), 0);
    let cell: Arc<dyn Runnable> = Cell::new(errand(move |_| {
        polls += 1;
        if polls == 2 {
            let cell = its_cell.get().expect("it was set");
            assert_eq!(abandon(cell), End::Counted, "whoever polls it counts it");
            assert_eq!(Arc::strong_count(&inside), 2, "and drops it");
        }
        Poll::Pending
    }));
    own.set(Arc::clone(&cell)).ok();
    (cell, owned)
}

#[test]
fn what_was_never_polled_is_taken_once() {
    let cell = Cell::new(errand(|_| Poll::Pending));
    assert!(cell.take().is_some());
    assert!(cell.take().is_none());
    let cell = cell as Arc<dyn Runnable>;
    assert_eq!(poll_once(&cell), Polled::Waits, "there is nothing to poll");
    assert_eq!(abandon(&cell), End::Counted);
}

#[test]
fn one_that_is_taken_in_is_polled_until_it_ends() {
    let mut polls = 0;
    let cell: Arc<dyn Runnable> = Cell::new(errand(move |_| {
        polls += 1;
        if polls < 3 { Poll::Pending } else { Poll::Ready(End::Completed) }
    }));
    assert_eq!(
        [(); 4].map(|()| run_within(&cell)),
        [None, None, Some(End::Completed), Some(End::Counted)]
    );
}

#[test]
fn one_that_was_taken_in_can_be_given_up() {
    let cell: Arc<dyn Runnable> = Cell::new(errand(|_| Poll::Pending));
    assert_eq!(run_within(&cell), None);
    assert_eq!([(); 2].map(|()| abandon(&cell)), [End::Cancelled, End::Counted]);
    assert_eq!(run_within(&cell), Some(End::Counted));
}

#[test]
fn whoever_polls_one_that_is_given_up_meanwhile_drops_it() {
    let (cell, owned) = given_up_meanwhile();
    assert_eq!(poll_once(&cell), Polled::Waits);
    cell.header().wake();
    assert_eq!(poll_once(&cell), Polled::Ended(End::Cancelled));
    assert_eq!(Arc::strong_count(&owned), 1);
    let (cell, owned) = given_up_meanwhile();
    assert_eq!([(); 2].map(|()| run_within(&cell)), [None, Some(End::Cancelled)]);
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn a_future_is_told_who_counts_it_as_long_as_it_is_there() {
    let counts = Arc::default();
    let cell: Arc<dyn Runnable> = Cell::new(Told { counts: Arc::clone(&counts) });
    cell.set_adopted(true);
    assert_eq!(run_within(&cell), None, "it is still to be polled");
    cell.set_adopted(false);
    assert!(cell.kill());
    assert_eq!(abandon(&cell), End::Cancelled);
    cell.set_adopted(true);
    let told = counts.lock().expect("nothing panics here").clone();
    assert_eq!(told, [Counts::Joiner, Counts::Driver, Counts::Dropper]);
}
