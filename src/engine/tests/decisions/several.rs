//! Several workers that get into each other's way.

use super::Trial;
use crate::engine::scheduler::crew::{Did, Next};
use crate::engine::scheduler::roster::Duty;
use crate::engine::task::run::End;

/// So many samples are enough to judge by.
const ENOUGH: usize = 8;

/// A worker reports a task that took so long, one from the lane or another.
fn report(trial: &mut Trial, me: usize, on_lane: bool, nanos: u64) {
    if !on_lane {
        trial.crew.roster.set(me, Duty::Engaged);
        trial.ask(me, Did::Run { end: None, nanos });
        return;
    }
    trial.crew.line.push(0);
    let Next::Drive(0, stretch) = trial.ask(me, Did::Look { found: true }) else {
        panic!("there was a task")
    };
    trial.ask(me, Did::Drive { stretch, tasks: 1, last: Some(End::Completed), nanos });
}

#[test]
fn what_a_task_takes_several_workers_is_compared_with_what_it_takes_one() {
    for on_lane in [true, false] {
        let useful = |nanos| {
            let mut trial = Trial::new(3, 0);
            let me = trial.crew.roster.add(Duty::Called);
            report(&mut trial, me, on_lane, 1_000);
            trial.crew.roster.add(Duty::Engaged);
            (0..ENOUGH).for_each(|_| report(&mut trial, me, on_lane, nanos));
            trial.crew.pace.useful(8)
        };
        assert_eq!((useful(1_790), useful(1_810)), (8, 1));
    }
}

#[test]
fn the_dozing_worker_tries_after_a_while_whether_it_is_of_use_now() {
    let (mut trial, _, mut stretch, second) = Trial::with_dozer();
    (0..ENOUGH).for_each(|_| trial.crew.pace.note(1, 2_000, 2));
    (0..200).for_each(|job| assert_eq!(trial.submit(job), 0));
    let mut looks = 0..1_000;
    let helps = looks.position(|job| {
        trial.submit(job);
        assert!(stretch.next(&trial.lane, true).is_ok(), "the line moves");
        matches!(trial.ask(second, Did::Rest { expired: false }), Next::Drive(..))
    });
    assert_eq!(helps, Some(63), "it has looked 64 times");
}
