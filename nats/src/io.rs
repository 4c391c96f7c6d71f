//! A thread with a runtime of its own, which no handler can hold up.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

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

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(future));
    }
}
