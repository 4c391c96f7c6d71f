//! Panic safety: the types that may be carried into `catch_unwind` although the compiler cannot tell.
//!
//! `UnwindSafe` asks whether code can see a value half changed after a panic. The compiler denies it to a type that
//! holds a closure, a future or a result of an unknown type, as every pool, handle and permit does. They have it
//! here for three reasons:
//!
//! 1. **The pool calls each task in a `catch_unwind`**, and hooks, wakers and destructors likewise. It drops a task
//!    that panicked, and never polls it again. No panic of a task unwinds through a pool.
//! 2. **A lock is free only while what it guards is whole.** The pool calls no foreign code under a lock, and
//!    ignores poisoning.
//! 3. **A handle moves the result out, once.** It never lends a reference to it.
//!
//! The calls of a function pool share its function, and may see each other's half-done changes after a panic.
//! The workers go on after a panic anyway, so this is no matter of where the pool was carried.
//! [`FnPool::with_state`] makes a new state after a panic.

use std::panic::{RefUnwindSafe, UnwindSafe};

#[cfg(feature = "tokio")]
use crate::async_pool::{AsyncFnPermit, AsyncFnPool, AsyncPermit, AsyncPool};
use crate::batch::{Batch, BatchSpawner};
use crate::builder::Builder;
use crate::cancel_token::CancelToken;
use crate::control::Control;
use crate::fn_pool::{FnPermit, FnPool};
use crate::handle::JoinHandle;
use crate::on_cancel::OnCancel;
use crate::permit::Permit;
use crate::pool::Pool;

impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}
impl<T: Send + 'static, R: Send + 'static> UnwindSafe for FnPool<T, R> {}
impl<T: Send + 'static, R: Send + 'static> RefUnwindSafe for FnPool<T, R> {}
impl UnwindSafe for Permit<'_> {}
impl RefUnwindSafe for Permit<'_> {}
impl<T: Send + 'static, R: Send + 'static> UnwindSafe for FnPermit<'_, T, R> {}
impl<T: Send + 'static, R: Send + 'static> RefUnwindSafe for FnPermit<'_, T, R> {}
impl UnwindSafe for CancelToken {}
impl RefUnwindSafe for CancelToken {}
impl UnwindSafe for OnCancel {}
impl RefUnwindSafe for OnCancel {}
impl UnwindSafe for Control {}
impl RefUnwindSafe for Control {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T, P: UnwindSafe> UnwindSafe for Batch<T, P> {}
impl<T, P: RefUnwindSafe> RefUnwindSafe for Batch<T, P> {}
impl<T, P: UnwindSafe> UnwindSafe for BatchSpawner<T, P> {}
impl<T, P: RefUnwindSafe> RefUnwindSafe for BatchSpawner<T, P> {}
impl<P> UnwindSafe for Builder<P> {}
impl<P> RefUnwindSafe for Builder<P> {}

#[cfg(feature = "tokio")]
impl UnwindSafe for AsyncPool {}
#[cfg(feature = "tokio")]
impl RefUnwindSafe for AsyncPool {}
#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> UnwindSafe for AsyncFnPool<T, R> {}
#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> RefUnwindSafe for AsyncFnPool<T, R> {}
#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> UnwindSafe for AsyncFnPermit<'_, T, R> {}
#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> RefUnwindSafe for AsyncFnPermit<'_, T, R> {}
#[cfg(feature = "tokio")]
impl UnwindSafe for AsyncPermit<'_> {}
#[cfg(feature = "tokio")]
impl RefUnwindSafe for AsyncPermit<'_> {}
