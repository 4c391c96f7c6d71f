//! A batch job that stops at the first error: the values in order, or the failure of the lowest index.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::{Pool, TaskError};

/// Reads a line of an import: a name, a comma and a number.
fn parse(line: &str) -> Result<(String, u32), String> {
    let (name, number) = line.split_once(',').ok_or("there is no comma")?;
    let number = number.parse().map_err(|error| format!("{number:?}: {error}"))?;
    Ok((name.to_owned(), number))
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(4);
    let mut lines: Vec<String> = (0..1000).map(|n| format!("row {n},{n}")).collect();

    let rows = pool.try_map(lines.clone(), |line| parse(&line))?;
    println!("{} rows, the last one is {:?}", rows.len(), rows[999]);
    assert_eq!(rows[999], ("row 999".to_owned(), 999));

    lines[500] = "row 500,many".to_owned();
    let parsed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&parsed);
    let outcome = pool.try_map(lines, move |line| {
        count.fetch_add(1, Ordering::Relaxed);
        parse(&line)
    });
    match outcome {
        Err(TaskError::Failed { index, error }) => {
            println!("line {index}: {error}; {} lines were parsed", parsed.load(Ordering::Relaxed));
            assert_eq!(index, 500);
        }
        other => panic!("{other:?}"),
    }
    assert!(parsed.load(Ordering::Relaxed) < 1000, "it stopped early");

    pool.drain()?;
    assert!(pool.stats().adds_up());
    Ok(())
}
