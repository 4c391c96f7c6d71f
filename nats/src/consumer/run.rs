//! The one loop behind every source.
//!
//! It runs on the consumer's thread and never blocks there. Each turn it:
//!
//! 1. starts messages that wait, in the places it holds;
//! 2. asks idle lanes for as many messages as it holds places for;
//! 3. asks the pool for the places that its free workers are, if a lane could use them;
//! 4. waits for the next event: places, a message, the end of a pull, the outcome of a handler, a confirmed answer, the
//!    time of a beat, the stop;
//! 5. sends answers, if none of these has happened and no pull is to be served first.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use formic::{JoinError, JoinHandle, Refused};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::known::Table;
use super::lane::{Lane, LaneState};
use super::places::Others;
use super::unsent::{Sending, Unsent};
use super::{Consumer, Summary};
use crate::error::ConsumeError;
use crate::handlers::Handlers;
use crate::source::Event;

/// How long a handler that was cancelled may take to end.
const LAST_MOMENT: Duration = Duration::from_secs(1);

pub(super) type Permits<P> = Result<Vec<<P as Handlers>::Permit>, Refused>;

pub(super) struct Loop<P: Handlers> {
    pub(super) consumer: Consumer<P>,
    pub(super) lanes: Vec<Lane>,
    events: UnboundedReceiver<(usize, Event)>,
    pub(super) most_per_pull: usize,
    /// The time for a sign of life, as the source counts it.
    pub(super) ack_wait: Duration,
    /// The lane that is asked next.
    pub(super) next_lane: usize,
    /// Places in the pool that no message has yet.
    pub(super) held: Vec<P::Permit>,
    pub(super) others: Others,
    pub(super) admission: Option<BoxFuture<'static, Permits<P>>>,
    /// Messages that have no place yet.
    pub(super) waiting: VecDeque<u64>,
    pub(super) known: Table,
    pub(super) running: FuturesUnordered<Running<P::Answer>>,
    pub(super) unsent: Unsent,
    pub(super) settling: FuturesUnordered<Sending>,
    pub(super) stage: Stage,
    error: Option<ConsumeError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Open,
    /// Nothing is fetched any more; handlers may run until then.
    Draining(Instant),
    /// The handlers were cancelled.
    Cancelled(Instant),
}

/// A handler at work.
pub(super) struct Running<R> {
    pub(super) sequence: u64,
    pub(super) handle: JoinHandle<R>,
}

impl<R> Future for Running<R> {
    type Output = (u64, Result<R, JoinError>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let sequence = self.sequence;
        Pin::new(&mut self.handle).poll(context).map(|outcome| (sequence, outcome))
    }
}

/// Runs a consumer to its end.
pub(super) async fn consume<P: Handlers>(consumer: Consumer<P>) -> Result<Summary, ConsumeError> {
    let settings = &consumer.settings;
    let places = consumer.pool.control().capacity().min(settings.most);
    let opened = consumer.source.open(settings, &consumer.counters, places).await?;
    let _sweeper = opened.sweeper;
    let consuming = Loop {
        lanes: opened.lanes.into_iter().map(Lane::new).collect(),
        events: opened.events,
        most_per_pull: opened.most_per_pull,
        ack_wait: opened.ack_wait,
        next_lane: 0,
        held: Vec::new(),
        others: Others::default(),
        admission: None,
        waiting: VecDeque::new(),
        known: Table::default(),
        running: FuturesUnordered::new(),
        unsent: Unsent::default(),
        settling: FuturesUnordered::new(),
        stage: Stage::Open,
        error: None,
        consumer,
    };
    consuming.run().await
}

