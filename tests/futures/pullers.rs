//! How many pullers a pull takes: one for each item that there is a place for, and few more to find that out.

use crate::common::on_tokio::{Stop, drained, on_both, small, soon};
use formic::from_stream;
use futures_util::stream;

#[test]
fn all_places_are_used_if_there_are_items_for_them() {
    on_both(|| async {
        const PLACES: u32 = 5000;
        let (pool, stop) = (small(PLACES as usize, 0), Stop::new());
        let own = stop.clone();
        let each = tokio::spawn(pool.for_each(0..PLACES + 1, move |_| own.task()));
        stop.have_come(PLACES).await;
        assert_eq!(pool.busy(), PLACES as usize);
        stop.let_pass(1);
        stop.have_come(1).await;
        stop.open();
        each.await.unwrap().unwrap();
        // The one that went on with another item may have begun anew, with another driver.
        let pullers = drained(&pool).await.accepted;
        assert!(
            (PLACES.into()..=u64::from(PLACES) + 1).contains(&pullers),
            "{pullers} for each place"
        );
    });
}

#[test]
fn a_few_items_take_a_few_pullers() {
    on_both(|| async {
        let pool = small(5000, 0);
        for items in [0, 1, 2, 3, 20] {
            let before = pool.stats().accepted;
            pool.for_each(0..items, |_| async {}).await.unwrap();
            let pullers = pool.stats().accepted - before;
            // A driver starts twice as many pullers as before when its own have all been polled. There are up
            // to two drivers, and neither knows of the other's pullers.
            assert!(pullers <= 2 * (3 + 2 * items), "{pullers} pullers for {items} items");
        }
        drained(&pool).await;
    });
}

#[test]
fn items_that_come_one_by_one_take_a_few_pullers_each() {
    on_both(|| async {
        const ITEMS: u64 = 300;
        let (pool, (sender, receiver)) = (small(5000, 0), tokio::sync::mpsc::unbounded_channel());
        let items = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|item: u64| (item, receiver))
        });
        let stop = Stop::new();
        let own = stop.clone();
        let each = tokio::spawn(pool.for_each(from_stream(items), move |_| own.task()));
        for item in 0..ITEMS {
            sender.send(item).unwrap();
            stop.have_come(1).await;
            // They stay, so that there are ever more, and one waits for the next item.
            soon("the others are gone", || pool.busy() as u64 == item + 2).await;
        }
        drop(sender);
        stop.open();
        each.await.unwrap().unwrap();
        let pullers = drained(&pool).await.accepted;
        assert!(pullers <= 4 * ITEMS, "{pullers} pullers for {ITEMS} items");
    });
}
