//! Spawning on pools of threads as a future.

use std::future::Future;
use std::panic::Location;

use crate::error::SubmitError;
use crate::fn_pool::FnPool;
use crate::handle::JoinHandle;
use crate::multi::Multi;
use crate::pool::Pool;

/// The verb of one kind of pool. `make` is a pool, and `give` a task of it that returns 42.
macro_rules! spawn_async {
    (
        impl [$($generics:tt)*] $pool:ty;
        task [$($bounds:tt)*] [$($captured:ident),*] $task:ty => $output:ident;
        make $make:literal; give $give:literal;
    ) => {
        impl<$($generics)*> $pool {
            /// `spawn` as a future, for any executor. Waits for a place, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says. It borrows nothing, and keeps the pool open.
            ///
            /// # Errors
            ///
            /// What was spawned comes back with the reason, as from [`admit`](Self::admit).
            ///
            /// # Cancel safety
            ///
            /// Dropped while it waits, the future gives up its turn, and drops what was to be spawned.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            #[doc = concat!("let handle = tokio::spawn(pool.spawn_async(", $give, ")).await??;")]
            /// assert_eq!(handle.await?, 42);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn spawn_async<$($bounds)*>(
                &self,
                task: $task,
            ) -> impl Future<Output = Result<JoinHandle<$output>, SubmitError<$task>>> + Send + use<$($captured),*>
            {
                let (admitted, origin) = (self.admit_async(), Location::caller());
                async move {
                    match admitted.await {
                        Ok(permit) => Ok(permit.spawn_from(task, origin)),
                        Err(refused) => Err(SubmitError::new(task, refused)),
                    }
                }
            }
        }
    };
}

spawn_async! {
    impl [] Pool;
    task [F: FnOnce() -> T + Send + 'static, T: Send + 'static] [F, T] F => T;
    make "formic::Pool::new(2)"; give "|| 6 * 7";
}

spawn_async! {
    impl [T: Send + 'static, R: Send + 'static] FnPool<T, R>;
    task [] [T, R] T => R;
    make "formic::FnPool::new(2, |n: i32| n * 2)"; give "21";
}

spawn_async! {
    impl [] Multi<Pool>;
    task [F: FnOnce() -> T + Send + 'static, T: Send + 'static] [F, T] F => T;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::Pool::new(1))"; give "|| 6 * 7";
}

spawn_async! {
    impl [T: Send + 'static, R: Send + 'static] Multi<FnPool<T, R>>;
    task [] [T, R] T => R;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::FnPool::new(1, |n: i32| n * 2))"; give "21";
}
