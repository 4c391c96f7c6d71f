//! The work of an `AsyncPool`: futures of any type, each in a cell of its own.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use super::ground::Ground;
use super::may_block::may_block;
use super::runtime::MOST_TASKS;
use crate::engine::{
    Bare, Begin, Board, Cell, Drives, End, Engine, Hands, List, NoStart, Parcel, Runnable, Slip,
    Unpack, Watched, Work,
};
use crate::error::{Refused, SubmitError};
use crate::handle::JoinHandle;

/// Futures, and what they stand on.
pub(crate) struct Futures {
    ground: Ground,
    board: Arc<Board>,
}

/// What stands in the line.
pub(crate) enum Job {
    Bare(Arc<dyn Runnable>),
    Spawned(Entry),
}

/// What stands in the line for a parcel. Dropped there, it has the task cancelled.
pub(crate) struct Entry {
    task: Arc<dyn Parcelled>,
    /// See [`Slip`].
    claimed: bool,
}

/// The parcel of a future of whatever type.
trait Parcelled: Send + Sync {
    fn take(&self, claimed: bool) -> Begin;
    fn kill(&self) -> bool;
    fn is_ghost(&self) -> bool;
    fn discard(&self);
}

/// What is packed in a parcel: the cell with the future, which knows the parcel.
pub(crate) struct Packed<F>(pub(super) Arc<Cell<Watched<Futures, Packed<F>, F>>>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static;

/// A parcel for a future.
pub(crate) type Spawned<F> = Parcel<Futures, Packed<F>, <F as Future>::Output>;

impl Futures {
    pub(crate) fn new(ground: Ground) -> Self {
        let board = Arc::new(ground.board());
        Futures { ground, board }
    }

    /// The job of a future without a handle, in memory that others have left.
    pub(super) fn job<F>(&self, future: F, origin: &'static Location<'static>) -> Job
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.board.remains().free_some();
        Job::bare(future, origin)
    }
}

impl Job {
    /// A future without a handle.
    pub(crate) fn bare<F>(future: F, origin: &'static Location<'static>) -> Self
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Job::Bare(Cell::new(Bare::new(future, origin)))
    }

    /// A future with a handle.
    pub(crate) fn spawned<F>(parcel: &Arc<Spawned<F>>) -> Self
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Job::Spawned(Entry { task: Arc::clone(parcel) as _, claimed: false })
    }

    /// Gives back the future of a job that was made by [`Job::bare`] from an `F`.
    pub(super) fn into_future<F>(self) -> Option<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Job::Bare(cell) = self else { return None };
        let cell = cell.into_any().downcast::<Cell<Bare<F>>>().ok()?;
        cell.take()?.into_future()
    }
}

/// Packs a future into a parcel.
pub(crate) fn pack<F>(
    engine: &Arc<Engine<Futures>>,
    future: F,
    origin: &'static Location<'static>,
) -> Arc<Spawned<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    engine.work().board.remains().free_some();
    Parcel::with(engine, origin, |parcel| {
        Packed(Cell::new(Watched::new(future, Some(parcel), origin)))
    })
}

/// The refusal of a job that was made by [`Job::bare`] from an `F`.
pub(crate) fn refuse<F>((job, refused): (Job, Refused)) -> SubmitError<F>
where
    F: Future<Output = ()> + Send + 'static,
{
    match job.into_future() {
        Some(future) => SubmitError::new(future, refused),
        None => unreachable!("the engine gives back the job that it was given"),
    }
}

/// The handle of a future that was accepted, or the future.
pub(crate) fn handle<F>(
    parcel: Arc<Spawned<F>>,
    entered: Result<(), (Job, Refused)>,
) -> Result<JoinHandle<F::Output>, SubmitError<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // The job is dropped last, because it has cancelled what it finds in the parcel.
    if let Err((_job, refused)) = entered
        // No other thread has the parcel, so what was packed is still in it.
        && let Some(future) = parcel.take().and_then(|packed| packed.0.take()?.into_future())
    {
        return Err(SubmitError::new(future, refused));
    }
    Ok(JoinHandle::new(parcel))
}

impl<F> Parcelled for Spawned<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn take(&self, claimed: bool) -> Begin {
        match self.take_to_drive(claimed) {
            Some(Packed(cell)) => Begin::Cell(cell),
            // A claimed task that is gone has been counted.
            None => Begin::Ended(if claimed { End::Counted } else { End::Ghost }),
        }
    }

    fn kill(&self) -> bool {
        Parcel::kill(self)
    }

    fn is_ghost(&self) -> bool {
        Parcel::is_ghost(self)
    }

    fn discard(&self) {
        Parcel::discard(self);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.claimed {
            self.task.discard();
        }
    }
}

impl Work for Futures {
    type Job = Job;

    const MOST: usize = MOST_TASKS;

    fn hands(&self) -> Hands {
        Hands::Drivers(self.board.drivers())
    }

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        engine.work().ground.start(engine, index)
    }

    fn check_start(&self) -> Result<(), NoStart> {
        self.ground.check_start()
    }

    fn may_block() -> bool {
        may_block()
    }

    fn kill(job: &Job) -> bool {
        match job {
            Job::Bare(_) => true,
            Job::Spawned(entry) => entry.task.kill(),
        }
    }

    fn is_ghost(job: &Job) -> bool {
        match job {
            Job::Bare(_) => false,
            Job::Spawned(entry) => entry.task.is_ghost(),
        }
    }

    fn origin(_: &Job) -> Option<&'static Location<'static>> {
        // Its cell knows, from the first poll on; before that nothing can panic.
        None
    }
}

impl Drives for Futures {
    fn board(&self) -> &Arc<Board> {
        &self.board
    }

    fn begin(_: &Arc<Engine<Self>>, _: &Arc<List>, job: Job) -> Begin {
        match job {
            Job::Bare(cell) => Begin::Cell(cell),
            Job::Spawned(entry) => entry.task.take(entry.claimed),
        }
    }
}

impl<F> Unpack<Packed<F>, F::Output> for Futures
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn job(slip: Slip<Self, Packed<F>, F::Output>) -> Job {
        let (Some(task), claimed) = slip.into_parts() else {
            unreachable!("a slip that stands in no line holds its parcel")
        };
        Job::Spawned(Entry { task, claimed })
    }

    fn run_here(_: &Arc<Spawned<F>>) -> bool {
        // A future needs its runtime, so a thread that joins it can only wait.
        false
    }
}
