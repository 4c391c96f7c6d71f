//! Threads and futures in one program: a future awaits work on threads, and a thread joins a future.
//!
//! ```sh
//! cargo run --features tokio --example async_and_blocking
//! ```

use std::error::Error;
use std::thread;
use std::time::Duration;

use formic::{AsyncPool, Pool};
use tokio::runtime::Runtime;
use tokio::time::sleep;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    // Many requests wait for the network at once; as many hash as there are cores.
    let requests = AsyncPool::builder().workers(1000).runtime(runtime.handle().clone()).build()?;
    let hashers = Pool::builder().name("hash").build()?;

    runtime.block_on(futures_await_threads(&requests, &hashers))?;
    a_thread_joins_futures(&requests)?;
    threads_submit_futures(&runtime, &requests, &hashers)?;

    // In the order in which work flows, so that nobody submits to a pool that is closed.
    hashers.drain()?;
    runtime.block_on(requests.drain())?;
    println!(
        "all is done: {} futures, {} closures",
        requests.stats().completed,
        hashers.stats().completed
    );
    Ok(())
}

/// Work that computes or blocks would hold up a thread of the runtime, and all futures on it.
async fn futures_await_threads(requests: &AsyncPool, hashers: &Pool) -> Result<(), Box<dyn Error>> {
    let mut answers = Vec::new();
    for number in 0..100 {
        let hashers = hashers.clone();
        answers.push(
            requests
                .spawn(async move {
                    let body = fetch(number).await;
                    // `admit_async` waits for a place without blocking the runtime's thread.
                    let place = hashers.admit_async().await.expect("it is open");
                    place.spawn(move || hash(&body)).await.expect("it does not panic")
                })
                .await?,
        );
    }
    let mut hashes = Vec::new();
    for answer in answers {
        hashes.push(answer.await?);
    }
    println!("futures had {} bodies hashed by threads", hashes.len());
    assert!(hashes.iter().enumerate().all(|(number, sum)| *sum == hash(&body(number as u64))));
    Ok(())
}

/// A thread that polls for no runtime can wait for a future as for any task.
fn a_thread_joins_futures(requests: &AsyncPool) -> Result<(), Box<dyn Error>> {
    let handle = requests.try_spawn(fetch(7))?;
    assert_eq!(handle.join()?, body(7));

    let mut slow = requests.try_spawn(async { sleep(Duration::from_secs(3600)).await })?;
    assert!(slow.join_timeout(Duration::from_millis(5)).is_none(), "an hour is longer");
    assert!(slow.cancel(), "the future is dropped where it stands");
    println!("a thread joined one future, and gave up another");
    Ok(())
}

/// A task on a thread hands futures over, and is held back while there are too many of them.
fn threads_submit_futures(
    runtime: &Runtime,
    requests: &AsyncPool,
    hashers: &Pool,
) -> Result<(), Box<dyn Error>> {
    let before = requests.stats().completed;
    let requests_of_task = requests.clone();
    let producer = hashers.spawn(move || {
        for number in 0..5000 {
            let request = async move { drop(fetch(number % 20).await) };
            requests_of_task.blocking_submit(request).expect("a worker of a `Pool` may block");
        }
        thread::current().name().map(str::to_owned)
    })?;
    println!("5000 futures come from the thread {:?}", producer.join()?);
    runtime.block_on(requests.wait_idle())?;
    assert_eq!(requests.stats().completed - before, 5000);
    Ok(())
}

async fn fetch(number: u64) -> Vec<u8> {
    sleep(Duration::from_millis(1 + number % 10)).await;
    body(number)
}

fn body(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(100)
}

/// Stands for whatever computes for a while.
fn hash(body: &[u8]) -> u64 {
    body.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
