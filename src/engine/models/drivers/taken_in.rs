//! Models of tasks that are taken in by the one that awaits them: each is run once, by somebody.

use std::future::poll_fn;

use super::*;
use crate::error::JoinError;

/// Polls a handle once, and drops it. The outcome, if it was there.
async fn glance(task: Arc<dyn Joinable<usize>>) -> Option<Result<usize, JoinError>> {
    let mut handle = JoinHandle::new(task);
    poll_fn(|context| match Pin::new(&mut handle).poll(context) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[test]
fn a_task_is_run_by_its_driver_or_by_the_one_that_awaits_it() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [parent, other] = drivers(&pool);
        let (its, drops) = (Arc::clone(&pool), Drops::default());
        let guard = drops.guard();
        submit(&pool, async move {
            let child = spawn(&its, async move {
                let _guard = guard;
                10
            });
            its.close();
            assert_eq!(JoinHandle::new(child).await.ok(), Some(10));
            1
        });
        let other = thread::spawn(move || turn_until_it_leaves(other));
        turn_until_it_leaves(parent);
        other.join().unwrap();
        assert_eq!((ended(&pool), drops.count()), ((2, 0), 1));
    });
}

#[test]
fn a_task_that_is_taken_in_is_completed_or_cancelled() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (event, drops) = (Event::default(), Drops::default());
        let (its, guard) = (event.clone(), drops.guard());
        let child = pack(&pool, async move {
            let _guard = guard;
            its.await
        });
        let (parcel, seen, engine) = (Arc::clone(&child), drops.clone(), Arc::clone(&pool));
        let parent = spawn(&pool, async move {
            let job = Job::Spawned(Slip::new(&parcel));
            assert!(engine.submit(job, Patience::Future).is_ok());
            engine.close();
            let outcome = JoinHandle::new(parcel as _).await;
            assert_eq!(seen.count(), 1, "what it owned is gone when its outcome shows");
            usize::from(outcome.is_ok())
        });
        let canceller = thread::spawn(move || Joinable::cancel(&*child));
        event.happen();
        turn_until_it_leaves(driver);
        let cancelled = canceller.join().unwrap();
        let completed = outcome(parent).unwrap() as u64;
        assert_eq!(completed == 0, cancelled);
        // If it was cancelled before it was in the line it never was in the line.
        assert_eq!(ended(&pool), (1 + completed, 1 - completed));
    });
}

#[test]
fn a_task_that_is_given_back_is_run() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (event, drops) = (Event::default(), Drops::default());
        let (its, awaited, guard) = (Arc::clone(&pool), event.clone(), drops.guard());
        submit(&pool, async move {
            let child = spawn(&its, async move {
                let _guard = guard;
                awaited.await
            });
            its.close();
            glance(child).await.map_or(1, |outcome| outcome.unwrap())
        });
        let waker = thread::spawn(move || event.happen());
        turn_until_it_leaves(driver);
        waker.join().unwrap();
        assert_eq!((ended(&pool), drops.count()), ((2, 0), 1));
    });
}

#[test]
fn a_task_that_is_given_back_is_taken_in_again() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (event, drops) = (Event::default(), Drops::default());
        let (its, awaited, guard) = (Arc::clone(&pool), event.clone(), drops.guard());
        submit(&pool, async move {
            let child = spawn(&its, async move {
                let _guard = guard;
                awaited.await
            });
            its.close();
            match glance(Arc::clone(&child)).await {
                Some(outcome) => outcome.unwrap(),
                // It has the only place, so nobody else can go on with it.
                None => JoinHandle::new(child).await.unwrap(),
            }
        });
        let waker = thread::spawn(move || event.happen());
        turn_until_it_leaves(driver);
        waker.join().unwrap();
        assert_eq!((ended(&pool), drops.count()), ((2, 0), 1));
    });
}

#[test]
fn a_task_that_is_given_back_is_run_or_cancelled_or_discarded() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (drops, first) = (Drops::default(), Arc::new(StdMutex::new(true)));
        let guard = drops.guard();
        let child = pack(&pool, async move {
            let _guard = guard;
            // It ends with its second poll.
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::take(&mut *first.lock().unwrap()) {
                    Poll::Pending
                } else {
                    Poll::Ready(1)
                }
            })
            .await
        });
        let (its, parcel) = (Arc::clone(&pool), Arc::clone(&child));
        let (begun, seen) = (Event::default(), Arc::new(StdMutex::new(None)));
        let (begins, sees) = (begun.clone(), Arc::clone(&seen));
        submit(&pool, async move {
            let job = Job::Spawned(Slip::new(&parcel));
            assert!(its.submit(job, Patience::Future).is_ok());
            begins.happen();
            *sees.lock().unwrap() = glance(parcel).await;
            1
        });
        let (its, other) = (Arc::clone(&pool), Arc::clone(&child));
        let ender = thread::spawn(move || {
            begun.block();
            let ended = (its.discard(), Joinable::cancel(&*other));
            its.close();
            ended
        });
        turn_until_it_leaves(driver);
        let (discarded, cancelled) = ender.join().unwrap();
        let seen = seen.lock().unwrap().take();
        let completed = seen.map_or_else(|| outcome(child), Result::ok).unwrap_or(0);
        assert_eq!(discarded + usize::from(cancelled) + completed, 1);
        assert_eq!(drops.count(), 1);
        assert_eq!(ended(&pool), (1 + completed as u64, 1 - completed as u64));
    });
}

