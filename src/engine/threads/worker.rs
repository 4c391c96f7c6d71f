//! The worker: a thread that asks the scheduler what to do, does it, and asks again.

use std::hint;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::context::{Kind, end_task, enter};
use crate::engine::queue::ClaimedBlock;
use crate::engine::queue::block::Block;
use crate::engine::queue::fast_path::Claim;
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::scheduler::core::{Order, Report, Rest};
use crate::engine::spin::{cores, spin};
use crate::engine::sync::{now, park, thread};
use crate::engine::task::current::set_epoch;
use crate::engine::wait::this_thread;
use crate::engine::{Engine, Lack, NoStart, ThreadWork};

/// How often a worker that ran the queue dry reads it again before it asks the scheduler. It is not
/// known as looking meanwhile, so this is short: about two microseconds.
const DRY_SPINS: u32 = if cfg!(loom) { 1 } else { 80 };

/// Starts a worker for a place of the worker table.
pub(crate) fn start_worker<W: ThreadWork>(
    engine: &Arc<Engine<W>>,
    index: usize,
) -> Result<(), NoStart> {
    let its_engine = Arc::clone(engine);
    engine.start_thread(index, move || main(&its_engine, index))?;
    Ok(())
}

/// The life of the worker at place `index`.
fn main<W: ThreadWork>(engine: &Arc<Engine<W>>, index: usize) {
    let _inside = enter(engine, Kind::Thread);
    let name = engine.thread_name(index);
    let mut worker = Worker {
        engine,
        index,
        name,
        state: None,
        answer: None,
        idle_since: None,
        backoff: Backoff::default(),
    };
    let mut report = Report::Arrive(this_thread());
    loop {
        worker.begin();
        worker.serve(report);
        worker.end();
        if engine.leave(index, || ()) {
            break;
        }
        report = Report::Rest { expired: false };
    }
}

struct Worker<'a, W: ThreadWork> {
    engine: &'a Arc<Engine<W>>,
    index: usize,
    name: String,
    state: Option<W::State>,
    /// What it said since it last came to the lock: that it is ready, or after which time to ask again.
    answer: Option<Result<(), Duration>>,
    idle_since: Option<Instant>,
    backoff: Backoff,
}

