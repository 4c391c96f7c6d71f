//! A lane of a source, as the consumer sees it: it has at most one pull at a time.

use tokio::sync::mpsc::UnboundedSender;

pub(super) struct Lane {
    /// None when the lane was told to close.
    pub(super) pulls: Option<UnboundedSender<usize>>,
    pub(super) state: LaneState,
    /// Messages of this lane that are known.
    pub(super) known: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneState {
    Idle,
    /// A pull is open, for so many messages more.
    Pulling(usize),
    Closed,
}

impl Lane {
    pub(super) fn new(pulls: UnboundedSender<usize>) -> Self {
        Lane { pulls: Some(pulls), state: LaneState::Idle, known: 0 }
    }

    /// The number of messages that its pull still asks for.
    pub(super) fn asked(&self) -> usize {
        match self.state {
            LaneState::Pulling(asked) => asked,
            LaneState::Idle | LaneState::Closed => 0,
        }
    }
}
