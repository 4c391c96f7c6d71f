//! What is measured. Each fills a stream first, and then takes the time until the last job is acknowledged.

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use apalis::prelude::{BoxDynError, TaskSink, WorkerBuilder, WorkerContext};
use apalis_nats::{Config, NatsJetStream};
use formic::AsyncFnPool;
use formic_nats::async_nats::jetstream::{self, consumer::PullConsumer};
use formic_nats::{Consumer, JetStream, Job};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;

use crate::PLACES;

/// The time that handlers have worked, in nanoseconds.
static WORKED: AtomicU64 = AtomicU64::new(0);

/// When the first handler began.
static FIRST: OnceLock<Instant> = OnceLock::new();

/// The time from there to the end of the last one, in nanoseconds.
static LAST: AtomicU64 = AtomicU64::new(0);

pub(crate) fn run(contender: &str, url: &str, stream: &str, jobs: u64, pause: u64) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let pause = Duration::from_millis(pause);
    let measured = runtime.block_on(async {
        match contender {
            "bare" => bare(url, stream, jobs, pause, Answer::Confirmed).await,
            "bare-ack" => bare(url, stream, jobs, pause, Answer::Sent).await,
            "formic" => formic(url, stream, jobs, pause, 0).await,
            "formic-8" => formic(url, stream, jobs, pause, 8).await,
            "floor" => floor(url, stream, jobs).await,
            "apalis" => apalis(url, stream, jobs, pause).await,
            other => Err(format!("there is no contender {other:?}").into()),
        }
    });
    match measured {
        Ok((time, cpu)) => {
            let seconds = time.as_secs_f64();
            let worked = WORKED.load(Relaxed) as f64 / 1e9;
            // Without the time that it takes to connect and to make a consumer.
            let span = LAST.load(Relaxed) as f64 / 1e9;
            println!("{seconds} {cpu} {}", worked / (PLACES as f64 * span));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("race: {contender}: {error}");
            ExitCode::FAILURE
        }
    }
}

type Measured = Result<(Duration, f64), Box<dyn Error + Send + Sync>>;

/// The handler.
async fn handle(pause: Duration) {
    if !pause.is_zero() {
        let begin = Instant::now();
        let first = FIRST.get_or_init(|| begin);
        tokio::time::sleep(pause).await;
        WORKED.fetch_add(begin.elapsed().as_nanos() as u64, Relaxed);
        LAST.fetch_max(first.elapsed().as_nanos() as u64, Relaxed);
    }
}

/// Whether the loop waits for the server's word that it has the acknowledgement.
#[derive(Clone, Copy)]
enum Answer {
    Confirmed,
    Sent,
}

/// A pull, all of its jobs at once, an acknowledgement of each, and the next pull.
async fn bare(url: &str, stream: &str, jobs: u64, pause: Duration, how: Answer) -> Measured {
    fill(url, stream, jobs).await?;
    let client = formic_nats::async_nats::connect(url).await?;
    let config = jetstream::consumer::pull::Config {
        durable_name: Some("bare".to_owned()),
        ..Default::default()
    };
    let context = jetstream::new(client);
    let consumer: PullConsumer =
        context.create_consumer_on_stream(config, stream).await.map_err(boxed)?;
    let (begin, cpu) = (Instant::now(), cpu());
    let mut done = 0;
    while done < jobs {
        let pull = consumer.fetch().max_messages(PLACES);
        let batch = pull.messages().await.map_err(boxed)?.collect::<Vec<_>>().await;
        let answers = join_all(batch.into_iter().map(async |message| {
            let message = message?;
            handle(pause).await;
            match how {
                Answer::Confirmed => message.double_ack().await,
                Answer::Sent => message.ack().await,
            }
        }));
        for answer in answers.await {
            answer?;
            done += 1;
        }
    }
    Ok((begin.elapsed(), crate::contenders::cpu() - cpu))
}

