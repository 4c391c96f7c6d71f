//! A lane of a source, as the consumer sees it: it has at most one pull at a time.

use tokio::sync::mpsc::UnboundedSender;

pub(super) struct Lane {
    /// None when the lane was told to close.
    pub(super) pulls: Option<UnboundedSender<usize>>,
    pub(super) state: LaneState,
    /// Messages of this lane that wait or run.
    pub(super) unanswered: usize,
    pub(super) answers: Answers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneState {
    Idle,
    /// A pull was sent, for so many messages, and none has come yet.
    Asked(usize),
    /// A pull is open, for so many messages more.
    Pulling(usize),
    Closed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// They are sent until they are confirmed.
    Confirmed,
    /// The source is gone, and will never confirm one.
    Lost,
}

impl Lane {
    pub(super) fn new(pulls: UnboundedSender<usize>) -> Self {
        let (state, answers) = (LaneState::Idle, Answers::Confirmed);
        Lane { pulls: Some(pulls), state, unanswered: 0, answers }
    }

    /// The number of messages that its pull still asks for.
    pub(super) fn asked(&self) -> usize {
        match self.state {
            LaneState::Asked(asked) | LaneState::Pulling(asked) => asked,
            LaneState::Idle | LaneState::Closed => 0,
        }
    }

    /// A message of its pull has arrived.
    pub(super) fn received(&mut self) {
        if let LaneState::Asked(asked) | LaneState::Pulling(asked) = self.state {
            self.state = LaneState::Pulling(asked.saturating_sub(1));
        }
    }
}
