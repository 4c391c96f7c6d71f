//! The messages that were delivered here, and whose answer is not confirmed.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::AbortHandle;

use super::settle::Fate;
use crate::source::{Delivery, Settle};

/// A message, by its newest delivery.
pub(super) struct Known {
    pub(super) delivery: Delivery,
    pub(super) lane: usize,
    pub(super) progress: Progress,
}

pub(super) enum Progress {
    /// It has no place yet.
    Waiting,
    /// Its handler works on it.
    Running,
    /// Its answer is sent until it is confirmed.
    Answered(Answered),
}

pub(super) struct Answered {
    pub(super) fate: Fate,
    pub(super) answer: Arc<Settle>,
    /// Ends the sending.
    pub(super) sending: AbortHandle,
}

impl Answered {
    /// Whether it is a dead letter that is not stored yet.
    pub(super) fn is_letter(&self) -> bool {
        matches!(*self.answer, Settle::Bury(_))
    }
}

/// What a delivery means for this process.
pub(super) enum Arrival {
    /// The message is to be handled.
    New,
    /// The message comes again although its retry is not confirmed. It is to be handled, and the old answer, which would
    /// give the new delivery back, is not sent any more.
    Overtakes(Fate),
    /// The message is worked on.
    Repeated,
    /// The message was handled, and is to be answered again. The server may have forgotten the delivery that the
    /// old answer is about.
    Resend(Fate, Arc<Settle>),
}

/// Each message by its number in the stream, and how many there are of those that matter.
#[derive(Default)]
pub(super) struct Table {
    messages: HashMap<u64, Known>,
    answered: usize,
    letters: usize,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Known> {
        self.messages.get(&sequence)
    }

    /// The messages whose answer is not confirmed.
    pub(super) fn answered(&self) -> usize {
        self.answered
    }

    /// Those of them whose dead letter is not stored.
    pub(super) fn letters(&self) -> usize {
        self.letters
    }

    pub(super) fn arrive(&mut self, lane: usize, delivery: Delivery) -> Arrival {
        let sequence = delivery.message.sequence;
        let Some(known) = self.messages.get_mut(&sequence) else {
            let known = Known { delivery, lane, progress: Progress::Waiting };
            self.messages.insert(sequence, known);
            return Arrival::New;
        };
        known.delivery = delivery;
        let Progress::Answered(Answered { fate, answer, sending }) = &known.progress else {
            return Arrival::Repeated;
        };
        sending.abort();
        let (fate, answer) = (*fate, Arc::clone(answer));
        self.set(sequence, Progress::Waiting);
        match fate {
            Fate::Retried | Fate::Returned => Arrival::Overtakes(fate),
            Fate::Done | Fate::Dead => Arrival::Resend(fate, answer),
        }
    }

    pub(super) fn set(&mut self, sequence: u64, progress: Progress) {
        if let Some(known) = self.messages.get_mut(&sequence) {
            self.answered -= usize::from(known.is_answered());
            self.letters -= usize::from(known.is_letter());
            known.progress = progress;
            self.answered += usize::from(known.is_answered());
            self.letters += usize::from(known.is_letter());
        }
    }

    pub(super) fn remove(&mut self, sequence: u64) -> Option<Known> {
        let known = self.messages.remove(&sequence)?;
        self.answered -= usize::from(known.is_answered());
        self.letters -= usize::from(known.is_letter());
        Some(known)
    }

    /// Forgets the answers that this consumer of the source is not there for any more, and returns how many.
    pub(super) fn forget_answered(&mut self, is_gone: impl Fn(usize) -> bool) -> usize {
        let gone = |known: &Known| known.is_answered() && is_gone(known.lane);
        let gone = self.messages.iter().filter(|(_, known)| gone(known));
        let gone: Vec<u64> = gone.map(|(sequence, _)| *sequence).collect();
        for sequence in &gone {
            if let Some(Known { progress: Progress::Answered(answered), .. }) =
                self.remove(*sequence)
            {
                answered.sending.abort();
            }
        }
        gone.len()
    }

    /// The messages that the source is to hear signs of life of: not those that it is to deliver again.
    pub(super) fn alive(&self) -> impl Iterator<Item = &Known> {
        self.messages.values().filter(|known| match &known.progress {
            Progress::Waiting | Progress::Running => true,
            Progress::Answered(answered) => !answered.fate.is_again(),
        })
    }
}

impl Known {
    fn is_answered(&self) -> bool {
        matches!(self.progress, Progress::Answered(_))
    }

    fn is_letter(&self) -> bool {
        matches!(&self.progress, Progress::Answered(answered) if answered.is_letter())
    }
}
