//! For tests that need a process of their own: the test binary again, which plays a part.

use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use formic::{BuildError, Pool};

use super::PATIENCE;

/// Says to a child what it is to do.
const PART: &str = "FORMIC_CHILD";

/// A stack that fits into the memory of a child a few times only.
pub const STACK: usize = 256 << 20;

/// The memory a child may map: some stacks and what else it needs.
pub const LIMIT_KIB: usize = 2 << 20;

/// Whether this process is a child that is to play this part.
pub fn plays(part: &str) -> bool {
    std::env::var(PART).is_ok_and(|played| played == part)
}

/// The test `part` again, in a process of its own, under a limit of memory if there is one.
pub fn child(part: &str, limit_kib: Option<usize>) -> Command {
    let binary = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    let limit = limit_kib.map_or(String::new(), |kib| format!("ulimit -v {kib} || exit 77; "));
    command.args(["-c", &format!("{limit}exec \"$0\" \"$@\"")]).arg(binary);
    command.args([part, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    command
}

/// Runs it to its end, which must come soon.
pub fn end_of(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while running.try_wait().unwrap().is_none() {
        if Instant::now() >= deadline {
            running.kill().unwrap();
            panic!("the child hangs: {:?}", running.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    running.wait_with_output().unwrap()
}

/// Whether the limit could not be set, which is said and no failure.
fn is_skipped(status: ExitStatus) -> bool {
    let skipped = status.code() == Some(77);
    if skipped {
        println!("skipped: the shell cannot limit the memory of a process here");
    }
    skipped
}

/// Runs the test `part` in a child, which must succeed.
#[track_caller]
pub fn succeeds(part: &str, limit_kib: Option<usize>) {
    let output = end_of(child(part, limit_kib));
    if !is_skipped(output.status) {
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("1 passed"), "there is no test of this name: {said}");
    }
}

/// Takes what memory is left for stacks, so that not one more thread can be started. An allocator may map memory for each
/// thread, and unmap half of it at once. A thread that does so while the next one is started makes that start fail,
/// and then there is room again. So each thread has allocated before the next one is started.
pub fn exhaust_threads() -> Vec<Pool> {
    let mut pools = Vec::new();
    loop {
        let builder = Pool::builder().workers(1..=1).stack_size(STACK).keep_alive(None);
        match builder.build() {
            Ok(pool) => {
                pool.spawn(|| Box::new(1)).unwrap().join().unwrap();
                pools.push(pool);
            }
            Err(BuildError::Thread(_)) => return pools,
            Err(error) => panic!("{error}"),
        }
        assert!(pools.len() < 1000, "the limit is none");
    }
}
