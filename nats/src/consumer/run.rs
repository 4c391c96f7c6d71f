//! The one loop behind every source.
//!
//! It runs on the consumer's thread and never blocks there. Each turn it:
//!
//! 1. starts messages that wait, in the places it holds;
//! 2. asks idle lanes for as many messages as it holds places for;
//! 3. asks the pool for the places that its free workers are, if a lane could use them;
//! 4. waits for the next event: places, a message, the end of a pull, the outcome of a handler, a confirmed answer, the
//!    time of a beat, the stop.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use formic::{JoinError, JoinHandle, Refused};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, sleep_until};

use super::lane::{Lane, LaneState};
use super::settle::{Fate, argument, judge, settle};
use super::{Consumer, Summary};
use crate::error::ConsumeError;
use crate::handlers::Handlers;
use crate::monitor::count;
use crate::source::{Delivery, Event, Settle, Token};

/// How long a handler that was cancelled may take to end.
const LAST_MOMENT: Duration = Duration::from_secs(1);

type Permits<P> = Result<Vec<<P as Handlers>::Permit>, Refused>;

struct Loop<P: Handlers> {
    consumer: Consumer<P>,
    lanes: Vec<Lane>,
    events: UnboundedReceiver<(usize, Event)>,
    most_per_pull: usize,
    /// The lane that is asked next.
    next_lane: usize,
    /// Places in the pool that no message has yet.
    held: Vec<P::Permit>,
    admission: Option<BoxFuture<'static, Permits<P>>>,
    /// Messages that have no place yet, with their lanes.
    waiting: VecDeque<u64>,
    /// Every message that was delivered and whose answer is not confirmed, by its number in the stream.
    known: HashMap<u64, Known>,
    running: FuturesUnordered<Running<P::Answer>>,
    settling: FuturesUnordered<BoxFuture<'static, (u64, Fate)>>,
    stage: Stage,
    error: Option<ConsumeError>,
}

struct Known {
    delivery: Delivery,
    lane: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// Nothing is fetched any more; handlers may run until then.
    Draining(Instant),
    /// The handlers were cancelled.
    Cancelled(Instant),
}

