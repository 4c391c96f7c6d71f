//! Servers, and processes of this test program.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use formic::FnPool;
use formic_nats::async_nats::{self, jetstream};
use formic_nats::{Backoff, Consumer, Handlers, JetStream, JetStreamBuilder, Source};

/// The longest that a test waits for something that is bound to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server of its own, in a directory of its own, on a port that the system chose.
pub(crate) struct Server {
    program: PathBuf,
    directory: PathBuf,
    port: u16,
    child: Option<Child>,
}

/// The program of the server, or the reason why there is none.
fn program() -> Result<PathBuf, String> {
    if let Some(program) = std::env::var_os("NATS_SERVER") {
        return Ok(program.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut programs = places.map(|place| place.join("nats-server"));
    let found = programs.find(|program| program.is_file());
    found.ok_or_else(|| "NATS_SERVER is not set and nats-server is not in the path".to_owned())
}

fn scratch(name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let name = format!("formic-nats-{name}-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory).unwrap();
    directory
}

impl Server {
    /// Starts a server. None, after a line that says so, if there is no program.
    pub(crate) fn start() -> Option<Server> {
        let program = match program() {
            Ok(program) => program,
            Err(reason) if std::env::var_os("FORMIC_NATS_REQUIRED").is_some() => panic!("{reason}"),
            Err(reason) => {
                // Not `eprintln`, which the test harness keeps to itself.
                let name = thread::current().name().unwrap_or("a test").to_owned();
                writeln!(std::io::stderr(), "skipped {name}: {reason}").ok();
                return None;
            }
        };
        let mut server = Server { program, directory: scratch("server"), port: 0, child: None };
        server.launch();
        Some(server)
    }

    /// Starts the process, on the port that it had before if it had one.
    pub(crate) fn launch(&mut self) {
        let ports = self.directory.join("ports");
        fs::remove_dir_all(&ports).ok();
        fs::create_dir_all(&ports).unwrap();
        let port = if self.port == 0 { -1 } else { i32::from(self.port) };
        let log = fs::File::create(self.directory.join("log")).unwrap();
        let child = Command::new(&self.program)
            .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
            .arg(self.directory.join("data"))
            .arg("--ports_file_dir")
            .arg(&ports)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
        self.port = wait_for("the server's port", || read_port(&ports));
        wait_for("a connection", || std::net::TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address())
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A client of its own, for what formic-nats does not do.
    pub(crate) async fn client(&self) -> async_nats::Client {
        async_nats::connect(self.url()).await.unwrap()
    }

    /// Whether a message that was in flight when the server was killed is delivered again. A 2.9 server keeps it as pending, but
    /// sometimes never delivers it again, whatever is pulled: two of sixteen runs beside seven others, none with 2.15.
    pub(crate) async fn redelivers_after_a_kill(&self) -> bool {
        let redelivers = self.client().await.is_server_compatible(2, 10, 0);
        if !redelivers {
            let name = thread::current().name().unwrap_or("a test").to_owned();
            let line = format!(
                "skipped {name}: a server before 2.10 may forget a message when it is killed"
            );
            writeln!(std::io::stderr(), "{line}").ok();
        }
        redelivers
    }

    pub(crate) async fn context(&self) -> jetstream::Context {
        jetstream::new(self.client().await)
    }

    pub(crate) async fn stream(&self, name: &str) -> JetStream {
        self.open(JetStream::builder(name)).await
    }

    pub(crate) async fn open(&self, builder: JetStreamBuilder) -> JetStream {
        builder.connect(&self.url()).await.unwrap()
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        send_signal(self.child.as_ref().unwrap(), signal);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            eprintln!("the server's files are in {}", self.directory.display());
        } else {
            fs::remove_dir_all(&self.directory).ok();
        }
    }
}

/// The port in the file that the server writes: `{"nats":["nats://127.0.0.1:<port>"],..}`.
fn read_port(directory: &Path) -> Option<u16> {
    let file = fs::read_dir(directory).ok()?.next()?.ok()?.path();
    let text = fs::read_to_string(file).ok()?;
    let ports: HashMap<String, Vec<String>> = serde_json::from_str(&text).ok()?;
    ports.get("nats")?.first()?.rsplit_once(':')?.1.parse().ok()
}

pub(crate) fn send_signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").arg(signal).arg(child.id().to_string()).status();
    assert!(sent.unwrap().success());
}

/// Waits until `value` is there.
pub(crate) fn wait_for<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited too long for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Awaits what must come, for as long as a test waits at most.
pub(crate) async fn patiently<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("the future is ready in time")
}

/// Awaits `value` until it is there.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !holds().await {
        assert!(begin.elapsed() < PATIENCE, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Settings for tests: what happens late happens soon.
pub(crate) fn quick<P: Handlers>(consumer: Consumer<P>) -> Consumer<P> {
    consumer
        .attempts(3)
        .backoff(Backoff::new(Duration::from_millis(10), Duration::from_millis(40)))
        .ack_wait(Duration::from_secs(2))
        .expiry(Duration::from_secs(1))
}

/// Is ready when the source has no message.
pub(crate) async fn empty(source: Source) {
    match source {
        Source::Memory(source) => patiently(source.empty()).await,
        Source::JetStream(source) => patiently(source.empty()).await,
        other => panic!("{other:?}"),
    }
}

/// What processes have done, one line for each event: a file that they append to.
pub(crate) struct Log {
    path: PathBuf,
}

impl Log {
    pub(crate) fn new() -> Log {
        Log { path: scratch("log").join("events") }
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> Log {
        Log { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line by one call of the system, so that lines of several processes do not mix.
    pub(crate) fn write(&self, line: &str) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often each line occurs that begins so, without that beginning and up to the next blank.
    pub(crate) fn counts(&self, beginning: &str) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for line in self.lines() {
            if let Some(rest) = line.strip_prefix(beginning) {
                let word = rest.split_whitespace().next().unwrap_or_default();
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        counts
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if std::env::var_os("FORMIC_NATS_WORKER").is_none() && !thread::panicking() {
            fs::remove_dir_all(self.path.parent().unwrap()).ok();
        }
    }
}

/// A process of this program that works on a stream. It is killed when this is dropped.
pub(crate) struct Worker {
    pub(crate) child: Child,
}

impl Worker {
    /// Starts a worker that writes to `log`. What it does is told by `mode`; see `worker_process`.
    pub(crate) fn start(server: &Server, stream: &str, mode: &str, log: &Log) -> Worker {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "common::worker_process", "--ignored", "--nocapture"])
            .env("FORMIC_NATS_WORKER", mode)
            .env("FORMIC_NATS_URL", server.url())
            .env("FORMIC_NATS_STREAM", stream)
            .env("FORMIC_NATS_LOG", log.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Worker { child: child.unwrap() }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Not a test: what the processes of [`Worker`] run.
#[test]
#[ignore = "it is run by other tests"]
fn worker_process() {
    let Ok(mode) = std::env::var("FORMIC_NATS_WORKER") else { return };
    let log = Log::at(std::env::var("FORMIC_NATS_LOG").unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let code = runtime.block_on(work(&mode, log));
    std::process::exit(code);
}

async fn work(mode: &str, log: Log) -> i32 {
    let url = std::env::var("FORMIC_NATS_URL").unwrap();
    let stream = std::env::var("FORMIC_NATS_STREAM").unwrap();
    let builder = JetStream::builder(stream);
    let (mode, partitions) = mode.split_once('/').unwrap_or((mode, "0"));
    let source = builder.partitions(partitions.parse().unwrap()).connect(&url).await.unwrap();
    let pid = std::process::id();
    let log = Arc::new(log);
    let pool = pool(mode, Arc::clone(&log));
    log.write(&format!("ready {pid}"));
    let consumer = quick(Consumer::new(pool, &source)).grace(Duration::from_secs(20));
    match consumer.run_until(formic_nats::terminated()).await {
        Ok(summary) => {
            log.write(&format!("summary {pid} {summary:?}"));
            i32::from(!summary.is_clean())
        }
        Err(error) => {
            log.write(&format!("error {pid} {error}"));
            2
        }
    }
}

/// The handler of a mode, `<kind>:<milliseconds>`: it notes its start and its end.
fn pool(mode: &str, log: Arc<Log>) -> FnPool<u64, ()> {
    let (kind, time) = mode.split_once(':').unwrap();
    let time = Duration::from_millis(time.parse().unwrap());
    let pid = std::process::id();
    let workers = match kind {
        "many" => 16,
        // Its death takes an attempt from each message in its hands, so it has no other.
        "abort" => 1,
        _ => 2,
    };
    let kind = kind.to_owned();
    FnPool::new(workers, move |number: u64| {
        log.write(&format!("start {number} {pid}"));
        if kind == "abort" && number == 13 {
            std::process::abort();
        }
        if !time.is_zero() {
            thread::sleep(time);
        }
        log.write(&format!("end {number} {pid}"));
    })
}
