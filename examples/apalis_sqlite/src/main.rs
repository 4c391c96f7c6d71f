//! A durable queue on one machine: apalis keeps the jobs in SQLite, and formic runs them.
//!
//! The program puts jobs into a file, starts itself as a worker process, kills that in mid-work as `kill -9` does,
//! starts another one, and checks that each job was done at least once.
//!
//! ```sh
//! cargo run                     # 100 jobs
//! cargo run -- --jobs 10000
//! ```

mod boss; // enqueues, kills, counts
mod store; // the jobs, in a file
mod worker; // runs them, in a process of its own

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => boss::run(100).await,
        ["--jobs", jobs] => boss::run(jobs.parse()?).await,
        ["worker", folder] => worker::run(&PathBuf::from(folder)).await,
        _ => bail!("usage: apalis_sqlite [--jobs NUMBER]"),
    }
}
