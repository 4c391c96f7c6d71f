//! Consumers on the server, and the lanes that pull from them.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use tokio::sync::mpsc::unbounded_channel;

use super::JetStream;
use super::inbox::Inbox;
use super::lane::Lane;
use super::sweep::Sweeper;
use crate::consumer::Settings;
use crate::error::{AskError, ConsumeError};
use crate::memory::LANES;
use crate::monitor::{Counters, Lag};
use crate::source::Opened;

/// How long a pull is open if a process has fewer places than there are partitions, so that it asks them in turn.
const TURN: Duration = Duration::from_millis(100);

/// The longest that a pull is open at a server before 2.10: a consumer that stops waits for its end.
const LONGEST_AT_OLD_SERVER: Duration = Duration::from_secs(1);

impl JetStream {
    pub(crate) async fn open(
        &self,
        settings: &Settings,
        counters: &Counters,
        places: usize,
    ) -> Result<Opened, ConsumeError> {
        let partitions = self.shared.partitions;
        let names = self.consumer_names(&settings.name);
        let mut ack_wait = settings.ack_wait;
        for (number, name) in names.iter().enumerate() {
            let partition = (partitions > 0).then_some(number);
            ack_wait = ack_wait.min(self.create(name, partition, settings).await?);
        }
        let expiry = match settings.expiry {
            _ if partitions > places => TURN,
            expiry if self.knows_what_it_delivered() => expiry,
            expiry => expiry.min(LONGEST_AT_OLD_SERVER),
        };
        let (sender, events) = unbounded_channel();
        let mut lanes = Vec::new();
        // Each partition has a lane; otherwise the lanes share the consumer.
        for number in 0..if partitions > 0 { partitions } else { LANES } {
            let (pulls, asked) = unbounded_channel();
            let inbox = Inbox::new(&self.shared.client).await;
            let lane = Lane {
                source: self.clone(),
                number,
                consumer: names[number % names.len()].clone(),
                expiry,
                events: sender.clone(),
                inbox: inbox.map_err(|_| ConsumeError::Disconnected)?,
                pull: 0,
                left: 0,
            };
            drop(tokio::spawn(lane.run(asked)));
            lanes.push(pulls);
        }
        let sweeper = Some(Sweeper::start(self, &settings.name, counters).await?);
        let most_per_pull = if partitions > 0 { 1 } else { usize::MAX };
        Ok(Opened { lanes, events, most_per_pull, ack_wait, sweeper })
    }

    /// The consumers on the server: one, or one for each partition.
    pub(super) fn consumer_names(&self, name: &str) -> Vec<String> {
        match self.shared.partitions {
            0 => vec![name.to_owned()],
            partitions => (0..partitions).map(|number| format!("{name}-{number}")).collect(),
        }
    }

    /// Makes a consumer, or has it as it is said here, and returns the time that it waits for signs of life.
    async fn create(
        &self,
        name: &str,
        partition: Option<usize>,
        settings: &Settings,
    ) -> Result<Duration, ConsumeError> {
        let config = Config {
            durable_name: Some(name.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: settings.ack_wait,
            // One more than the attempts: the last delivery is for the dead letter of a message whose process died.
            max_deliver: i64::try_from(settings.attempts).unwrap_or(i64::MAX - 1) + 1,
            filter_subject: self.job_subject(partition),
            // A partition has one message out at a time, in whatever process. Otherwise the places are the limit.
            max_ack_pending: if partition.is_some() { 1 } else { -1 },
            ..Config::default()
        };
        let made = self.shared.context.create_consumer_on_stream(config, self.stream()).await;
        let made: PullConsumer = made.map_err(|error| ConsumeError::Setup(error.to_string()))?;
        let config = &made.cached_info().config;
        // A server that has a list of back-offs waits for the first of them instead.
        let first = config.backoff.first().copied().unwrap_or(config.ack_wait);
        Ok(first.min(config.ack_wait))
    }

    pub(crate) async fn lag(&self, name: &str) -> Result<Lag, AskError> {
        let (source, names) = (self.clone(), self.consumer_names(name));
        let lag = async move {
            let context = &source.shared.context;
            let stream = context.get_stream_no_info(source.stream()).await;
            let stream = stream.map_err(|error| AskError::NoAnswer(error.to_string()))?;
            let mut lag = Lag::default();
            for name in names {
                let info = stream.consumer_info(&name).await;
                let info = info.map_err(|error| AskError::NoAnswer(error.to_string()))?;
                lag.waiting += info.num_pending;
                lag.unacknowledged += info.num_ack_pending as u64;
                lag.redelivered += info.num_redelivered as u64;
            }
            Ok(lag)
        };
        self.io().run(lag).await
    }
}
