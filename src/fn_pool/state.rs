//! What a worker keeps: the function with the worker's state, made once or tried again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::renew::watch_renewal;
use crate::engine::Lack;
use crate::engine::sync::now;

/// Asked before a task is taken.
pub(crate) type Ready<S> = Arc<dyn Fn(&mut S) -> bool + Send + Sync>;

/// The function, with the state of one worker.
pub(crate) trait Callee<T, R> {
    fn call(&mut self, argument: T) -> R;

    fn is_ready(&mut self) -> bool;
}

/// What a worker calls.
pub(crate) type Made<T, R> = Box<dyn Callee<T, R>>;

/// How a worker gets what it calls, on its own thread.
pub(crate) enum Maker<T, R> {
    /// There is no state.
    Stateless(Box<dyn Fn() -> Made<T, R> + Send + Sync>),
    /// A state that cannot fail is made in the first call.
    Sure(Box<dyn Fn() -> Made<T, R> + Send + Sync>),
    /// A state that may fail is made before a task is taken.
    Tried(Tried<T, R>),
}

/// Makes what the worker at a place calls, and is given the number of the attempt. It reports an error itself.
pub(crate) type Attempt<T, R> = Box<dyn Fn(usize, u32) -> Option<Made<T, R>> + Send + Sync>;

/// A state that may fail, and when to try again.
pub(crate) struct Tried<T, R> {
    pub(crate) make: Attempt<T, R>,
    /// Whether a worker is asked before each task.
    pub(crate) asks: bool,
    pub(crate) retry: Retry,
}

/// How long a worker waits that is not ready: at first, and at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Retry {
    /// The pause after so many attempts in a row that failed.
    fn pause(self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(doubled).min(self.longest)
    }
}

/// What a worker keeps between calls.
pub(crate) struct Kept<T, R> {
    callee: Option<Made<T, R>>,
    /// Attempts in a row that failed, to make the state or to be ready.
    failures: u32,
    not_before: Option<Instant>,
}

impl<T, R> Default for Kept<T, R> {
    fn default() -> Self {
        Kept { callee: None, failures: 0, not_before: None }
    }
}

impl<T, R> Maker<T, R> {
    /// What the worker calls.
    #[inline]
    pub(super) fn callee<'a>(&self, kept: &'a mut Option<Kept<T, R>>) -> &'a mut dyn Callee<T, R> {
        let callee = &mut kept.get_or_insert_default().callee;
        let callee = match (callee, self) {
            (Some(callee), _) => callee,
            (empty, Maker::Stateless(make) | Maker::Sure(make)) => empty.insert(make()),
            (None, Maker::Tried(_)) => unreachable!("a worker without a state takes no call"),
        };
        callee.as_mut()
    }
}

impl<T: Send + 'static, R: Send + 'static> Tried<T, R> {
    pub(super) fn lacks(&self, kept: Option<&Kept<T, R>>) -> Lack {
        match kept.and_then(|kept| kept.callee.as_ref()) {
            None => Lack::State,
            Some(_) if self.asks => Lack::Answer,
            Some(_) => Lack::Nothing,
        }
    }

    pub(super) fn get_ready(
        &self,
        calls: &Calls<T, R>,
        kept: &mut Kept<T, R>,
        index: usize,
    ) -> Result<(), Duration> {
        if let Some(time) = kept.not_before {
            let left = time.saturating_duration_since(now());
            if !left.is_zero() {
                return Err(left);
            }
        }
        if self.try_once(calls, kept, index) {
            (kept.failures, kept.not_before) = (0, None);
            return Ok(());
        }
        kept.failures = kept.failures.saturating_add(1);
        let pause = self.retry.pause(kept.failures);
        kept.not_before = now().checked_add(pause);
        Err(pause)
    }

    /// Makes the state if there is none, and asks whether it is ready. What a panic left behind may be half done, so
    /// it is dropped.
    fn try_once(&self, calls: &Calls<T, R>, kept: &mut Kept<T, R>, index: usize) -> bool {
        let (mut ready, mut renewed, attempt) = (None, false, kept.failures.saturating_add(1));
        calls.apart(|| {
            if kept.callee.is_none() {
                kept.callee = (self.make)(index, attempt);
            }
            let is_ready = |callee: &mut Made<T, R>| {
                !self.asks || watch_renewal(&mut renewed, || callee.is_ready())
            };
            ready = Some(kept.callee.as_mut().is_some_and(is_ready));
        });
        if ready.is_none() || renewed {
            calls.apart(|| drop(kept.callee.take()));
        }
        ready == Some(true) && !renewed
    }
}

/// A function with a state.
pub(crate) struct Bound<S, F> {
    pub(crate) state: S,
    pub(crate) function: Arc<F>,
    pub(crate) ready: Option<Ready<S>>,
}

impl<T, R, S, F> Callee<T, R> for Bound<S, F>
where
    F: Fn(&mut S, T) -> R,
{
    #[inline]
    fn call(&mut self, argument: T) -> R {
        (self.function)(&mut self.state, argument)
    }

    fn is_ready(&mut self) -> bool {
        self.ready.as_ref().is_none_or(|ready| ready(&mut self.state))
    }
}

impl<T, R> Maker<T, R> {
    /// For a function without a state.
    pub(crate) fn stateless<F>(function: F) -> Self
    where
        F: Fn(T) -> R + Send + Sync + 'static,
    {
        let function = Arc::new(move |(): &mut (), argument| function(argument));
        Maker::Stateless(Box::new(move || {
            Box::new(Bound { state: (), function: Arc::clone(&function), ready: None })
        }))
    }

    /// For a state that cannot fail.
    pub(crate) fn sure<S, I, F>(init: I, function: F) -> Self
    where
        S: 'static,
        I: Fn() -> S + Send + Sync + 'static,
        F: Fn(&mut S, T) -> R + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        Maker::Sure(Box::new(move || {
            Box::new(Bound { state: init(), function: Arc::clone(&function), ready: None })
        }))
    }
}
