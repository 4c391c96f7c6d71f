//! Drivers on tokio: what runs a pool's futures, and how it gets along with the rest of a runtime.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::{coop, yield_now};

use crate::engine::{Driver, Drives, Engine, Turn};

/// More futures than this cannot be in flight at once: a list counts them in 32 bits.
pub(super) const MOST_TASKS: usize = 1 << 31;

/// As many drivers as the runtime has threads, so that all of them have something to do, and no more,
/// because a driver's futures are cheap and a driver is not.
pub(super) fn drivers(runtime: &Handle) -> usize {
    runtime.metrics().num_workers().max(1)
}

/// Starts a driver. An error if the runtime is no more.
pub(super) fn start_driver<W: Drives>(
    engine: &Arc<Engine<W>>,
    index: usize,
    runtime: &Handle,
) -> io::Result<()> {
    let (driver, begun) = Driver::new(engine, index);
    // It runs until its pool ends, and nobody waits for it otherwise.
    drop(runtime.spawn(Driving(driver)));
    if begun.rely() { Ok(()) } else { Err(io::Error::other("the tokio runtime has shut down")) }
}

/// A driver as a task of the runtime.
struct Driving<W: Drives>(Driver<W>);

// Nothing in it is pinned.
impl<W: Drives> Unpin for Driving<W> {}

impl<W: Drives> Future for Driving<W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Tokio gives a task so many operations per turn, and makes the ones beyond that wait. All
        // futures of a driver share these, so when they are used up the driver's turn is over.
        match self.0.turn(context, coop::has_budget_remaining) {
            Turn::Leave => Poll::Ready(()),
            Turn::Sleep => Poll::Pending,
            // The runtime sees to its timers and sockets before the next turn.
            Turn::Yield => pin!(yield_now()).poll(context),
        }
    }
}