type Left = Arc<StdMutex<Option<JoinHandle<usize>>>>;

/// A task that closes the pool and leaves behind the handle of one that it has taken in, and what that
/// one waits for.
fn leave_behind(pool: &Pool) -> (Event, Left, Arc<dyn Joinable<usize>>) {
    let (event, its, left) = (Event::default(), Arc::clone(pool), Left::default());
    let (awaited, leaves) = (event.clone(), Arc::clone(&left));
    let parent = spawn(pool, async move {
        let mut handle = JoinHandle::new(spawn(&its, awaited));
        its.close();
        poll_fn(|context| {
            assert!(Pin::new(&mut handle).poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        *leaves.lock().unwrap() = Some(handle);
        1
    });
    (event, left, parent)
}

#[test]
fn the_last_driver_stays_for_what_may_be_given_back() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (event, left, parent) = leave_behind(&pool);
        let runtime = thread::spawn(move || turn_until_it_leaves(driver));
        assert_eq!(outcome(parent), Some(1));
        let handle = left.lock().unwrap().take().unwrap();
        drop(handle);
        event.happen();
        runtime.join().unwrap();
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn all_drivers_go_when_what_was_taken_in_has_ended_elsewhere() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(1, 8));
        let all = drivers::<2>(&pool);
        let (event, left, parent) = leave_behind(&pool);
        let runtimes = all.map(|driver| thread::spawn(move || turn_until_it_leaves(driver)));
        assert_eq!(outcome(parent), Some(1));
        event.happen();
        let handle = left.lock().unwrap().take().unwrap();
        assert_eq!(block_on(handle).ok(), Some(1));
        runtimes.into_iter().for_each(|runtime| runtime.join().unwrap());
        assert_eq!(ended(&pool), (2, 0));
    });
}

/// Wakes the task that it is a part of, and notes that this part is to be polled.
struct Part {
    woken: Mutex<bool>,
    whole: Waker,
}

impl Wake for Part {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.whole.wake_by_ref();
    }
}

/// Awaits all of them, and polls none that was not woken.
async fn sum_of_woken<const COUNT: usize>(handles: [JoinHandle<usize>; COUNT]) -> usize {
    let mut parts = Vec::new();
    let mut handles = handles.map(Some);
    let mut sum = 0;
    poll_fn(move |context| {
        if parts.is_empty() {
            let part = || Part { woken: Mutex::new(true), whole: context.waker().clone() };
            parts.extend((0..COUNT).map(|_| Arc::new(part())));
        }
        for (handle, part) in handles.iter_mut().zip(&parts) {
            let woken = std::mem::take(&mut *part.woken.lock().unwrap());
            let waker = Waker::from(Arc::clone(part));
            if let Some(waiting) = handle
                && woken
                && let Poll::Ready(value) = Pin::new(waiting).poll(&mut Context::from_waker(&waker))
            {
                sum += value.unwrap();
                *handle = None;
            }
        }
        if handles.iter().all(Option::is_none) { Poll::Ready(sum) } else { Poll::Pending }
    })
    .await
}

#[test]
fn whoever_wants_the_seat_is_woken_when_it_is_free() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (event, its) = (Event::default(), Arc::clone(&pool));
        let awaited = event.clone();
        submit(&pool, async move {
            let tasks = [spawn(&its, awaited), spawn(&its, async { 10 })];
            its.close();
            let sum = sum_of_woken(tasks.map(JoinHandle::new)).await;
            assert_eq!(sum, 11);
            sum
        });
        let waker = thread::spawn(move || event.happen());
        turn_until_it_leaves(driver);
        waker.join().unwrap();
        assert_eq!(ended(&pool), (3, 0));
    });
}

#[test]
fn a_part_of_a_task_takes_its_child_in_when_the_pool_shrinks() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(2, 8));
        let [driver] = drivers(&pool);
        let (began, its) = (Event::default(), Arc::clone(&pool));
        let begins = began.clone();
        submit(&pool, async move {
            let child = spawn(&its, async { 10 });
            begins.happen();
            let sum = sum_of_woken([JoinHandle::new(child)]).await;
            assert_eq!(sum, 10);
            its.close();
            sum
        });
        let its = Arc::clone(&pool);
        let shrinks = thread::spawn(move || {
            began.block();
            its.resize(1);
        });
        turn_until_it_leaves(driver);
        shrinks.join().unwrap();
        assert_eq!(ended(&pool), (2, 0));
    });
}
