//! The slip: what stands in the line for a task that lies in a parcel.

use std::sync::Arc;

use super::handle::{Parcel, Unpack};
use super::run::{Counts, End, contain};

/// What stands in the line for a parcel. Dropped there, it has the task cancelled. It is empty once the
/// task has run.
pub(crate) struct Slip<W, P, R>(Option<Arc<Parcel<W, P, R>>>)
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static;

impl<W, P, R> Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    pub(crate) fn new(parcel: &Arc<Parcel<W, P, R>>) -> Self {
        Slip(Some(Arc::clone(parcel)))
    }

    pub(crate) fn parcel(&self) -> Option<&Arc<Parcel<W, P, R>>> {
        self.0.as_ref()
    }

    /// Runs the task, if it is still there.
    pub(crate) fn run(mut self, counts: Counts, task: impl FnOnce(P) -> R) -> End {
        let Some(packed) = self.0.as_ref().and_then(|parcel| parcel.take()) else {
            return End::Ghost;
        };
        // From here on there is nothing to be cancelled. After the outcome shows the parcel is touched
        // no more than must be: somebody else has it on his core then.
        let Some(parcel) = self.0.take() else { return End::Ghost };
        let end = parcel.run(packed, counts, task);
        // If nobody wants the outcome it is dropped here, and may panic; the task is counted already.
        contain(|| drop(parcel));
        end
    }

    /// See [`Parcel::kill`]. What the task owns is dropped with the slip.
    pub(crate) fn kill(&self) -> bool {
        self.0.as_ref().is_some_and(|parcel| parcel.kill())
    }

    pub(crate) fn is_ghost(&self) -> bool {
        self.0.as_ref().is_none_or(|parcel| parcel.is_ghost())
    }
}

impl<W, P, R> Drop for Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    fn drop(&mut self) {
        if let Some(parcel) = &self.0 {
            parcel.discard();
        }
    }
}
