//! Clients that are slow or silent: each meets a time limit, and its worker is free again.

use std::io::Read;
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use super::{Client, SOON, Site, get, post, settings, start, stop};
use crate::common::eventually;
use crate::server::Settings;

#[test]
fn a_slow_head_is_given_up_and_its_worker_is_free() {
    let server = start(Settings { connections: 1, head_time: SOON, ..settings() });
    let mut slow = Client::connect(&server);
    slow.send("GET /hello HTTP/1.1\r\nHost:");
    assert_eq!(slow.answer().status, 408);

    // A byte now and then does not make the time any longer.
    drop(slow);
    eventually("the worker is free", || server.connections() == 0);
    let mut trickle = Client::connect(&server);
    for byte in post("/echo", "x").bytes().cycle() {
        if !trickle.try_send(&[byte]) || trickle.has_answer() {
            break;
        }
        thread::sleep(SOON / 10);
    }
    assert_eq!(trickle.answer().status, 408);
    drop(trickle);
    eventually("the worker is free", || server.connections() == 0);
    stop(server);
}

#[test]
fn a_slow_body_is_given_up() {
    let server = start(Settings { body_time: SOON, ..settings() });
    let mut client = Client::connect(&server);
    client.send("POST /echo HTTP/1.1\r\nHost: me\r\nContent-Length: 5\r\n\r\nhel");
    assert_eq!(client.answer().status, 408);
    client.await_end();
    stop(server);
}

#[test]
fn silent_connections_keep_no_worker() {
    let server = start(Settings { head_time: SOON, ..settings() });
    let mut silent = Client::connect(&server);
    assert_eq!(silent.answer().status, 408);
    silent.await_end();
    stop(server);

    let server = start(Settings { idle_time: SOON, ..settings() });
    let mut idle = Client::connect(&server);
    idle.send(&get("/hello"));
    assert_eq!(idle.answer().status, 200);
    idle.await_end();
    stop(server);
}

#[test]
fn half_open_connections_keep_no_worker() {
    let server = start(settings());
    // It will send no more, and still gets its answer.
    let mut half_open = Client::connect(&server);
    half_open.send(&get("/hello"));
    half_open.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(half_open.answer().status, 200);
    half_open.await_end();

    // It has gone in the middle of a request.
    let mut gone = Client::connect(&server);
    gone.send("POST /echo HTTP/1.1\r\nContent-Le");
    drop(gone);
    eventually("all workers are free", || server.connections() == 0);
    stop(server);
}

#[test]
fn a_client_that_does_not_read_is_left() {
    let site = Site::new("unread");
    site.add("huge.bin", &vec![1; 32 << 20]);
    let server = start(Settings { root: site.root(), write_time: SOON, ..settings() });
    let mut client = Client::connect(&server);
    client.send(&get("/huge.bin"));
    assert_eq!(client.answer_to_head().status, 200);
    eventually("the worker is free", || server.connections() == 0);
    drop(client);
    stop(server);
}

#[test]
fn a_client_that_reads_a_little_at_a_time_is_left() {
    const LENGTH: usize = 32 << 20;
    let site = Site::new("slowly");
    site.add("huge.bin", &vec![1; LENGTH]);
    // Only the limit on the whole answer can end it: each write may take a long time.
    let limits = Settings { connections: 1, answer_time: SOON, least_rate: u64::MAX, ..settings() };
    let server = start(Settings { root: site.root(), ..limits });
    let mut slow = Client::connect(&server);
    slow.send(&get("/huge.bin"));
    // This returns when a worker has the connection.
    let mut received = slow.stream.read(&mut [0; 1024]).unwrap_or(0);
    eventually("the worker is free", || {
        thread::sleep(SOON / 50);
        received += slow.stream.read(&mut [0; 1024]).unwrap_or(0);
        server.connections() == 0
    });
    // The connection has ended, and the bytes that were on their way are not the whole file.
    let mut rest = Vec::new();
    drop(slow.stream.read_to_end(&mut rest));
    assert!(received + rest.len() < LENGTH, "the whole answer was sent");

    let mut next = Client::connect(&server);
    next.send(&get("/hello"));
    assert_eq!(next.answer().status, 200);
    drop(next);
    stop(server);
}

#[test]
fn a_longer_answer_may_take_longer() {
    let limits = Settings { answer_time: SOON, least_rate: 1 << 20, ..settings() };
    assert_eq!(limits.time_for(0), SOON);
    assert_eq!(limits.time_for(3 << 20), SOON + Duration::from_secs(3));
}
