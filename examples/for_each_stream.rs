//! A source of items through a pool that pulls them: nothing is queued, so the source may be endless.
//!
//! ```sh
//! cargo run --features tokio --example for_each_stream
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use formic::{AsyncPool, ForEachError, JoinError, from_stream};
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool = AsyncPool::new(100);
    every_item(&pool).await?;
    in_order(&pool).await;
    as_they_come(&pool).await;
    endless(&pool).await;
    a_stream_of_items(&pool).await?;
    panics(&pool).await;
    pool.drain().await?;
    Ok(())
}

/// Items later in the row are quicker, so that they overtake each other.
async fn square(number: u64) -> u64 {
    sleep(Duration::from_millis(20 - number % 20)).await;
    number * number
}

/// A future for each item of an iterator, a hundred at a time.
async fn every_item(pool: &AsyncPool) -> Result<(), ForEachError> {
    let sum = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&sum);
    pool.for_each(0..1000, move |number| {
        let total = Arc::clone(&total);
        async move {
            total.fetch_add(square(number).await, Ordering::Relaxed);
        }
    })
    .await?;
    println!("the squares add up to {}", sum.load(Ordering::Relaxed));
    assert_eq!(sum.load(Ordering::Relaxed), 332_833_500);
    Ok(())
}

/// Results come in the order of the items, whatever each took.
async fn in_order(pool: &AsyncPool) {
    let squares: Vec<u64> = pool.map(0..200, square).filter_map(ok).collect().await;
    assert!(squares.is_sorted());
    println!("in order: {:?} ..", &squares[..5]);
}

/// Results come as they are ready.
async fn as_they_come(pool: &AsyncPool) {
    let squares = pool.map(0..200, square).unordered().map(|(_, result)| result);
    let mut squares: Vec<u64> = squares.filter_map(ok).collect().await;
    println!("as they come: {:?} ..", &squares[..5]);
    squares.sort();
    assert!(squares.into_iter().eq((0..200).map(|number| number * number)));
}

/// Of a source without an end, no more is pulled than the window holds.
async fn endless(pool: &AsyncPool) {
    let pulled = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&pulled);
    let source = (0..).inspect(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let mut squares = pool.map(source, square).window(pool.capacity());
    let mut taken = 0;
    while let Some(Ok(_)) = squares.next().await {
        taken += 1;
        let ahead = pulled.load(Ordering::Relaxed) - taken;
        assert!(ahead <= pool.capacity() as u64, "{ahead} items are held in memory");
        if taken == 1000 {
            break; // what runs is cancelled, and no more is pulled
        }
    }
    drop(squares);
    println!(
        "{taken} results of an endless source, of which {} were pulled",
        pulled.load(Ordering::Relaxed)
    );
}

/// A stream has to be said to be one, because it may be an iterator as well.
async fn a_stream_of_items(pool: &AsyncPool) -> Result<(), ForEachError> {
    let pages = stream::unfold(1_u64, |page| async move {
        sleep(Duration::from_millis(1)).await; // as if it had to be fetched
        (page <= 30).then_some((page, page + 1))
    });
    let seen = Arc::new(AtomicU64::new(0));
    let note = Arc::clone(&seen);
    pool.for_each(from_stream(pages), move |page| {
        let note = Arc::clone(&note);
        async move {
            note.fetch_max(square(page).await, Ordering::Relaxed);
        }
    })
    .await?;
    assert_eq!(seen.load(Ordering::Relaxed), 900);
    println!("30 pages of a stream have been seen");
    Ok(())
}

/// A panic costs one item: the others run, and then it is told.
async fn panics(pool: &AsyncPool) {
    let outcome = pool.for_each(0..10, |number| async move { assert_ne!(number, 7) }).await;
    match outcome {
        Err(ForEachError::Panicked { items, first, .. }) => {
            println!("{items} item panicked: {}", first.message());
            assert_eq!(items, 1);
        }
        other => panic!("one item should have panicked: {other:?}"),
    }
}

async fn ok(result: Result<u64, JoinError>) -> Option<u64> {
    result.ok()
}
