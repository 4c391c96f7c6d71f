//! Models of waking: no future that is woken, and no task that is queued, is left lying.

use super::*;
use crate::on_cancel::Cancels;

#[test]
fn a_woken_future_is_polled_again() {
    explore(|| {
        let pool = pool(1, Start::Thread, settings(1, 8));
        let event = Event::default();
        let task = spawn(&pool, event.clone());
        event.happen();
        assert_eq!(outcome(task), Some(1));
        assert!(event.polls() <= 2, "no driver polls it that was not asked to");
        drain(&pool);
        assert_eq!(ended(&pool), (1, 0));
    });
}

#[test]
fn a_future_that_wakes_itself_is_polled_again() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [mut driver] = drivers(&pool);
        let mut polls = 0;
        submit(
            &pool,
            std::future::poll_fn(move |context| {
                polls += 1;
                context.waker().wake_by_ref();
                if polls < 3 { Poll::Pending } else { Poll::Ready(polls) }
            }),
        );
        assert_eq!(turn(&mut driver), Turn::Sleep);
        assert_eq!(ended(&pool), (1, 0));
        pool.close();
        assert_eq!(turn(&mut driver), Turn::Leave);
    });
}

#[test]
fn a_future_is_polled_by_one_driver_at_a_time() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(1, 8));
        let [first, mut second] = drivers(&pool);
        let (one, two) = (Event::default(), Event::default());
        let (both, drops) = ((one.clone(), two.clone()), Drops::default());
        let guard = drops.guard();
        submit(&pool, async move {
            let _guard = guard;
            both.0.await + both.1.await
        });
        // The second driver begins with it, and either one goes on.
        assert_eq!(turn(&mut second), Turn::Sleep);
        let helper = thread::spawn(move || turn_until_it_leaves(first));
        let waker = {
            let one = one.clone();
            thread::spawn(move || one.happen())
        };
        two.happen();
        pool.close();
        turn_until_it_leaves(second);
        waker.join().unwrap();
        helper.join().unwrap();
        assert!(one.polls() + two.polls() <= 4, "no driver polls it that was not asked to");
        assert_eq!((ended(&pool), drops.count()), ((1, 0), 1));
    });
}

fn run(cell: &Arc<dyn Runnable>) -> Option<End> {
    Arc::clone(cell).run(&Cancels::default()).map(|end| end.expect("nothing panics here"))
}

/// Polls what is ready for a driver. How many futures ended.
pub(super) fn poll_ready(executor: &Executor, driver: usize) -> usize {
    let mut ended = 0;
    while let Some(cell) = executor.next(driver, false) {
        // Loom checks that no other thread polls it: it tracks every access to the cell's body.
        if let Some(end) = run(&cell) {
            assert_eq!(end, End::Completed);
            executor.remove(&mut vec![cell]);
            ended += 1;
        }
    }
    ended
}

/// A driver goes to sleep, and is woken by this alarm.
pub(super) fn sleep(executor: &Executor, driver: usize, alarm: &Arc<Alarm>) -> bool {
    executor.sleep(driver, &Waker::from(Arc::clone(alarm)))
}

/// Has the first driver begin with a task.
pub(super) fn add(executor: &Arc<Executor>, job: Job) -> Arc<dyn Runnable> {
    let Job::Bare(cell) = job else { unreachable!("it has no handle") };
    executor.add(&Owner::of(executor, 0), &mut vec![Arc::clone(&cell)]);
    cell
}

#[test]
fn a_cell_is_polled_by_one_at_a_time() {
    explore(|| {
        let (executor, event) = (Executor::new(2, DriverThreads::Shared), Event::default());
        add(&executor, bare(event.clone()));
        let its = Arc::clone(&executor);
        let other = thread::spawn(move || poll_ready(&its, 1));
        let waker = thread::spawn(move || event.happen());
        let mut ended = poll_ready(&executor, 0);
        waker.join().unwrap();
        ended += other.join().unwrap();
        ended += poll_ready(&executor, 0);
        assert_eq!(ended, 1);
    });
}

#[test]
fn a_cell_that_is_given_up_is_dropped_once() {
    explore(|| {
        let executor = Executor::new(1, DriverThreads::Shared);
        let (event, drops) = (Event::default(), Drops::default());
        let (its_event, guard) = (event.clone(), drops.guard());
        let cell = add(
            &executor,
            bare(async move {
                let _guard = guard;
                its_event.await
            }),
        );
        let helper = thread::spawn(move || poll_until_given_up(&executor));
        let waker = thread::spawn(move || event.happen());
        // Its driver is lost while another one may be at it.
        let given_up = cell.abandon();
        waker.join().unwrap();
        let ends = [helper.join().unwrap(), (given_up != End::Counted).then_some(given_up)];
        assert_eq!(ends.into_iter().flatten().count(), 1, "it is counted once: {ends:?}");
        assert_eq!(drops.count(), 1);
    });
}

