//! The place that a service holds for its next call.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::admission::Admits;
use crate::engine::{Held, Patience, Work};
use crate::error::Refused;

/// A wait for a place.
type Wait<W> = Pin<Box<dyn Future<Output = Result<Held<'static, W>, Refused>> + Send + Sync>>;

/// A pool or a `Multi`, of which only the work is known.
trait Places<W: Work>: Send + Sync {
    /// A place, if one is free. If there is none, the pool does not count that as a refusal.
    fn free(&self) -> Option<Held<'static, W>>;

    fn wait(&self) -> Wait<W>;
}

impl<A> Places<A::Work> for A
where
    A: Admits + Clone + Send + Sync + 'static,
{
    fn free(&self) -> Option<Held<'static, A::Work>> {
        self.hold(1, Patience::Elsewhere).ok().map(Held::into_owned)
    }

    fn wait(&self) -> Wait<A::Work> {
        let pool = self.clone();
        Box::pin(async move { pool.hold_async(1).await.map(Held::into_owned) })
    }
}

/// Gives a service its place. A clone has none.
pub(super) struct Place<W: Work> {
    pool: Arc<dyn Places<W>>,
    state: State<W>,
    /// Where the service was made, which is where its tasks come from.
    pub(super) origin: &'static Location<'static>,
}

enum State<W: Work> {
    None,
    Waiting(Wait<W>),
    Held(Held<'static, W>),
}

impl<W: Work> Place<W> {
    #[track_caller]
    pub(super) fn new<A>(pool: &A) -> Self
    where
        A: Admits<Work = W> + Clone + Send + Sync + 'static,
    {
        Place { pool: Arc::new(pool.clone()), state: State::None, origin: Location::caller() }
    }

    /// Is ready when the place is held. After a refusal it asks again.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        loop {
            match &mut self.state {
                State::Held(_) => return Poll::Ready(Ok(())),
                State::Waiting(wait) => {
                    let outcome = ready!(wait.as_mut().poll(context));
                    self.state = State::None;
                    self.state = State::Held(outcome?);
                }
                State::None => {
                    self.state = match self.pool.free() {
                        Some(held) => State::Held(held),
                        None => State::Waiting(self.pool.wait()),
                    };
                }
            }
        }
    }

    /// The place, for a call.
    #[track_caller]
    pub(super) fn take(&mut self) -> Held<'static, W> {
        match std::mem::replace(&mut self.state, State::None) {
            State::Held(held) => held,
            State::None | State::Waiting(_) => {
                panic!("the service was called before `poll_ready` was ready")
            }
        }
    }
}

impl<W: Work> Clone for Place<W> {
    fn clone(&self) -> Self {
        Place { pool: Arc::clone(&self.pool), state: State::None, origin: self.origin }
    }
}
