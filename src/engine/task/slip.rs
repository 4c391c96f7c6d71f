//! The slip: what stands in the line for a task that lies in a parcel.

use std::sync::Arc;

use crate::engine::task::handle::{Parcel, Unpack};
use crate::engine::task::run::{Counts, End, contain};

/// A task in its parcel.
type Packed<W, P, R> = Arc<Parcel<W, P, R>>;

/// What stands in the line for a parcel. Dropped there, it has the task cancelled. It is empty once the
/// task has run.
pub(crate) struct Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    parcel: Option<Packed<W, P, R>>,
    /// The task was taken out of its turn, for a lent place. Another slip stands in the line, a ghost.
    claimed: bool,
}

impl<W, P, R> Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    pub(crate) fn new(parcel: &Arc<Parcel<W, P, R>>) -> Self {
        Slip { parcel: Some(Arc::clone(parcel)), claimed: false }
    }

    /// For a task that was claimed.
    pub(crate) fn claimed(parcel: Arc<Parcel<W, P, R>>) -> Self {
        Slip { parcel: Some(parcel), claimed: true }
    }

    /// What is counted if the task is not there any more. A claimed task has been counted.
    fn gone(&self) -> End {
        if self.claimed { End::Counted } else { End::Ghost }
    }

    /// The parcel, and whether its task was claimed.
    #[cfg(feature = "tokio")]
    pub(crate) fn into_parts(mut self) -> (Option<Packed<W, P, R>>, bool) {
        (self.parcel.take(), self.claimed)
    }

    #[cfg(any(feature = "tokio", all(test, loom)))]
    /// Takes the task for a driver, if it is still there.
    pub(crate) fn take_to_drive(&self) -> Result<(P, &Packed<W, P, R>), End> {
        let parcel = self.parcel.as_ref().ok_or(End::Ghost)?;
        let packed = parcel.take_to_drive(self.claimed).ok_or_else(|| self.gone())?;
        Ok((packed, parcel))
    }

    /// Runs the task, if it is still there.
    pub(crate) fn run(mut self, counts: Counts, task: impl FnOnce(P) -> R) -> End {
        let (gone, claimed) = (self.gone(), self.claimed);
        let take = |parcel: &Arc<Parcel<W, P, R>>| match claimed {
            true => parcel.take_claimed(),
            false => parcel.take(),
        };
        let Some(packed) = self.parcel.as_ref().and_then(take) else { return gone };
        // From here on there is nothing to be cancelled. After the outcome shows the parcel is touched
        // no more than must be: another thread has it on its core then.
        let Some(parcel) = self.parcel.take() else { return gone };
        let counts = if claimed { Counts::Claimed } else { counts };
        let end = parcel.run(packed, counts, task);
        // If nobody wants the outcome it is dropped here, and may panic; the task is counted already.
        contain(|| drop(parcel));
        end
    }

    /// See [`Parcel::kill`]. What the task owns is dropped with the slip.
    pub(crate) fn kill(&self) -> bool {
        self.parcel.as_ref().is_some_and(|parcel| parcel.kill())
    }

    pub(crate) fn is_ghost(&self) -> bool {
        self.parcel.as_ref().is_none_or(|parcel| parcel.is_ghost())
    }
}

impl<W, P, R> Drop for Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    fn drop(&mut self) {
        if let Some(parcel) = &self.parcel
            && !self.claimed
        {
            parcel.discard();
        }
    }
}
