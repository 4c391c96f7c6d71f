//! A worker process: apalis fetches a job when the pool has a place for it.

use std::path::Path;
use std::process;
use std::time::Duration;

use anyhow::Result;
use apalis::prelude::{BackendExt, Task, WorkerBuilder, WorkerError};
use formic::FnPool;
use tokio::io::AsyncReadExt;
use tower::ServiceExt;

use crate::store::{self, Job, Log};

/// Serves jobs until the standard input is closed. Then it fetches no more, and ends what it has begun.
pub async fn run(folder: &Path) -> Result<()> {
    let log = Log::open(folder)?;
    // No queue: a job waits in the file, where another process can take it.
    let pool = FnPool::builder().workers(2).queue(0).build(move |job: Job| work(&log, &job))?;
    // The error of a job is an error of the service, so apalis tries the job again. So is a panic.
    let service = pool.service().flatten().map_request(|task: Task<Job>| task.args);

    let jobs = store::jobs(&store::open(folder).await?);
    let worker = WorkerBuilder::new(format!("worker-{}", process::id()))
        .backend(jobs.poll_with_interval(Duration::from_millis(20)))
        .build(service);
    worker.run_until(input_closed()).await?;
    pool.drain_async().await?;
    Ok(())
}

/// Keeps a core busy for a while, and notes when. A job may run twice, so its effect must not hurt if it
/// comes twice.
fn work(log: &Log, job: &Job) -> Result<usize, String> {
    log.note("begun", job).map_err(|error| error.to_string())?;
    let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    let primes = (2..job.limit).filter(is_prime).count();
    log.note("done", job).map_err(|error| error.to_string())?;
    Ok(primes)
}

async fn input_closed() -> Result<(), WorkerError> {
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}
