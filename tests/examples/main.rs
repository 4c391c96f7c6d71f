//! The examples: each comes to a good end, and the web server keeps its promises.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;
#[cfg(unix)]
mod http;
#[cfg(unix)] // it is tried where it is likely to be used
mod http_server;
mod programs;
#[cfg(unix)]
#[allow(dead_code, reason = "the command line uses more of it")]
#[path = "../../examples/http_server/server/mod.rs"]
mod server;
