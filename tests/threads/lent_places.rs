//! A task that waits for another task lends its place: on pools of threads.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use crate::common::{PATIENCE, poll_once};
use formic::{FnPool, Growth, JoinHandle, Pool};

/// Counts how many run at once, and the most there were.
#[derive(Clone, Default)]
struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        let value = work();
        self.0.0.fetch_sub(1, Ordering::SeqCst);
        value
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Long enough for eight threads to meet if nothing keeps them apart.
fn dwell() {
    std::thread::sleep(Duration::from_millis(2));
}

/// Eight tasks of a pool of eight each wait for a task of a pool of one, in one of these ways.
fn eight_wait_for_one(wait: impl Fn(&Pool, JoinHandle<usize>) -> usize + Send + Sync + 'static) {
    let (eight, one, gauge) = (Pool::new(8), Pool::new(1), Gauge::default());
    let (wait, start) = (Arc::new(wait), Arc::new(Barrier::new(8)));
    let waiting: Vec<_> = (0..8)
        .map(|number| {
            let (one, gauge, wait, start) =
                (one.clone(), gauge.clone(), Arc::clone(&wait), Arc::clone(&start));
            let task = move || {
                start.wait();
                let its = gauge.clone();
                let child = one.spawn(move || {
                    its.run(|| {
                        dwell();
                        number
                    })
                });
                wait(&one, child.unwrap())
            };
            eight.spawn(task).unwrap()
        })
        .collect();
    for (number, task) in waiting.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), number);
    }
    assert_eq!(gauge.most(), 1);
}

#[test]
fn eight_that_join_do_not_break_the_capacity_of_one() {
    eight_wait_for_one(|_, child| child.join().unwrap());
}

#[test]
fn eight_that_join_with_a_time_out_do_not_break_the_capacity_of_one() {
    eight_wait_for_one(|_, mut child| {
        loop {
            if let Some(outcome) = child.join_timeout(Duration::from_micros(100)) {
                return outcome.unwrap();
            }
        }
    });
}

#[test]
fn eight_that_block_on_a_future_do_not_break_the_capacity_of_one() {
    eight_wait_for_one(|_, child| block_on(child).unwrap());
}

/// A small executor of a user.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        let mut context = std::task::Context::from_waker(&waker);
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::park();
    }
}

/// Eight tasks of a pool of eight that each use a pool of one as `wait` does.
fn eight_use_one(wait: impl Fn(&Pool, &Gauge) + Send + Sync + 'static) {
    let (eight, one, gauge) = (Pool::new(8), Pool::new(1), Gauge::default());
    let (wait, start) = (Arc::new(wait), Arc::new(Barrier::new(8)));
    for _ in 0..8 {
        let (one, gauge, wait, start) =
            (one.clone(), gauge.clone(), Arc::clone(&wait), Arc::clone(&start));
        let task = move || {
            start.wait();
            wait(&one, &gauge);
        };
        eight.submit(task).unwrap();
    }
    eight.wait_idle().unwrap();
    assert_eq!(gauge.most(), 1);
    assert_eq!(eight.stats().completed, 8);
}

#[test]
fn eight_batches_do_not_break_the_capacity_of_one() {
    eight_use_one(|one, gauge| {
        let mut batch = one.batch();
        for _ in 0..3 {
            let gauge = gauge.clone();
            batch.spawn(move || gauge.run(dwell)).unwrap();
        }
        assert_eq!(batch.by_ref().filter(Result::is_ok).count(), 3);
    });
}

#[test]
fn eight_scopes_do_not_break_the_capacity_of_one() {
    eight_use_one(|one, gauge| {
        one.scope(|scope| {
            scope.submit(|| gauge.run(dwell));
            let handle = scope.spawn(|| gauge.run(dwell));
            handle.join().unwrap();
        });
    });
}

#[test]
fn eight_maps_do_not_break_the_capacity_of_one() {
    eight_use_one(|one, gauge| {
        let gauge = gauge.clone();
        assert_eq!(one.map(0..3, move |_| gauge.run(dwell)).filter(Result::is_ok).count(), 3);
    });
}

