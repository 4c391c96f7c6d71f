//! Models of how futures, submissions, drivers and pools end.

use std::future::pending;
use std::pin::pin;

use super::*;
use crate::error::Refused;

#[test]
fn a_running_future_is_completed_or_cancelled() {
    explore(|| {
        let pool = pool(1, Start::Thread, settings(1, 8));
        let (event, drops) = (Event::default(), Drops::default());
        let (its, guard) = (event.clone(), drops.guard());
        let task = spawn(&pool, async move {
            let _guard = guard;
            its.await
        });
        let other = Arc::clone(&task);
        let canceller = thread::spawn(move || other.cancel());
        event.happen();
        let completed = outcome(task).is_some();
        assert_eq!(drops.count(), 1, "what it owned is gone when its outcome shows");
        assert_eq!(canceller.join().unwrap(), !completed);
        drain(&pool);
        assert_eq!(ended(&pool), (u64::from(completed), u64::from(!completed)));
    });
}

#[test]
fn a_waiting_future_is_woken_to_be_cancelled() {
    explore(|| {
        let pool = pool(1, Start::Thread, settings(1, 8));
        let task = spawn(&pool, pending());
        assert!(task.cancel());
        assert_eq!(outcome(task), None);
        drain(&pool);
        assert_eq!(ended(&pool), (0, 1));
    });
}

#[test]
fn a_running_future_is_dropped_when_all_are_cancelled_and_a_later_one_runs() {
    explore(|| {
        let (pool, drops) = (pool(1, Start::Thread, settings(2, 8)), Drops::default());
        let guard = drops.guard();
        submit(&pool, async move {
            let _guard = guard;
            pending().await
        });
        let (queued, running) = pool.cancel_all();
        assert_eq!(queued + running, 1);
        submit(&pool, async { 1 });
        drain(&pool);
        assert_eq!((drops.count(), ended(&pool)), (1, (1, 1)));
    });
}

#[test]
fn a_future_with_a_handle_completes_or_is_dropped_when_all_are_cancelled() {
    explore(|| {
        let pool = pool(1, Start::Thread, settings(1, 8));
        let (event, drops) = (Event::default(), Drops::default());
        let (its, guard) = (event.clone(), drops.guard());
        let task = spawn(&pool, async move {
            let _guard = guard;
            its.await
        });
        let other = Arc::clone(&pool);
        let canceller = thread::spawn(move || other.cancel_all());
        event.happen();
        let completed = outcome(task).is_some();
        assert_eq!(drops.count(), 1, "what it owned is gone when its outcome shows");
        let (queued, running) = canceller.join().unwrap();
        assert!(completed || queued + running == 1);
        drain(&pool);
        assert_eq!(ended(&pool), (u64::from(completed), u64::from(!completed)));
    });
}

#[test]
fn a_dropped_submission_gives_its_place_back() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 0));
        let [driver] = drivers(&pool);
        let held = pool.admit(1, Patience::None).unwrap();
        let (other, drops) = (Arc::clone(&pool), Drops::default());
        let guard = drops.guard();
        let submitter = thread::spawn(move || {
            let job = bare(async move {
                let _guard = guard;
                1
            });
            let mut entering = pin!(other.enter(job));
            let mut context = Context::from_waker(Waker::noop());
            (0..2).any(|_| entering.as_mut().poll(&mut context).is_ready())
        });
        drop(held);
        let entered = submitter.join().unwrap();
        assert_eq!(drops.count(), usize::from(!entered));
        assert_eq!(pool.admit(1, Patience::None).is_ok(), !entered, "the place is free again");
        pool.close();
        turn_until_it_leaves(driver);
        assert_eq!((ended(&pool), drops.count()), ((u64::from(entered), 0), 1));
    });
}

#[test]
fn a_waiting_submission_enters_when_a_future_ends() {
    explore(|| {
        let pool = pool(1, Start::Thread, settings(1, 0));
        submit(&pool, async { 1 });
        assert!(block_on(pool.enter(bare(async { 10 }))).is_ok());
        drain(&pool);
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn a_lost_driver_leaves_no_waiter_behind() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 1));
        let [mut driver] = drivers(&pool);
        let drops = Drops::default();
        let task = || {
            let guard = drops.guard();
            spawn(&pool, async move {
                let _guard = guard;
                pending().await
            })
        };
        let (runs, queued) = (task(), task());
        assert_eq!(turn(&mut driver), Turn::Sleep);
        let other = Arc::clone(&pool);
        let submitter = thread::spawn(move || {
            match block_on(other.enter(bare(async { 1 }))) {
                // A future of the driver was dropped, and made a place.
                Ok(()) => 1,
                Err((_, refused)) => {
                    assert_eq!(refused, Refused::RuntimeGone);
                    0
                }
            }
        });
        *pool.work().start.lock().unwrap() = Start::Gone;
        let shutdown = thread::spawn(move || drop(driver));
        assert_eq!((outcome(runs), outcome(queued), drops.count()), (None, None, 2));
        let entered = submitter.join().unwrap();
        shutdown.join().unwrap();
        drain(&pool);
        assert_eq!(ended(&pool), (0, 2 + entered));
    });
}

