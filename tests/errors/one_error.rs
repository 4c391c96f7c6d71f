//! Every error of the crate becomes a `formic::Error` by `?`.

use std::error::Error as _;

use formic::{
    AcquireError, Balance, BuildError, CallError, Error, FnPool, JoinError, Multi, Pool,
    PrestartError, Refused, ReopenError, ResizeError, Semaphore, StillRunning, TaskPanic,
};

use crate::common::PATIENCE;
use crate::messages::{assert_well_formed, panic};

/// Verbs of every kind in one function. Each `?` is a conversion.
fn verbs() -> Result<(), Error> {
    let pool = Pool::builder().workers(2).build()?;
    pool.submit(|| ())?;
    pool.spawn(|| ())?.join()?;
    pool.admit()?.submit(|| ());
    let text = String::from("borrowed");
    pool.scope(|scope| -> Result<(), Error> {
        assert_eq!(scope.spawn(|| text.len()).join()?, 8);
        Ok(())
    })?;
    pool.for_each(0..3, |_| ())?;
    assert_eq!(pool.try_map(["1"], str::parse::<u8>)?, [1]);
    pool.resize(3)?;
    pool.prestart(1)?;
    pool.wait_idle()?;
    pool.drain()?;
    pool.reopen()?;
    let squares = FnPool::new(1, |n: u64| n * n);
    assert_eq!(squares.call_timeout(3, PATIENCE)?, 9);
    let multi = Multi::try_new(2, Balance::default(), || Pool::builder().workers(1).build())?;
    multi.shard(0)?.submit(|| ())?;
    multi.resize(2)?;
    multi.prestart(1)?;
    multi.drain()?;
    multi.reopen()?;
    drop(Semaphore::new(1).acquire(1)?);
    Ok(())
}

#[test]
fn a_function_may_use_every_verb() {
    verbs().unwrap();
}

/// The error of a call that is known to fail.
fn failed<T, E>(result: Result<T, E>) -> Error
where
    E: Into<Error>,
{
    result.err().expect("it fails").into()
}

#[test]
fn a_refusal_is_the_same_wherever_it_comes_from() {
    let (pool, calls) = (Pool::new(1), FnPool::new(1, |n: u32| n));
    pool.close();
    calls.close();
    let refusals = [
        failed(pool.submit(|| ())),
        failed(pool.admit()),
        failed(calls.call(1)),
        failed(Err::<(), _>(JoinError::Refused(Refused::Closed))),
        failed(Err::<(), _>(CallError::<u32>::NotAwaited(Refused::Closed))),
    ];
    for error in refusals {
        assert!(matches!(error, Error::Refused(Refused::Closed)), "{error:?}");
        assert_eq!(error.to_string(), "the pool is closed");
        assert!(error.source().is_none());
    }
}

#[test]
fn an_outcome_keeps_its_kind() {
    let is_panic =
        |error| matches!(error, Error::Panicked(panic) if panic.message() == "out of ink");
    assert!(is_panic(panic().into()));
    assert!(is_panic(JoinError::Panicked(panic()).into()));
    assert!(is_panic(CallError::<u32>::Panicked(panic()).into()));
    assert!(matches!(JoinError::Cancelled.into(), Error::Cancelled));
    assert!(matches!(CallError::<u32>::Cancelled.into(), Error::Cancelled));
    assert!(matches!(CallError::<u32>::TimedOut.into(), Error::TimedOut));
}

#[test]
fn an_error_of_settings_and_ends_is_kept_as_it_was() {
    let pool = Pool::new(1);
    let build = failed(Pool::builder().workers(0).build());
    assert!(matches!(&build, Error::Build(error) if error.setting() == Some("workers")));
    assert!(matches!(failed(pool.resize(0)), Error::Resize(ResizeError::NoWorkers)));
    let above = failed(pool.prestart(2));
    assert!(matches!(above, Error::Prestart(PrestartError::AboveCapacity { .. })));
    assert!(matches!(failed(pool.reopen()), Error::Reopen(ReopenError::Open)));
    let permit = pool.admit().unwrap();
    let left = failed(pool.drain_timeout(std::time::Duration::ZERO));
    assert!(matches!(left, Error::StillRunning(left) if left.permits() == 1));
    drop(permit);
    let weight = failed(Semaphore::new(1).acquire(2));
    assert!(matches!(weight, Error::Acquire(AcquireError::TooMany { weight: 2, size: 1 })));
}

