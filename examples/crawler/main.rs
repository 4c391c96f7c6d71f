//! A crawler: every page of a site, once, with a thousand in flight. The site is its own.
//!
//! ```sh
//! cargo run --release --features tokio --example crawler -- 10000
//! ```
//!
//! Interrupted by Ctrl-C it lets the pages in flight end, and forgets the others.

mod fetch; // a page over the network, again if need be
mod site; // the pages

use std::collections::HashSet;
use std::error::Error;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use formic::AsyncPool;
use indicatif::{ProgressBar, ProgressStyle};

use fetch::{Client, Fetched};
use site::Site;

const IN_FLIGHT: usize = 1000;
/// Each is open at both ends in this process, which may often have only 1024 files open.
const CONNECTIONS: usize = 400;
const START: &str = "/page/0";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pages = std::env::args().nth(1).map_or(Ok(2000), |pages| pages.parse())?;
    let site = Site::open(pages).await?;
    let crawler = Arc::new(Crawler::new(Client::new(site.address, CONNECTIONS)));
    let pool = crawler.pool.clone();
    ctrlc::set_handler(move || {
        pool.close(); // what is in flight goes on, and no link is followed any more
        pool.discard();
    })?;

    println!("http://{} has {pages} pages", site.address);
    crawler.visit_once(START).await;
    crawler.pool.wait_idle().await?;
    let interrupted = crawler.pool.is_closed();
    crawler.pool.drain().await?;
    crawler.bar.finish_and_clear();

    println!("{}", crawler.report());
    assert_eq!(site.delivered(0) + site.delivered(1), pages, "no page was fetched twice");
    match interrupted {
        true => println!("interrupted: {} pages were not fetched", site.delivered(0)),
        false => crawler.check_complete(&site, pages),
    }
    Ok(())
}

struct Crawler {
    pool: AsyncPool,
    client: Client,
    /// The links that somebody follows or has followed.
    seen: Mutex<HashSet<String>>,
    fetched: AtomicUsize,
    missing: AtomicUsize,
    given_up: AtomicUsize,
    bar: ProgressBar,
}

impl Crawler {
    fn new(client: Client) -> Self {
        let style = ProgressStyle::with_template("{bar:40} {pos} of {len} links, {per_sec}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Crawler {
            pool: AsyncPool::new(IN_FLIGHT),
            client,
            seen: Mutex::default(),
            fetched: AtomicUsize::new(0),
            missing: AtomicUsize::new(0),
            given_up: AtomicUsize::new(0),
            bar: ProgressBar::new(0).with_style(style),
        }
    }

    /// Has the page visited by a task of its own, unless it is known.
    async fn visit_once(self: &Arc<Self>, link: &str) {
        if !self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(link.to_owned()) {
            return;
        }
        self.bar.inc_length(1);
        // A page does not wait until there is a place for those it links to: within its pool a task
        // never does. It is refused only if the crawl was interrupted.
        drop(self.pool.submit(Arc::clone(self).visit(link.to_owned())).await);
    }

    /// Boxed, because a visit leads to visits.
    fn visit(self: Arc<Self>, link: String) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let count = match self.client.fetch(&link).await {
                Fetched::Text(text) => {
                    for link in links(&text) {
                        self.visit_once(link).await;
                    }
                    &self.fetched
                }
                Fetched::Missing => &self.missing,
                Fetched::GaveUp => &self.given_up,
            };
            count.fetch_add(1, Ordering::Relaxed);
            self.bar.inc(1);
        })
    }

    fn report(&self) -> String {
        let [fetched, missing, given_up] = [&self.fetched, &self.missing, &self.given_up]
            .map(|count| count.load(Ordering::Relaxed));
        format!("{fetched} pages fetched, {missing} links to nowhere, {given_up} given up")
    }

    /// Every page was delivered to us, and of all links each was followed once.
    fn check_complete(&self, site: &Site, pages: usize) {
        assert_eq!(site.delivered(1), pages);
        assert_eq!(self.fetched.load(Ordering::Relaxed), pages);
        assert_eq!(self.given_up.load(Ordering::Relaxed), 0);
        // Each page leads to two new ones, and the second half of them to what is not there.
        assert_eq!(self.missing.load(Ordering::Relaxed), pages + 1);
        assert_eq!(self.pool.stats().completed, 2 * pages as u64 + 1);
    }
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next())
}
