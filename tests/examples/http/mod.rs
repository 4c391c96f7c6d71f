//! What the tests of the web server share (a site, a small server, a client), and the tests of its time
//! limits.

mod client;
mod slow;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

pub(crate) use client::{Answer, Client, get, post};

use crate::common::PATIENCE;
use crate::server::{Server, Settings};

/// The limit that a test waits for. Long enough to do something within it on a busy machine.
pub(crate) const SOON: Duration = Duration::from_millis(500);

/// A folder with an index, a file of 200 KB, a hidden one, and a link to a file outside of it.
pub(crate) struct Site {
    folder: PathBuf,
}

impl Site {
    pub(crate) fn new(test: &str) -> Self {
        let folder = env::temp_dir().join(format!("formic-http-{test}-{}", process::id()));
        let (root, secret) = (folder.join("site"), folder.join("secret.txt"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(&secret, "secret").unwrap();
        fs::write(root.join("index.html"), "<h1>index</h1>").unwrap();
        fs::write(root.join("sub").join("large.bin"), vec![7; 200_000]).unwrap();
        fs::write(root.join(".hidden"), "hidden").unwrap();
        std::os::unix::fs::symlink(secret, root.join("link.txt")).unwrap();
        Site { folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("site")
    }

    pub(crate) fn add(&self, name: impl AsRef<Path>, content: &[u8]) {
        fs::write(self.root().join(name), content).unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Long times, so that only the limit that a test sets can be the one it meets.
pub(crate) fn settings() -> Settings {
    Settings {
        connections: 4,
        body: 4096,
        head_time: PATIENCE,
        body_time: PATIENCE,
        idle_time: PATIENCE,
        write_time: PATIENCE,
        answer_time: PATIENCE,
        ..Settings::new(env::temp_dir())
    }
}

pub(crate) fn start(settings: Settings) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Server::start(listener, settings).expect("the server starts")
}

/// Stops a server whose clients are gone, or have been answered.
#[track_caller]
pub(crate) fn stop(server: Server) {
    assert_eq!(server.stop(PATIENCE), 0, "a connection had to be cut off");
}