#[test]
fn errors_of_shards_keep_their_numbers() {
    let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    assert!(matches!(failed(multi.shard(7)), Error::NoSuchShard(error) if error.index() == 7));
    multi.shard(1).unwrap().drain().unwrap();
    let Error::Shards(errors) = failed(multi.reopen()) else { panic!("one is open") };
    let mut errors = errors.into_iter();
    assert!(matches!(errors.next(), Some((0, Error::Reopen(ReopenError::Open)))));
    assert!(errors.next().is_none());
}

fn samples() -> Vec<Error> {
    let io = || std::io::Error::other("the limit of threads is reached");
    let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    vec![
        Refused::Full.into(),
        Error::TimedOut,
        Error::Cancelled,
        panic().into(),
        BuildError::GlobalExists.into(),
        BuildError::Thread(io()).into(),
        PrestartError::Thread(io()).into(),
        ReopenError::Thread(io()).into(),
        failed(multi.resize(0)),
        failed(multi.reopen()),
        failed(multi.shard(2)),
        AcquireError::Closed.into(),
    ]
}

#[test]
fn the_message_is_that_of_the_error_it_stands_for() {
    samples().iter().for_each(|error| assert_well_formed(error));
    let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    let shards = multi.resize(0).unwrap_err();
    assert_eq!(Error::from(shards.clone()).to_string(), shards.to_string());
}

#[test]
fn it_can_be_passed_on_to_another_thread() {
    fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<Error>();
    is_error::<TaskPanic>();
    is_error::<StillRunning>();
}

#[cfg(feature = "tower")]
#[test]
fn an_error_of_a_service_becomes_the_variant_of_its_kind() {
    use formic::tower::ServiceError;
    use std::io;

    type Failed = ServiceError<io::Error>;
    let failed = || Failed::Failed(io::Error::other("out of ink"));
    assert_well_formed(&failed());
    assert_eq!(failed().to_string(), "out of ink");
    let error = Error::from(failed());
    assert_well_formed(&error);
    assert!(matches!(&error, Error::Service(inner) if inner.is::<io::Error>()), "{error:?}");
    assert_eq!(error.to_string(), "out of ink");

    let refused = ServiceError::<io::Error>::from(Refused::Closed);
    assert_well_formed(&refused);
    assert!(matches!(Error::from(refused), Error::Refused(Refused::Closed)));
    assert!(matches!(Error::from(Failed::Cancelled), Error::Cancelled));
    assert_eq!(Failed::Cancelled.to_string(), "the call was cancelled");
    assert!(matches!(Error::from(Failed::Panicked(panic())), Error::Panicked(_)));
    // A text or a boxed error will do.
    assert_eq!(Error::from(ServiceError::Failed("out of ink")).to_string(), "out of ink");
}

#[cfg(feature = "tokio")]
#[test]
fn a_source_of_items_is_no_exception() {
    use formic::{AsyncPool, ForEachError};

    async fn verbs() -> Result<(), Error> {
        let pool = AsyncPool::new(2);
        pool.submit(async {}).await?;
        pool.for_each(0..3_u32, |_| async {}).await?;
        pool.close();
        pool.for_each(0..3_u32, |_| async {}).await?;
        Ok(())
    }
    let error = crate::common::on_tokio::on(0, verbs).unwrap_err();
    assert!(matches!(error, Error::Refused(Refused::Closed)));
    let error = Error::from(ForEachError::Panicked { items: 2, first: panic() });
    assert!(matches!(&error, Error::ForEach(ForEachError::Panicked { items: 2, .. })));
    assert_well_formed(&error);
}