/// Calls from eight tasks. The states that were made, and the most calls at once.
fn eight_call(one: FnPool<usize, usize>, gauge: &Gauge) {
    let (eight, start) = (Pool::new(8), Arc::new(Barrier::new(8)));
    let one = Arc::new(one);
    let calls = (0..8).map(|number| {
        let (one, start) = (Arc::clone(&one), Arc::clone(&start));
        let task = move || {
            start.wait();
            one.call(number).unwrap()
        };
        eight.spawn(task).unwrap()
    });
    let calls: Vec<_> = calls.collect();
    let results = calls.into_iter().map(|call| call.join().unwrap());
    assert_eq!(results.collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!(gauge.most(), 1);
}

#[test]
fn eight_calls_do_not_break_the_capacity_of_one() {
    let gauge = Gauge::default();
    let its = gauge.clone();
    let call = move |number| {
        its.run(dwell);
        number
    };
    eight_call(FnPool::builder().workers(1).build(call).unwrap(), &gauge);
}

#[test]
fn a_pool_of_one_with_a_state_makes_one_state() {
    let (gauge, states) = (Gauge::default(), Arc::new(AtomicUsize::new(0)));
    let (its, made) = (gauge.clone(), Arc::clone(&states));
    let init = move || made.fetch_add(1, Ordering::SeqCst);
    let call = move |_: &mut usize, number| {
        its.run(dwell);
        number
    };
    let one = FnPool::builder().workers(1).keep_alive(None).build_with(init, call).unwrap();
    eight_call(one, &gauge);
    assert_eq!(states.load(Ordering::SeqCst), 1);
}

#[test]
fn a_task_of_a_pool_with_hooks_or_a_stack_of_its_own_runs_on_its_workers() {
    let builders = [
        Pool::builder().name("its-own").on_worker_start(|_| ()),
        Pool::builder().name("its-own").on_worker_stop(|_| ()),
        Pool::builder().name("its-own").stack_size(1 << 20),
    ];
    for builder in builders {
        let (outer, own) = (Pool::new(1), builder.workers(1).build().unwrap());
        let task = move || {
            let name = || std::thread::current().name().map(str::to_owned);
            own.spawn(name).unwrap().join().unwrap()
        };
        let name = outer.spawn(task).unwrap().join().unwrap();
        assert!(name.is_some_and(|name| name.starts_with("its-own-")));
    }
}

/// A chain of tasks, each of which joins the next.
fn chain(pool: &Pool, depth: usize) -> usize {
    if depth == 0 {
        return 0;
    }
    let its = pool.clone();
    1 + pool.spawn(move || chain(&its, depth - 1)).unwrap().join().unwrap()
}

#[test]
fn a_chain_of_ten_thousand_that_join_each_other_ends() {
    let pool = Pool::new(1);
    let its = pool.clone();
    assert_eq!(pool.spawn(move || chain(&its, 10_000)).unwrap().join().unwrap(), 10_000);
    pool.drain().unwrap();
    let stats = pool.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.completed, stats.workers), (10_001, 0));
}

/// As a chain, of calls.
fn count_down(pool: &FnPool<usize, usize>, depth: usize) -> usize {
    if depth == 0 { 0 } else { 1 + pool.call(depth - 1).unwrap() }
}

#[test]
fn a_chain_of_calls_of_a_pool_with_a_state_ends() {
    static POOL: std::sync::OnceLock<FnPool<usize, usize>> = std::sync::OnceLock::new();
    let call = |calls: &mut usize, depth| {
        *calls += 1;
        count_down(POOL.get().unwrap(), depth)
    };
    let pool = FnPool::builder().workers(1).build_with(|| 0, call).unwrap();
    POOL.set(pool).ok();
    assert_eq!(POOL.get().unwrap().call(200).unwrap(), 200);
}

#[test]
fn two_pools_of_one_that_call_each_other_end() {
    fn ping(pools: &[Pool; 2], depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let its = pools.clone();
        let next = pools[depth % 2].spawn(move || ping(&its, depth - 1));
        1 + next.unwrap().join().unwrap()
    }
    let pools = [Pool::new(1), Pool::new(1)];
    let its = pools.clone();
    assert_eq!(pools[0].spawn(move || ping(&its, 500)).unwrap().join().unwrap(), 500);
    for pool in &pools {
        pool.drain().unwrap();
        assert!(pool.stats().adds_up());
    }
}

