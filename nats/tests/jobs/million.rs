//! Many messages through three processes, of which one is killed again and again.
//!
//! The small version runs with the other tests. A million messages, with a kill every two seconds:
//!
//! ```sh
//! FORMIC_NATS_MESSAGES=1000000 cargo test --release -p formic-nats --test jobs million -- --nocapture
//! ```

use std::time::{Duration, Instant};

use formic_nats::Job;

use crate::common::{Log, Server, Worker};

fn messages() -> u64 {
    std::env::var("FORMIC_NATS_MESSAGES").map_or(5_000, |messages| messages.parse().unwrap())
}

#[tokio::test]
async fn no_message_is_lost_while_processes_are_killed() {
    let messages = messages();
    // The small version is over soon, so it kills more often.
    let pause = if messages > 100_000 { 2_000 } else { 250 };
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let begin = Instant::now();
    let jobs = (0..messages).map(|number| Job::new(number.to_string()));
    assert_eq!(source.jobs().publish_all(jobs).await.unwrap(), messages);
    println!("{messages} published in {:.1} s", begin.elapsed().as_secs_f64());

    let log = Log::new();
    let start = || Worker::start(&server, "jobs", "many:0", &log);
    let mut workers = [start(), start(), start()];
    let (begin, mut kills) = (Instant::now(), 0);
    let mut empty = Box::pin(source.empty());
    while tokio::time::timeout(Duration::from_millis(pause), &mut empty).await.is_err() {
        let victim = kills % workers.len();
        workers[victim].kill();
        workers[victim] = start();
        kills += 1;
        assert!(begin.elapsed() < Duration::from_secs(60 + messages / 1_000), "it takes too long");
    }
    drop(workers);
    let took = begin.elapsed().as_secs_f64();

    let (started, ended) = (log.counts("start "), log.counts("end "));
    let again = started.values().filter(|times| **times > 1).count();
    let twice = ended.values().filter(|times| **times > 1).count();
    println!(
        "{messages} messages in {took:.1} s, {kills} kills: {} handled, {again} started again because their process was \
         killed, {twice} of them after they had ended and before the acknowledgement was confirmed",
        ended.len()
    );
    assert_eq!(ended.len() as u64, messages);
    // At most what one process can have in its hands at each kill: 16 places, each with an acknowledgement on its way.
    assert!(twice <= 64 * (kills + 1), "{twice} duplicates");
}
