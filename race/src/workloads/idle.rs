//! idle: what a pool costs that has nothing to do, while its workers wait and after they may leave.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use super::{Entry, Params, Workload};
use crate::contenders::{Contender, Formic, Rayon, RustyPool, Threadpool, TokioBlocking};
use crate::failure::Failure;
use crate::measure::{Rest, Sample, Stopwatch};
use crate::yardstick::{Column, Decides, Yardstick};

/// The figures are told for this span, however long the window was.
const TOLD: Duration = Duration::from_secs(5);
/// At most this long between the end of a window and the moment at which workers may leave.
const MARGIN: Duration = Duration::from_millis(500);

const YARDSTICK: Yardstick = Yardstick {
    decides: Decides::Named("cpu_us_5s"),
    heading: "CPU µs/5s",
    noun: "processor time",
    per_task: false,
    columns: &[
        Column { key: "cpu_us_5s", heading: "CPU µs/5s" },
        Column { key: "wakeups_5s", heading: "wakes" },
        Column { key: "kb_per_worker", heading: "KB each" },
        Column { key: "after_cpu_us_5s", heading: "CPU after" },
        Column { key: "after_wakeups_5s", heading: "wakes after" },
        Column { key: "after_threads", heading: "threads left" },
    ],
};

/// Rayon and threadpool keep their threads for good; the others let them go after keep-alive.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "idle",
    about: "All workers have run one task and now wait. Told are processor time and wake-ups in five \
        seconds, before and after keep-alive, and the memory each worker holds.",
    yardstick: YARDSTICK,
    params: Params { window_ms: Some(5000), ..Params::of(64, 64) },
    rounds: 3,
    entries: &[
        Entry::formic("Pool with `workers` and `keep_alive`", |params| {
            run(params, Formic::keeping)
        }),
        Entry::peer("spawn_blocking", "max_blocking_threads, thread_keep_alive", |params| {
            run(params, TokioBlocking::keeping)
        }),
        Entry::peer("rusty_pool", "core size 1, max_size(workers), keep_alive", |params| {
            run(params, RustyPool::keeping)
        }),
        Entry::peer("rayon", Rayon::FIXED, |params| run(params, |params, _| Rayon::fixed(params))),
        Entry::peer("threadpool", Threadpool::FIXED, |params| {
            run(params, |params, _| Threadpool::fixed(params))
        }),
    ],
};

fn run<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params, Duration) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let window = Duration::from_millis(params.window_ms.unwrap_or(5000));
    let margin = MARGIN.min(window);
    let keep_alive = window + 2 * margin;
    let (resident_before, threads_before) = (Rest::resident_kb(), Rest::threads());

    let stopwatch = Stopwatch::start();
    let contender = build(params, keep_alive)?;
    occupy_all(&contender, params.workers)?;
    let rest = Instant::now();
    thread::sleep(margin);
    let resident = Rest::resident_kb();
    let before = Rest::over(window);

    thread::sleep((keep_alive + margin).saturating_sub(rest.elapsed()));
    let after = Rest::over(window);
    let after_threads = Rest::threads().saturating_sub(threads_before);
    let sample = stopwatch.stop();
    contender.shut_down()?;

    let scale = TOLD.as_secs_f64() / window.as_secs_f64();
    let grown = resident.saturating_sub(resident_before);
    Ok(sample
        .with("cpu_us_5s", before.cpu.as_secs_f64() * 1e6 * scale)
        .with("wakeups_5s", before.wakeups as f64 * scale)
        .with("kb_per_worker", grown as f64 / params.workers as f64)
        .with("after_cpu_us_5s", after.cpu.as_secs_f64() * 1e6 * scale)
        .with("after_wakeups_5s", after.wakeups as f64 * scale)
        .with("after_threads", after_threads as f64))
}

/// One task on each worker at the same time, so that every worker there may be is there.
fn occupy_all<C: Contender>(contender: &C, workers: usize) -> Result<(), Failure> {
    let meeting = Arc::new(Barrier::new(workers + 1));
    for _ in 0..workers {
        let meeting = Arc::clone(&meeting);
        contender.submit(move || {
            meeting.wait();
        })?;
    }
    meeting.wait();
    Ok(())
}
