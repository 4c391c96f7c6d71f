//! Callers: each contender asked for a result, by its own best way to wait for one.

use crossbeam_channel::{Receiver, Sender};
use futures_lite::future;

use super::{
    AsyncExecutor, Blocking, Contender, Formic, Rayon, RustyPool, Threadfin, TokioBlocking,
    TokioSpawn,
};
use crate::failure::Failure;
use crate::workloads::Params;

/// One argument goes over, one result comes back, and the caller waits for it.
pub(crate) trait Caller {
    /// Runs [`answer`] on a worker and returns what it said.
    fn call(&self, argument: Argument) -> Result<u64, Failure>;
}

/// What a task is given: two words, so that with the way back it captures 24 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) index: u64,
    pub(crate) salt: u64,
}

/// What a worker does with it.
#[inline]
pub(crate) fn answer(argument: Argument) -> u64 {
    (argument.index ^ argument.salt).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn lost() -> Failure {
    Failure::new("a result was lost")
}

/// A pool without results of its own: they come back by a channel that is kept from call to call.
#[derive(Debug)]
pub(crate) struct Replying<C> {
    pool: C,
    /// Leaked, so that a task holds a plain reference and counts none.
    reply: &'static Sender<u64>,
    replies: Receiver<u64>,
}

impl<C: Contender> Replying<C> {
    pub(crate) const SETTINGS: &str =
        "submitted as in tiny; the result comes back by a kept crossbeam_channel::bounded(1)";

    pub(crate) fn by(
        build: impl FnOnce(&Params) -> Result<C, Failure>,
        params: &Params,
    ) -> Result<Self, Failure> {
        let (reply, replies) = crossbeam_channel::bounded(1);
        Ok(Self { pool: build(params)?, reply: Box::leak(Box::new(reply)), replies })
    }
}

impl<C: Contender> Caller for Replying<C> {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        let reply = self.reply;
        self.pool.submit(move || {
            // A reply that nobody takes shows as one that is lost.
            reply.send(answer(argument)).ok();
        })?;
        self.replies.recv().map_err(|_| lost())
    }
}

/// `FnPool::call`: one function for the whole life of the pool.
#[derive(Debug)]
pub(crate) struct FormicCall(formic::FnPool<Argument, u64>);

impl FormicCall {
    pub(crate) const SETTINGS: &str = "FnPool::call, `workers` started on demand";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let builder = formic::FnPool::builder().workers(params.workers);
        builder.build(answer).map(Self).map_err(Failure::new)
    }
}

impl Caller for FormicCall {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        self.0.call(argument).map_err(|_| lost())
    }
}

/// `Pool::spawn` and `join`.
impl Caller for Formic {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        let handle = self.pool().spawn(move || answer(argument)).map_err(|_| lost())?;
        handle.join().map_err(Failure::new)
    }
}

/// `ThreadPool::install`.
impl Caller for Rayon {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        Ok(self.pool().install(|| answer(argument)))
    }
}

/// `evaluate` and `await_complete`.
impl Caller for RustyPool {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        let handle = self.pool().evaluate(move || answer(argument));
        handle.try_await_complete().map_err(Failure::new)
    }
}

/// `execute` and `join`.
impl Caller for Threadfin {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        Ok(self.pool().execute(move || answer(argument)).join())
    }
}

/// `spawn_blocking`, awaited by `block_on`.
impl Caller for TokioBlocking {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        let handle = self.runtime().spawn_blocking(move || answer(argument));
        self.runtime().block_on(handle).map_err(Failure::new)
    }
}

/// `spawn` from outside of the runtime, awaited by `block_on`.
impl Caller for TokioSpawn {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        let handle = self.runtime().spawn(async move { answer(argument) });
        self.runtime().block_on(handle).map_err(Failure::new)
    }
}

/// `unblock`, awaited by `block_on`.
impl Caller for Blocking {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        Ok(future::block_on(blocking::unblock(move || answer(argument))))
    }
}

/// `spawn`, awaited by `block_on`.
impl Caller for AsyncExecutor {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        Ok(future::block_on(self.executor().spawn(async move { answer(argument) })))
    }
}
