//! Pools as services of tower: what holds for the function of an `FnPool`, that of an `AsyncFnPool` and the futures of
//! another service on an `AsyncPool`.

use std::ops::Deref;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::common::on_tokio::{Stop, drained, figures, on, on_both, runtime, soon};
use crate::common::{hush_quiet_threads, poll_once};
use formic::tower::ServiceError;
use formic::{AsyncFnPool, AsyncPool, Balance, Control, FnPool, Multi, Refused};
use tower::limit::ConcurrencyLimit;
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

/// A request.
enum Act {
    Square(u64),
    Wait(Stop),
    Fail,
    Panic,
}

async fn act(request: Act) -> Result<u64, &'static str> {
    match request {
        Act::Square(number) => Ok(number * number),
        Act::Wait(stop) => {
            stop.pass().await;
            Ok(0)
        }
        Act::Fail => Err("out of ink"),
        Act::Panic => panic!("a bug"),
    }
}

type Failed = ServiceError<&'static str>;
type Acts = BoxCloneSyncService<Act, u64, Failed>;

/// A service, and the pool that it is on.
struct Kind {
    name: &'static str,
    service: Acts,
    pool: Box<dyn Deref<Target = Control>>,
}

/// A service of each kind, each on a pool with so many workers and such a queue.
fn kinds(workers: usize, queue: usize) -> [Kind; 3] {
    hush_quiet_threads();
    let here = |request| runtime(0).block_on(act(request));
    let threads = FnPool::builder().workers(workers).queue(queue).name("quiet");
    let threads = threads.build(here).unwrap();
    let calls = AsyncFnPool::builder().workers(workers).queue(queue).build(act).unwrap();
    let futures = AsyncPool::builder().workers(workers).queue(queue).build().unwrap();
    let layered = futures.layer().layer(service_fn(act));
    [
        Kind {
            name: "FnPool",
            service: Acts::new(threads.service().flatten()),
            pool: Box::new(threads),
        },
        Kind {
            name: "AsyncFnPool",
            service: Acts::new(calls.service().flatten()),
            pool: Box::new(calls),
        },
        Kind { name: "AsyncPool", service: Acts::new(layered), pool: Box::new(futures) },
    ]
}

impl Kind {
    /// Has a call wait at the stop, and returns when it does.
    async fn hold(&self, stop: &Stop) -> tokio::task::JoinHandle<Result<u64, Failed>> {
        let call = tokio::spawn(self.service.clone().oneshot(Act::Wait(stop.clone())));
        stop.have_come(1).await;
        call
    }
}

/// Whether the service is ready now.
fn is_ready<S: Service<Act>>(service: &mut S) -> bool {
    match poll_once(pin!(service.ready())) {
        Poll::Ready(outcome) => outcome.is_ok(),
        Poll::Pending => false,
    }
}

#[test]
fn a_full_pool_holds_the_caller_back_until_a_place_is_free() {
    on_both(|| async {
        for kind in kinds(1, 0) {
            let stop = Stop::new();
            let busy = kind.hold(&stop).await;
            let mut waiting = kind.service.clone();
            assert!(!is_ready(&mut waiting), "{}: one runs, and none may wait", kind.name);
            let call = tokio::spawn(async move {
                waiting.ready().await?;
                waiting.call(Act::Square(9)).await
            });
            soon("it waits", || kind.pool.waiting() == 1).await;
            stop.open();
            assert_eq!(call.await.unwrap().unwrap(), 81);
            assert_eq!(busy.await.unwrap().unwrap(), 0);
            assert_eq!(figures(&drained(&kind.pool).await), (2, 2, 0, 0));
        }
    });
}

#[test]
fn services_become_ready_in_the_order_in_which_they_asked() {
    on(0, || async {
        for kind in kinds(1, 0) {
            let mut holder = kind.service.clone();
            assert!(is_ready(&mut holder));
            let mut waiting = [kind.service.clone(), kind.service.clone(), kind.service.clone()];
            for service in &mut waiting {
                assert!(!is_ready(service));
            }
            drop(holder);
            let [mut first, mut second, mut third] = waiting;
            assert!(!is_ready(&mut third) && !is_ready(&mut second), "{}", kind.name);
            assert!(is_ready(&mut first));
            drop(first);
            assert!(!is_ready(&mut third) && is_ready(&mut second));
            drop(second);
            assert!(is_ready(&mut third));
        }
    });
}

#[test]
fn a_service_that_is_dropped_gives_its_place_back() {
    on(0, || async {
        for kind in kinds(1, 0) {
            let (mut ready, mut waiting) = (kind.service.clone(), kind.service.clone());
            assert!(is_ready(&mut ready) && !is_ready(&mut waiting), "{}", kind.name);
            assert_eq!(kind.pool.waiting(), 1);
            drop(waiting);
            assert_eq!(kind.pool.waiting(), 0, "it has left the queue");
            drop(ready);
            assert_eq!(kind.service.clone().oneshot(Act::Square(9)).await.unwrap(), 81);
            assert_eq!(figures(&drained(&kind.pool).await), (1, 1, 0, 0));
        }
    });
}

