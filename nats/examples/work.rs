//! Jobs in memory, or on as many machines as one likes, by the same program:
//!
//! ```sh
//! cargo run --release -p formic-nats --example work -- --messages 10000
//! NATS_URL=nats://127.0.0.1:4222 cargo run --release -p formic-nats --example work -- --messages 10000
//! NATS_URL=nats://127.0.0.1:4222 cargo run --release -p formic-nats --example work -- --messages 0
//! ```
//!
//! It publishes so many messages and works until none is left. With `--messages 0` it publishes none and works until it is
//! stopped by Ctrl-C or SIGTERM: start it as often as you like.

use std::error::Error;
use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use formic::FnPool;
use formic_nats::{
    Backoff, Consumer, Dead, JetStream, Job, Jobs, Memory, Message, Monitor, Source, terminated,
};

/// The handler. Some of its jobs fail at first, and some always.
fn work((number, attempt): (u64, u64)) -> Result<(), String> {
    let sum = (0..2_000).fold(number, |sum, step| std::hint::black_box(sum ^ (sum << 7) ^ step));
    match number % 1000 {
        _ if sum == 1 => Err("out of luck".to_owned()),
        13 => panic!("job {number} is broken"),
        number if number % 100 == 7 && attempt == 1 => Err("the first attempt fails".to_owned()),
        _ => Ok(()),
    }
}

/// The number in a message, and the attempt.
fn decode(message: &Message) -> Result<(u64, u64), serde_json::Error> {
    Ok((serde_json::from_slice(message.payload())?, message.attempt()))
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let messages = messages()?;
    let source = match std::env::var("NATS_URL") {
        Ok(url) => Source::from(JetStream::connect(&url, "formic-work").await?),
        Err(_) => Source::from(Memory::new()),
    };
    let jobs = (0..messages).map(|number| Job::new(number.to_string()));
    Jobs::new(&source).publish_all(jobs).await?;

    // Each panic is counted and ends among the dead letters; its message would hide the progress.
    std::panic::set_hook(Box::new(|_| ()));
    let workers = std::thread::available_parallelism()?.get();
    let pool = FnPool::builder().workers(workers).build(work)?;
    let consumer = Consumer::with_decoder(pool, &source, decode)
        .attempts(3)
        .backoff(Backoff::new(Duration::from_millis(50), Duration::from_secs(1)))
        .ahead(64); // the jobs are short

    let monitor = consumer.monitor();
    let progress = tokio::spawn(show_progress(monitor.clone()));
    let begin = Instant::now();
    let summary = consumer.run_until(end(source.clone(), messages)).await?;
    progress.abort();

    let stats = summary.stats;
    let rate = stats.done as f64 / begin.elapsed().as_secs_f64();
    println!(
        "{} done, {} retried, {} dead, {rate:.0} per second",
        stats.done, stats.retried, stats.dead
    );
    if let Some(letter) = Dead::new(&source).list(1).await?.first() {
        let line = letter.panicked_at().unwrap_or("-");
        println!(
            "the first dead letter: {} ({} attempts, {line})",
            letter.reason(),
            letter.attempts()
        );
    }
    Ok(summary.exit_code())
}

fn messages() -> Result<u64, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Ok(10_000),
        (Some("--messages"), Some(number)) => Ok(number.parse()?),
        _ => Err("usage: work [--messages <number>]".into()),
    }
}

/// Is ready when the work is done, or when the process is asked to end.
async fn end(source: Source, messages: u64) {
    let empty = async {
        match source {
            Source::Memory(source) if messages > 0 => source.empty().await,
            Source::JetStream(source) if messages > 0 => source.empty().await,
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = empty => {}
        () = terminated() => {}
    }
}

async fn show_progress(monitor: Monitor) {
    while stderr().is_terminal() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let stats = monitor.stats();
        eprint!("\r{} done, {} retried, {} dead ", stats.done, stats.retried, stats.dead);
        stderr().flush().ok();
    }
}
