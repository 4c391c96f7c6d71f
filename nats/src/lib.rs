#![doc = include_str!("../README.md")]

mod consumer;
mod dead;
mod error;
mod handlers;
mod io;
mod jetstream;
mod job;
mod jobs;
mod memory;
mod message;
mod monitor;
mod signal;
mod source;
mod verdict;

pub use crate::consumer::{Consumer, Summary};
pub use crate::dead::{Dead, DeadLetter};
pub use crate::error::{AskError, ConnectError, ConsumeError, PublishError};
pub use crate::handlers::Handlers;
pub use crate::jetstream::{JetStream, JetStreamBuilder};
pub use crate::job::Job;
pub use crate::jobs::{Jobs, Published};
pub use crate::memory::{Memory, MemoryBuilder};
pub use crate::message::Message;
pub use crate::monitor::{ConsumerStats, Lag, Monitor};
pub use crate::signal::terminated;
pub use crate::source::Source;
pub use crate::verdict::{Answer, Backoff, Verdict};

/// The programs of the guide's page.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/more_than_one_machine.md")]
mod more_than_one_machine {}

/// The client that [`JetStream`] uses, for the options of a connection.
pub use async_nats;
