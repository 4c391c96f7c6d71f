//! The work of an `AsyncFnPool`: calls of one function, in cells that are used again.

use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use super::ground::Ground;
use super::may_block::may_block;
use super::runtime::MOST_TASKS;
use crate::engine::{
    Bare, Begin, Board, Cell, Drives, End, Engine, Hands, List, NoStart, Parcel, Runnable, Slip,
    Stock, Unpack, Watched, Work, contain,
};
use crate::error::{JoinError, Refused, SubmitError, TaskPanic};
use crate::handle::JoinHandle;

pub(crate) type Spawned<T, R> = Parcel<Calls<T, R>, T, R>;

/// Makes a cell for a call.
type Make<T, R> = Box<dyn Fn(For<'_, T, R>, T, Origin) -> Arc<dyn Runnable> + Send + Sync>;

/// For whom a cell is made.
enum For<'a, T: Send + 'static, R: Send + 'static> {
    /// The driver with this list. The call has no handle.
    Driver(&'a List),
    /// The driver with this list. The call has this handle's parcel.
    Handle(&'a List, Arc<Spawned<T, R>>),
}

pub(super) type Origin = &'static Location<'static>;

/// Calls, and what they stand on.
pub(crate) struct Calls<T: Send + 'static, R: Send + 'static> {
    make: Make<T, R>,
    ground: Ground,
    board: Arc<Board>,
}

/// What stands in the line.
pub(crate) enum Job<T: Send + 'static, R: Send + 'static> {
    Bare(T, Origin),
    Spawned(Slip<Calls<T, R>, T, R>),
}

/// One stock for each driver.
fn stocks<F>(board: &Board) -> Vec<Arc<Stock<F>>> {
    (0..board.drivers()).map(|_| Arc::default()).collect()
}

impl<T: Send + 'static, R: Send + 'static> Calls<T, R> {
    pub(super) fn new<F, Fut>(ground: Ground, function: F) -> Self
    where
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let board = Arc::new(ground.board());
        // A cell belongs to one driver for good, so each has its own stock of them.
        let bare: Vec<Arc<Stock<Bare<Fut>>>> = stocks(&board);
        let watched: Vec<Arc<Stock<Watched<Self, T, Fut>>>> = stocks(&board);
        let make: Make<T, R> = Box::new(move |whose, argument, origin| match whose {
            For::Driver(list) => {
                let call = Bare::new(function(argument), origin);
                Cell::from_stock(&bare[list.number()], call)
            }
            For::Handle(list, parcel) => {
                let call = Watched::new(function(argument), Some(parcel), origin);
                Cell::from_stock(&watched[list.number()], call)
            }
        });
        Calls { make, ground, board }
    }

    pub(super) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Begins with a call that has a handle. None if there is nothing to poll: it was not there any
    /// more, or its function panicked before it had a future.
    fn begin(slip: &Slip<Self, T, R>, list: &List) -> Result<Arc<dyn Runnable>, End> {
        let (argument, parcel) = slip.take_to_drive()?;
        let (work, origin) = (parcel.engine().work(), parcel.origin());
        let whose = For::Handle(list, Arc::clone(parcel));
        let made = catch_unwind(AssertUnwindSafe(|| (work.make)(whose, argument, origin)));
        made.map_err(|payload| {
            let panic = TaskPanic::caught(payload, Some(origin));
            parcel.end_driven(Err(JoinError::Panicked(panic)))
        })
    }
}

impl<T: Send + 'static, R: Send + 'static> Work for Calls<T, R> {
    type Job = Job<T, R>;

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

    fn kill(job: &Job<T, R>) -> bool {
        match job {
            Job::Bare(..) => true,
            Job::Spawned(slip) => slip.kill(),
        }
    }

    fn is_ghost(job: &Job<T, R>) -> bool {
        match job {
            Job::Bare(..) => false,
            Job::Spawned(slip) => slip.is_ghost(),
        }
    }

    fn origin(job: &Job<T, R>) -> Option<Origin> {
        match job {
            Job::Bare(_, origin) => Some(origin),
            Job::Spawned(_) => None,
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Drives for Calls<T, R> {
    fn board(&self) -> &Arc<Board> {
        &self.board
    }

    fn begin(engine: &Arc<Engine<Self>>, list: &Arc<List>, job: Job<T, R>) -> Begin {
        match job {
            Job::Bare(argument, origin) => {
                let whose = For::Driver(list);
                Begin::Cell((engine.work().make)(whose, argument, origin))
            }
            Job::Spawned(slip) => {
                let begun = Calls::begin(&slip, list);
                // If it has ended and its handle is gone, the outcome is dropped here, and may panic; the
                // call is counted already.
                contain(|| drop(slip));
                begun.map_or_else(Begin::Ended, Begin::Cell)
            }
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Unpack<T, R> for Calls<T, R> {
    fn job(slip: Slip<Self, T, R>) -> Job<T, R> {
        Job::Spawned(slip)
    }

    fn run_here(_: &Arc<Spawned<T, R>>) -> bool {
        // A future needs its runtime, so a thread that joins it can only wait.
        false
    }
}

/// Gives back the argument of a job that was refused.
pub(crate) fn give_back<T, R>(
    entered: Result<(), (Job<T, R>, Refused)>,
) -> Result<(), SubmitError<T>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    match entered {
        Err((Job::Bare(argument, _), refused)) => Err(SubmitError::new(argument, refused)),
        // The engine gives back what it was given.
        Err((Job::Spawned(_), _)) | Ok(()) => Ok(()),
    }
}

/// The handle of a call that was accepted, or its argument.
pub(crate) fn handle<T, R>(
    parcel: Arc<Spawned<T, R>>,
    entered: Result<(), (Job<T, R>, Refused)>,
) -> Result<JoinHandle<R>, SubmitError<T>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    // The job is dropped last, because it has cancelled what it finds in the parcel.
    if let Err((_job, refused)) = entered
        // No other thread has the parcel, so what was packed is still in it.
        && let Some(argument) = parcel.take()
    {
        return Err(SubmitError::new(argument, refused));
    }
    Ok(JoinHandle::new(parcel))
}
