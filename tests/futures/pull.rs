//! `for_each`: the pool pulls, never too much at once, and stops when nobody wants it to go on.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::on_tokio::{Stop, drained, hushed, on, on_both, small, soon};
use crate::common::poll_once;
use formic::{ForEachError, JoinError, Refused, from_stream};
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use tokio::task::yield_now;

#[derive(Clone, Default)]
struct Flight(Arc<(AtomicUsize, AtomicUsize, AtomicUsize)>);

impl Flight {
    async fn fly(&self, yields: usize) {
        let in_flight = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(in_flight, Ordering::SeqCst);
        for _ in 0..yields {
            yield_now().await;
        }
        self.0.0.fetch_sub(1, Ordering::SeqCst);
        self.0.2.fetch_add(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }

    fn landed(&self) -> usize {
        self.0.2.load(Ordering::SeqCst)
    }
}

/// Items of a channel.
fn items<T: Send + 'static>(
    receiver: tokio::sync::mpsc::UnboundedReceiver<T>,
) -> impl stream::Stream<Item = T> + Send + 'static {
    stream::unfold(receiver, |mut receiver| async move {
        let item = receiver.recv().await?;
        Some((item, receiver))
    })
}

#[test]
fn each_item_is_taken_once_and_never_more_than_the_capacity() {
    for workers in [1, 3, 100] {
        on_both(move || async move {
            let (pool, flight) = (hushed(workers, 10), Flight::default());
            let own = flight.clone();
            let each = pool.for_each(0..5000_usize, move |number| {
                let flight = own.clone();
                async move { flight.fly(number % 3).await }
            });
            each.await.unwrap();
            assert_eq!(flight.landed(), 5000);
            assert!(flight.most() <= workers, "{} of {workers}", flight.most());
            assert_eq!(drained(&pool).await.panicked, 0);
        });
    }
}