/// Polls what is ready until nothing is. How it ended, if it ended here.
fn poll_until_given_up(executor: &Executor) -> Option<End> {
    let mut ended = None;
    while let Some(cell) = executor.next(0, false) {
        if let Some(end) = run(&cell) {
            assert_eq!(ended.replace(end), None, "it ends once");
        }
    }
    ended
}

#[test]
fn a_sleeping_driver_is_called_for_a_task() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [mut driver] = drivers(&pool);
        assert_eq!(turn(&mut driver), Turn::Sleep);
        let runtime = thread::spawn(move || turn_until_it_leaves(driver));
        for _ in 0..2 {
            submit(&pool, async { 1 });
            block_on(pool.until(Ended::Tasks)).unwrap();
        }
        drain(&pool);
        runtime.join().unwrap();
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn a_future_is_not_held_back_by_a_long_poll_of_another() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [mut stuck, helper] = drivers(&pool);
        let (woken, done) = (Event::default(), Event::default());
        let (its, tells) = (woken.clone(), done.clone());
        submit(&pool, async move {
            its.await;
            tells.happen();
            1
        });
        assert_eq!(turn(&mut stuck), Turn::Sleep);
        let blocks = done.clone();
        submit(&pool, async move {
            blocks.block();
            1
        });
        let helper = thread::spawn(move || turn_until_it_leaves(helper));
        let waker = thread::spawn(move || woken.happen());
        pool.close();
        turn_until_it_leaves(stuck);
        helper.join().unwrap();
        waker.join().unwrap();
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn a_driver_that_does_not_sleep_after_all_is_not_notified() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [mut stuck, mut helper] = drivers(&pool);
        let (first, second, done) = (Event::default(), Event::default(), Event::default());
        let (its, blocks) = (first.clone(), done.clone());
        submit(&pool, async move {
            its.await;
            blocks.block();
            1
        });
        let its = second.clone();
        submit(&pool, async move {
            its.await;
            done.happen();
            1
        });
        assert_eq!([turn(&mut stuck), turn(&mut helper)], [Turn::Sleep, Turn::Sleep]);
        pool.close();
        let helper = thread::spawn(move || turn_until_it_leaves(helper));
        let waker = thread::spawn(move || {
            // A driver that goes to sleep may still take the first future. The other driver has to poll the second one.
            first.happen();
            second.happen();
        });
        turn_until_it_leaves(stuck);
        helper.join().unwrap();
        waker.join().unwrap();
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn a_driver_that_helps_calls_the_next() {
    explore_up_to(1, || {
        let pool = pool(3, Start::ByHand, settings(3, 8));
        let drivers: [_; 3] = drivers(&pool);
        let done = Event::default();
        // Two polls take as long as it takes until the third future has been polled.
        for _ in 0..2 {
            let done = done.clone();
            submit(&pool, async move {
                done.block();
                1
            });
        }
        let tells = done.clone();
        submit(&pool, async move {
            tells.happen();
            1
        });
        pool.close();
        let runtime: Vec<_> = drivers
            .into_iter()
            .map(|driver| thread::spawn(move || turn_until_it_leaves(driver)))
            .collect();
        runtime.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ended(&pool), (3, 0));
    });
}

#[test]
fn a_driver_does_not_sleep_beside_one_that_is_stuck_with_a_full_queue() {
    explore(|| {
        let executor = Executor::new(2, DriverThreads::Shared);
        let events = [Event::default(), Event::default()];
        (0..2).for_each(|driver| executor.rise(driver));
        let alarm = Arc::new(Alarm::default());
        events.iter().for_each(|event| drop(add(&executor, bare(event.clone()))));
        assert_eq!(poll_ready(&executor, 0), 0);
        assert!(executor.sleep(0, Waker::noop()));
        events.iter().for_each(Event::happen);
        // The first driver was notified. It takes one future, and is in a poll that takes long.
        let its = Arc::clone(&executor);
        let stuck = thread::spawn(move || {
            its.rise(0);
            drop(its.next(0, false));
        });
        let sleeps = sleep(&executor, 1, &alarm);
        stuck.join().unwrap();
        assert!(!sleeps || *alarm.rings.lock().unwrap(), "the other future is ready");
    });
}
