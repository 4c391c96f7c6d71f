//! A thread with a runtime of its own, which no handler can hold up.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// The thread for connections, beats and acknowledgements. It ends when the last clone is gone.
#[derive(Clone, Debug)]
pub(crate) struct Io {
    handle: Handle,
    _alive: Arc<oneshot::Sender<()>>,
}

impl Io {
    pub(crate) fn start() -> io::Result<Io> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, gone) = oneshot::channel::<()>();
        thread::Builder::new().name("formic-nats".to_owned()).spawn(move || {
            // The sender sends nothing: it is dropped.
            drop(runtime.block_on(gone));
        })?;
        Ok(Io { handle, _alive: Arc::new(alive) })
    }

    /// Runs `future` on the thread, and is ready with its result. For any executor. Dropped, it lets the future go on.
    ///
    /// # Panics
    ///
    /// If `future` panics.
    pub(crate) async fn run<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        match self.handle.spawn(future).await {
            Ok(output) => output,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// As [`run`](Io::run), and drops the future with the one that is returned.
    pub(crate) async fn watch<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        struct Abort(AbortHandle);
        impl Drop for Abort {
            fn drop(&mut self) {
                self.0.abort();
            }
        }
        let task = self.handle.spawn(future);
        let _abort = Abort(task.abort_handle());
        match task.await {
            Ok(output) => output,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(future));
    }
}

#[cfg(test)]
mod tests {
    use super::Io;
    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_is_watched_is_dropped_with_its_watcher() {
        let io = Io::start().unwrap();
        let (alive, gone) = oneshot::channel::<()>();
        let mut watch = Box::pin(io.watch(async move {
            std::future::pending::<()>().await;
            drop(alive);
        }));
        assert!(watch.as_mut().now_or_never().is_none());
        drop(watch);
        assert!(gone.await.is_err()); // its other end was dropped
    }
}