/// A handler at work.
struct Running<R> {
    sequence: u64,
    handle: JoinHandle<R>,
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
        next_lane: 0,
        held: Vec::new(),
        admission: None,
        waiting: VecDeque::new(),
        known: HashMap::new(),
        running: FuturesUnordered::new(),
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
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop), if self.stage == Stage::Open => self.stop(),
                () = at(self.deadline()) => self.deadline_is_over(),
                _ = beats.tick() => self.beat(),
                permits = ready(&mut self.admission) => self.admitted(permits),
                event = self.events.recv(), if !self.is_closed() => self.heard(event),
                Some((sequence, outcome)) = self.running.next() => self.ended(sequence, outcome),
                Some((sequence, fate)) = self.settling.next() => self.settled(sequence, fate),
            }
        }
        self.summary()
    }

    fn beats(&self) -> Interval {
        let mut beats = interval(self.consumer.settings.ack_wait / 3);
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
        counters.unconfirmed.fetch_add(self.settling.len() as u64, Relaxed);
        let left = self.running.len();
        match self.error {
            Some(error) => Err(error),
            None => Ok(Summary { stats: self.consumer.monitor().stats(), left }),
        }
    }

    /// Starts, asks and admits what can be. While the consumer stops, it gives back what has not started.
    fn turn(&mut self) {
        if self.stage != Stage::Open {
            while let Some(sequence) = self.waiting.pop_front() {
                self.settle(sequence, Fate::Returned, Settle::Again(Duration::ZERO));
            }
            return;
        }
        while !self.held.is_empty()
            && let Some(sequence) = self.waiting.pop_front()
        {
            self.start(sequence);
        }
        self.pull();
        let wanted = self.wanted();
        if self.admission.is_none() && wanted > 0 {
            self.admission = Some(Box::pin(self.consumer.pool.admit(wanted)));
        }
    }

    /// Asks idle lanes for the messages that there is room for.
    fn pull(&mut self) {
        let asked: usize = self.lanes.iter().map(Lane::asked).sum();
        let room = self.held.len() + self.consumer.settings.ahead;
        let mut wanted = room.saturating_sub(asked + self.waiting.len());
        for _ in 0..self.lanes.len() {
            if wanted == 0 {
                return;
            }
            let number = self.next_lane;
            self.next_lane = (number + 1) % self.lanes.len();
            if self.is_idle(&self.lanes[number]) {
                let asked = wanted.min(self.most_per_pull);
                wanted -= asked;
                let lane = &mut self.lanes[number];
                lane.state = LaneState::Pulling(asked);
                count(&self.consumer.counters.pulls);
                if let Some(pulls) = &lane.pulls {
                    // If the lane is gone, it has said why.
                    pulls.send(asked).ok();
                }
            }
        }
    }

    /// Whether the lane could use a pull. A partition that has a message here delivers no other.
    fn is_idle(&self, lane: &Lane) -> bool {
        lane.state == LaneState::Idle && (self.most_per_pull > 1 || lane.known == 0)
    }

    /// The number of places to ask the pool for.
    fn wanted(&self) -> usize {
        let settings = &self.consumer.settings;
        let places = self.consumer.pool.control().capacity().min(settings.most);
        let free = places.saturating_sub(self.running.len() + self.held.len());
        let idle = self.lanes.iter().filter(|lane| self.is_idle(lane)).count();
        let usable = idle.saturating_mul(self.most_per_pull).saturating_add(self.waiting.len());
        free.min(usable)
    }

    fn admitted(&mut self, permits: Permits<P>) {
        self.admission = None;
        match permits {
            Ok(permits) => self.held.extend(permits),
            // Others wait for places as well. It is asked again in a moment.
            Err(Refused::Full) => {
                self.admission = Some(Box::pin(async {
                    sleep(Duration::from_millis(20)).await;
                    Ok(Vec::new())
                }));
            }
            Err(reason) => self.fail(ConsumeError::Pool(reason)),
        }
    }

    fn heard(&mut self, event: Option<(usize, Event)>) {
        let Some((number, event)) = event else {
            self.lanes.iter_mut().for_each(|lane| lane.state = LaneState::Closed);
            return self.fail(ConsumeError::Disconnected);
        };
        match event {
            Event::Message(delivery) => self.arrived(number, delivery),
            Event::Ended => {
                let unused = self.lanes[number].asked();
                self.lanes[number].state = LaneState::Idle;
                // They go back to the pool, so that its other submitters have their turn.
                self.held.truncate(self.held.len().saturating_sub(unused));
            }
            Event::Failed(error) => self.fail(error),
            Event::Closed => self.lanes[number].state = LaneState::Closed,
        }
    }

    fn arrived(&mut self, number: usize, delivery: Delivery) {
        let counters = &self.consumer.counters;
        count(&counters.delivered);
        if delivery.message.attempt > 1 {
            count(&counters.redelivered);
        }
        let lane = &mut self.lanes[number];
        if let LaneState::Pulling(asked) = lane.state {
            lane.state = LaneState::Pulling(asked.saturating_sub(1));
        }
        let sequence = delivery.message.sequence;
        if let Some(known) = self.known.get_mut(&sequence) {
            count(&counters.repeated);
            known.delivery.token = delivery.token;
            known.delivery.message.attempt = delivery.message.attempt;
            return;
        }
        lane.known += 1;
        self.known.insert(sequence, Known { delivery, lane: number });
        self.waiting.push_back(sequence);
    }

    /// Calls the handler with a message, in a place that is held.
    fn start(&mut self, sequence: u64) {
        let Some(known) = self.known.get(&sequence) else { return };
        let Consumer { decode, settings, .. } = &self.consumer;
        match argument(&known.delivery.message, decode, settings) {
            Ok(argument) => {
                let Some(permit) = self.held.pop() else {
                    return self.waiting.push_front(sequence);
                };
                let handle = P::start(permit, argument);
                self.running.push(Running { sequence, handle });
                self.consumer.counters.running.store(self.running.len() as u64, Relaxed);
            }
            Err(letter) => self.settle(sequence, Fate::Dead, Settle::Bury(Box::new(letter))),
        }
    }

    fn ended(&mut self, sequence: u64, outcome: Result<P::Answer, JoinError>) {
        self.consumer.counters.running.store(self.running.len() as u64, Relaxed);
        if let Some(known) = self.known.get(&sequence) {
            let (fate, settle) = judge(&known.delivery.message, outcome, &self.consumer.settings);
            self.settle(sequence, fate, settle);
        }
    }

    fn settle(&mut self, sequence: u64, fate: Fate, answer: Settle) {
        if let Some(known) = self.known.get(&sequence) {
            let settled =
                settle(self.consumer.source.clone(), known.delivery.token.clone(), answer);
            self.settling.push(Box::pin(async move {
                settled.await;
                (sequence, fate)
            }));
        }
    }

    fn settled(&mut self, sequence: u64, fate: Fate) {
        if let Some(known) = self.known.remove(&sequence) {
            self.lanes[known.lane].known -= 1;
        }
        let counters = &self.consumer.counters;
        count(match fate {
            Fate::Done => &counters.done,
            Fate::Retried => &counters.retried,
            Fate::Dead => &counters.dead,
            Fate::Returned => &counters.returned,
        });
    }

    /// Tells the source that every known message is worked on. It has its own task, because it waits while there is no
    /// connection.
    fn beat(&self) {
        let tokens: Vec<Token> =
            self.known.values().map(|known| known.delivery.token.clone()).collect();
        if !tokens.is_empty() {
            let (source, settings) = (self.consumer.source.clone(), self.consumer.settings.clone());
            drop(tokio::spawn(async move { source.beat(tokens, &settings).await }));
        }
    }

    fn fail(&mut self, error: ConsumeError) {
        self.error.get_or_insert(error);
        self.stop();
    }

    fn stop(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Draining(Instant::now() + self.consumer.settings.grace);
            self.admission = None;
            self.held.clear();
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
