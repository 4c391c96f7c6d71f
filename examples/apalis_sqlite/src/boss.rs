//! Enqueues jobs, kills worker processes in mid-work, and counts what was done.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, ensure};
use apalis::prelude::TaskSink;
use sqlx::SqlitePool;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::store::{self, Job, Log};

/// So many worker processes are killed.
const KILLS: u32 = 3;
/// Far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn run(jobs: u32) -> Result<()> {
    ensure!(jobs >= 20, "with fewer than 20 jobs no process would be killed in mid-work");
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    store::create(folder).await?;
    let pool = store::open(folder).await?;
    let mut storage = store::jobs(&pool);
    for number in 0..jobs {
        storage.push(Job { number, limit: 50_000 }).await?;
    }
    println!("{jobs} jobs are in the file");

    let mut interrupted = 0;
    for kill in 1..=KILLS {
        interrupted += kill_when_done(folder, kill * jobs / (KILLS + 1), interrupted).await?;
        println!("  {}", standing(&pool).await?);
    }
    ensure!(interrupted > 0, "no job was interrupted");
    finish(folder, &pool, jobs).await?;
    summary(jobs, interrupted, &Log::read(folder, "done")?)
}

/// Starts a worker process, kills it when so many runs have ended and another one has begun, and returns how many
/// it has left half done.
async fn kill_when_done(folder: &Path, runs: u32, before: usize) -> Result<usize> {
    let mut process = worker(folder)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (begun, done) = (Log::read(folder, "begun")?.len(), Log::read(folder, "done")?.len());
        if done >= runs as usize && begun > done + before {
            break;
        }
        ensure!(process.try_wait()?.is_none(), "a worker process has ended");
        ensure!(Instant::now() < deadline, "a worker process does nothing");
        sleep(Duration::from_millis(2)).await;
    }
    process.kill().await?; // as `kill -9`, and waits for its end
    let (begun, done) = (Log::read(folder, "begun")?.len(), Log::read(folder, "done")?.len());
    let interrupted = begun - done - before;
    println!("a worker process was killed after {done} runs, and {interrupted} were interrupted");
    Ok(interrupted)
}

/// Starts a worker process, and stops it in peace when all jobs are done.
async fn finish(folder: &Path, pool: &SqlitePool, jobs: u32) -> Result<()> {
    let mut process = worker(folder)?;
    let deadline = Instant::now() + PATIENCE;
    while count(pool, "Done").await? < jobs {
        ensure!(process.try_wait()?.is_none(), "the last worker process has ended");
        ensure!(Instant::now() < deadline, "jobs are left: {}", standing(pool).await?);
        sleep(Duration::from_millis(50)).await;
    }
    drop(process.stdin.take()); // asks it to stop
    ensure!(process.wait().await?.success(), "the last worker process has failed");
    Ok(())
}

/// A worker process. It is killed with this one.
fn worker(folder: &Path) -> Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("worker").arg(folder).stdin(Stdio::piped()).kill_on_drop(true);
    Ok(command.spawn()?)
}

async fn count(pool: &SqlitePool, status: &str) -> Result<u32> {
    let query = sqlx::query_scalar("SELECT count(*) FROM Jobs WHERE status = ?");
    Ok(query.bind(status).fetch_one(pool).await?)
}

async fn standing(pool: &SqlitePool) -> Result<String> {
    let (pending, queued) = (count(pool, "Pending").await?, count(pool, "Queued").await?);
    let (running, done) = (count(pool, "Running").await?, count(pool, "Done").await?);
    Ok(format!("the file says: {pending} pending, {} taken, {done} done", queued + running))
}

fn summary(jobs: u32, interrupted: usize, done: &[u32]) -> Result<()> {
    let mut times: BTreeMap<u32, usize> = BTreeMap::new();
    for number in done {
        *times.entry(*number).or_default() += 1;
    }
    let missing: Vec<u32> = (0..jobs).filter(|number| !times.contains_key(number)).collect();
    ensure!(missing.is_empty(), "jobs were lost: {missing:?}");
    let again = times.values().filter(|times| **times > 1).count();
    println!("all {jobs} jobs are done, each at least once:");
    println!("  {KILLS} processes killed, {interrupted} runs interrupted and begun again");
    println!(
        "  {again} jobs done more than once, because the kill came before their acknowledgement"
    );
    Ok(())
}
