//! Tests of an engine without workers: what it says about itself, and who waits for it.

use std::future::Future;
use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "tokio")]
use std::task::Wake;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::engine::task::closure::Task;
use crate::engine::{Ended, Engine, Held, Hooks, Limits, Settings};
use crate::pool::Closures;

/// An engine of two workers that are never started, with a queue of three.
fn engine() -> Arc<Engine<Closures>> {
    let limits = Limits { capacity: 2, queue: 3, waiters: usize::MAX, ..Limits::default() };
    let settings = Settings {
        limits,
        name: "unmanned".into(),
        stack_size: None,
        hooks: Hooks { on_panic: Some(Arc::new(|_| {})), ..Hooks::default() },
        faults: Some(Arc::new(|| true)),
    };
    Engine::new(settings, Closures)
}

fn push(engine: &Engine<Closures>) {
    engine.lock().queue.push(Task::new(|| {}));
}

#[test]
fn an_engine_says_how_it_was_set_up() {
    let engine = engine();
    assert_eq!((engine.settings.limits.queue, engine.name()), (3, "unmanned"));
    assert!(engine.hooks().on_panic.is_some());
}

#[test]
#[cfg(feature = "tokio")]
fn no_task_is_made_if_there_is_no_worker_to_run_it() {
    assert_eq!(engine().offer(1, || unreachable!("no worker can be started")), 0);
}

#[test]
fn a_closed_pool_shows_no_places() {
    let engine = engine();
    assert_eq!(engine.glance().places(), (5, 2));
    engine.close();
    assert_eq!(engine.glance().places(), (0, 0));
}

#[test]
#[cfg(feature = "tokio")]
fn a_listener_is_told_that_the_pool_is_closed_as_long_as_it_is_subscribed() {
    #[derive(Default)]
    struct Told(AtomicUsize);
    impl Wake for Told {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (engine, [kept, left]) = (engine(), [(); 2].map(|()| Arc::<Told>::default()));
    let listen = |told: &Arc<Told>| engine.listen_for_close(Arc::clone(told).into());
    let subscription = listen(&kept);
    drop(listen(&left));
    assert_eq!(engine.lock().close_listeners.len(), 1);
    engine.close();
    assert_eq!((kept.0.load(Ordering::Relaxed), left.0.load(Ordering::Relaxed)), (1, 0));
    drop(subscription);
    assert!(engine.lock().close_listeners.is_empty());
}

#[test]
fn a_future_that_waits_for_an_end_is_forgotten_when_it_is_dropped() {
    let engine = engine();
    push(&engine);
    let mut until = Box::pin(engine.until(Ended::Tasks));
    assert!(until.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(engine.lock().awaiting_ends[0].len(), 1);
    drop(until);
    assert!(engine.lock().awaiting_ends[0].is_empty());
}

#[test]
fn a_task_that_was_promised_a_place_is_dropped_if_no_worker_will_ever_take_it() {
    let (engine, token) = (engine(), Arc::new(()));
    let inside = Arc::clone(&token);
    engine.lock().hold_place();
    // A start has failed, and so soon after that none is tried.
    engine.lock().no_start_before = Instant::now().checked_add(Duration::from_secs(3600));
    Held::new(&engine, 1).put(Task::new(move || drop(inside)));
    assert_eq!(Arc::strong_count(&token), 1);
}
