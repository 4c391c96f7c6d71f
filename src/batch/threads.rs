//! Batches of pools of threads: `spawn` blocks while the pool is full, and `spawn_async` is a future.

use std::future::Future;
use std::panic::Location;

use super::{Batch, BatchSpawner};
use crate::admission::Pooled;
use crate::engine::Work;
use crate::error::SubmitError;
use crate::fn_pool::FnPool;
use crate::multi::Multi;
use crate::pool::Pool;

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
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            /// for _ in 0..3 {
            #[doc = concat!("    batch.spawn(", $give, ")?;")]
            /// }
            /// assert_eq!(batch.flatten().sum::<i32>(), 126);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn batch<$($of)*>(&self) -> Batch<$output, $pool> {
                Batch::new(self.clone(), <$shard as Pooled>::Work::may_block)
            }
        }

        impl<$($generics)* $($outputs)*> Batch<$output, $pool> {
            /// Spawns a task of the batch, and returns its index: the first task of a batch has index 0. Waits for a
            /// place as `spawn` of the pool does.
            ///
            /// # Errors
            ///
            /// As `spawn` of the pool: the task comes back.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            #[doc = concat!("assert_eq!(batch.spawn(", $give, ")?, 0);")]
            #[doc = concat!("assert_eq!(batch.spawn(", $give, ")?, 1);")]
            /// assert_eq!(batch.by_ref().flatten().sum::<i32>(), 84);
            ///
            /// pool.close();
            #[doc = concat!("let task = batch.spawn(", $give, ").unwrap_err().into_task();")]
            /// # drop(task);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            #[doc(alias = "Queue")]
            pub fn spawn<$($bounds)*>(&mut self, task: $task) -> Result<usize, SubmitError<$task>> {
                Ok(self.outcomes.push(self.pool.spawn(task)?))
            }

            /// As `spawn`, but never waits and never runs the task here.
            ///
            /// # Errors
            ///
            /// As `try_spawn` of the pool: the task comes back.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            #[doc = concat!("batch.try_spawn(", $give, ")?;")]
            /// assert_eq!(batch.next().unwrap()?, 42);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            pub fn try_spawn<$($bounds)*>(
                &mut self,
                task: $task,
            ) -> Result<usize, SubmitError<$task>> {
                Ok(self.outcomes.push(self.pool.try_spawn(task)?))
            }

            /// As `spawn`, and waits for a place without blocking the thread, whatever
            /// [`when_full`](crate::Builder::when_full) says. For any executor.
            ///
            /// # Errors
            ///
            /// As `admit_async` of the pool: the task comes back.
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
            #[doc = concat!("batch.spawn_async(", $give, ").await?;")]
            /// assert_eq!(batch.next_async().await.unwrap()?, 42);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn spawn_async<$($bounds)*>(
                &mut self,
                task: $task,
            ) -> impl Future<Output = Result<usize, SubmitError<$task>>> + Send + use<'_, $($captured),*>
            {
                let (admitted, origin) = (self.pool.admit_async(), Location::caller());
                let outcomes = &mut self.outcomes;
                async move {
                    match admitted.await {
                        Ok(permit) => Ok(outcomes.push(permit.spawn_from(task, origin))),
                        Err(refused) => Err(SubmitError::new(task, refused)),
                    }
                }
            }
        }

        impl<$($generics)* $($outputs)*> BatchSpawner<$output, $pool> {
            /// As [`Batch::spawn`]: spawns a task of the batch, and returns its index. Waits for a place as `spawn` of
            /// the pool does.
            ///
            /// # Errors
            ///
            /// As `spawn` of the pool, and [`Refused::BatchGone`](crate::Refused::BatchGone) if the batch has been
            /// dropped: the task comes back. If the batch is dropped while the task waits for a place, the task runs,
            /// unless the batch [cancels](Batch::cancel_on_drop) it.
            ///
            /// # Examples
            ///
            /// ```
            /// use formic::Refused;
            ///
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            /// let spawner = batch.spawner();
            #[doc = concat!("spawner.spawn(", $give, ")?;")]
            /// assert_eq!(batch.next().unwrap()?, 42);
            ///
            /// drop(batch);
            #[doc = concat!("assert_eq!(spawner.spawn(", $give, ").unwrap_err().reason(), Refused::BatchGone);")]
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            #[doc(alias = "Queue")]
            pub fn spawn<$($bounds)*>(&self, task: $task) -> Result<usize, SubmitError<$task>> {
                match self.tasks.check() {
                    Ok(()) => Ok(self.tasks.push(self.pool.spawn(task)?)),
                    Err(refused) => Err(SubmitError::new(task, refused)),
                }
            }

            /// As `spawn`, but never waits and never runs the task here.
            ///
            /// # Errors
            ///
            /// As `try_spawn` of the pool, and [`Refused::BatchGone`](crate::Refused::BatchGone): the task comes back.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut batch = pool.batch();
            #[doc = concat!("batch.spawner().try_spawn(", $give, ")?;")]
            /// assert_eq!(batch.next().unwrap()?, 42);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            pub fn try_spawn<$($bounds)*>(&self, task: $task) -> Result<usize, SubmitError<$task>> {
                match self.tasks.check() {
                    Ok(()) => Ok(self.tasks.push(self.pool.try_spawn(task)?)),
                    Err(refused) => Err(SubmitError::new(task, refused)),
                }
            }

            /// As `spawn`, and waits for a place without blocking the thread, whatever
            /// [`when_full`](crate::Builder::when_full) says. For any executor. It borrows nothing. While it exists,
            /// the batch does not end.
            ///
            /// # Errors
            ///
            /// As `admit_async` of the pool, and [`Refused::BatchGone`](crate::Refused::BatchGone): the task comes
            /// back.
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
            #[doc = concat!("tokio::spawn(async move { spawner.spawn_async(", $give, ").await.is_ok() });")]
            /// assert_eq!(batch.next_async().await.unwrap()?, 42);
            /// assert!(batch.next_async().await.is_none());
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn spawn_async<$($bounds)*>(
                &self,
                task: $task,
            ) -> impl Future<Output = Result<usize, SubmitError<$task>>> + Send + use<$($captured),*>
            {
                let (admitted, origin) = (self.pool.admit_async(), Location::caller());
                let tasks = self.tasks.clone();
                async move {
                    let admitted = match tasks.check() {
                        Ok(()) => admitted.await.and_then(|permit| tasks.check().map(|()| permit)),
                        Err(refused) => Err(refused),
                    };
                    match admitted {
                        Ok(permit) => Ok(tasks.push(permit.spawn_from(task, origin))),
                        Err(refused) => Err(SubmitError::new(task, refused)),
                    }
                }
            }
        }
    };
}

batches! {
    impl [] Pool; shard Pool;
    batch [T: Send + 'static] T; spawns [T: Send + 'static];
    task [F: FnOnce() -> T + Send + 'static] [F, T] F;
    make "formic::Pool::new(2)"; give "|| 42";
}

batches! {
    impl [] Multi<Pool>; shard Pool;
    batch [T: Send + 'static] T; spawns [T: Send + 'static];
    task [F: FnOnce() -> T + Send + 'static] [F, T] F;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::Pool::new(1))"; give "|| 42";
}

batches! {
    impl [A: Send + 'static, T: Send + 'static] FnPool<A, T>; shard FnPool<A, T>;
    batch [] T; spawns [];
    task [] [A, T] A;
    make "formic::FnPool::new(2, |n: i32| n * 2)"; give "21";
}

batches! {
    impl [A: Send + 'static, T: Send + 'static] Multi<FnPool<A, T>>; shard FnPool<A, T>;
    batch [] T; spawns [];
    task [] [A, T] A;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::FnPool::new(1, |n: i32| n * 2))"; give "21";
}
