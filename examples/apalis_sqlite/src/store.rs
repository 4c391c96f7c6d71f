//! The jobs, in a file of SQLite, and the log of what was done.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use apalis_sqlite::{Config, SqliteStorage};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

/// A job: count the primes below a limit.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub number: u32,
    pub limit: u64,
}

/// The queue's name, which every process has to use.
const QUEUE: &str = "primes";

pub async fn open(folder: &Path) -> Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join("jobs.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // A job that was enqueued survives a power failure, too.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10));
    Ok(SqlitePool::connect_with(options).await?)
}

/// Creates the tables. Apalis turns `synchronous` off for the connection that it does this with, so that is closed.
pub async fn create(folder: &Path) -> Result<()> {
    let pool = open(folder).await?;
    SqliteStorage::setup(&pool).await?;
    pool.close().await;
    Ok(())
}

pub fn jobs(pool: &SqlitePool) -> SqliteStorage<Job> {
    let config = Config::default()
        .queue(QUEUE)
        // The service holds one place when apalis fetches. A longer batch would be fetched for places that are
        // taken, would lie in this process while another one is idle, and would hold up the heartbeats.
        .batch_size(1)
        // After three seconds without a heartbeat the jobs of a process go back into the queue.
        .heartbeat_interval(Duration::from_secs(1))
        .missed_heartbeats(3);
    SqliteStorage::new(pool).with_config(config)
}

/// What the processes have done: the effect that the example counts. Each line is appended in one write.
pub struct Log(File);

impl Log {
    pub fn open(folder: &Path) -> io::Result<Log> {
        let log = OpenOptions::new().create(true).append(true).open(folder.join("jobs.log"))?;
        Ok(Log(log))
    }

    pub fn note(&self, event: &str, job: &Job) -> io::Result<()> {
        (&self.0).write_all(format!("{event} {}\n", job.number).as_bytes())
    }

    /// The numbers of the jobs to which this happened.
    pub fn read(folder: &Path, event: &str) -> Result<Vec<u32>> {
        let log = fs::read_to_string(folder.join("jobs.log")).unwrap_or_default();
        let numbers = log.lines().filter_map(|line| line.strip_prefix(event));
        Ok(numbers.map(|number| number.trim().parse()).collect::<Result<_, _>>()?)
    }
}