/// The least that a client can do: two pulls are open, and each message is answered when it comes. It has no handlers, and no
/// places that could be free.
async fn floor(url: &str, stream: &str, jobs: u64) -> Measured {
    fill(url, stream, jobs).await?;
    let client = formic_nats::async_nats::connect(url).await?;
    let config = jetstream::consumer::pull::Config {
        durable_name: Some("floor".to_owned()),
        max_ack_pending: -1,
        ..Default::default()
    };
    let context = jetstream::new(client.clone());
    let _: PullConsumer = context.create_consumer_on_stream(config, stream).await.map_err(boxed)?;
    let inbox = client.new_inbox();
    let mut messages = client.subscribe(inbox.clone()).await?;
    let pull = async || {
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.floor");
        let request = format!(r#"{{"batch": {PLACES}, "expires": 60000000000}}"#);
        client.publish_with_reply(subject, inbox.clone(), request.into()).await
    };
    let (begin, cpu) = (Instant::now(), cpu());
    pull().await?;
    pull().await?;
    let mut answers = FuturesUnordered::new();
    let (mut received, mut done) = (0, 0);
    while done < jobs {
        tokio::select! {
            Some(message) = messages.next() => {
                received += 1;
                if received % PLACES == 0 {
                    pull().await?;
                }
                let reply = message.reply.ok_or("it is no job")?;
                answers.push(client.request(reply, "+ACK".into()));
            }
            Some(answer) = answers.next() => {
                answer?;
                done += 1;
            }
        }
    }
    Ok((begin.elapsed(), crate::contenders::cpu() - cpu))
}

async fn formic(url: &str, stream: &str, jobs: u64, pause: Duration, ahead: usize) -> Measured {
    let source = fill(url, stream, jobs).await?;
    let pool = AsyncFnPool::new(PLACES, move |_: u64| handle(pause));
    let consumer = Consumer::new(pool, &source).ahead(ahead);
    let monitor = consumer.monitor();
    let (begin, cpu) = (Instant::now(), cpu());
    let end = async move {
        while monitor.stats().done < jobs {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (begin.elapsed(), crate::contenders::cpu() - cpu)
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    consumer.run_until(async move { sender.send(end.await).ok() }).await?;
    Ok(receiver.await?)
}

/// Its acknowledgements are not confirmed, and the time ends with the last handler.
async fn apalis(url: &str, stream: &str, jobs: u64, pause: Duration) -> Measured {
    let client = async_nats_of_apalis::connect(url).await?;
    let config = Config::new(stream).with_pull_consumer().durable();
    let mut backend = NatsJetStream::<u64, _>::new(client).with_config(config);
    for number in 0..jobs {
        backend.push(number).await?;
    }
    let done = Arc::new(AtomicU64::new(0));
    let times = Arc::new(std::sync::Mutex::new(None));
    let (begin, cpu) = (Instant::now(), cpu());
    let counted = (Arc::clone(&done), Arc::clone(&times));
    let work = move |_: u64, worker: WorkerContext| {
        let (done, times) = counted.clone();
        async move {
            handle(pause).await;
            if done.fetch_add(1, Relaxed) + 1 == jobs {
                let mut times = times.lock().map_err(|_| "poisoned")?;
                *times = Some((begin.elapsed(), crate::contenders::cpu() - cpu));
                worker.stop()?;
            }
            Ok::<(), BoxDynError>(())
        }
    };
    use apalis::layers::WorkerBuilderExt;
    let worker = WorkerBuilder::new("race").backend(backend).concurrency(PLACES).build(work);
    worker.run().await?;
    let times = times.lock().map_err(|_| "poisoned")?;
    times.ok_or_else(|| "the worker ended early".into())
}

/// A stream with so many jobs.
async fn fill(
    url: &str,
    stream: &str,
    jobs: u64,
) -> Result<JetStream, Box<dyn Error + Send + Sync>> {
    let source = JetStream::connect(url, stream).await?;
    source.jobs().publish_all((0..jobs).map(|number| Job::new(number.to_string()))).await?;
    Ok(source)
}

fn boxed(error: impl Error + Send + Sync + 'static) -> Box<dyn Error + Send + Sync> {
    Box::new(error)
}

/// The processor time of this process, in seconds: the kernel counts it in hundredths.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok());
    (field(11).unwrap_or(0.0) + field(12).unwrap_or(0.0)) / 100.0
}
