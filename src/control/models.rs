//! Loom models of limits that two threads change at once.

use std::sync::Arc;

use loom::thread;

use super::Control;
use crate::engine::models::{explore, settings};
use crate::engine::{Ended, Engine};
use crate::pool::Closures;

#[test]
fn the_minimum_is_never_above_the_capacity() {
    explore(|| {
        let engine = Engine::new(settings(2, 8), Closures);
        let control = Control::new(Arc::clone(&engine));
        let other = control.clone();
        let thread = thread::spawn(move || other.set_minimum(2).is_ok());
        let resized = control.resize(1).is_ok();
        let raised = thread.join().unwrap();
        assert!(resized != raised, "each is refused after the other");
        assert!(engine.limits().minimum <= control.capacity());
        engine.wait_until(Ended::Workers, None).unwrap();
    });
}