impl<W: ThreadWork> Worker<'_, W> {
    fn begin(&mut self) {
        self.engine.hooks().tell_start(&self.name, self.index);
    }

    fn end(&mut self) {
        let hooks = self.engine.hooks();
        hooks.run_apart(&self.name, || drop(self.state.take()));
        hooks.tell_stop(&self.name, self.index);
    }

    /// Works until it is told to leave.
    fn serve(&mut self, mut report: Report<W::Job>) {
        loop {
            let lack = self.lack();
            let (next, epoch, keep_alive) = self.engine.decide(|scheduler, actions| {
                scheduler.worker_table.set_lack(self.index, lack);
                let next = scheduler.next(self.index, report, actions);
                (next, self.engine.cancels.epoch(), scheduler.limits.keep_alive)
            });
            // Also for the tasks of the fast path, which is sealed when all tasks are cancelled.
            set_epoch(epoch);
            report = match next {
                Order::Run(job) => self.run_one(job),
                Order::Drive(job, claimed) => self.drive(job, claimed),
                Order::Look { published } => self.look(published),
                Order::Rest(rest) => self.rest(rest, keep_alive),
                Order::GetReady => {
                    self.get_ready();
                    Report::Rest { expired: false }
                }
                Order::Prepare(blocks) => {
                    Report::Prepare((0..blocks).map(|_| Block::on_pages()).collect())
                }
                Order::Leave => return,
            };
        }
    }

    /// What the worker lacks before it may be given a task.
    fn lack(&mut self) -> Lack {
        match self.answer.take() {
            Some(Ok(())) => Lack::Nothing,
            Some(Err(pause)) => Lack::Time(pause),
            None => self.engine.work.lacks(&self.state),
        }
    }

    /// Makes the state, or asks whether the worker is ready. True if it is.
    fn get_ready(&mut self) -> bool {
        let answer = self.engine.work.get_ready(&mut self.state, self.index);
        self.answer = Some(answer);
        answer.is_ok()
    }

    /// Whether the worker may claim another task.
    #[inline]
    fn goes_on(&mut self) -> bool {
        match self.engine.work.lacks(&self.state) {
            Lack::Nothing => true,
            Lack::Answer => self.get_ready(),
            Lack::State | Lack::Time(_) => {
                self.answer = None;
                false
            }
        }
    }

    fn run_one(&mut self, job: W::Job) -> Report<W::Job> {
        self.idle_since = None;
        let begin = now();
        let end = self.run(job).uncounted();
        Report::Run { end, nanos: nanos_since(begin) }
    }

    /// Runs tasks from the fast path until it is sealed, spent or dry.
    fn drive(&mut self, first: W::Job, mut claimed: ClaimedBlock<W::Job>) -> Report<W::Job> {
        self.idle_since = None;
        let (begin, mut tasks, mut timed) = (now(), 1, None);
        let mut last = self.run(first).uncounted();
        while matches!(last, None | Some(End::Completed)) && self.goes_on() {
            match claimed.next(&self.engine.fast_path, last.is_some()) {
                Ok(job) => {
                    last = self.run(job).uncounted();
                    tasks += 1;
                }
                Err(Claim::Dry) => {
                    // From here on the time is not only that of tasks.
                    timed.get_or_insert_with(|| (tasks, nanos_since(begin)));
                    if !self.spin_dry(&mut last) {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        let (tasks, nanos) = timed.unwrap_or_else(|| (tasks, nanos_since(begin)));
        Report::Drive { claimed, tasks, last, nanos }
    }

    /// Ends the last task and waits a moment for the next. True if there is one.
    fn spin_dry(&mut self, last: &mut Option<End>) -> bool {
        let fast_path = &self.engine.fast_path;
        let seen = fast_path.published();
        if last.is_some() {
            if !fast_path.end() {
                return false;
            }
            *last = None;
        }
        if cores() == 1 {
            // A worker that parks at once is woken for the next task, and takes the core from its
            // submitter at each one. After it has given way the submitter has filled the queue.
            thread::yield_now();
            return fast_path.published() > seen;
        }
        self.backoff.take();
        for _ in 0..DRY_SPINS {
            if fast_path.hurry() {
                return false;
            }
            let published = fast_path.published() - seen;
            if published > 0 {
                self.backoff.note(published);
                return true;
            }
            hint::spin_loop();
        }
        false
    }

    #[inline]
    fn run(&mut self, job: W::Job) -> End {
        let origin = W::origin(&job);
        let (engine, state) = (self.engine, &mut self.state);
        let end =
            engine.hooks().run(&self.name, origin, || engine.work.run(state, job, Counts::Ticket));
        end_task();
        if end.is_panic() {
            // What a panic left behind may be half done, so the next task gets a new state.
            engine.hooks().run_apart(&self.name, || drop(self.state.take()));
            self.answer = None;
        }
        end
    }

    fn look(&self, published: u64) -> Report<W::Job> {
        let fast_path = &self.engine.fast_path;
        let found = spin(|| (fast_path.published() != published).then_some(())).is_some();
        Report::Look { found }
    }

    fn rest(&mut self, rest: Rest, keep_alive: Option<Duration>) -> Report<W::Job> {
        if rest == Rest::Anew {
            self.idle_since = None;
        }
        let idle_since = *self.idle_since.get_or_insert_with(now);
        // A deadline that the clock cannot tell is never reached.
        let left = keep_alive.and_then(|keep_alive| {
            let deadline = idle_since.checked_add(keep_alive)?;
            Some(deadline.saturating_duration_since(now()))
        });
        match rest {
            Rest::UntilCalled => park(None),
            Rest::UntilExpired | Rest::Anew => park(left),
            Rest::For(rest) => park(Some(rest)),
        }
        Report::Rest { expired: keep_alive.is_some_and(|time| has_passed(idle_since, time)) }
    }
}

/// The pause a worker takes when it has run the queue dry. A worker that reads the queue again at
/// once gets one task at a time, and for each of them the submitter and the worker wait for each
/// other's cache line. After a pause there are several. But a thread that waits for a single task's
/// effect should not wait for a pause, too. So a pause that brought several tasks is made longer,
/// one that did not is made shorter, and now and then it is tried out whether one would help.
#[derive(Debug, Default)]
struct Backoff {
    spins: u32,
    taken: u32,
    trial: bool,
}

impl Backoff {
    const TRIAL: u32 = 8;
    const LONGEST: u32 = 64;

    fn take(&mut self) {
        self.taken = self.taken.wrapping_add(1);
        self.trial = self.spins == 0 && self.taken.is_multiple_of(16);
        let spins = if self.trial { Self::TRIAL } else { self.spins };
        (0..spins).for_each(|_| hint::spin_loop());
    }

    /// Notes how many tasks there were after the pause.
    fn note(&mut self, tasks: u64) {
        if tasks >= 4 {
            self.spins = (self.spins.max(Self::TRIAL) * 3 / 2).min(Self::LONGEST);
        } else if !self.trial {
            self.spins /= 2;
        }
    }
}

fn nanos_since(begin: Instant) -> u64 {
    u64::try_from(now().saturating_duration_since(begin).as_nanos()).unwrap_or(u64::MAX)
}

/// In a model the clock stands still, and every time is over when it is asked for.
fn has_passed(since: Instant, time: Duration) -> bool {
    cfg!(loom) || now().saturating_duration_since(since) >= time
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::task::closure::Task;
    use crate::engine::{Hooks, Settings};
    use crate::pool::Closures;

    #[test]
    fn a_pause_grows_while_it_brings_several_tasks_and_shrinks_otherwise() {
        let mut backoff = Backoff::default();
        let mut spins = Vec::new();
        for tasks in [4, 9, 4, 4, 4, 4, 4, 3, 1, 3] {
            backoff.take();
            backoff.note(tasks);
            spins.push(backoff.spins);
        }
        assert_eq!(spins, [12, 18, 27, 40, 60, 64, 64, 32, 16, 8]);
    }

    #[test]
    fn every_sixteenth_time_a_pause_is_tried_and_not_blamed() {
        let mut backoff = Backoff::default();
        let trials = (1..=40).filter(|_| {
            backoff.take();
            backoff.trial
        });
        assert_eq!(trials.collect::<Vec<_>>(), [16, 32]);
        let mut backoff = Backoff { spins: 8, trial: true, taken: 0 };
        backoff.note(1);
        assert_eq!(backoff.spins, 8);
    }

    const KEEP_ALIVE: Option<Duration> = Some(Duration::from_millis(1));

    fn engine() -> Arc<Engine<Closures>> {
        let settings = Settings {
            capacity: 1,
            minimum: 0,
            queue: 9,
            waiters: 1,
            keep_alive: KEEP_ALIVE,
            growth: None,
            preallocate: false,
            name: "worker".into(),
            stack_size: None,
            hooks: Hooks::default(),
            faults: None,
        };
        Engine::new(settings, Closures)
    }

    fn worker(engine: &Arc<Engine<Closures>>) -> Worker<'_, Closures> {
        let (name, backoff, idle_since) = (String::new(), Backoff::default(), Some(now()));
        Worker { engine, index: 0, name, state: None, answer: None, idle_since, backoff }
    }

    #[test]
    fn a_worker_that_rests_anew_counts_from_now() {
        let engine = engine();
        let mut worker = worker(&engine);
        let long_ago = worker.idle_since;
        assert!(matches!(worker.rest(Rest::Anew, KEEP_ALIVE), Report::Rest { .. }));
        let anew = worker.idle_since;
        assert!(anew > long_ago);
        for rest in [Rest::For(Duration::ZERO), Rest::UntilExpired] {
            worker.rest(rest, KEEP_ALIVE);
            assert_eq!(worker.idle_since, anew, "a rest is a part of the same idle time");
        }
    }

    #[test]
    fn a_worker_on_the_fast_path_says_how_many_tasks_it_ran() {
        let engine = engine();
        (0..5).for_each(|_| engine.lock().queue.push(Task::new(|| {})));
        let (job, claimed) = engine.lock().queue.open().expect("there are five");
        let Report::Drive { tasks, .. } = worker(&engine).drive(job, claimed) else {
            panic!("it was on the fast path")
        };
        assert_eq!(tasks, 5);
    }

    #[test]
    fn a_worker_that_looks_sees_a_new_task() {
        let engine = engine();
        let found = || matches!(worker(&engine).look(0), Report::Look { found: true });
        assert!(!found());
        engine.lock().queue.push(Task::new(|| {}));
        assert!(found());
    }

    #[test]
    fn tasks_are_timed_in_nanoseconds() {
        let begin = now();
        while now() < begin + Duration::from_micros(5) {}
        assert!(nanos_since(begin) >= 5_000);
    }
}
