//! Batches of pools of futures: `spawn` is awaited.

use std::future::Future;

use super::{Batch, BatchSpawner};
use crate::admission::Pooled;
use crate::async_pool::{AsyncFnPool, AsyncPool};
use crate::engine::Work;
use crate::error::SubmitError;
use crate::multi::Multi;

/// The verbs of one pool. `$make` is a pool, and `$give` a task of it that returns 42.
macro_rules! batches {
    (
        impl [$($generics:tt)*] $pool:ty; shard $shard:ty;
        batch [$($of:tt)*] $output:ident; spawns [$($outputs:tt)*];
        task [$($bounds:tt)*] [$($captured:ident),*] $task:ty;
        make $make:literal; give $give:literal;
    ) => {
        impl<$($generics)*> $pool {
            /// A group of tasks, whose outcomes come in order of completion or of spawning. Costs nothing until
            /// something is spawned on it.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            /// for _ in 0..3 {
            #[doc = concat!("    batch.spawn(", $give, ").await?;")]
            /// }
            /// assert_eq!(batch.join_all_async().await.into_iter().flatten().sum::<i32>(), 126);
            /// # Ok(())
            /// # }
            /// ```
            pub fn batch<$($of)*>(&self) -> Batch<$output, $pool> {
                Batch::new(self.clone(), <$shard as Pooled>::Work::may_block)
            }
        }

        impl<$($generics)* $($outputs)*> Batch<$output, $pool> {
            /// Spawns a task of the batch, and is ready with its index: the first task of a batch has index 0. Waits
            /// for a place as `spawn` of the pool does.
            ///
            /// # Errors
            ///
            /// As `spawn` of the pool: the task comes back.
            ///
            /// # Cancel safety
            ///
            /// Dropped while it waits, the task is dropped, and its place is free.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            #[doc = concat!("assert_eq!(batch.spawn(", $give, ").await?, 0);")]
            #[doc = concat!("assert_eq!(batch.spawn(", $give, ").await?, 1);")]
            /// assert_eq!(batch.next_async().await.unwrap()?, 42);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            #[doc(alias = "Queue")]
            pub fn spawn<$($bounds)*>(
                &mut self,
                task: $task,
            ) -> impl Future<Output = Result<usize, SubmitError<$task>>> + Send + use<'_, $($captured),*>
            {
                let spawned = self.pool.spawn(task);
                let outcomes = &mut self.outcomes;
                async move { Ok(outcomes.push(spawned.await?)) }
            }

            /// As `spawn`, but never waits.
            ///
            /// # Errors
            ///
            /// As `try_spawn` of the pool: the task comes back.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            #[doc = concat!("batch.try_spawn(", $give, ")?;")]
            /// assert_eq!(batch.next_async().await.unwrap()?, 42);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn try_spawn<$($bounds)*>(
                &mut self,
                task: $task,
            ) -> Result<usize, SubmitError<$task>> {
                Ok(self.outcomes.push(self.pool.try_spawn(task)?))
            }
        }

        impl<$($generics)* $($outputs)*> BatchSpawner<$output, $pool> {
            /// As [`Batch::spawn`]: spawns a task of the batch, and is ready with its index. It borrows nothing. While
            /// it exists, the batch does not end.
            ///
            /// # Errors
            ///
            /// As `spawn` of the pool, and [`Refused::BatchGone`](crate::Refused::BatchGone) if the batch has been
            /// dropped: the task comes back. If the batch is dropped while the task waits for a place, the task runs,
            /// unless the batch [cancels](Batch::cancel_on_drop) it.
            ///
            /// # Cancel safety
            ///
            /// Dropped while it waits, the task is dropped, and its place is free.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            /// let spawner = batch.spawner();
            #[doc = concat!("tokio::spawn(async move { spawner.spawn(", $give, ").await.is_ok() });")]
            /// assert_eq!(batch.next_async().await.unwrap()?, 42);
            /// assert!(batch.next_async().await.is_none());
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            #[doc(alias = "Queue")]
            pub fn spawn<$($bounds)*>(
                &self,
                task: $task,
            ) -> impl Future<Output = Result<usize, SubmitError<$task>>> + Send + use<$($captured),*>
            {
                let spawned = match self.tasks.check() {
                    Ok(()) => Ok(self.pool.spawn(task)),
                    Err(refused) => Err(SubmitError::new(task, refused)),
                };
                let tasks = self.tasks.clone();
                async move { Ok(tasks.push(spawned?.await?)) }
            }

            /// As `spawn`, but never waits.
            ///
            /// # Errors
            ///
            /// As `try_spawn` of the pool, and [`Refused::BatchGone`](crate::Refused::BatchGone): the task comes back.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            #[doc = concat!("batch.spawner().try_spawn(", $give, ")?;")]
            /// assert_eq!(batch.next_async().await.unwrap()?, 42);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn try_spawn<$($bounds)*>(&self, task: $task) -> Result<usize, SubmitError<$task>> {
                match self.tasks.check() {
                    Ok(()) => Ok(self.tasks.push(self.pool.try_spawn(task)?)),
                    Err(refused) => Err(SubmitError::new(task, refused)),
                }
            }
        }
    };
}

batches! {
    impl [] AsyncPool; shard AsyncPool;
    batch [T: Send + 'static] T; spawns [T: Send + 'static];
    task [F: Future<Output = T> + Send + 'static] [F, T] F;
    make "formic::AsyncPool::new(2)"; give "async { 42 }";
}

batches! {
    impl [] Multi<AsyncPool>; shard AsyncPool;
    batch [T: Send + 'static] T; spawns [T: Send + 'static];
    task [F: Future<Output = T> + Send + 'static] [F, T] F;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::AsyncPool::new(1))"; give "async { 42 }";
}

batches! {
    impl [A: Send + 'static, T: Send + 'static] AsyncFnPool<A, T>; shard AsyncFnPool<A, T>;
    batch [] T; spawns [];
    task [] [A, T] A;
    make "formic::AsyncFnPool::new(2, |n: i32| async move { n * 2 })"; give "21";
}

batches! {
    impl [A: Send + 'static, T: Send + 'static] Multi<AsyncFnPool<A, T>>; shard AsyncFnPool<A, T>;
    batch [] T; spawns [];
    task [] [A, T] A;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::AsyncFnPool::new(1, |n: i32| async move { n * 2 }))"; give "21";
}