#[test]
fn a_clone_of_a_ready_service_holds_no_place() {
    on(0, || async {
        for kind in kinds(2, 0) {
            let mut ready = kind.service.clone();
            assert!(is_ready(&mut ready));
            let mut clones = [ready.clone(), ready.clone()];
            assert!(is_ready(&mut clones[0]), "{}: there was one place left", kind.name);
            assert!(!is_ready(&mut clones[1]));
            assert!(is_ready(&mut ready), "it is ready as long as it is not called");
            assert_eq!(ready.call(Act::Square(3)).await.unwrap(), 9);
            soon("the place is free", || is_ready(&mut clones[1])).await;
        }
    });
}

#[test]
fn load_is_shed_while_the_pool_is_full() {
    on_both(|| async {
        for kind in kinds(1, 1) {
            let shedding = ServiceBuilder::new().load_shed().service(kind.service.clone());
            let stop = Stop::new();
            let busy = kind.hold(&stop).await;
            let queued = tokio::spawn(shedding.clone().oneshot(Act::Square(2)));
            soon("it is queued", || kind.pool.queued() == 1).await;
            for _ in 0..10 {
                let error = shedding.clone().oneshot(Act::Square(3)).await.unwrap_err();
                assert!(error.is::<Overloaded>(), "{}: {error}", kind.name);
            }
            stop.open();
            assert_eq!(queued.await.unwrap().unwrap(), 4);
            assert_eq!(busy.await.unwrap().unwrap(), 0);
            kind.pool.wait_idle_async().await.unwrap();
            assert_eq!(shedding.oneshot(Act::Square(4)).await.unwrap(), 16);
            assert_eq!(figures(&drained(&kind.pool).await), (3, 3, 0, 0));
        }
    });
}

#[test]
fn a_timeout_cancels_what_has_not_started() {
    on_both(|| async {
        for kind in kinds(1, 1) {
            let stop = Stop::new();
            let busy = kind.hold(&stop).await;
            let hurried = ServiceBuilder::new().timeout(Duration::from_millis(5));
            let hurried = hurried.service(kind.service.clone());
            let error = hurried.oneshot(Act::Square(3)).await.unwrap_err();
            assert!(error.is::<Elapsed>(), "{}: {error}", kind.name);
            assert_eq!(kind.pool.queued(), 0, "its place is free again");
            stop.open();
            assert_eq!(busy.await.unwrap().unwrap(), 0);
            assert_eq!(figures(&drained(&kind.pool).await), (2, 1, 0, 1));
        }
    });
}

#[test]
fn a_future_that_runs_is_dropped_with_its_response() {
    on_both(|| async {
        let [_, calls, layered] = kinds(1, 0);
        for kind in [calls, layered] {
            let stop = Stop::new();
            let mut service = kind.service.clone();
            let response = service.ready().await.unwrap().call(Act::Wait(stop.clone()));
            stop.have_come(1).await;
            drop(response);
            assert_eq!(figures(&drained(&kind.pool).await), (1, 0, 0, 1), "{}", kind.name);
        }
    });
}

#[test]
fn a_concurrency_limit_inside_and_outside_of_the_pool_bounds_the_calls() {
    on_both(|| async {
        for kind in kinds(2, 0) {
            let mut limited = ConcurrencyLimit::new(kind.service.clone(), 1);
            let mut other = limited.clone();
            let stop = Stop::new();
            let busy = tokio::spawn(limited.ready().await.unwrap().call(Act::Wait(stop.clone())));
            stop.have_come(1).await;
            assert!(!is_ready(&mut other), "{}: the limit is reached", kind.name);
            assert!(is_ready(&mut kind.service.clone()), "and the pool is not full");
            stop.open();
            assert_eq!(busy.await.unwrap().unwrap(), 0);
            assert_eq!(other.ready().await.unwrap().call(Act::Square(5)).await.unwrap(), 25);
        }
        let pool = AsyncPool::builder().workers(1).queue(0).build().unwrap();
        let mut layered = pool.layer().layer(ConcurrencyLimit::new(service_fn(act), 1));
        let mut other = layered.clone();
        assert!(is_ready(&mut layered) && !is_ready(&mut other));
        assert_eq!(pool.waiting(), 0, "no place is asked for before the inner service is ready");
        drop(layered);
        assert_eq!(other.oneshot(Act::Square(6)).await.unwrap(), 36);
    });
}

#[test]
fn a_closed_pool_is_an_error_also_for_a_service_that_waits() {
    on_both(|| async {
        for kind in kinds(1, 0) {
            let (mut ready, mut waiting) = (kind.service.clone(), kind.service.clone());
            assert!(is_ready(&mut ready) && !is_ready(&mut waiting));
            kind.pool.close();
            let refused = waiting.ready().await.map(drop).unwrap_err();
            assert!(matches!(refused, ServiceError::Refused(Refused::Closed)), "{}", kind.name);
            assert_eq!(refused.to_string(), "the pool is closed");
            let refused = kind.service.clone().oneshot(Act::Square(1)).await.unwrap_err();
            assert!(matches!(refused, ServiceError::Refused(Refused::Closed)));
            assert_eq!(ready.call(Act::Square(2)).await.unwrap(), 4, "its place was held before");

            drop(ready);
            drained(&kind.pool).await;
            kind.pool.reopen().unwrap();
            assert_eq!(waiting.ready().await.unwrap().call(Act::Square(3)).await.unwrap(), 9);
        }
    });
}

