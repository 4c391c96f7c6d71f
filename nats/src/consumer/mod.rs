//! `Consumer`: feeds a pool from a source.

mod run; // the one loop behind every source
mod places; // what it asks the pool and the source for
mod lane; // whom it asks
mod answers; // from a delivery to its confirmed answer
mod known; // the messages in its hands
mod unsent; // answers that wait for a pull
mod settle; // what becomes of a message

use std::fmt;
use std::fmt::Display;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::error::ConsumeError;
use crate::handlers::Handlers;
use crate::message::Message;
use crate::monitor::{ConsumerStats, Counters, Monitor};
use crate::source::Source;
use crate::verdict::{Backoff, LONGEST};

/// Turns a message into the argument of the handler.
type Decode<T> = Arc<dyn Fn(&Message) -> Result<T, String> + Send + Sync>;

/// Feeds a pool from a source: each message becomes an argument of the pool's function, which is the handler.
///
/// **The pool stays as it is.** A program that outgrows one machine has a pool with its handler already, and calls
/// `pool.submit(job)`. It publishes the job instead, by [`Jobs::send`](crate::Jobs::send), and gives the pool to a consumer. The
/// handler returns `()` or a `Result`; see [`Answer`](crate::Answer).
///
/// **Never more than the free places are fetched.** The consumer holds places in the pool first, and asks the source for as many
/// messages. No message waits in this process while another process is idle. Two consumers of one pool do not know of
/// each other's places, so give each a pool of its own.
///
/// **At least once.** A message is acknowledged after its handler has returned, and the acknowledgement is confirmed. If the process dies
/// before, the message is delivered again after [`ack_wait`](Consumer::ack_wait).
///
/// **A long handler runs once.** One timer, on a thread that no handler can hold up, tells the source which messages are
/// worked on.
///
/// # Examples
///
/// ```
/// use formic::AsyncFnPool;
/// use formic_nats::{Consumer, Memory};
///
/// async fn greet(name: String) -> Result<(), std::io::Error> {
///     println!("hello, {name}");
///     Ok(())
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Memory::new(); // or JetStream::connect("nats://127.0.0.1:4222", "greetings").await?
/// source.jobs().send("ant").await?;
///
/// let pool = AsyncFnPool::new(64, greet);
/// let summary = Consumer::new(pool, &source).attempts(3).run_until(source.empty()).await?;
/// assert_eq!(summary.stats.done, 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "a consumer does nothing until it is run"]
pub struct Consumer<P: Handlers> {
    pool: P,
    source: Source,
    decode: Decode<P::Argument>,
    settings: Settings,
    counters: Counters,
    stop: watch::Sender<bool>,
}

/// What a consumer was told.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) attempts: u64,
    pub(crate) backoff: Backoff,
    pub(crate) ack_wait: Duration,
    pub(crate) ahead: usize,
    pub(crate) most: usize,
    pub(crate) grace: Duration,
    pub(crate) expiry: Duration,
}

/// How a consumer ended that was told to.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use formic_nats::{Consumer, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), formic_nats::ConsumeError> {
/// let source = Memory::new();
/// let summary = Consumer::new(FnPool::new(1, |_: u32| ()), &source).run_until(source.empty()).await?;
/// assert!(summary.is_clean());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The figures of the consumer at its end.
    pub stats: ConsumerStats,
    /// Handlers that had not ended when the time to [drain](Consumer::grace) was over. Their messages are delivered
    /// again.
    pub left: usize,
}

impl Summary {
    /// Whether each message that had started has ended, and each answer was confirmed.
    pub fn is_clean(&self) -> bool {
        self.left == 0 && self.stats.unconfirmed == 0
    }