#[test]
fn the_whole_capacity_is_used() {
    on_both(|| async {
        let (pool, stop) = (hushed(50, 0), Stop::new());
        let own = stop.clone();
        let each = tokio::spawn(pool.for_each(0..200, move |_| {
            let stop = own.clone();
            async move { stop.pass().await }
        }));
        stop.have_come(50).await;
        stop.open();
        each.await.unwrap().unwrap();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn nothing_comes_of_nothing() {
    on_both(|| async {
        let pool = hushed(3, 0);
        pool.for_each(Vec::<u8>::new(), |_| async {}).await.unwrap();
        pool.for_each(from_stream(stream::empty::<u8>()), |_| async {}).await.unwrap();
        assert_eq!(pool.map(Vec::<u8>::new(), |n| async move { n }).count().await, 0);
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn a_slow_stream_is_followed_to_its_end() {
    on_both(|| async {
        let (pool, flight) = (hushed(4, 0), Flight::default());
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let own = flight.clone();
        let each = tokio::spawn(pool.for_each(from_stream(items(receiver)), move |number| {
            let flight = own.clone();
            async move { flight.fly(number).await }
        }));
        for burst in 0..50 {
            for number in 0..burst % 7 {
                sender.send(number).unwrap();
            }
            let sent: usize = (0..=burst).map(|burst| burst % 7).sum();
            soon("they have landed", || flight.landed() == sent).await;
            // While there is nothing to do others have room: one puller waits for the stream.
            soon("pullers are free", || pool.busy() <= 1).await;
        }
        drop(sender);
        each.await.unwrap().unwrap();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn an_endless_source_ends_when_its_stream_is_dropped() {
    on_both(|| async {
        let (pool, stop, token) = (hushed(4, 4), Stop::new(), Arc::new(()));
        let (own, kept) = (stop.clone(), Arc::clone(&token));
        let each = tokio::spawn(pool.for_each(0_u64.., move |_| {
            let (stop, kept) = (own.clone(), Arc::clone(&kept));
            async move {
                stop.pass().await;
                drop(kept);
            }
        }));
        stop.let_pass(1000);
        stop.have_come(1004).await;
        each.abort();
        assert!(each.await.unwrap_err().is_cancelled());
        soon("what it owned is gone", || Arc::strong_count(&token) == 1).await;
        pool.wait_idle().await.unwrap();
        pool.submit(async {}).await.unwrap();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn a_panic_costs_one_item() {
    on_both(|| async {
        let (pool, flight) = (hushed(3, 0), Flight::default());
        let own = flight.clone();
        let each = pool.for_each(0..300_usize, move |number| {
            assert!(number % 10 != 1, "before there is a future");
            let flight = own.clone();
            async move {
                yield_now().await;
                assert!(number % 10 != 2, "in the future");
                flight.fly(1).await;
            }
        });
        let error = each.await.unwrap_err();
        let ForEachError::Panicked { items, .. } = error else { panic!("{error:?}") };
        assert_eq!((items, flight.landed()), (60, 240));
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn a_pool_that_is_closed_takes_no_more_items() {
    on_both(|| async {
        let (pool, stop) = (hushed(3, 0), Stop::new());
        let own = stop.clone();
        let each = tokio::spawn(pool.for_each(0.., move |_: u64| {
            let stop = own.clone();
            async move { stop.pass().await }
        }));
        stop.have_come(3).await;
        pool.close();
        stop.open();
        let outcome = each.await.unwrap();
        assert!(matches!(outcome, Err(ForEachError::Refused(Refused::Closed))), "{outcome:?}");
        assert_eq!(drained(&pool).await.panicked, 0);
        let outcome = pool.for_each(0..3, |_| async {}).await;
        assert!(matches!(outcome, Err(ForEachError::Refused(Refused::Closed))), "{outcome:?}");
    });
}

/// Nobody will send an item, and the pool must end all the same.
#[test]
fn a_closed_pool_does_not_wait_for_the_next_item_of_a_stream() {
    on_both(|| async {
        let pool = hushed(3, 0);
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<u8>();
        let each = tokio::spawn(pool.for_each(from_stream(items(receiver)), |_| async {}));
        soon("it waits", || pool.busy() == 1).await;
        pool.drain().await.unwrap();
        assert!(each.await.unwrap().is_err());
        drop(sender);
    });
}

#[test]
fn a_pull_that_is_discarded_before_it_has_a_place_ends_and_says_so() {
    on_both(|| async {
        let (pool, stop) = (small(1, 1), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let its = pool.clone();
        let pulled = tokio::spawn(async move { its.for_each(0..10, |_| async {}).await });
        soon("it waits for a place", || pool.queued() == 1).await;
        assert_eq!(pool.discard(), 1);
        assert!(matches!(pulled.await.unwrap(), Err(ForEachError::Refused(Refused::Discarded))));
        stop.open();
        drained(&pool).await;
    });
}

#[test]
fn other_submitters_get_their_turn() {
    on_both(|| async {
        let pool = hushed(2, 10);
        let each = tokio::spawn(pool.for_each(0_u64.., |_| yield_now()));
        soon("it runs", || pool.busy() > 0).await;
        for number in 0..200 {
            let task = async move {
                yield_now().await;
                number
            };
            assert_eq!(pool.spawn(task).await.unwrap().await.unwrap(), number);
        }
        each.abort();
        drop(each.await);
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn items_that_are_ready_at_once_leave_turns_for_others() {
    const ITEMS: usize = 50_000;
    on(0, || async {
        for workers in [1, 4, 100] {
            let (pool, ran) = (hushed(workers, 10), Arc::new(AtomicUsize::new(0)));
            let own = Arc::clone(&ran);
            let each = tokio::spawn(pool.for_each(0..ITEMS, move |_| {
                own.fetch_add(1, Ordering::SeqCst);
                std::future::ready(())
            }));
            let (mut most, mut seen) = (0, 0);
            while seen < ITEMS {
                yield_now().await;
                let now = ran.load(Ordering::SeqCst);
                most = most.max(now - seen);
                seen = now;
            }
            each.await.unwrap().unwrap();
            assert!(most < ITEMS / 2, "{most} items in a row of {workers}");
        }
    });
}

#[test]
fn several_sources_share_a_pool() {
    on_both(|| async {
        let (pool, flight) = (hushed(3, 2), Flight::default());
        let mut all = Vec::new();
        for _ in 0..5 {
            let own = flight.clone();
            all.push(tokio::spawn(pool.for_each(0..500_usize, move |number| {
                let flight = own.clone();
                async move { flight.fly(number % 2).await }
            })));
        }
        for each in all {
            each.await.unwrap().unwrap();
        }
        assert_eq!(flight.landed(), 2500);
        assert!(flight.most() <= 3, "{}", flight.most());
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn a_task_pulls_through_its_own_full_pool() {
    on_both(|| async {
        let (pool, flight) = (hushed(1, 0), Flight::default());
        let (inner, own) = (pool.clone(), flight.clone());
        let parent = pool.spawn(async move {
            let each = inner.for_each(0..100_usize, move |number| {
                let flight = own.clone();
                async move { flight.fly(number % 3).await }
            });
            each.await.unwrap();
            let doubled = inner.map(0..50, |number| async move { 2 * number });
            doubled.map(|result| result.unwrap()).collect::<Vec<_>>().await
        });
        let doubled = parent.await.unwrap().await.unwrap();
        assert_eq!(doubled, (0..50).map(|number| 2 * number).collect::<Vec<_>>());
        assert_eq!((flight.landed(), flight.most()), (100, 1));
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

/// A lent place is for one task at a time, whatever the task pulls that lends it.
#[test]
fn a_task_that_pulls_lends_its_place_to_one() {
    on_both(|| async {
        let (pool, stop, began) = (hushed(1, 10), Stop::new(), Arc::new(AtomicUsize::new(0)));
        let (inner, opens) = (pool.clone(), stop.clone());
        let parent = pool.spawn(async move {
            let mut first = inner.spawn(opens.task()).await.unwrap();
            assert!(poll_once(Pin::new(&mut first)).is_pending());
            opens.have_come(1).await;
            inner.for_each(0..3, |_| yield_now()).await.unwrap();
            let own = Arc::clone(&began);
            let second = async move { own.fetch_add(1, Ordering::SeqCst) };
            let mut second = inner.spawn(second).await.unwrap();
            assert!(poll_once(Pin::new(&mut second)).is_pending());
            assert_eq!(began.load(Ordering::SeqCst), 0, "the first one has not ended");
            opens.open();
            first.await.unwrap();
            assert_eq!(second.await.unwrap(), 0);
        });
        parent.await.unwrap().await.unwrap();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

/// Whoever polls it may change: the waker is not always the same.
#[test]
fn a_task_may_pull_with_another_waker_than_before() {
    on_both(|| async {
        let (pool, flight) = (hushed(1, 0), Flight::default());
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let (inner, own) = (pool.clone(), flight.clone());
        let has_polled = Arc::new(tokio::sync::Notify::new());
        let waits = Arc::clone(&has_polled);
        let parent = pool.spawn(async move {
            let mut each = Box::pin(inner.for_each(from_stream(items(receiver)), move |number| {
                let flight = own.clone();
                async move { flight.fly(number).await }
            }));
            assert!(poll_once(each.as_mut()).is_pending());
            let mut several = FuturesUnordered::new();
            several.push(each);
            assert!(poll_once(pin!(several.next())).is_pending());
            waits.notify_one();
            several.next().await.unwrap()
        });
        let parent = parent.await.unwrap();
        has_polled.notified().await;
        for number in 0..10 {
            sender.send(number).unwrap();
        }
        drop(sender);
        parent.await.unwrap().unwrap();
        assert_eq!(flight.landed(), 10);
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

/// A task of one pool that pulls through another one must not block its runtime.
#[test]
fn a_task_pulls_through_another_full_pool() {
    on_both(|| async {
        let (one, two, stop) = (hushed(1, 0), hushed(1, 1), Stop::new());
        for _ in 0..2 {
            two.submit(stop.task()).await.unwrap();
        }
        stop.have_come(1).await;
        let inner = two.clone();
        let parent = one.spawn(async move { inner.for_each(0..20, |_| yield_now()).await });
        let parent = parent.await.unwrap();
        soon("it waits for a place", || two.waiting() == 1).await;
        stop.open();
        parent.await.unwrap().unwrap();
        assert_eq!(drained(&one).await.panicked, 0);
        assert_eq!(drained(&two).await.panicked, 0);
    });
}

#[test]
fn a_source_that_panics_ends_nothing_but_itself() {
    on_both(|| async {
        let pool = hushed(3, 0);
        let broken = || (0..100).inspect(|number| assert!(*number != 50, "the source"));
        let outcome = pool.for_each(broken(), |_| yield_now()).await;
        assert!(matches!(outcome, Err(ForEachError::Panicked { .. })), "{outcome:?}");
        let results: Vec<_> = pool.map(broken(), |number| async move { number }).collect().await;
        assert!(results.iter().filter(|result| result.is_ok()).count() >= 50);
        assert!(results.iter().any(|result| result.as_ref().is_err_and(JoinError::is_panic)));
        pool.submit(async {}).await.unwrap();
        pool.drain().await.unwrap();
        assert!(pool.stats().adds_up());
    });
}

#[test]
fn a_waiting_for_each_gives_its_turn_back() {
    on_both(|| async {
        let (pool, stop) = (hushed(1, 0), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        {
            let mut each = pin!(pool.for_each(0..3, |_| async {}));
            assert!(poll_once(each.as_mut()).is_pending());
            assert_eq!(pool.waiting(), 1);
        }
        assert_eq!(pool.waiting(), 0);
        stop.open();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

/// The pool has begun to call more pullers for it when it becomes too small for any of them.
#[test]
fn a_pull_from_inside_ends_although_its_pullers_have_no_place_any_more() {
    on_both(|| async {
        let pool = hushed(10, 8);
        let inner = pool.clone();
        let task = pool.spawn(async move {
            let again = inner.clone();
            let resize = move |_: u32| {
                let pool = again.clone();
                async move { pool.resize(1).unwrap() }
            };
            inner.for_each(0..1, resize).await.unwrap();
        });
        task.await.unwrap().await.unwrap();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

/// Another puller waits for items, so the caller's own puller is gone; then the other one gives its place to a task
/// which keeps it.
#[test]
fn a_pull_from_inside_goes_on_when_the_puller_that_waited_has_lost_its_place() {
    on_both(|| async {
        let (pool, stop, took) = (hushed(2, 10), Stop::new(), Stop::new());
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let (inner, passes, takes) = (pool.clone(), stop.clone(), took.clone());
        sender.send(true).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&asked);
        let mut source = Box::pin(items(receiver));
        let source = stream::poll_fn(move |context| {
            let item = source.poll_next_unpin(context);
            counts.fetch_add(1, Ordering::SeqCst);
            item
        });
        let pulls = pool.try_spawn(async move {
            let each = inner.for_each(from_stream(source), move |wait: bool| {
                let (stop, took) = (passes.clone(), takes.clone());
                async move {
                    if wait {
                        stop.pass().await;
                    }
                    took.pass().await;
                }
            });
            each.await
        });
        let pulls = pulls.unwrap();
        took.let_pass(3);
        // The caller's own puller has the first item, and another puller waits for the next.
        stop.have_come(1).await;
        soon("another puller is there", || pool.stats().busy == 2).await;
        soon("it waits for an item", || asked.load(Ordering::SeqCst) == 2).await;
        stop.let_pass(1);
        took.have_come(1).await;
        soon("whoever pulls asks in vain", || asked.load(Ordering::SeqCst) == 3).await;
        // A task waits for the place of that puller, and keeps it.
        let keeps = Stop::new();
        let its = keeps.clone();
        let keeper = pool.try_spawn(async move { its.pass().await }).unwrap();
        sender.send(false).unwrap();
        keeps.have_come(1).await;
        // Nobody but whoever pulls has a place now.
        sender.send(false).unwrap();
        took.have_come(2).await;
        drop(sender);
        pulls.await.unwrap().unwrap();
        keeps.let_pass(1);
        keeper.await.unwrap();
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}