#[test]
fn a_waiting_task_starts_no_unrelated_one() {
    let pool = Pool::new(1);
    let other = FnPool::builder().workers(1).build(|release: mpsc::Receiver<()>| release.recv());
    let (other, its, started) = (other.unwrap(), pool.clone(), Arc::new(AtomicUsize::new(0)));
    let (release, released) = mpsc::channel();
    let seen = Arc::clone(&started);
    let waiting = pool.spawn(move || {
        let unrelated = Arc::clone(&seen);
        its.submit(move || _ = unrelated.fetch_add(1, Ordering::SeqCst)).unwrap();
        let blocked = other.spawn(released).unwrap();
        // The other pool's task ends when it is told, so that this task waits until then.
        std::thread::spawn(move || {
            dwell();
            release.send(()).unwrap();
        });
        blocked.join().unwrap().unwrap();
        seen.load(Ordering::SeqCst)
    });
    assert_eq!(waiting.unwrap().join().unwrap(), 0, "its place was lent, and none wanted it");
    pool.wait_idle().unwrap();
    assert_eq!(started.load(Ordering::SeqCst), 1);
}

#[test]
fn a_task_that_waits_leaves_the_other_places_free() {
    let pool = Pool::new(2);
    let its = pool.clone();
    let (begin, begun) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (free, held) = mpsc::channel::<()>();
    let holder = pool.spawn(move || held.recv().unwrap()).unwrap();
    let waiting = pool.spawn(move || {
        let child = move || {
            begin.send(()).unwrap();
            released.recv().unwrap();
        };
        its.spawn(child).unwrap().join().unwrap();
    });
    begun.recv().unwrap();
    // The other place was not free, so the child has the place of the task that joins it.
    free.send(()).unwrap();
    holder.join().unwrap();
    let unrelated = pool.spawn(move || release.send(()).unwrap()).unwrap();
    unrelated.join().unwrap();
    waiting.unwrap().join().unwrap();
}

#[test]
fn a_task_that_stops_waiting_runs_beside_its_child() {
    let pool = Pool::builder().workers(1).stack_size(1 << 20).build().unwrap();
    let other = Pool::builder().workers(1).on_worker_start(|_| ()).build().unwrap();
    let (its, gauge) = (pool.clone(), Gauge::default());
    let (release, released) = mpsc::channel();
    let parent = pool.spawn(move || {
        let pool = its.clone();
        let (begin, begun) = mpsc::channel();
        // The grandchild runs in the place of this task while that waits for the child.
        let child = move || {
            let grandchild = move || {
                begin.send(()).unwrap();
                released.recv().unwrap();
            };
            pool.spawn(grandchild).unwrap().join().unwrap();
        };
        let mut child = other.spawn(child).unwrap();
        while begun.try_recv().is_err() {
            assert!(child.join_timeout(Duration::from_millis(1)).is_none());
        }
        // Both run now, and nothing else may start.
        let seen = gauge.clone();
        its.submit(move || seen.run(|| ())).unwrap();
        dwell();
        assert_eq!(gauge.most(), 0);
        release.send(()).unwrap();
        child.join().unwrap();
        gauge
    });
    let gauge = parent.unwrap().join().unwrap();
    pool.wait_idle().unwrap();
    assert_eq!(gauge.most(), 1);
}

#[test]
fn workers_beyond_the_capacity_leave() {
    let call = |_: &mut (), number: usize| number;
    let pool = FnPool::builder().workers(1).build_with(|| (), call).unwrap();
    let pool = Arc::new(pool);
    let outer = Pool::new(4);
    for round in 0..50 {
        let pool = Arc::clone(&pool);
        assert_eq!(outer.spawn(move || pool.call(round).unwrap()).unwrap().join().unwrap(), round);
    }
    pool.wait_idle().unwrap();
    assert!(pool.stats().workers <= 1);
}

