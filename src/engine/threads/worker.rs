//! The worker: a thread that asks the scheduler what to do, does it, and asks again; and a submitter that runs its task
//! itself, because the pool is full.

use std::sync::Arc;
use std::time::Instant;

use crate::engine::contain::contain;
use crate::engine::context::{as_current, enter, replace_waits, set_epoch};
use crate::engine::queue::ClaimedBlock;
use crate::engine::queue::fast_path::Claim;
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::scheduler::core::{Order, Report};
use crate::engine::scheduler::entry::Patience;
use crate::engine::spin::{Spin, cores, spin};
use crate::engine::sync::{now, park, thread};
use crate::engine::wait::this_thread;
use crate::engine::{Engine, Lack, NoStart, ThreadWork};
use crate::error::Refused;
use crate::on_cancel::Stoppable;

/// How often a worker that has run a stream of tasks pauses before it looks for the next one: about half a microsecond, in
/// which some ten tasks gather.
const GATHER_PAUSES: u32 = 32;

/// Starts a worker for a place of the worker table.
pub(crate) fn start_worker<W: ThreadWork>(
    engine: &Arc<Engine<W>>,
    index: usize,
) -> Result<(), NoStart> {
    let its_engine = Arc::clone(engine);
    engine.start_thread(index, move || main(&its_engine, index))
}

/// The life of the worker at place `index`.
fn main<W: ThreadWork>(engine: &Arc<Engine<W>>, index: usize) {
    let _inside = enter(Arc::clone(engine) as _, true);
    let name = engine.thread_name(index);
    let mut worker =
        Worker { engine, index, name, state: None, answer: None, spin: Spin::default() };
    let mut report = Report::Arrive(this_thread());
    loop {
        engine.hooks().tell_start(&worker.name, index);
        worker.serve(report);
        engine.hooks().run_apart(&worker.name, || drop(worker.state.take()));
        engine.hooks().tell_stop(&worker.name, index);
        if engine.leave(index) {
            break;
        }
        report = Report::Rest;
    }
}

struct Worker<'a, W: ThreadWork> {
    engine: &'a Arc<Engine<W>>,
    index: usize,
    name: String,
    state: Option<W::State>,
    /// What it said since it last came to the lock: that it lacks nothing, or time.
    answer: Option<Lack>,
    /// Whether it spins when it has run the queue dry.
    spin: Spin,
}

impl<W: ThreadWork> Worker<'_, W> {
    /// Works until it is told to leave.
    fn serve(&mut self, mut report: Report<W::Job>) {
        loop {
            let lack = self.answer.take().unwrap_or_else(|| self.engine.work.lacks(&self.state));
            let (next, epoch) = self.engine.decide(|scheduler, actions| {
                scheduler.worker_table.worker(self.index).lack = lack;
                (scheduler.next(self.index, report, actions), self.engine.cancels.epoch())
            });
            // Also for the tasks of the fast path, which is sealed when all tasks are cancelled.
            set_epoch(epoch);
            report = match next {
                Order::Run(job, claimed) => self.work_off(job, claimed),
                Order::Rest(until) => {
                    park(until.map(|until| until.saturating_duration_since(now())));
                    Report::Rest
                }
                Order::GetReady => {
                    self.get_ready();
                    Report::Rest
                }
                Order::Leave => return,
            };
        }
    }

    /// Makes the state, or asks whether the worker is ready. True if it is.
    fn get_ready(&mut self) -> bool {
        let answer = self.engine.work.get_ready(&mut self.state, self.index);
        self.answer = Some(answer.map_or_else(Lack::Time, |()| Lack::Nothing));
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

    /// Runs a task, and with a claimed block goes on until the fast path is sealed, spent or dry.
    fn work_off(
        &mut self,
        first: W::Job,
        mut claimed: Option<ClaimedBlock<W::Job>>,
    ) -> Report<W::Job> {
        let (begin, mut tasks, mut before, mut timed) = (now(), 1, 0, None);
        let mut last = self.run(first).uncounted();
        while let Some(block) = &mut claimed
            && matches!(last, None | Some(End::Completed))
            && self.goes_on()
        {
            match block.next(&self.engine.fast_path, last.is_some()) {
                Ok(job) => {
                    last = self.run(job).uncounted();
                    tasks += 1;
                }
                Err(Claim::Dry) => {
                    // From here on the time is not only that of tasks.
                    timed.get_or_insert_with(|| (tasks, nanos_since(begin)));
                    if !self.spin_dry(&mut last, tasks - before) {
                        break;
                    }
                    before = tasks;
                }
                Err(_) => break,
            }
        }
        let (tasks, nanos) = timed.unwrap_or_else(|| (tasks, nanos_since(begin)));
        Report::Run { claimed, tasks, last, nanos }
    }

    /// Ends the last task and spins for the next. True if there is one. Only so many spin that half of the cores are left
    /// to the threads that submit. `streak` is how many tasks it has run since the queue was dry before.
    fn spin_dry(&mut self, last: &mut Option<End>, streak: u64) -> bool {
        let fast_path = &self.engine.fast_path;
        let seen = fast_path.published();
        if last.is_some() && !fast_path.end() {
            return false;
        }
        *last = None;
        if cores() == 1 {
            // A worker that parks at once is woken for the next task, and takes the core from its
            // submitter at each one. After it has given way the submitter has filled the queue.
            thread::yield_now();
            return fast_path.published() > seen;
        }
        if !self.spin.is_due() || !fast_path.begin_spin(cores() / 2) {
            return false;
        }
        // Each look takes a cache line from the thread that submits, so a worker lets the tasks of a stream gather first.
        let pauses = if streak > 1 { GATHER_PAUSES } else { 0 };
        (0..pauses).for_each(|_| std::hint::spin_loop());
        let found = spin(|| (fast_path.hurry() || fast_path.published() > seen).then_some(()));
        fast_path.end_spin();
        self.spin.note(found.is_some());
        fast_path.published() > seen
    }

    #[inline]
    fn run(&mut self, job: W::Job) -> End {
        let origin = W::origin(&job);
        let (engine, state) = (self.engine, &mut self.state);
        let end =
            engine.hooks().run(&self.name, origin, || engine.work.run(state, job, Counts::Ticket));
        // Handles that it has polled may be elsewhere by now, and are not the next task's.
        drop(replace_waits(None));
        if end.is_panic() {
            // What a panic left behind may be half done, so the next task gets a new state.
            engine.hooks().run_apart(&self.name, || drop(self.state.take()));
            self.answer = None;
        }
        end
    }
}

