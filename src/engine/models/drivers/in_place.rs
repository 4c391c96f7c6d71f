//! Models of tasks that go on with the next one in their place.

use std::pin::pin;

use super::*;
use crate::engine::executor::cell::Errand;

/// Goes on with what comes next, if that is another one of these.
struct InPlace {
    /// None when it is over.
    future: Option<Boxed>,
    pool: Pool,
}

impl Future for InPlace {
    type Output = End;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<End> {
        loop {
            let Some(future) = &mut self.future else { return Poll::Ready(End::Counted) };
            if future.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.future = None;
            match self.pool.go_on(unpack) {
                Ok(next) => self.future = Some(next),
                Err(end) => return Poll::Ready(end),
            }
        }
    }
}

fn unpack(job: Job) -> Result<Boxed, Job> {
    let Job::Bare(cell) = job else { return Err(job) };
    let cell = cell.into_any().downcast::<Cell<InPlace>>().ok();
    Ok(cell
        .and_then(|cell| cell.take()?.future.take())
        .expect("all that are bare are of this kind"))
}

impl Errand for InPlace {
    fn origin(&self) -> Option<&'static Location<'static>> {
        None
    }

    fn end_by_drop(&self) -> End {
        End::Cancelled
    }
}

fn in_place(pool: &Pool, future: impl Future<Output = usize> + Send + 'static) -> Job {
    Job::Bare(Cell::new(InPlace { future: Some(Box::pin(future)), pool: Arc::clone(pool) }))
}

fn submit(pool: &Pool, future: impl Future<Output = usize> + Send + 'static) {
    assert!(pool.submit(in_place(pool, future), Patience::None).is_ok());
}

/// A task of a few steps that is never run beside another one.
fn alone(running: &Arc<StdMutex<usize>>, ran: &Drops) -> impl Future<Output = usize> + use<> {
    let (running, guard) = (Arc::clone(running), ran.guard());
    async move {
        let _guard = guard;
        *running.lock().unwrap() += 1;
        let mut begun = false;
        std::future::poll_fn(|context| {
            assert_eq!(*running.lock().unwrap(), 1);
            context.waker().wake_by_ref();
            if std::mem::replace(&mut begun, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        *running.lock().unwrap() -= 1;
        1
    }
}

#[test]
fn what_has_ended_gives_its_place_to_one() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(1, 8));
        let [first, second] = drivers(&pool);
        let (running, ran) = (Arc::default(), Drops::default());
        submit(&pool, alone(&running, &ran));
        submit(&pool, alone(&running, &ran));
        let other = thread::spawn(move || turn_until_it_leaves(second));
        submit(&pool, alone(&running, &ran));
        pool.close();
        turn_until_it_leaves(first);
        other.join().unwrap();
        assert_eq!((ended(&pool), ran.count()), ((3, 0), 3));
    });
}

#[test]
fn what_begins_beside_another_has_a_place() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [first, second] = drivers(&pool);
        let (ran, begun) = (Drops::default(), Arc::new(StdMutex::new(0)));
        let (its, guards, tells) = (Arc::clone(&pool), ran.clone(), Arc::clone(&begun));
        let task = move |pool: &Pool| {
            let (pool, guard) = (Arc::clone(pool), guards.guard());
            async move {
                let _guard = guard;
                assert!(pool.lane.driven() <= 2, "there are two places");
                1
            }
        };
        let more = task.clone();
        super::submit(&pool, async move {
            let beside = its.begin_beside(0, 3, |_| {
                let Job::Bare(cell) = bare(more(&its)) else { unreachable!("it has no handle") };
                cell
            });
            *tells.lock().unwrap() = beside.unwrap_or(0);
            1
        });
        let other = thread::spawn(move || turn_until_it_leaves(second));
        super::submit(&pool, task(&pool));
        pool.close();
        turn_until_it_leaves(first);
        other.join().unwrap();
        let begun = *begun.lock().unwrap();
        assert_eq!((ended(&pool), ran.count()), ((2 + begun as u64, 0), 1 + begun));
    });
}

#[test]
fn a_place_that_is_gone_is_given_to_nobody() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 8));
        let [mut first, second] = drivers(&pool);
        let (event, over) = (Event::default(), Arc::new(StdMutex::new(false)));
        let (awaited, tells, seen) = (event.clone(), Arc::clone(&over), over);
        submit(&pool, async move {
            awaited.await;
            *tells.lock().unwrap() = true;
            1
        });
        assert_eq!(turn(&mut first), Turn::Sleep);
        let its = Arc::clone(&pool);
        submit(&pool, async move {
            its.resize(1);
            1
        });
        submit(&pool, async move {
            assert!(*seen.lock().unwrap(), "the one place is free");
            1
        });
        let other = thread::spawn(move || turn_until_it_leaves(second));
        event.happen();
        pool.close();
        turn_until_it_leaves(first);
        other.join().unwrap();
        assert_eq!(ended(&pool), (3, 0));
    });
}

#[test]
fn whoever_waits_gets_a_place_although_the_next_poll_takes_long() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(2, 0));
        let [first, second] = drivers(&pool);
        let (done, ran) = (Event::default(), Drops::default());
        submit(&pool, async { 1 });
        let blocks = done.clone();
        submit(&pool, async move {
            blocks.block();
            1
        });
        let guard = ran.guard();
        let mut entering = pin!(pool.enter(in_place(&pool, async move {
            let _guard = guard;
            done.happen();
            1
        })));
        let mut context = Context::from_waker(Waker::noop());
        assert!(entering.as_mut().poll(&mut context).is_pending(), "there is no place");
        let runtime =
            [first, second].map(|driver| thread::spawn(move || turn_until_it_leaves(driver)));
        assert!(block_on(entering).is_ok());
        drain(&pool);
        runtime.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((ended(&pool), ran.count()), ((3, 0), 1));
    });
}

#[test]
fn what_comes_next_is_not_left_with_a_lost_driver() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(1, 8));
        let [mut lost, mut helper] = drivers(&pool);
        let event = Event::default();
        submit(&pool, event.clone());
        assert_eq!(turn(&mut lost), Turn::Sleep);
        let next = spawn(&pool, std::future::pending());
        event.happen();
        *pool.work().start.lock().unwrap() = Start::Gone;
        // The runtime goes while one of its threads is in a turn.
        let helper = thread::spawn(move || {
            assert_ne!(turn(&mut helper), Turn::Yield);
            drop(helper);
        });
        drop(lost);
        assert_eq!(outcome(next), None);
        helper.join().unwrap();
        drain(&pool);
        let (completed, cancelled) = ended(&pool);
        assert!(completed <= 1 && completed + cancelled == 2);
    });
}
