//! go-playground's units of work: a result to wait for, an error to look at, a unit to cancel.

use std::error::Error;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use formic::Pool;

/// What a lookup answers: a value, or what went wrong. Any type will do, so errors are the task's own.
type Answer = Result<String, String>;

fn user(id: u32) -> Answer {
    thread::sleep(Duration::from_millis(20)); // as if a connection had to be made
    if id == 13 { Ok("Joey Bloggs".to_owned()) } else { Err(format!("there is no user {id}")) }
}

/// Says that it has begun, and waits for a connection that does not come.
fn wait_for_a_connection(begun: &Sender<()>) -> Answer {
    begun.send(()).map_err(|error| error.to_string())?;
    while !formic::is_cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
    Err("nobody wants to know any more".to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(2);

    // Both run at once; each has a handle. Handles can be awaited, too.
    let known = pool.spawn(|| user(13))?;
    let unknown = pool.spawn(|| user(14))?;
    let (known, unknown) = (known.join()?, unknown.join()?);
    println!("13: {known:?}\n14: {unknown:?}");
    assert_eq!(known.as_deref(), Ok("Joey Bloggs"));
    assert!(unknown.is_err());

    // Both workers wait, so the next units are queued.
    let (begun, has_begun) = mpsc::channel();
    let wait = || {
        let begun = begun.clone();
        move || wait_for_a_connection(&begun)
    };
    let (first, second) = (pool.spawn(wait())?, pool.spawn(wait())?);
    let (third, fourth) = (pool.spawn(|| user(13))?, pool.spawn(|| user(13))?);
    has_begun.recv()?;
    has_begun.recv()?;

    // A unit that has not started is taken back, and never runs.
    assert!(third.cancel());
    let error = third.join().expect_err("it was cancelled");
    println!("the third: {error}");
    assert!(error.is_cancelled());

    // Or all of those at once, whoever has their handles.
    assert_eq!(pool.discard(), 1);
    println!("the fourth: {:?}", fourth.join());

    // A unit that runs is asked to stop, and what it makes of that is its outcome.
    assert!(!first.cancel());
    println!("the first: {:?}", first.join()?);

    // The second is asked as soon as its handle is dropped.
    drop(second.cancel_on_drop());
    pool.drain()?;
    let stats = pool.stats();
    println!("{} were completed, {} cancelled", stats.completed, stats.cancelled);
    assert_eq!((stats.completed, stats.cancelled), (4, 2));

    // A pool that was drained can be opened again.
    pool.reopen()?;
    assert_eq!(pool.spawn(|| user(13))?.join()?.as_deref(), Ok("Joey Bloggs"));
    Ok(())
}