    /// What `main` returns: success if the end was [clean](Summary::is_clean), and 1 otherwise.
    pub fn exit_code(&self) -> ExitCode {
        if self.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl<P: Handlers> Consumer<P> {
    /// Feeds this pool from this source. The payload of a message is JSON, as [`Jobs::send`](crate::Jobs::send) makes it.
    pub fn new(pool: P, source: impl Into<Source>) -> Self
    where
        P::Argument: DeserializeOwned,
    {
        Consumer::with_decoder(pool, source, |message| serde_json::from_slice(message.payload()))
    }

    /// As [`new`](Consumer::new), with a decoder of your own: for another format, or for a handler that needs the id, the trace
    /// or the attempt of its message. A message that does not decode becomes a dead letter at once. The decoder runs on
    /// the consumer's thread, so it has to be short.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use formic_nats::{Consumer, Job, Memory};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let source = Memory::new();
    /// source.jobs().publish(Job::new("12")).await?;
    /// let pool = FnPool::new(1, |(number, attempt): (u32, u64)| assert_eq!((number, attempt), (12, 1)));
    /// let decode = |message: &formic_nats::Message| -> Result<_, Box<dyn std::error::Error>> {
    ///     Ok((std::str::from_utf8(message.payload())?.parse()?, message.attempt()))
    /// };
    /// let summary = Consumer::with_decoder(pool, &source, decode).run_until(source.empty()).await?;
    /// assert_eq!(summary.stats.done, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_decoder<E: Display>(
        pool: P,
        source: impl Into<Source>,
        decode: impl Fn(&Message) -> Result<P::Argument, E> + Send + Sync + 'static,
    ) -> Self {
        let settings = Settings {
            name: "workers".to_owned(),
            attempts: 5,
            backoff: Backoff::default(),
            ack_wait: Duration::from_secs(30),
            ahead: 0,
            most: 1024,
            grace: Duration::from_secs(30),
            expiry: Duration::from_secs(5),
        };
        Consumer {
            pool,
            source: source.into(),
            decode: Arc::new(move |message| decode(message).map_err(|error| error.to_string())),
            settings,
            counters: Counters::default(),
            stop: watch::Sender::new(false),
        }
    }

    /// The name of the consumer on the server: processes with the same name share the messages. `workers` unless set.
    #[doc(alias = "durable_name")]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// How often a message is tried before it becomes a dead letter. Five times unless set, and once at least. The source
    /// counts its deliveries, so the count goes on in another process. A delivery that was [given
    /// back](crate::ConsumerStats::returned) counts, too; a message on its last attempt is not given back, but handled.
    #[doc(alias = "max_deliver")]
    #[doc(alias = "max_retries")]
    pub fn attempts(mut self, attempts: u64) -> Self {
        self.settings.attempts = attempts.max(1);
        self
    }

    /// How long a failed message waits for its next attempt.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = backoff;
        self
    }

    /// How long the source waits for a sign of life of a message that it has delivered, before it delivers it again. The
    /// signs are sent three times as often, also while a handler computes. So this is the time after which the
    /// messages of a process that died are delivered again. 30 seconds unless set.
    #[doc(alias = "visibility_timeout")]
    pub fn ack_wait(mut self, time: Duration) -> Self {
        self.settings.ack_wait = time.clamp(Duration::from_millis(30), LONGEST);
        self
    }

    /// Fetches up to so many messages more than the pool has free workers, so that a short handler does not wait for
    /// the network. They wait in this process, also while another one is idle. None unless set.
    #[doc(alias = "prefetch")]
    pub fn ahead(mut self, messages: usize) -> Self {
        self.settings.ahead = messages;
        self
    }

    /// The most messages that are handled at a time, if the pool has more workers than that. 1024 unless set.
    #[doc(alias = "concurrency")]
    pub fn at_most(mut self, messages: usize) -> Self {
        self.settings.most = messages.max(1);
        self
    }

    /// How long handlers may run after the consumer was told to stop. Then they are
    /// [cancelled](formic::JoinHandle::cancel). 30 seconds unless set.
    #[doc(alias = "shutdown_timeout")]
    pub fn grace(mut self, time: Duration) -> Self {
        self.settings.grace = time.min(LONGEST);
        self
    }

    /// How long the source keeps a request for messages while it has none. Meanwhile the consumer holds the places that the
    /// request is for. Five seconds unless set.
    pub fn expiry(mut self, time: Duration) -> Self {
        self.settings.expiry = time.clamp(Duration::from_millis(10), LONGEST);
        self
    }

    /// Watches and stops this consumer.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor {
            counters: self.counters.clone(),
            stop: self.stop.clone(),
            source: self.source.clone(),
            name: self.settings.name.clone(),
        }
    }

    /// Runs until [`Monitor::stop`]. For any executor: the consumer has a thread of its own.
    ///
    /// # Errors
    ///
    /// [`ConsumeError`] if it ended without having been told to. It has waited for its handlers then, too. A lost
    /// connection is no error: the consumer waits until it is there again.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it tells the consumer to stop, and does not wait for that.
    pub fn run(self) -> impl Future<Output = Result<Summary, ConsumeError>> + Send {
        self.run_until(std::future::pending::<()>())
    }

    /// As [`run`](Consumer::run), and stops when `stop` is ready, too. `stop` is polled on the thread of the consumer, so that a
    /// handler cannot hold it up; [`terminated`](crate::terminated) is one for servers.
    ///
    /// # Errors
    ///
    /// As [`run`](Consumer::run).
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Consumer::run).
    pub async fn run_until<S>(self, stop: S) -> Result<Summary, ConsumeError>
    where
        S: Future<Output: Send> + Send + 'static,
    {
        let io = self.source.io().map_err(ConsumeError::Thread)?;
        let monitor = self.monitor();
        let _stopped_on_drop = StopOnDrop(self.monitor());
        let (ended, end) = tokio::sync::oneshot::channel::<()>();
        io.spawn(async move {
            tokio::select! {
                _ = stop => monitor.stop(),
                _ = end => {}
            }
        });
        // The thread lives until the consumer has ended, also if this future is dropped before.
        let thread = io.clone();
        let consume = async move {
            let summary = run::consume(self).await;
            drop(thread);
            summary
        };
        let summary = io.run(consume).await;
        drop(ended);
        summary
    }
}

struct StopOnDrop(Monitor);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<P: Handlers> fmt::Debug for Consumer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("settings", &self.settings).finish_non_exhaustive()
    }
}
