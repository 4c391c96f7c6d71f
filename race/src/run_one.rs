//! The child's side: one contender, once, and one line of JSON about it.

use std::io::{self, Read};
use std::process::{self, ExitCode};
use std::thread;

use crate::cli::Order;
use crate::failure::Failure;
use crate::measure::Sample;
use crate::workloads::Workload;

/// Does what the order says and prints the sample.
pub(crate) fn obey(order: &Order) -> ExitCode {
    if order.leashed {
        end_with_the_parent();
    }
    match sample(order) {
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

fn sample(order: &Order) -> Result<String, Failure> {
    let workload = Workload::named(&order.workload)
        .ok_or_else(|| Failure::new(format!("no workload '{}'", order.workload)))?;
    let entry = workload
        .entry(&order.contender)
        .ok_or_else(|| Failure::new(format!("no contender '{}'", order.contender)))?;
    let sample: Sample = (entry.run)(&order.params())?;
    serde_json::to_string(&sample).map_err(Failure::new)
}

/// The parent never writes to standard input; it closes by the parent's end, however that comes.
/// A contender that hangs would else keep a core busy for ever after an interrupted race.
fn end_with_the_parent() {
    thread::spawn(|| {
        io::stdin().lock().read_to_end(&mut Vec::new()).ok();
        process::exit(1);
    });
}
