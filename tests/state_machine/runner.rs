//! Runs the cases of a test, and prints the shortest sequence of steps that fails.

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use crate::common;

/// The largest number of steps in a case.
const STEPS: usize = 60;

/// The number of cases of each test, unless `FORMIC_CASES` sets another. With this number, all tests together take
/// 20 to 30 seconds on two cores, in a debug build.
const CASES: u64 = 2000;

/// How long a test waits for the state that the model predicts: far longer than it can take.
const PATIENCE: Duration = common::PATIENCE;

/// How long a test waits for that state while a failure is shrunk. A machine that stalls for that long may spoil
/// the printed sequence of steps, but it does not hide the failure.
const PATIENCE_WHILE_SHRINKING: Duration = Duration::from_secs(1);

/// How long proptest shrinks a failure, and how long [`shorten`] does after that.
const SHRINK_TIME: Duration = Duration::from_secs(30);

thread_local! {
    /// Whether a case has failed on this thread.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

type State<T> = <<T as StateMachineTest>::Reference as ReferenceStateMachine>::State;
type Steps<T> = Vec<<<T as StateMachineTest>::Reference as ReferenceStateMachine>::Transition>;

/// Runs the cases of a test. The thread that runs them has a quiet name, so that only the last failure is printed.
pub(crate) fn check<T: StateMachineTest>(test: &str) {
    common::hush_quiet_threads();
    let first = common::seed(test);
    let given = std::env::var("FORMIC_CASES").ok().and_then(|text| text.parse().ok());
    let cases = given.unwrap_or(CASES);
    let name = test.to_owned();
    let run = move || (0..cases).find_map(|case| failure::<T>(&name, first.wrapping_add(case)));
    let thread = thread::Builder::new().name(format!("quiet-{test}"));
    let thread = thread.spawn(run).expect("a thread can be started");
    if let Some(failure) = thread.join().expect("failures are returned") {
        panic!("{failure}");
    }
}

/// Runs the case of this seed, and describes its failure.
fn failure<T: StateMachineTest>(test: &str, seed: u64) -> Option<String> {
    FAILED.set(false);
    let strategy = T::Reference::sequential_strategy(1..=STEPS);
    let outcome = runner(seed).run(&strategy, |(state, steps, seen)| {
        T::test_sequential(config(), state, steps, seen);
        Ok(())
    });
    let (reason, state, steps) = match outcome {
        Ok(()) => return None,
        Err(TestError::Abort(reason)) => return Some(format!("{test} gave up: {reason}")),
        Err(TestError::Fail(reason, (state, steps, _))) => (reason.to_string(), state, steps),
    };
    let (steps, reason) = match fails::<T>(&state, &steps) {
        Some(reason) => shorten::<T>(&state, steps, reason),
        None => (steps, format!("{reason}\nThe steps did not fail when they were repeated.")),
    };
    let steps: String = steps.iter().map(|step| format!("    {step:?}\n")).collect();
    Some(format!(
        "{reason}\nAfter these steps on {state:?}:\n{steps}\
         Repeat with FORMIC_SEED={seed} FORMIC_CASES=1 \
         cargo test --features tokio --test state_machine {test}"
    ))
}

/// Runs a case, and returns the message of its failure.
fn fails<T: StateMachineTest>(state: &State<T>, steps: &Steps<T>) -> Option<String> {
    let run = || T::test_sequential(config(), state.clone(), steps.clone(), None);
    let panic = catch_unwind(AssertUnwindSafe(run)).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref().map(|text: &&str| (*text).to_owned()))
        .or_else(|| Some(String::new()))
}

/// Deletes steps as long as the others still fail. proptest tries to delete each step once, and keeps a step that
/// a later one needs. This function deletes the later one, too, and tries all steps again after a success.
fn shorten<T: StateMachineTest>(
    state: &State<T>,
    mut steps: Steps<T>,
    mut reason: String,
) -> (Steps<T>, String) {
    let deadline = Instant::now() + SHRINK_TIME;
    let mut index = 0;
    while index < steps.len() && Instant::now() < deadline {
        let shorter = without::<T>(state.clone(), &steps, steps.len() - 1 - index);
        index = match fails::<T>(state, &shorter) {
            None => index + 1,
            Some(message) => {
                (steps, reason) = (shorter, message);
                0
            }
        };
    }
    (steps, reason)
}

/// The steps that are possible without the deleted one.
fn without<T: StateMachineTest>(mut state: State<T>, steps: &Steps<T>, deleted: usize) -> Steps<T> {
    let mut kept = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if index != deleted && T::Reference::preconditions(&state, step) {
            state = T::Reference::apply(state, step);
            kept.push(step.clone());
        }
    }
    kept
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// One case, and no files: the seed repeats it.
fn config() -> Config {
    Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_time: SHRINK_TIME.as_millis() as u32,
        max_shrink_iters: 100_000,
        ..Config::default()
    }
}

/// A difference between a pool and its model.
pub(crate) enum Difference {
    /// The difference may vanish while threads make progress.
    Transient(String),
    /// The difference cannot vanish.
    Permanent(String),
}

impl Difference {
    /// Returns a transient difference if the values differ.
    pub(crate) fn between<T: PartialEq + Debug>(what: &str, model: T, pool: T) -> Result<(), Self> {
        if model == pool {
            return Ok(());
        }
        Err(Difference::Transient(format!(
            "{what}: the model says {model:?}, the pool says {pool:?}"
        )))
    }
}

/// Compares until there is no difference.
#[track_caller]
pub(crate) fn settle(mut compare: impl FnMut() -> Result<(), Difference>) {
    let patience = if FAILED.get() { PATIENCE_WHILE_SHRINKING } else { PATIENCE };
    let deadline = Instant::now() + patience;
    loop {
        match compare() {
            Ok(()) => return,
            Err(Difference::Transient(_)) if Instant::now() < deadline => thread::yield_now(),
            Err(Difference::Transient(difference)) => {
                FAILED.set(true);
                panic!("not within {patience:?}: {difference}");
            }
            Err(Difference::Permanent(difference)) => panic!("{difference}"),
        }
    }
}

/// Joins a thread that must come to its end.
pub(crate) fn join<T>(what: &str, thread: thread::JoinHandle<T>) -> T {
    settle(|| Difference::between(&format!("{what} has ended"), true, thread.is_finished()));
    thread.join().expect("the thread does not panic")
}