fn nanos_since(begin: Instant) -> u64 {
    u64::try_from(now().saturating_duration_since(begin).as_nanos()).unwrap_or(u64::MAX)
}

impl<W: ThreadWork> Engine<W> {
    /// As [`Engine::submit`], for those who run the job themselves if the pool is full.
    #[inline]
    pub(crate) fn submit_or_run(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        match self.submit(job, patience) {
            Err((job, Refused::Full)) if patience == Patience::RunHere => {
                self.run_here(job);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Runs a job on the calling thread, which is no worker and takes no worker's place.
    pub(crate) fn run_here(self: &Arc<Self>, job: W::Job) {
        let thread = thread::current();
        let name = thread.name().unwrap_or("<unnamed>");
        let origin = W::origin(&job);
        let mut state = None;
        let this: Arc<dyn Stoppable> = Arc::clone(self) as _;
        let outer = set_epoch(self.cancels.epoch());
        let end = as_current(this, || {
            self.hooks().run(name, origin, || self.work.run(&mut state, job, Counts::Caller))
        });
        set_epoch(outer);
        contain(|| drop(state));
        if let Some(end) = end.uncounted() {
            self.count(end, Counts::Caller);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::Location;
    use std::pin::Pin;
    use std::sync::Mutex;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::*;
    use crate::engine::scheduler::worker_table::WorkerState;
    use crate::engine::task::closure::Task;
    use crate::engine::{Hooks, Limits, Settings, TaskState};
    use crate::handle::JoinHandle;
    use crate::pool::Closures;

    fn engine() -> Arc<Engine<Closures>> {
        let limits = Limits { capacity: 1, queue: 9, waiters: 1, ..Limits::default() };
        let settings = Settings {
            limits,
            name: "worker".into(),
            stack_size: None,
            hooks: Hooks::default(),
            faults: None,
        };
        Engine::new(settings, Closures)
    }

    fn worker(engine: &Arc<Engine<Closures>>) -> Worker<'_, Closures> {
        Worker {
            engine,
            index: 0,
            name: String::new(),
            state: None,
            answer: None,
            spin: Spin::default(),
        }
    }

    #[test]
    fn a_worker_on_the_fast_path_says_how_many_tasks_it_ran() {
        let engine = engine();
        (0..5).for_each(|_| engine.lock().queue.push(Task::new(|| {})));
        let (job, claimed) = engine.lock().queue.open().expect("there are five");
        let Report::Run { tasks, .. } = worker(&engine).work_off(job, Some(claimed)) else {
            panic!("it was on the fast path")
        };
        assert_eq!(tasks, 5);
    }

    #[test]
    fn a_task_that_has_ended_waits_for_nothing_although_its_handle_is_kept() {
        let (engine, other) = (engine(), engine());
        let (awaited, queued) = TaskState::new(&other, || (), Location::caller());
        let mut scheduler = other.lock();
        scheduler.queue.push(queued);
        // Its one place is taken, so the awaited task cannot start here.
        scheduler.worker_table.add(WorkerState::Engaged);
        drop(scheduler);
        let handle = Arc::new(Mutex::new(JoinHandle::new(awaited as _)));
        let (polled, its) = (Arc::clone(&handle), Arc::clone(&engine));
        let task = Task::new(move || {
            let mut handle = polled.lock().expect("no panic");
            let mut context = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut *handle).poll(&mut context).is_pending());
            assert_eq!(its.lock().waiting_for_tasks(), 1);
        });
        let _inside = enter(Arc::clone(&engine) as _, true);
        assert_eq!(worker(&engine).run(task), End::Completed);
        assert_eq!(engine.lock().waiting_for_tasks(), 0);
    }

    #[test]
    fn a_worker_on_the_fast_path_takes_what_came_while_it_ran_a_task() {
        let engine = engine();
        engine.lock().queue.push(Task::new(|| {}));
        let (job, claimed) = engine.lock().queue.open().expect("there is one");
        let its = Arc::clone(&engine);
        let first = Task::new(move || its.lock().queue.push(Task::new(|| {})));
        drop(job);
        let Report::Run { tasks, .. } = worker(&engine).work_off(first, Some(claimed)) else {
            panic!("it was on the fast path")
        };
        assert_eq!(tasks, 2);
    }

    #[test]
    fn tasks_are_timed_in_nanoseconds() {
        let begin = now();
        while now() < begin + Duration::from_micros(5) {}
        assert!(nanos_since(begin) >= 5_000);
    }
}
