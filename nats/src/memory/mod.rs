//! `Memory`: the contract of `JetStream`, without a server.

mod store; // the messages, under one lock
mod lane; // pulls

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

use self::store::Store;
use crate::consumer::Settings;
use crate::dead::{Dead, DeadLetter, wire_len};
use crate::error::PublishError;
use crate::job::Job;
use crate::jobs::{Jobs, Published};
use crate::monitor::Lag;
use crate::source::{Opened, Settle};

/// As many pulls may be open at once: while one waits for the rest of its messages, places that become free
/// meanwhile go into the next.
pub(crate) const LANES: usize = 2;

/// A source in the memory of this process, with the contract of [`JetStream`](crate::JetStream): at least once, again
/// after a delay, attempts, dead letters, ids, delays, keys. For tests, and for programs that have no server yet. A clone is the
/// same source. The messages are gone with the process.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use formic_nats::{Consumer, Memory};
///
/// fn shout(word: String) -> Result<(), String> {
///     println!("{}", word.to_uppercase());
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Memory::new();
/// source.jobs().send("hello").await?;
/// let summary = Consumer::new(FnPool::new(4, shout), &source).run_until(source.empty()).await?;
/// assert_eq!(summary.stats.done, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Shared>,
}

struct Shared {
    store: Mutex<Store>,
    /// Notified when a message may be ready, or was the last one.
    changed: Notify,
    limits: MemoryBuilder,
}

/// The settings of a [`Memory`].
///
/// # Examples
///
/// ```
/// let source = formic_nats::Memory::builder().partitions(8).max_messages(1000).build();
/// assert_eq!(source.len(), 0);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct MemoryBuilder {
    partitions: usize,
    max_messages: usize,
    max_payload: usize,
    dedupe_window: Duration,
}

impl MemoryBuilder {
    /// The number of partitions. Jobs of one [key](Job::key) are in one partition, and the jobs of one partition are
    /// handled one after another. None unless set: then jobs have no key.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.partitions = partitions;
        self
    }

    /// The most messages that are stored; one more is refused with [`PublishError::Full`]. Any number unless set.
    pub fn max_messages(mut self, messages: usize) -> Self {
        self.max_messages = messages;
        self
    }

    /// The size of the largest job, its payload and headers, in bytes; a larger one is refused with [`PublishError::TooLarge`]. One mebibyte unless
    /// set.
    pub fn max_payload(mut self, bytes: usize) -> Self {
        self.max_payload = bytes;
        self
    }

    /// How long the [id](Job::id) of a job is remembered. Two minutes unless set.
    pub fn dedupe_window(mut self, time: Duration) -> Self {
        self.dedupe_window = time;
        self
    }

    /// Builds the source.
    #[must_use]
    pub fn build(self) -> Memory {
        let store = Mutex::new(Store::new(self.partitions, self.dedupe_window));
        Memory { shared: Arc::new(Shared { store, changed: Notify::new(), limits: self }) }
    }
}

impl Memory {
    /// An empty source without partitions.
    #[must_use]
    pub fn new() -> Self {
        Memory::builder().build()
    }

    /// Every setting, one by one.
    pub fn builder() -> MemoryBuilder {
        MemoryBuilder {
            partitions: 0,
            max_messages: usize::MAX,
            max_payload: 1 << 20,
            dedupe_window: Duration::from_secs(120),
        }
    }

    /// The publish side of this source.
    #[must_use]
    pub fn jobs(&self) -> Jobs {
        Jobs::new(self)
    }

    /// The dead letters of this source.
    #[must_use]
    pub fn dead(&self) -> Dead {
        Dead::new(self)
    }

    /// The number of messages, those that are worked on and those that are delayed included.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "`empty` is a future, and tells more")]
    pub fn len(&self) -> usize {
        self.store().len()
    }

    /// Is ready when no message is left. For any executor; borrows nothing.
    pub fn empty(&self) -> impl Future<Output = ()> + Send + use<> {
        let memory = self.clone();
        async move {
            loop {
                let mut changed = pin!(memory.shared.changed.notified());
                changed.as_mut().enable();
                if memory.len() == 0 {
                    return;
                }
                changed.await;
            }
        }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // Nothing of a user is called under the lock.
        self.shared.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, settings: &Settings) -> Opened {
        let (sender, events) = unbounded_channel();
        let lanes = (0..LANES).map(|number| {
            let (pulls, asked) = unbounded_channel();
            let lane = lane::Lane { memory: self.clone(), number, events: sender.clone() };
            drop(tokio::spawn(lane.run(asked, settings.ack_wait, settings.expiry)));
            pulls
        });
        let (lanes, ack_wait) = (lanes.collect(), settings.ack_wait);
        Opened { lanes, events, most_per_pull: usize::MAX, ack_wait, sweeper: None }
    }

    pub(crate) fn publish(&self, job: &Job) -> Result<Published, PublishError> {
        let limits = &self.shared.limits;
        let headers = job.header_map()?;
        let (size, max) = (job.payload.len() + wire_len(&headers), limits.max_payload);
        if size > max {
            return Err(PublishError::TooLarge { size, max });
        }
        if job.key_of().is_some() && limits.partitions == 0 {
            return Err(PublishError::NoPartitions);
        }
        let published = self.store().publish(job, headers, limits.max_messages, Instant::now())?;
        self.shared.changed.notify_waiters();
        Ok(published)
    }

    pub(crate) fn settle(&self, sequence: u64, settle: &Settle) {
        let now = Instant::now();
        match settle {
            Settle::Done => self.store().remove(sequence),
            Settle::Again(delay) => self.store().again(sequence, now + *delay),
            Settle::Bury(letter) => self.store().bury(letter),
            Settle::Buried => {} // It went with its burial.
        }
        self.shared.changed.notify_waiters();
    }

    pub(crate) fn beat(&self, sequence: u64, ack_wait: Duration) {
        self.store().beat(sequence, Instant::now() + ack_wait);
    }

    pub(crate) fn lag(&self) -> Lag {
        self.store().lag()
    }

    pub(crate) fn dead_len(&self) -> u64 {
        self.store().dead.len() as u64
    }

    pub(crate) fn dead_list(&self, most: usize) -> Vec<DeadLetter> {
        self.store().dead.values().take(most).cloned().collect()
    }

    pub(crate) fn dead_replay(&self, sequence: u64) {
        self.store().replay(sequence);
        self.shared.changed.notify_waiters();
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("messages", &self.len()).finish_non_exhaustive()
    }
}
