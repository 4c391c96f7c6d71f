//! Batches, scopes, `map` and `for_each` of a `Pool`, from outside or inside of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::{ForEachError, JoinError, Pool, Refused, Scope};
use pollster::block_on;

use super::batches;
use crate::books::{Books, drop_unclear, unclear};
use crate::errand::Errand;
use crate::host::{AT_ONCE, Host, expect_panics, give_back};
use crate::random::Random;

/// Why a `map` or a `for_each` ends before its items: it waits for a place, whatever a full pool does.
const CLOSED: &[Refused] = &[Refused::Closed, Refused::Full];

/// Who uses a group, and of which pool.
struct User<'a> {
    pool: &'a Pool,
    host: &'a Arc<dyn Host>,
    fair: &'a [Refused],
    books: &'a Arc<Books>,
    depth: usize,
}

/// Any of them.
pub(super) fn any(
    pool: &Pool,
    host: &Arc<dyn Host>,
    fair: &[Refused],
    books: &Arc<Books>,
    depth: usize,
    random: &mut Random,
) {
    let user = User { pool, host, fair, books, depth };
    match random.below(9) {
        8 => batches::any(pool, host, books, depth, random),
        0..3 => user.batch(random),
        3..6 => user.scope(random),
        6 => user.map(random),
        _ => user.for_each(random),
    }
}

impl User<'_> {
    fn errand(&self, random: &mut Random) -> Option<Errand> {
        Errand::any(self.books, self.host, self.depth, random)
    }

    fn batch(&self, random: &mut Random) {
        let (mut batch, mut numbers) = (self.pool.batch(), Vec::new());
        for _ in 0..random.within(1, 10) {
            let Some(errand) = self.errand(random) else { break };
            let number = errand.number();
            match batch.spawn(move || errand.run()) {
                Ok(_) => numbers.push(number),
                Err(error) => self.books.refused(give_back(error), self.fair),
            }
        }
        if random.once_in(4) {
            batch.cancel();
        }
        match random.below(5) {
            0 => drop(batch),
            1 => drop(batch.first_returned()),
            2 => self.in_order_of_completion(batch, numbers.len()),
            3 => {
                // One by one, awaited.
                while let Some(outcome) = block_on(batch.next_async()) {
                    self.heard(&outcome);
                }
            }
            _ => {
                for (number, outcome) in numbers.into_iter().zip(batch.join_all()) {
                    self.books.outcome(number, outcome.as_ref().copied());
                }
            }
        }
    }

    fn in_order_of_completion(&self, batch: formic::Batch<u64>, spawned: usize) {
        let heard = batch.inspect(|outcome| self.heard(outcome)).count();
        if heard != spawned {
            self.books.fault(format!("a batch of {spawned} had {heard} outcomes"));
        }
    }

    /// An outcome whose task is known only if it returned.
    fn heard(&self, outcome: &Result<u64, JoinError>) {
        if let Ok(number) = outcome {
            self.books.outcome(*number as usize, Ok(*number));
        }
    }

    fn scope(&self, random: &mut Random) {
        // The tasks borrow both.
        let (mut numbers, ran) = (Vec::new(), AtomicUsize::new(0));
        expect_panics(self.books, || {
            self.pool.scope(|scope| {
                for _ in 0..random.within(1, 6) {
                    let Some(errand) = self.errand(random) else { break };
                    numbers.push(errand.number());
                    self.start_on(scope, errand, &ran, random);
                }
            });
        });
        if let Some(number) = numbers.iter().find(|number| !self.books.is_gone(**number)) {
            self.books.fault(format!("a scope returned, and its task {number} was not gone"));
        }
        if ran.into_inner() > numbers.len() {
            self.books.fault("a scope ran more tasks than it had");
        }
    }

    fn start_on<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        errand: Errand,
        ran: &'scope AtomicUsize,
        random: &mut Random,
    ) {
        let number = errand.number();
        let task = move || {
            ran.fetch_add(1, Ordering::Relaxed);
            errand.run()
        };
        self.books.scoped.fetch_add(1, Ordering::SeqCst);
        let spawned = match random.below(4) {
            0 => return scope.submit(move || _ = task()),
            1 => scope.try_spawn(task).map_err(give_back),
            _ => Ok(scope.spawn(task)),
        };
        match spawned {
            Err(refused) => self.books.refused(refused, &AT_ONCE),
            Ok(handle) => match random.below(4) {
                0 => drop(handle),
                1 => drop(handle.cancel_on_drop()),
                2 => _ = handle.cancel(),
                _ => {
                    let outcome = handle.join();
                    self.books.outcome(number, outcome.as_ref().copied());
                }
            },
        }
    }

    fn map(&self, random: &mut Random) {
        let items = random.within(1, 40);
        let taken = if random.once_in(2) { random.below(items) } else { items };
        let errands: Vec<Errand> = (0..items).map_while(|_| self.errand(random)).collect();
        let numbers: Vec<usize> = errands.iter().map(Errand::number).collect();
        let outcomes = self.pool.map(errands, Errand::run).window(random.within(1, 20));
        self.books.retries.store(true, Ordering::SeqCst);
        if random.once_in(2) {
            let mut outcomes = outcomes.unordered();
            // An item that the pool refuses is dropped here.
            for (index, outcome) in unclear(|| outcomes.by_ref().take(taken).collect::<Vec<_>>()) {
                self.item(numbers.get(index).copied(), &outcome);
            }
            return drop_unclear(outcomes);
        }
        let mut outcomes = outcomes;
        for (index, outcome) in
            unclear(|| outcomes.by_ref().take(taken).collect::<Vec<_>>()).into_iter().enumerate()
        {
            self.item(numbers.get(index).copied(), &outcome);
        }
        drop_unclear(outcomes);
    }

    fn for_each(&self, random: &mut Random) {
        self.books.retries.store(true, Ordering::SeqCst);
        let items = random.within(1, 40);
        let errands = (0..items).map_while(|_| self.errand(random));
        let ended = unclear(|| self.pool.for_each(errands, |errand| _ = errand.run()));
        if let Err(ForEachError::Refused(refused)) = ended {
            self.books.refused(refused, CLOSED);
        }
    }

    /// The outcome of an item of a map, or why there are no more.
    fn item(&self, number: Option<usize>, outcome: &Result<u64, JoinError>) {
        match (outcome, number) {
            (Err(JoinError::Refused(refused)), _) => self.books.refused(*refused, CLOSED),
            (outcome, Some(number)) => self.books.outcome(number, outcome.as_ref().copied()),
            (_, None) => self.books.fault("a map has more outcomes than items"),
        }
    }
}
