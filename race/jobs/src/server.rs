//! A server of its own, on a port that the system chose.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Server {
    child: Child,
    directory: PathBuf,
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Option<Server> {
        let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
        let directory = std::env::temp_dir().join(format!("race-jobs-{}", std::process::id()));
        fs::create_dir_all(directory.join("ports")).ok()?;
        let child = Command::new(program)
            .args(["-a", "127.0.0.1", "-p", "-1", "-js", "-sd"])
            .arg(directory.join("data"))
            .arg("--ports_file_dir")
            .arg(directory.join("ports"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let begin = Instant::now();
        let mut server = Server { child, directory, port: 0 };
        while begin.elapsed() < Duration::from_secs(10) {
            if let Some(port) = port(&server.directory.join("ports")) {
                server.port = port;
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// The port in the file that the server writes.
fn port(directory: &Path) -> Option<u16> {
    let file = fs::read_dir(directory).ok()?.next()?.ok()?.path();
    let ports: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    ports["nats"][0].as_str()?.rsplit_once(':')?.1.parse().ok()
}
