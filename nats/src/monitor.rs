//! Figures of a consumer, and its end.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::watch;

use crate::error::AskError;
use crate::source::Source;

/// The figures of a consumer since it was made. They count what this process did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// Messages that were delivered to this consumer.
    pub delivered: u64,
    /// Messages that were delivered not for the first time.
    pub redelivered: u64,
    /// Redeliveries of a message that was being handled here, or whose acknowledgement was on its way. They were not
    /// handled again.
    pub repeated: u64,
    /// Messages that a handler works on.
    pub running: u64,
    /// Messages whose answer the source has not confirmed yet. It is sent until it is. A figure that stays says that the
    /// source does not confirm; for dead letters, that their stream is full or gone.
    pub settling: u64,
    /// Messages that were done, and whose acknowledgement was confirmed.
    pub done: u64,
    /// Attempts that failed, and after which the message was given back to be delivered again.
    pub retried: u64,
    /// Messages that became dead letters.
    pub dead: u64,
    /// Messages that were given back because the consumer stopped before they had started, or because they were cancelled.
    pub returned: u64,
    /// Answers that the source had not confirmed when the consumer ended. These messages may be delivered again.
    pub unconfirmed: u64,
    /// Pulls that were sent.
    pub pulls: u64,
}

/// How far the consumers are behind, as the source counts it for all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lag {
    /// Messages that wait to be delivered for the first time.
    pub waiting: u64,
    /// Messages that were delivered and are not acknowledged: they are worked on, or wait for their next attempt.
    pub unacknowledged: u64,
    /// Those of the unacknowledged messages that were delivered more than once.
    pub redelivered: u64,
}

impl Lag {
    /// Whether no message is left, delayed ones excepted.
    pub fn is_empty(&self) -> bool {
        self.waiting + self.unacknowledged == 0
    }
}

/// Watches and stops a consumer. A clone watches the same one.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use formic_nats::{Consumer, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Memory::new();
/// source.jobs().send(&7).await?;
/// let consumer = Consumer::new(FnPool::new(1, |_: u32| ()), &source);
/// let monitor = consumer.monitor();
/// assert_eq!(monitor.lag().await?.waiting, 1);
///
/// let run = tokio::spawn(consumer.run());
/// while monitor.stats().done < 1 {
///     tokio::task::yield_now().await;
/// }
/// monitor.stop();
/// run.await??;
/// assert!(monitor.lag().await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) counters: Counters,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) source: Source,
    pub(crate) name: String,
}

impl Monitor {
    /// The figures of the consumer.
    pub fn stats(&self) -> ConsumerStats {
        self.counters.read()
    }

    /// Asks the source how far its consumers are behind.
    ///
    /// # Errors
    ///
    /// [`AskError::NoAnswer`] if the server does not answer.
    #[doc(alias = "num_pending")]
    pub async fn lag(&self) -> Result<Lag, AskError> {
        self.source.lag(&self.name).await
    }

    /// Stops the consumer: it fetches no more, gives back what has not started, and waits for its handlers. Does not
    /// wait; [`Consumer::run`](crate::Consumer::run) ends then.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

macro_rules! counters {
    ($($name:ident),*) => {
        /// The counters behind [`ConsumerStats`].
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Counters(Arc<Cells>);

        #[derive(Debug, Default)]
        pub(crate) struct Cells { $(pub(crate) $name: AtomicU64),* }

        impl Counters {
            fn read(&self) -> ConsumerStats {
                ConsumerStats { $($name: self.0.$name.load(Relaxed)),* }
            }
        }
    };
}

counters!(
    delivered,
    redelivered,
    repeated,
    running,
    settling,
    done,
    retried,
    dead,
    returned,
    unconfirmed,
    pulls
);

impl std::ops::Deref for Counters {
    type Target = Cells;

    fn deref(&self) -> &Cells {
        &self.0
    }
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