#[test]
fn a_panic_is_the_error_of_one_call() {
    on_both(|| async {
        for kind in kinds(1, 1) {
            let mut service = kind.service.clone();
            let error = service.ready().await.unwrap().call(Act::Panic).await.unwrap_err();
            let ServiceError::Panicked(panic) = error else { panic!("{}: {error}", kind.name) };
            assert_eq!(panic.message(), "a bug");
            assert_eq!(service.ready().await.unwrap().call(Act::Square(9)).await.unwrap(), 81);
            assert_eq!(figures(&drained(&kind.pool).await), (2, 1, 1, 0));
        }
    });
}

#[test]
fn an_error_of_the_function_is_an_error_of_the_service() {
    on_both(|| async {
        for kind in kinds(1, 1) {
            let error = kind.service.clone().oneshot(Act::Fail).await.unwrap_err();
            assert_eq!(error.to_string(), "out of ink", "{}", kind.name);
            assert_eq!(error.into_error(), Some("out of ink"));
            assert_eq!(figures(&drained(&kind.pool).await), (1, 1, 0, 0));
        }
    });
}

#[test]
fn a_call_before_the_service_is_ready_panics() {
    on(0, || async {
        for kind in kinds(1, 0) {
            let (mut fresh, mut ready) = (kind.service.clone(), kind.service.clone());
            let mut waiting = kind.service.clone();
            assert!(is_ready(&mut ready) && !is_ready(&mut waiting));
            for service in [&mut fresh, &mut waiting] {
                let quiet = std::thread::Builder::new().name("quiet".to_owned());
                let panic = std::thread::scope(|scope| {
                    let call = || drop(service.call(Act::Square(1)));
                    quiet.spawn_scoped(scope, call).unwrap().join().unwrap_err()
                });
                let message = "the service was called before `poll_ready` was ready";
                assert_eq!(panic.downcast_ref(), Some(&message), "{}", kind.name);
            }
            assert_eq!(ready.call(Act::Square(2)).await.unwrap(), 4);
        }
    });
}

#[test]
fn discarded_calls_say_that_they_were_cancelled() {
    on_both(|| async {
        for kind in kinds(1, 1) {
            let stop = Stop::new();
            let busy = kind.hold(&stop).await;
            let queued = tokio::spawn(kind.service.clone().oneshot(Act::Square(2)));
            soon("it is queued", || kind.pool.queued() == 1).await;
            kind.pool.discard();
            let error = queued.await.unwrap().unwrap_err();
            assert!(matches!(error, ServiceError::Cancelled), "{}: {error}", kind.name);
            stop.open();
            drop(busy.await.unwrap());
        }
    });
}

#[test]
fn a_task_may_call_the_service_of_its_own_full_pool() {
    on_both(|| async {
        let pool = AsyncPool::builder().workers(1).queue(0).build().unwrap();
        let inner = pool.layer().layer(service_fn(act));
        let outer = service_fn(move |number: u64| inner.clone().oneshot(Act::Square(number)));
        let outer = pool.layer().layer(outer);
        assert_eq!(outer.oneshot(9).await.unwrap(), 81);
        assert_eq!(figures(&drained(&pool).await), (2, 2, 0, 0));
    });
}

#[test]
fn a_service_on_several_pools_takes_the_places_of_all() {
    on(0, || async {
        let multi = Multi::try_new(2, Balance::RoundRobin, || {
            FnPool::builder().workers(1).queue(0).build(|number: u64| number * number)
        })
        .unwrap();
        let mut services = [multi.service(), multi.service(), multi.service()];
        let ready = services.each_mut().map(|service| poll_once(pin!(service.ready())).is_ready());
        assert_eq!(ready, [true, true, false]);
        assert_eq!(services[0].call(3).await.unwrap(), 9);
        drop(services);

        let futures = Multi::try_new(2, Balance::RoundRobin, || {
            AsyncPool::builder().workers(1).queue(0).build()
        })
        .unwrap();
        let layered = futures.layer().layer(service_fn(act));
        let mut services = [layered.clone(), layered.clone(), layered];
        assert_eq!(services.each_mut().map(is_ready), [true, true, false]);
        assert_eq!(services[1].call(Act::Square(4)).await.unwrap(), 16);
        assert_eq!(futures.stats().completed, 1);

        let calls = Multi::new(2, Balance::RoundRobin, || AsyncFnPool::new(1, act));
        assert_eq!(calls.service().flatten().oneshot(Act::Square(5)).await.unwrap(), 25);
    });
}
