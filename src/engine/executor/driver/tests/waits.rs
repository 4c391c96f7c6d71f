//! What a cell waits for.

use std::sync::Mutex;

use super::*;
use crate::engine::context::{current_waits, replace_waits};
use crate::engine::waits::Waits;

#[test]
fn a_cell_knows_what_it_waits_for_on_every_driver() {
    let engine = engine(2, 2);
    let (mut helper, mut first) = (driver(&engine), driver(&engine));
    let waits: [Arc<Mutex<Vec<Arc<Waits>>>>; 2] = Default::default();
    for waits in &waits {
        let (waits, mut polls) = (Arc::clone(waits), 0);
        let future = cell(move |context| {
            let note = || waits.lock().unwrap().extend(current_waits());
            note();
            polls += 1;
            if polls == 2 {
                drop(replace_waits(None));
                note();
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        engine.lock().queue.push(future);
    }
    assert_eq!(short_turn(&mut first), Turn::Yield);
    assert_eq!(short_turn(&mut first), Turn::Yield);
    assert_eq!(turn(&mut helper), Turn::Sleep);
    for waits in &waits {
        let waits = waits.lock().unwrap();
        let [first, again, next] = &waits[..] else { panic!("it asked three times") };
        assert!(Arc::ptr_eq(first, again) && !Arc::ptr_eq(first, next), "it has forgotten them");
    }
}

#[test]
fn a_cell_forgets_handles_that_it_polled_in_an_earlier_turn() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    let waits: Arc<Mutex<Vec<Arc<Waits>>>> = Arc::default();
    let (seen, mut polls) = (Arc::clone(&waits), 0);
    let future = cell(move |context| {
        polls += 1;
        if polls == 2 {
            drop(replace_waits(None));
        }
        seen.lock().unwrap().extend(current_waits());
        if polls == 2 {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    engine.lock().queue.push(future);
    assert_eq!(short_turn(&mut driver), Turn::Yield);
    driver.time = Duration::MAX;
    assert_eq!(turn(&mut driver), Turn::Sleep);
    let waits = waits.lock().unwrap();
    let [first, second] = &waits[..] else { panic!("it asked twice") };
    assert!(!Arc::ptr_eq(first, second));
}
