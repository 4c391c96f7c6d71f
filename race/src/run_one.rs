//! The child's side: one contender, once, and one line of JSON about it.

use std::io::{self, Read};
use std::process::{self, ExitCode};
use std::thread;

use serde::Serialize;

use crate::cli::Order;
use crate::conditions::{self, Conditions};
use crate::counts;
use crate::failure::Failure;
use crate::measure::Sample;
use crate::workloads::Workload;

/// Does what the order says and prints the sample.
pub(crate) fn obey(order: &Order, conditions: Conditions, count: bool) -> ExitCode {
    let confined = confine(order, conditions);
    if order.leashed {
        end_with_the_parent();
    }
    print(confined.and_then(|()| sample(order, count)))
}

/// Prints the result for the parent: a line of JSON, or the complaint and a bad exit code.
pub(crate) fn print(result: Result<impl Serialize, Failure>) -> ExitCode {
    match result.and_then(|result| serde_json::to_string(&result).map_err(Failure::new)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Before any other thread starts, so that all threads are confined.
fn confine(order: &Order, conditions: Conditions) -> Result<(), Failure> {
    if conditions.busy > 0 || conditions.quota_percent.is_some() {
        return Err(Failure::new("run-one knows --cores, and neither --busy nor --quota"));
    }
    conditions.cores.map_or(Ok(()), conditions::confine)?;
    order.group.as_deref().map_or(Ok(()), conditions::enter)
}

fn sample(order: &Order, count: bool) -> Result<Sample, Failure> {
    let workload = Workload::named(&order.workload)
        .ok_or_else(|| Failure::new(format!("no workload '{}'", order.workload)))?;
    let entry = workload
        .entry(&order.contender)
        .ok_or_else(|| Failure::new(format!("no contender '{}'", order.contender)))?;
    let mut sample = (entry.run)(&order.params())?;
    if count {
        counts::retain_for(entry.role, &mut sample.counts);
    } else {
        sample.counts.clear();
    }
    Ok(sample)
}

/// The parent never writes to standard input; it closes by the parent's end, however that comes.
/// A contender that hangs would else keep a core busy for ever after an interrupted race.
pub(crate) fn end_with_the_parent() {
    thread::spawn(|| {
        io::stdin().lock().read_to_end(&mut Vec::new()).ok();
        process::exit(1);
    });
}
