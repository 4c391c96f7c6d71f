//! The pools whose function handles messages.

use std::future::Future;

use formic::{
    AsyncFnPool, Control, FnPool, JoinHandle, OwnedAsyncFnPermit, OwnedFnPermit, Refused,
};

use crate::verdict::Answer;

/// A pool whose function handles messages: [`FnPool`] for handlers that block or compute, and [`AsyncFnPool`] for
/// handlers that await. It is sealed.
///
/// # Examples
///
/// ```
/// use formic_nats::{Consumer, Handlers, Memory};
///
/// fn consumer<P: Handlers<Argument = String>>(pool: P, source: &Memory) -> Consumer<P> {
///     Consumer::new(pool, source).attempts(3)
/// }
///
/// let _threads = consumer(formic::FnPool::new(2, |_: String| ()), &Memory::new());
/// ```
pub trait Handlers: sealed::Sealed + Clone + Send + Sync + 'static {
    /// What the handler takes.
    type Argument: Send + 'static;
    /// What the handler returns.
    type Answer: Answer;
    /// A place that is held for a message.
    #[doc(hidden)]
    type Permit: Send + 'static;

    /// Waits for a place, and holds it with others that are free.
    #[doc(hidden)]
    fn admit(
        &self,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Self::Permit>, Refused>> + Send + 'static;

    /// Calls the handler in the place that is held.
    #[doc(hidden)]
    fn start(permit: Self::Permit, argument: Self::Argument) -> JoinHandle<Self::Answer>;

    /// The figures of the pool.
    #[doc(hidden)]
    fn control(&self) -> &Control;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! handlers {
    ($pool:ident, $permit:ident) => {
        impl<T: Send + 'static, R: Answer> sealed::Sealed for $pool<T, R> {}

        impl<T: Send + 'static, R: Answer> Handlers for $pool<T, R> {
            type Argument = T;
            type Answer = R;
            type Permit = $permit<T, R>;

            fn admit(
                &self,
                most: usize,
            ) -> impl Future<Output = Result<Vec<Self::Permit>, Refused>> + Send + 'static {
                let permits = self.admit_many_async(most);
                async move { Ok(permits.await?.collect()) }
            }

            fn start(permit: Self::Permit, argument: T) -> JoinHandle<R> {
                permit.spawn(argument)
            }

            fn control(&self) -> &Control {
                self
            }
        }
    };
}

handlers!(FnPool, OwnedFnPermit);
handlers!(AsyncFnPool, OwnedAsyncFnPermit);
