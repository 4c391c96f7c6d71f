//! The signals that end a server.

/// Is ready when the process is asked to end: by SIGTERM or Ctrl-C. For [`Consumer::run_until`](crate::Consumer::run_until),
/// which polls it where it can be polled: in a tokio runtime.
///
/// # Panics
///
/// If it is polled outside of a tokio runtime.
///
/// # Cancel safety
///
/// Dropped, it waits no longer. The signals do not end the process by themselves from the first poll on.
#[doc(alias = "SIGTERM")]
#[doc(alias = "ctrl_c")]
pub async fn terminated() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                () = interrupt => {}
            }
            return;
        }
    }
    interrupt.await;
}
