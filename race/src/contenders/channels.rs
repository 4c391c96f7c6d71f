//! Pools made by hand: a few threads that take boxed closures from a channel.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::{Contender, Refused, Values};
use crate::failure::Failure;
use crate::workloads::Params;

type Job = Box<dyn FnOnce() + Send>;

/// Threads over a `crossbeam-channel`, each with a receiver of its own.
#[derive(Debug)]
pub(crate) struct Crossbeam {
    sender: crossbeam_channel::Sender<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl Crossbeam {
    pub(crate) const UNBOUNDED: &str =
        "crossbeam_channel::unbounded of boxed closures, a receiver for each of `workers` threads";
    pub(crate) const BOUNDED: &str =
        "crossbeam_channel::bounded of boxed closures, a receiver for each of `workers` threads";

    pub(crate) fn unbounded(params: &Params) -> Result<Self, Failure> {
        Self::over(crossbeam_channel::unbounded(), params.workers)
    }

    pub(crate) fn bounded(params: &Params) -> Result<Self, Failure> {
        Self::over(crossbeam_channel::bounded(params.bound()?), params.workers)
    }

    fn over(
        (sender, receiver): (crossbeam_channel::Sender<Job>, crossbeam_channel::Receiver<Job>),
        workers: usize,
    ) -> Result<Self, Failure> {
        let threads = start(workers, || {
            let receiver = receiver.clone();
            move || receiver.iter().for_each(|job| job())
        })?;
        Ok(Self { sender, threads })
    }
}

impl Contender for Crossbeam {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.sender.send(Box::new(task)).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.sender);
        join(self.threads)
    }
}

/// Threads over a `crossbeam-channel` of plain values: no closure, and nothing to allocate.
#[derive(Debug)]
pub(crate) struct CrossbeamValues<T> {
    sender: crossbeam_channel::Sender<T>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> CrossbeamValues<T> {
    pub(crate) const UNBOUNDED: &str =
        "crossbeam_channel::unbounded of plain values, a receiver for each of `workers` threads";

    pub(crate) fn unbounded(
        params: &Params,
        function: impl Fn(T) + Send + Copy + 'static,
    ) -> Result<Self, Failure> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let threads = start(params.workers, || {
            let receiver = receiver.clone();
            move || receiver.iter().for_each(function)
        })?;
        Ok(Self { sender, threads })
    }
}

impl<T: Send + 'static> Values<T> for CrossbeamValues<T> {
    #[inline]
    fn submit(&self, value: T) -> Result<(), Refused> {
        self.sender.send(value).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.sender);
        join(self.threads)
    }
}

/// Threads over a `std` channel with a bound, whose one receiver they share behind a mutex.
#[derive(Debug)]
pub(crate) struct SyncChannel {
    sender: SyncSender<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl SyncChannel {
    pub(crate) const BOUNDED: &str =
        "std::sync::mpsc::sync_channel of boxed closures, its receiver behind a mutex";

    pub(crate) fn bounded(params: &Params) -> Result<Self, Failure> {
        let (sender, receiver) = mpsc::sync_channel::<Job>(params.bound()?);
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = start(params.workers, || {
            let receiver = Arc::clone(&receiver);
            // A task runs outside the lock, so a panic in one cannot poison it.
            let next = move || {
                let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv().ok()
            };
            move || std::iter::from_fn(&next).for_each(|job| job())
        })?;
        Ok(Self { sender, threads })
    }
}

impl Contender for SyncChannel {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.sender.send(Box::new(task)).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.sender);
        join(self.threads)
    }
}

/// Starts `workers` threads, each with a body that `body` makes for it.
pub(super) fn start<B: FnOnce() + Send + 'static>(
    workers: usize,
    body: impl Fn() -> B,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let threads = (0..workers).map(|_| Builder::new().spawn(body()));
    threads.collect::<Result<_, _>>().map_err(Failure::new)
}

pub(super) fn join(threads: Vec<JoinHandle<()>>) -> Result<(), Failure> {
    for thread in threads {
        let ended = thread.join();
        ended.map_err(|_| Failure::new("a worker panicked"))?;
    }
    Ok(())
}
