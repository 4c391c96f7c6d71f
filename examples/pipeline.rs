//! Three stages with a limit each: fetch, parse and store. A slow stage slows the ones before it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use formic::{Pool, Refused};

/// What the stages share: the next pool, and what became of the documents.
struct Stages {
    parse: Pool,
    store: Pool,
    stored: AtomicUsize,
    refused: AtomicUsize,
}

impl Stages {
    fn fetch(self: &Arc<Self>, url: usize) {
        let (body, stages) = (format!("document {url}"), Arc::clone(self));
        let parsed = self.parse.submit(move || stages.parse(&body));
        self.note(parsed.map_err(|error| error.reason()));
    }

    fn parse(self: &Arc<Self>, body: &str) {
        let (words, stages) = (body.split(' ').count(), Arc::clone(self));
        let stored = self.store.submit(move || stages.store(words));
        self.note(stored.map_err(|error| error.reason()));
    }

    fn store(&self, words: usize) {
        assert_eq!(words, 2);
        thread::sleep(Duration::from_micros(200)); // the narrow place
        self.stored.fetch_add(1, Ordering::Relaxed);
    }

    /// A stage that refuses a document must not lose it silently.
    fn note(&self, handed_over: Result<(), Refused>) {
        if let Err(refused) = handed_over {
            eprintln!("a document is lost: {refused}");
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let stage = |name: &str, workers| Pool::builder().workers(workers).queue(4).name(name).build();
    let (fetch, parse, store) = (stage("fetch", 8)?, stage("parse", 2)?, stage("store", 1)?);
    let (stored, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stages = Arc::new(Stages { parse: parse.clone(), store: store.clone(), stored, refused });

    let mut most = 0;
    for url in 0..500 {
        let stages = Arc::clone(&stages);
        fetch.submit(move || stages.fetch(url))?;
        let in_flight: usize = [&fetch, &parse, &store]
            .iter()
            .map(|pool| pool.stats())
            .map(|stats| stats.busy + stats.queued)
            .sum();
        most = most.max(in_flight);
    }
    println!("at most {most} documents were in flight: 11 workers and 12 places in queues");

    // Upstream first: when a stage has drained, nothing more comes into the next one.
    for pool in [&fetch, &parse, &store] {
        pool.drain()?;
    }
    let (stored, refused) =
        (stages.stored.load(Ordering::Relaxed), stages.refused.load(Ordering::Relaxed));
    println!("{stored} documents are stored, {refused} were refused");
    assert_eq!((stored, refused), (500, 0));
    Ok(())
}
