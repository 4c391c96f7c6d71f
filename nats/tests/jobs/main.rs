//! Jobs through memory and through a real server.
//!
//! The tests of a server start one themselves: the program that `NATS_SERVER` names, or `nats-server` from the path.
//! Without one they say that they were skipped. `FORMIC_NATS_REQUIRED=1` makes that a failure.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common; // servers, and processes of this program
mod proxy; // a network that fails
mod answers; // confirmations that are late, and messages that come again
mod letters; // dead letters that are hard to store
mod crash; // processes and servers that die or stand still
mod contract; // what both sources promise
mod failures; // each failure has its outcome
mod fair; // places, shares, order
mod ends; // stop, drain, signals
mod million; // many messages, and processes that are killed