impl<P: Handlers> Loop<P> {
    async fn run(mut self) -> Result<Summary, ConsumeError> {
        let mut beats = self.beats();
        let mut stop = self.consumer.stop.subscribe();
        while !self.is_over() {
            self.turn();
            let is_held = self.is_pull_unserved();
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop), if self.stage == Stage::Open => self.stop(),
                () = at(self.deadline()) => self.deadline_is_over(),
                _ = beats.tick() => self.beat(),
                event = self.events.recv(), if !self.is_closed() => self.heard(event),
                Some((sequence, outcome)) = self.running.next() => self.ended(sequence, outcome),
                permits = ready(&mut self.admission) => self.admitted(permits),
                Some(settled) = self.settling.next() => self.settled(settled),
                () = self.unsent.due(is_held) => self.settling.extend(self.unsent.take()),
            }
            self.catch_up();
        }
        self.summary()
    }

    /// Handles all that is ready, so that places that became free at the same time are in one pull.
    fn catch_up(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.heard(Some(event));
        }
        while let Some(Some((sequence, outcome))) = self.running.next().now_or_never() {
            self.ended(sequence, outcome);
        }
    }

    fn beats(&self) -> Interval {
        let mut beats = interval(self.ack_wait / 3);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beats
    }

    fn is_over(&self) -> bool {
        let is_empty = self.known.is_empty() && self.is_closed();
        match self.stage {
            Stage::Open => false,
            Stage::Draining(_) => is_empty,
            Stage::Cancelled(until) => is_empty || Instant::now() >= until,
        }
    }

    fn is_closed(&self) -> bool {
        self.lanes.iter().all(|lane| lane.state == LaneState::Closed)
    }

    fn summary(self) -> Result<Summary, ConsumeError> {
        let counters = &self.consumer.counters;
        counters.unconfirmed.fetch_add(self.known.answered() as u64, Relaxed);
        counters.settling.store(0, Relaxed);
        let left = self.running.len();
        match self.error {
            Some(error) => Err(error),
            None => Ok(Summary { stats: self.consumer.monitor().stats(), left }),
        }
    }

    /// Starts, asks and admits what can be.
    fn turn(&mut self) {
        if self.stage != Stage::Open {
            return self.drain();
        }
        self.start_waiting();
        self.admit();
        self.pull();
    }

    /// Gives back what has not started, when no pull is open that the source could deliver it to. It costs a message an attempt,
    /// because the source counts deliveries. So a message on its last attempt is handled instead.
    fn drain(&mut self) {
        let (is_draining, is_closed) = (matches!(self.stage, Stage::Draining(_)), self.is_closed());
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (last, others): (Vec<u64>, Vec<u64>) =
            waiting.partition(|sequence| is_draining && self.is_last(*sequence));
        self.waiting.extend(last);
        self.start_waiting();
        if !self.waiting.is_empty() && self.admission.is_none() {
            self.admission = Some(Box::pin(self.consumer.pool.admit(self.waiting.len())));
        } else if self.waiting.is_empty() && is_closed {
            self.admission = None;
            self.held.clear();
        }
        match is_draining && !is_closed {
            true => self.waiting.extend(others),
            false => self.give_back(others),
        }
    }

    /// Starts messages that wait, in the places that are held.
    fn start_waiting(&mut self) {
        while !self.held.is_empty()
            && let Some(sequence) = self.waiting.pop_front()
        {
            self.start(sequence);
        }
    }

    fn heard(&mut self, event: Option<(usize, Event)>) {
        let Some((number, event)) = event else {
            self.lanes.iter_mut().for_each(|lane| lane.state = LaneState::Closed);
            return self.broken(0, ConsumeError::Disconnected);
        };
        match event {
            Event::Message(delivery) => {
                self.lanes[number].received();
                self.arrived(number, delivery);
            }
            Event::Late(delivery) => self.arrived(number, delivery),
            Event::Ended => {
                let unused = self.lanes[number].asked();
                self.lanes[number].state = LaneState::Idle;
                // They go back to the pool, so that its other submitters have their turn.
                self.held.truncate(self.held.len().saturating_sub(unused));
            }
            Event::Failed(error) => self.broken(number, error),
            Event::Closed => self.lanes[number].state = LaneState::Closed,
        }
    }

    pub(super) fn fail(&mut self, error: ConsumeError) {
        self.error.get_or_insert(error);
        self.stop();
    }

    fn stop(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Draining(Instant::now() + self.consumer.settings.grace);
            self.admission = None;
            for lane in &mut self.lanes {
                lane.pulls = None;
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Open => None,
            Stage::Draining(deadline) | Stage::Cancelled(deadline) => Some(deadline),
        }
    }

    /// Cancels the handlers that run. Futures are dropped, and threads are asked to stop.
    fn deadline_is_over(&mut self) {
        if let Stage::Draining(deadline) = self.stage {
            for running in &self.running {
                running.handle.cancel();
            }
            self.stage = Stage::Cancelled(deadline.max(Instant::now()) + LAST_MOMENT);
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