#[test]
fn a_lost_driver_sends_waiting_submitters_away() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 0));
        let [driver] = drivers(&pool);
        let held = pool.admit(1, Patience::None).unwrap();
        let other = Arc::clone(&pool);
        let submitter = thread::spawn(move || {
            let refused = block_on(other.enter(bare(async { 1 })));
            assert_eq!(refused.map_err(|(_, refused)| refused), Err(Refused::RuntimeGone));
        });
        drop(driver);
        submitter.join().unwrap();
        drop(held);
        drain(&pool);
        assert_eq!(ended(&pool), (0, 0));
    });
}

#[test]
fn the_others_go_when_the_last_task_is_lost_with_its_driver() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [mut lost, other] = drivers(&pool);
        submit(&pool, pending());
        assert_eq!(turn(&mut lost), Turn::Sleep);
        pool.close();
        let other = thread::spawn(move || turn_until_it_leaves(other));
        drop(lost);
        other.join().unwrap();
        assert_eq!(ended(&pool), (0, 1));
    });
}

#[test]
fn a_permit_whose_runtime_is_gone_has_its_task_cancelled() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        *pool.work().start.lock().unwrap() = Start::Gone;
        let places = pool.admit(2, Patience::None).unwrap();
        let shutdown = thread::spawn(move || drop(driver));
        // For the second task no driver is started again so soon.
        for held in places {
            let (task_state, job) = pack(&pool, async { 1 });
            held.put(job);
            assert_eq!(outcome(task_state), None);
        }
        shutdown.join().unwrap();
        drain(&pool);
        assert_eq!(ended(&pool), (0, 2));
    });
}

#[test]
fn a_future_is_polled_elsewhere_or_lost_with_its_driver() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [mut lost, helper] = drivers(&pool);
        let event = Event::default();
        let task = spawn(&pool, event.clone());
        submit(&pool, pending());
        assert_eq!(turn(&mut lost), Turn::Sleep);
        let helper = thread::spawn(move || turn_until_it_leaves(helper));
        let waker = thread::spawn(move || event.happen());
        drop(lost);
        let completed = outcome(task).map_or(0, |_| 1);
        waker.join().unwrap();
        drain(&pool);
        helper.join().unwrap();
        assert_eq!(ended(&pool), (completed, 2 - completed));
    });
}

#[test]
fn a_driver_that_never_began_is_told_to_its_starter() {
    explore(|| {
        let pool = pool(1, Start::Dropped, settings(1, 8));
        let drops = Drops::default();
        let guard = drops.guard();
        let (task_state, job) = pack(&pool, async move {
            let _guard = guard;
            1
        });
        let entered = pool.submit(job, Patience::None);
        let refused = entered.map_err(|(_, refused)| refused).err();
        assert!(matches!(refused, None | Some(Refused::RuntimeGone)));
        // The job that came back is dropped, and so the task is cancelled in both cases.
        assert_eq!(outcome(task_state), None);
        drain(&pool);
        assert_eq!((ended(&pool), drops.count()), ((0, u64::from(refused.is_none())), 1));
    });
}

#[test]
fn a_runtime_that_is_gone_is_told_to_the_starter_of_a_driver() {
    explore(|| {
        let pool = pool(1, Start::Gone, settings(1, 8));
        let refused = pool.submit(bare(async { 1 }), Patience::None);
        assert_eq!(refused.map_err(|(_, refused)| refused), Err(Refused::RuntimeGone));
        drain(&pool);
        assert_eq!(ended(&pool), (0, 0));
    });
}

#[test]
fn never_more_than_the_capacity_are_driven() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(1, 8));
        let [first, second] = drivers(&pool);
        let running = Arc::new(StdMutex::new(0));
        for _ in 0..2 {
            let running = Arc::clone(&running);
            submit(&pool, async move {
                *running.lock().unwrap() += 1;
                let mut begun = false;
                std::future::poll_fn(|context| {
                    assert_eq!(*running.lock().unwrap(), 1);
                    context.waker().wake_by_ref();
                    if std::mem::replace(&mut begun, true) {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                })
                .await;
                *running.lock().unwrap() -= 1;
                1
            });
        }
        let runtime = thread::spawn(move || turn_until_it_leaves(second));
        pool.close();
        turn_until_it_leaves(first);
        runtime.join().unwrap();
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn close_ends_all_drivers() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [first, second] = drivers(&pool);
        let event = Event::default();
        submit(&pool, event.clone());
        let runtime: Vec<_> = [first, second]
            .into_iter()
            .map(|driver| thread::spawn(move || turn_until_it_leaves(driver)))
            .collect();
        event.happen();
        drain(&pool);
        runtime.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ended(&pool), (1, 0));
    });
}

/// The pool is opened again while its driver is still on its way out.
#[test]
fn a_driver_that_leaves_takes_nothing_of_the_next_at_its_place() {
    explore_up_to(3, || {
        let pool = pool(1, Start::Thread, settings(1, 8));
        submit(&pool, async { 1 });
        drain(&pool);
        pool.reopen().unwrap();
        let (has_begun, event) = (Event::default(), Event::default());
        let (begun, its) = (has_begun.clone(), event.clone());
        let task = spawn(&pool, async move {
            begun.happen();
            its.await
        });
        has_begun.block();
        event.happen();
        assert_eq!(outcome(task), Some(1));
        drain(&pool);
        assert_eq!(ended(&pool), (2, 0));
    });
}
