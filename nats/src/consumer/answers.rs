//! From a delivery to its confirmed answer.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use formic::JoinError;
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};

use super::Consumer;
use super::known::{Answered, Arrival, Progress};
use super::lane::Answers;
use super::run::{Loop, Running};
use super::settle::{Fate, argument, judge, settle};
use crate::error::ConsumeError;
use crate::handlers::Handlers;
use crate::monitor::count;
use crate::source::{Delivery, Settle, Token};

impl<P: Handlers> Loop<P> {
    pub(super) fn arrived(&mut self, number: usize, delivery: Delivery) {
        let counters = &self.consumer.counters;
        count(&counters.delivered);
        if delivery.message.attempt > 1 {
            count(&counters.redelivered);
        }
        let sequence = delivery.message.sequence;
        match self.known.arrive(number, delivery) {
            Arrival::New => self.wait(sequence),
            Arrival::Overtakes(fate) => {
                self.count(fate);
                self.wait(sequence);
            }
            Arrival::Repeated => count(&counters.repeated),
            Arrival::Resend(fate, answer) => {
                count(&counters.repeated);
                self.send(sequence, fate, answer);
            }
        }
    }

    /// The message is to be handled, and has no place yet.
    fn wait(&mut self, sequence: u64) {
        if let Some(known) = self.known.get(sequence) {
            self.lanes[known.lane].unanswered += 1;
            self.waiting.push_back(sequence);
        }
    }

    /// Calls the handler with a message, in a place that is held.
    pub(super) fn start(&mut self, sequence: u64) {
        let Some(known) = self.known.get(sequence) else { return };
        let Consumer { decode, settings, .. } = &self.consumer;
        match argument(&known.delivery.message, decode, settings) {
            Ok(argument) => {
                let Some(permit) = self.held.pop() else {
                    return self.waiting.push_front(sequence);
                };
                let handle = P::start(permit, argument);
                self.others.mine += 1;
                self.known.set(sequence, Progress::Running);
                self.running.push(Running { sequence, handle });
                self.consumer.counters.running.store(self.running.len() as u64, Relaxed);
            }
            Err(letter) => self.settle(sequence, Fate::Dead, Settle::Bury(Box::new(letter))),
        }
    }

    pub(super) fn ended(&mut self, sequence: u64, outcome: Result<P::Answer, JoinError>) {
        self.consumer.counters.running.store(self.running.len() as u64, Relaxed);
        if let Some(known) = self.known.get(sequence) {
            let (fate, settle) = judge(&known.delivery.message, outcome, &self.consumer.settings);
            self.settle(sequence, fate, settle);
        }
    }

    /// Answers a message.
    pub(super) fn settle(&mut self, sequence: u64, fate: Fate, answer: Settle) {
        if let Some(known) = self.known.get(sequence) {
            self.lanes[known.lane].unanswered -= 1;
            self.send(sequence, fate, Arc::new(answer));
        }
    }

    fn send(&mut self, sequence: u64, fate: Fate, answer: Arc<Settle>) {
        let Some(known) = self.known.get(sequence) else { return };
        if self.lanes[known.lane].answers == Answers::Lost {
            self.known.remove(sequence);
            return count(&self.consumer.counters.unconfirmed);
        }
        let (sending, registration) = AbortHandle::new_pair();
        let source = self.consumer.source.clone();
        let settled = settle(source, known.delivery.token.clone(), Arc::clone(&answer));
        let settled: BoxFuture<'static, u64> = Box::pin(async move {
            settled.await;
            sequence
        });
        self.unsent.push(Abortable::new(settled, registration));
        self.known.set(sequence, Progress::Answered(Answered { fate, answer, sending }));
        self.show_settling();
    }

    /// An answer is confirmed. One that was aborted has another after it.
    pub(super) fn settled(&mut self, settled: Result<u64, Aborted>) {
        let Ok(sequence) = settled else { return };
        let Some(Progress::Answered(answered)) =
            self.known.get(sequence).map(|known| &known.progress)
        else {
            return;
        };
        let fate = answered.fate;
        if answered.is_letter() {
            return self.send(sequence, fate, Arc::new(Settle::Buried));
        }
        self.known.remove(sequence);
        self.count(fate);
        self.show_settling();
    }

    fn count(&self, fate: Fate) {
        let counters = &self.consumer.counters;
        count(match fate {
            Fate::Done => &counters.done,
            Fate::Retried => &counters.retried,
            Fate::Dead => &counters.dead,
            Fate::Returned => &counters.returned,
        });
    }

    fn show_settling(&self) {
        self.consumer.counters.settling.store(self.known.answered() as u64, Relaxed);
    }

    /// Tells the source that messages are worked on. It has its own task, because it waits while there is no connection.
    pub(super) fn beat(&self) {
        let tokens: Vec<Token> =
            self.known.alive().map(|known| known.delivery.token.clone()).collect();
        if !tokens.is_empty() {
            let (source, ack_wait) = (self.consumer.source.clone(), self.ack_wait);
            drop(tokio::spawn(async move { source.beat(tokens, ack_wait).await }));
        }
    }

    /// A lane cannot go on. If what its messages are answered to is gone, no answer will be confirmed.
    pub(super) fn broken(&mut self, number: usize, error: ConsumeError) {
        let is_shared = self.most_per_pull > 1;
        let is_lost = |lane: usize| match error {
            ConsumeError::StreamDeleted | ConsumeError::Disconnected => true,
            ConsumeError::ConsumerDeleted => is_shared || lane == number,
            _ => false,
        };
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if is_lost(number) {
                lane.answers = Answers::Lost;
            }
        }
        let lost = self.known.forget_answered(is_lost) as u64;
        self.consumer.counters.unconfirmed.fetch_add(lost, Relaxed);
        self.show_settling();
        self.fail(error);
    }

    pub(super) fn give_back(&mut self, sequences: impl IntoIterator<Item = u64>) {
        for sequence in sequences {
            self.settle(sequence, Fate::Returned, Settle::Again(Duration::ZERO));
        }
    }

    pub(super) fn is_last(&self, sequence: u64) -> bool {
        let attempts = self.consumer.settings.attempts;
        self.known.get(sequence).is_some_and(|known| known.delivery.message.attempt >= attempts)
    }
}
