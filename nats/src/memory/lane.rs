//! The pulls of a `Memory`.

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::sleep_until;

use super::Memory;
use crate::source::Event;

pub(super) struct Lane {
    pub(super) memory: Memory,
    pub(super) number: usize,
    pub(super) events: UnboundedSender<(usize, Event)>,
}

/// How a pull ended.
enum End {
    Over,
    Closed,
}

impl Lane {
    pub(super) async fn run(
        self,
        mut asked: UnboundedReceiver<usize>,
        ack_wait: Duration,
        expiry: Duration,
    ) {
        while let Some(count) = asked.recv().await {
            match self.pull(count, &mut asked, ack_wait, Instant::now() + expiry).await {
                End::Over => self.report(Event::Ended),
                End::Closed => break,
            }
        }
        self.report(Event::Closed);
    }

    async fn pull(
        &self,
        count: usize,
        asked: &mut UnboundedReceiver<usize>,
        ack_wait: Duration,
        expires: Instant,
    ) -> End {
        let mut left = count;
        loop {
            let mut changed = pin!(self.memory.shared.changed.notified());
            changed.as_mut().enable();
            let wake = {
                let mut store = self.memory.store();
                let now = Instant::now();
                while left > 0
                    && let Some(delivery) = store.take(now, ack_wait)
                {
                    left -= 1;
                    self.report(Event::Message(delivery));
                }
                store.next_due().map_or(expires, |due| due.min(expires))
            };
            if left == 0 || Instant::now() >= expires {
                return End::Over;
            }
            tokio::select! {
                biased;
                _ = asked.recv() => return End::Closed,
                () = changed => {}
                () = sleep_until(wake.into()) => {}
            }
        }
    }

    fn report(&self, event: Event) {
        // If the consumer is gone, its messages are delivered again when their time is over.
        drop(self.events.send((self.number, event)));
    }
}
