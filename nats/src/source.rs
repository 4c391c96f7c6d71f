//! Where messages come from: one face for `JetStream` and for memory.

use std::time::Duration;

use async_nats::Subject;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::consumer::Settings;
use crate::dead::{DeadLetter, Letter};
use crate::error::{AskError, ConsumeError, PublishError};
use crate::io::Io;
use crate::jetstream::{JetStream, Sweeper};
use crate::job::Job;
use crate::jobs::Published;
use crate::memory::Memory;
use crate::message::Message;
use crate::monitor::{Counters, Lag};

/// Where messages come from: [`JetStream`] or [`Memory`], with the same contract. Each message is delivered at least once,
/// and again after a delay if it failed, until it is done or a dead letter.
///
/// # Examples
///
/// ```
/// use formic_nats::{Consumer, Memory, Source};
///
/// let source = Source::from(Memory::new()); // in production: a JetStream
/// let consumer = Consumer::new(formic::FnPool::new(2, |_: String| ()), &source);
/// # drop(consumer);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// Messages in the memory of this process.
    Memory(Memory),
    /// Messages in a stream of a NATS server.
    JetStream(JetStream),
}

/// What the source has delivered, and how it is answered.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) message: Message,
    pub(crate) token: Token,
}

/// The delivery that an answer is about.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    Memory(u64),
    JetStream(Subject),
}

/// What becomes of a message.
#[derive(Debug)]
pub(crate) enum Settle {
    Done,
    Again(Duration),
    /// A letter is to be stored.
    Bury(Box<Letter>),
    /// The letter is stored, and the message is to go.
    Buried,
}

/// The source did not confirm an answer. It is sent again.
#[derive(Debug)]
pub(crate) struct Unconfirmed;

/// What a lane reports.
#[derive(Debug)]
pub(crate) enum Event {
    Message(Delivery),
    /// A message of a pull that was given up before.
    Late(Delivery),
    /// The pull is over: all of it was delivered, its time is over, or it was lost.
    Ended,
    /// The lane cannot go on.
    Failed(ConsumeError),
    /// The lane was told to stop, and has reported each message that was on its way.
    Closed,
}

/// A source that is open for a consumer.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Each lane has at most one pull at a time. A number asks it for so many messages; to drop the sender closes the
    /// lane.
    pub(crate) lanes: Vec<UnboundedSender<usize>>,
    /// What the lanes report, each with its number.
    pub(crate) events: UnboundedReceiver<(usize, Event)>,
    /// The most messages that a pull of one lane may ask for.
    pub(crate) most_per_pull: usize,
    /// How long the source waits for a sign of life of a message.
    pub(crate) ack_wait: Duration,
    /// What else is to live as long as the consumer.
    pub(crate) sweeper: Option<Sweeper>,
}

impl Source {
    pub(crate) fn io(&self) -> std::io::Result<Io> {
        match self {
            Source::Memory(_) => Io::start(),
            Source::JetStream(stream) => Ok(stream.io().clone()),
        }
    }

    /// Opens the source. Called on the thread that the consumer runs on.
    pub(crate) async fn open(
        &self,
        settings: &Settings,
        counters: &Counters,
        places: usize,
    ) -> Result<Opened, ConsumeError> {
        match self {
            Source::Memory(memory) => Ok(memory.open(settings)),
            Source::JetStream(stream) => stream.open(settings, counters, places).await,
        }
    }

    pub(crate) async fn publish(&self, job: Job) -> Result<Published, PublishError> {
        match self {
            Source::Memory(memory) => memory.publish(&job),
            Source::JetStream(stream) => stream.publish(job).await,
        }
    }

    pub(crate) async fn settle(&self, token: Token, settle: &Settle) -> Result<(), Unconfirmed> {
        match (self, token) {
            (Source::Memory(memory), Token::Memory(sequence)) => {
                memory.settle(sequence, settle);
                Ok(())
            }
            (Source::JetStream(stream), Token::JetStream(reply)) => {
                stream.settle(reply, settle).await
            }
            // A source makes the tokens that come back to it.
            _ => Ok(()),
        }
    }

    /// Tells the source that these messages are still worked on.
    pub(crate) async fn beat(&self, tokens: Vec<Token>, ack_wait: Duration) {
        for token in tokens {
            match (self, token) {
                (Source::Memory(memory), Token::Memory(sequence)) => {
                    memory.beat(sequence, ack_wait);
                }
                (Source::JetStream(stream), Token::JetStream(reply)) => stream.beat(reply).await,
                _ => {}
            }
        }
    }

    pub(crate) async fn lag(&self, consumer: &str) -> Result<Lag, AskError> {
        match self {
            Source::Memory(memory) => Ok(memory.lag()),
            Source::JetStream(stream) => stream.lag(consumer).await,
        }
    }

    pub(crate) async fn dead_len(&self) -> Result<u64, AskError> {
        match self {
            Source::Memory(memory) => Ok(memory.dead_len()),
            Source::JetStream(stream) => stream.dead_len().await,
        }
    }

    pub(crate) async fn dead_list(&self, most: usize) -> Result<Vec<DeadLetter>, AskError> {
        match self {
            Source::Memory(memory) => Ok(memory.dead_list(most)),
            Source::JetStream(stream) => stream.dead_list(most).await,
        }
    }

    pub(crate) async fn dead_replay(&self, letter: &DeadLetter) -> Result<(), AskError> {
        match self {
            Source::Memory(memory) => {
                memory.dead_replay(letter.sequence());
                Ok(())
            }
            Source::JetStream(stream) => stream.dead_replay(letter).await,
        }
    }
}

impl From<Memory> for Source {
    fn from(memory: Memory) -> Self {
        Source::Memory(memory)
    }
}

impl From<JetStream> for Source {
    fn from(stream: JetStream) -> Self {
        Source::JetStream(stream)
    }
}

impl From<&Memory> for Source {
    fn from(memory: &Memory) -> Self {
        Source::Memory(memory.clone())
    }
}

impl From<&JetStream> for Source {
    fn from(stream: &JetStream) -> Self {
        Source::JetStream(stream.clone())
    }
}

impl From<&Source> for Source {
    fn from(source: &Source) -> Self {
        source.clone()
    }
}