/// A task polls the handle of a queued task, which it leaves behind. The lent place of the next task is not for that.
#[test]
fn a_handle_that_a_task_has_left_behind_takes_no_lent_place() {
    let pool = Pool::builder().workers(1).queue(8).build().unwrap();
    let other = Pool::builder().workers(1).on_worker_start(|_| ()).build().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (its, elsewhere) = (pool.clone(), other.clone());
    let first = pool.spawn(move || {
        // It cannot run here, because its pool has a hook, and its only worker is held.
        let held = elsewhere.spawn(move || released.recv()).unwrap();
        let (own, back) = (its.clone(), elsewhere.clone());
        let mut left = elsewhere.spawn(|| ()).unwrap();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::pin::Pin::new(&mut left).poll(&mut context).is_pending());
        drop((own, back));
        (held, left)
    });
    let (held, left) = first.unwrap().join().unwrap();
    assert_eq!(pool.spawn(|| 7).unwrap().join().unwrap(), 7, "the worker goes on");
    assert!(pool.stats().adds_up());
    release.send(()).unwrap();
    held.join().unwrap().unwrap();
    left.join().unwrap();
}

/// A pool of one whose tasks run on its own workers only, because each has a state.
fn one_with_a_state<R: Send + 'static>() -> FnPool<Box<dyn FnOnce() -> R + Send>, R> {
    let call = |(): &mut (), task: Box<dyn FnOnce() -> R + Send>| task();
    FnPool::builder().workers(1).build_with(|| (), call).unwrap()
}

#[test]
fn a_task_that_has_polled_one_handle_and_joins_another_lends_one_place() {
    let pool = one_with_a_state();
    let inner = pool.clone();
    let (has_started, started) = mpsc::channel();
    let (tell_second, second) = mpsc::channel();
    let task = move || {
        let first = move || {
            has_started.send(()).unwrap();
            second.recv_timeout(Duration::from_millis(100)).is_err()
        };
        let mut first = pin!(inner.spawn(Box::new(first)).unwrap());
        let second = inner.spawn(Box::new(move || tell_second.send(()).is_ok())).unwrap();
        assert!(poll_once(first.as_mut()).is_pending());
        started.recv().unwrap();
        second.join().unwrap_or_default();
        block_on(first).unwrap()
    };
    let task = pool.spawn(Box::new(task)).unwrap();
    assert!(task.join().unwrap(), "one started beside the other");
}

#[test]
fn a_task_lends_its_place_for_a_pending_handle_although_it_has_polled_another_since() {
    let pool = one_with_a_state();
    let (inner, other) = (pool.clone(), Pool::new(1));
    let done = other.spawn(|| ()).unwrap();
    other.wait_idle().unwrap();
    let task = move || {
        let (has_run, ran) = mpsc::channel();
        let pending = inner.spawn(Box::new(move || has_run.send(()).is_ok())).unwrap();
        let mut pending = pin!(pending);
        assert!(poll_once(pending.as_mut()).is_pending());
        assert!(poll_once(pin!(done)).is_ready());
        // As an executor does that knows of no pool.
        ran.recv_timeout(PATIENCE).is_ok()
    };
    assert!(pool.spawn(Box::new(task)).unwrap().join().unwrap(), "the task waits for ever");
}

/// With a low load, workers go. One that is there for a lent place stays until it has taken the task.
#[test]
fn a_pool_that_shrinks_by_load_starts_what_a_task_waits_for() {
    let by_load = |name: &str| {
        let growth = Growth::by_load(4, 0.02, 0.01);
        let builder = Pool::builder().workers(8).queue(1000).growth(growth).name(name);
        // With a hook, its tasks run on its own workers only.
        builder.on_worker_start(|_| ()).build().unwrap()
    };
    let pools = [by_load("one"), by_load("two")];
    for round in 0..100 {
        // A burst brings workers, and then they go.
        (0..40).for_each(|_| pools[0].submit(|| ()).unwrap());
        let its = pools.clone();
        let outer = move || {
            let back = its[0].clone();
            let between = move || back.spawn(move || round).unwrap().join().unwrap();
            its[1].spawn(between).unwrap().join().unwrap()
        };
        assert_eq!(pools[0].spawn(outer).unwrap().join().unwrap(), round);
    }
}
