//! The plan of a phase: all that is decided before it begins, from the seed and its number.

use std::time::Duration;

use clap::ValueEnum;

use crate::random::Random;
use crate::settings::Settings;

/// What is driven in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Pool,
    FnPool,
    FnPoolWithState,
    FnPoolUnready,
    Multi,
    MultiFn,
    AsyncPool,
    AsyncFnPool,
    MultiAsync,
    MultiAsyncFn,
    Global,
    Semaphore,
    Streams,
    StartOrder,
    DroppedWaiters,
    EndedRuntimes,
    ThreadLocals,
}

const KINDS: [Kind; 18] = [
    Kind::Pool,
    Kind::AsyncPool,
    Kind::FnPool,
    Kind::AsyncFnPool,
    Kind::FnPoolWithState,
    Kind::EndedRuntimes,
    Kind::FnPoolUnready,
    Kind::MultiAsync,
    Kind::Multi,
    Kind::ThreadLocals,
    Kind::Semaphore,
    Kind::Streams,
    Kind::AsyncPool,
    Kind::StartOrder,
    Kind::MultiFn,
    Kind::Global,
    Kind::DroppedWaiters,
    Kind::MultiAsyncFn,
];

impl Kind {
    fn is_multi(self) -> bool {
        matches!(self, Kind::Multi | Kind::MultiFn | Kind::MultiAsync | Kind::MultiAsyncFn)
    }
}

/// How a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By a drain that waits.
    Drain,
    /// By a drain that is awaited.
    DrainAsync,
    /// By drains with a deadline; what is left after some of them is discarded.
    Deadlines,
    /// All waiting tasks are discarded first.
    Discard,
    /// All tasks are cancelled, and the pool is shut down.
    Shutdown,
    /// The handles are dropped, and what was accepted runs on.
    DropHandles,
    /// The runtime is shut down under a pool of futures; any other is drained.
    EndRuntime,
}

/// One phase.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    pub(crate) seed: u64,
    /// Those who submit.
    pub(crate) threads: usize,
    /// It ends after this time, or when so many tasks have been made.
    pub(crate) time: Duration,
    pub(crate) tasks: usize,
    pub(crate) settings: Settings,
    pub(crate) shards: usize,
    /// Whether it is resized, drained and reopened while it works.
    pub(crate) disturbed: bool,
    /// Whether single shards of a multi are closed and reopened, while tasks of all shards submit to
    /// the multi and join each other.
    pub(crate) entangled: bool,
    pub(crate) ending: Ending,
}

impl Plan {
    /// Phase `number` of a run with this seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::of(seed, number + 1);
        let most = random.any(&[2, 4, 8, 64]);
        let kind = KINDS[(number % KINDS.len() as u64) as usize];
        let entangled = kind.is_multi() && random.once_in(2);
        Plan {
            number,
            kind,
            seed: random.next(),
            threads: random.within(2, most),
            time: Duration::from_millis(random.within(20, 250) as u64),
            tasks: random.within(if kind == Kind::Streams { 5000 } else { 100 }, 40_000),
            settings: settings(kind, entangled, &mut random),
            shards: random.within(1 + usize::from(entangled), 4),
            disturbed: entangled || random.below(4) > 0,
            entangled,
            ending: random.any(&[
                Ending::Drain,
                Ending::DrainAsync,
                Ending::Deadlines,
                Ending::Discard,
                Ending::Shutdown,
                Ending::DropHandles,
                Ending::EndRuntime,
            ]),
        }
    }
}

fn settings(kind: Kind, entangled: bool, random: &mut Random) -> Settings {
    let settings = Settings::any(random);
    match kind {
        _ if entangled => settings.narrow(random),
        Kind::Streams => settings.patient(),
        Kind::StartOrder => settings.patient().single(),
        Kind::FnPoolUnready => settings.stateful(),
        Kind::ThreadLocals => settings.restless(random),
        _ => settings,
    }
}
