//! The messages of a `Memory`.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use async_nats::HeaderMap;
use bytes::Bytes;

use crate::dead::{DeadLetter, Letter};
use crate::error::PublishError;
use crate::job::{Job, partition};
use crate::jobs::Published;
use crate::message::Message;
use crate::monitor::Lag;
use crate::source::{Delivery, Token};

pub(super) struct Store {
    last: u64,
    messages: HashMap<u64, Stored>,
    /// The messages that may be delivered, by partition; one set if there are none.
    ready: Vec<Ready>,
    /// When a message is ready again: it is delayed, or it was delivered and the time for its answer is over.
    due: BTreeSet<(Instant, u64)>,
    /// The ids that are remembered, and since when.
    ids: HashMap<String, u64>,
    ids_since: VecDeque<(Instant, String)>,
    window: Duration,
    in_order: bool,
    pub(super) dead: BTreeMap<u64, DeadLetter>,
}

#[derive(Default)]
struct Ready {
    sequences: BTreeSet<u64>,
    /// The message that was delivered and is neither done nor dead. No other of the partition is delivered.
    head: Option<u64>,
}

struct Stored {
    payload: Bytes,
    headers: HeaderMap,
    published: SystemTime,
    partition: usize,
    delivered: u64,
    due: Option<Instant>,
    place: Place,
}

#[derive(PartialEq, Eq)]
enum Place {
    /// It waits: for a pull, or for its time.
    Waits,
    /// It was delivered, and the consumer has not answered.
    Out,
}

impl Store {
    pub(super) fn new(partitions: usize, window: Duration) -> Self {
        Store {
            last: 0,
            messages: HashMap::new(),
            ready: (0..partitions.max(1)).map(|_| Ready::default()).collect(),
            due: BTreeSet::new(),
            ids: HashMap::new(),
            ids_since: VecDeque::new(),
            window,
            in_order: partitions > 0,
            dead: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn publish(
        &mut self,
        job: &Job,
        headers: HeaderMap,
        max_messages: usize,
        now: Instant,
    ) -> Result<Published, PublishError> {
        self.forget_ids(now);
        if let Some(sequence) = job.id_of().and_then(|id| self.ids.get(id)) {
            return Ok(Published { sequence: *sequence, duplicate: true });
        }
        if self.messages.len() >= max_messages {
            return Err(PublishError::Full);
        }
        let sequence = self.last + 1;
        if let Some(id) = job.id_of() {
            self.ids.insert(id.to_owned(), sequence);
            self.ids_since.push_back((now, id.to_owned()));
        }
        let partition = match job.key_of() {
            Some(key) => partition(key, self.ready.len()),
            None => fastrand::usize(..self.ready.len()),
        };
        self.insert(job.payload.clone(), headers, partition, job.delay.map(|delay| now + delay));
        Ok(Published { sequence, duplicate: false })
    }

    fn forget_ids(&mut self, now: Instant) {
        while let Some((since, _)) = self.ids_since.front() {
            if now.duration_since(*since) < self.window {
                return;
            }
            if let Some((_, id)) = self.ids_since.pop_front() {
                self.ids.remove(&id);
            }
        }
    }

    fn insert(
        &mut self,
        payload: Bytes,
        headers: HeaderMap,
        partition: usize,
        due: Option<Instant>,
    ) {
        self.last += 1;
        let published = SystemTime::now();
        let place = Place::Waits;
        let stored = Stored { payload, headers, published, partition, delivered: 0, due, place };
        self.messages.insert(self.last, stored);
        match due {
            Some(due) => drop(self.due.insert((due, self.last))),
            None => drop(self.ready[partition].sequences.insert(self.last)),
        }
    }

    /// When the next message is due, if one is.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Delivers the oldest message that may be delivered.
    pub(super) fn take(&mut self, now: Instant, ack_wait: Duration) -> Option<Delivery> {
        self.promote(now);
        let sequence = self.ready.iter().filter_map(Ready::next).min()?;
        let stored = self.messages.get_mut(&sequence)?;
        let ready = &mut self.ready[stored.partition];
        ready.sequences.remove(&sequence);
        ready.head = self.in_order.then_some(sequence);
        stored.delivered += 1;
        (stored.place, stored.due) = (Place::Out, Some(now + ack_wait));
        self.due.insert((now + ack_wait, sequence));
        let message = Message {
            payload: stored.payload.clone(),
            headers: stored.headers.clone(),
            subject: "memory".to_owned(),
            sequence,
            attempt: stored.delivered,
            published: stored.published,
        };
        Some(Delivery { message, token: Token::Memory(sequence) })
    }

    /// Makes ready what is due.
    fn promote(&mut self, now: Instant) {
        while let Some((due, sequence)) = self.due.first().copied() {
            if due > now {
                return;
            }
            self.due.remove(&(due, sequence));
            if let Some(stored) = self.messages.get_mut(&sequence) {
                (stored.place, stored.due) = (Place::Waits, None);
                self.ready[stored.partition].sequences.insert(sequence);
            }
        }
    }

    pub(super) fn remove(&mut self, sequence: u64) {
        if let Some(stored) = self.messages.remove(&sequence) {
            let ready = &mut self.ready[stored.partition];
            ready.sequences.remove(&sequence);
            ready.head = ready.head.filter(|head| *head != sequence);
            if let Some(due) = stored.due {
                self.due.remove(&(due, sequence));
            }
        }
    }

    pub(super) fn again(&mut self, sequence: u64, due: Instant) {
        if let Some(stored) = self.messages.get_mut(&sequence) {
            stored.place = Place::Waits;
            let partition = stored.partition;
            let before = stored.due.replace(due);
            self.ready[partition].sequences.remove(&sequence);
            if let Some(before) = before {
                self.due.remove(&(before, sequence));
            }
            self.due.insert((due, sequence));
        }
    }

    pub(super) fn beat(&mut self, sequence: u64, due: Instant) {
        if let Some(stored) = self.messages.get_mut(&sequence)
            && stored.place == Place::Out
        {
            if let Some(before) = stored.due.replace(due) {
                self.due.remove(&(before, sequence));
            }
            self.due.insert((due, sequence));
        }
    }

    pub(super) fn bury(&mut self, letter: &Letter) {
        if self.messages.contains_key(&letter.sequence) {
            self.remove(letter.sequence);
            let (headers, payload) = (letter.headers.clone(), letter.payload.clone());
            let sequence = letter.sequence;
            let stored = SystemTime::now();
            self.dead.insert(sequence, DeadLetter { headers, payload, sequence, stored });
        }
    }

    pub(super) fn replay(&mut self, sequence: u64) {
        if let Some(letter) = self.dead.remove(&sequence) {
            let headers = letter.old_headers();
            let key = letter.header(crate::message::KEY);
            let partition = key.map_or(0, |key| partition(key, self.ready.len()));
            self.insert(letter.payload, headers, partition, None);
        }
    }

    pub(super) fn lag(&self) -> Lag {
        let delivered = self.messages.values().filter(|stored| stored.delivered > 0);
        let redelivered = delivered.clone().filter(|stored| stored.delivered > 1).count() as u64;
        let unacknowledged = delivered.count() as u64;
        let waiting = self.messages.len() as u64 - unacknowledged;
        Lag { waiting, unacknowledged, redelivered }
    }
}

impl Ready {
    /// The message of this partition that may be delivered.
    fn next(&self) -> Option<u64> {
        match self.head {
            Some(head) => self.sequences.get(&head).copied(),
            None => self.sequences.first().copied(),
        }
    }
}
