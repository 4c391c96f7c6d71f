//! Models of the queue and its fast path: a ticket is taken once, and a block is not used again too early.

use loom::thread;

use super::explore;
use crate::engine::queue::Queue;
use crate::engine::queue::fast_path::{Claim, FastPath};
use crate::engine::sync::Arc;

#[test]
fn a_ticket_is_taken_once_or_sealed() {
    explore(|| {
        let fast_path = Arc::new(FastPath::default());
        fast_path.publish(2);
        fast_path.open();
        let claims: Vec<_> = (0..2)
            .map(|_| {
                let fast_path = Arc::clone(&fast_path);
                thread::spawn(move || match fast_path.claim(0, &mut 0, false) {
                    Claim::Cell(cell) => {
                        let ended = fast_path.end();
                        (Some(cell), ended)
                    }
                    _ => (None, false),
                })
            })
            .collect();
        fast_path.seal();
        let sealed = fast_path.tally();
        let taken: Vec<_> = claims.into_iter().map(|claim| claim.join().unwrap()).collect();
        assert_eq!(fast_path.tally(), sealed, "after the seal nothing changes without the lock");
        let mut cells: Vec<_> = taken.iter().filter_map(|(cell, _)| *cell).collect();
        cells.sort_unstable();
        assert_eq!(cells, (0..2 - sealed.queued(2)).collect::<Vec<_>>());
        let ended = taken.iter().filter(|(_, ended)| *ended).count();
        assert_eq!(sealed.busy(), cells.len() - ended);
    });
}

#[test]
fn a_block_is_not_used_again_while_a_worker_reads_it() {
    explore(|| {
        let fast_path = Arc::new(FastPath::default());
        let mut queue = Queue::new(Arc::clone(&fast_path));
        queue.push(1);
        queue.push(2);
        let (first, mut claimed) = queue.open().unwrap();
        let worker = thread::spawn(move || {
            let second = claimed.next(&fast_path, true).ok();
            (second, claimed)
        });
        // This thread has the lock: it takes the rest, and fills the blocks anew.
        let rest = queue.take_all();
        assert!(queue.open().is_none(), "nothing is left, and the spent block is let go");
        queue.push(3);
        queue.push(4);
        let (second, claimed) = worker.join().unwrap();
        queue.give_back(claimed);
        let mut all = vec![first];
        all.extend(second.into_iter().chain(rest));
        all.extend(queue.take_all());
        assert_eq!(all, [1, 2, 3, 4]);
    });
}
