//! The web server of the examples keeps its promises: it answers, it says no, and it stays up.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;

use crate::common::{PATIENCE, eventually, join};
use crate::http::{Answer, Client, SOON, Site, get, post, settings, start, stop};
use crate::server::{Server, Settings};

#[test]
fn a_connection_serves_many_requests() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    for number in 0..100 {
        let body = format!("message {number}");
        client.send(&post("/echo", &body));
        let answer = client.answer();
        assert_eq!((answer.status, answer.text()), (200, body.as_str()));
        assert!(!answer.closes());
    }
    assert_eq!(server.connections(), 1);
    drop(client);
    stop(server);
}

#[test]
fn requests_that_come_at_once_are_answered_in_order() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    let requests: String = (0..50).map(|number| post("/echo", &number.to_string())).collect();
    client.send(&requests);
    for number in 0..50 {
        assert_eq!(client.answer().text(), number.to_string());
    }
    drop(client);
    stop(server);
}

#[test]
fn a_request_that_comes_byte_by_byte_is_a_request() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    for byte in post("/echo", "slowly").bytes() {
        client.send_bytes(&[byte]);
    }
    assert_eq!(client.answer().text(), "slowly");
    drop(client);
    stop(server);
}

#[test]
fn files_are_served_and_head_tells_their_length() {
    let site = Site::new("files");
    let server = start(Settings { root: site.root(), ..settings() });
    let mut client = Client::connect(&server);

    client.send(&get("/"));
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (200, "<h1>index</h1>"));
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));

    client.send("HEAD /index.html HTTP/1.1\r\nHost: me\r\n\r\n");
    let answer = client.answer_to_head();
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("14")));

    // More than a piece, and with a query that does not matter.
    client.send(&get("/sub/large%2ebin?version=2"));
    let answer = client.answer();
    assert_eq!((answer.status, answer.body.len()), (200, 200_000));
    assert!(answer.body.iter().all(|byte| *byte == 7));

    client.send(&get("/nothing/here"));
    assert_eq!(client.answer().status, 404);
    client.send(&get("/hello"));
    assert_eq!(client.answer().text(), "Hello, world!\n");
    drop(client);
    stop(server);
}

#[test]
fn nothing_outside_of_the_root_is_served() {
    let site = Site::new("root");
    let server = start(Settings { root: site.root(), ..settings() });
    let mut client = Client::connect(&server);
    for path in [
        "/../secret.txt",
        "/sub/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/sub/..\\..\\secret.txt",
        "/.hidden",
        "/link.txt",
        "//etc/passwd/../../../etc/passwd",
        "http://me/../secret.txt",
    ] {
        client.send(&get(path));
        let answer = client.answer();
        assert_eq!(answer.status, 403, "{path}: {}", answer.text());
    }
    for path in ["//etc/passwd", "/%252e%252e/secret.txt", "/sub"] {
        client.send(&get(path));
        assert_eq!(client.answer().status, 404, "{path}");
    }
    drop(client);
    stop(server);
}

#[test]
fn what_is_not_allowed_names_what_is() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    client.send(&get("/echo"));
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    client.send("DELETE / HTTP/1.1\r\nHost: me\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")));
    drop(client);
    stop(server);
}

/// Sends a request that breaks a rule; the answer closes the connection.
#[track_caller]
fn refused(server: &Server, request: &str) -> Answer {
    let mut client = Client::connect(server);
    client.send(request);
    let answer = client.answer();
    assert!(answer.closes(), "{request:.80}");
    client.await_end();
    answer
}

#[test]
fn requests_that_break_the_rules_are_refused() {
    let server = start(settings());
    let long = format!("GET / HTTP/1.1\r\nHost: me\r\nCookie: {}\r\n\r\n", "x".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\nHost: me\r\n{}\r\n", "a: b\r\n".repeat(100));
    let length = "POST /echo HTTP/1.1\r\nHost: me\r\nContent-Length:";
    let two_lengths = format!("{length} 3\r\nContent-Length: 4\r\n\r\nabcd");
    let chunked = "POST /echo HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for (request, status) in [
        (long.as_str(), 431),
        (&many, 431),
        (&post("/echo", &"x".repeat(5000)), 413),
        (&format!("{length} 99999999999999999999999\r\n\r\n"), 413),
        (&format!("{length} -1\r\n\r\n"), 400),
        (&format!("{length} +1\r\n\r\nx"), 400),
        (&two_lengths, 400),
        (chunked, 501),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\nHost: me\r\n\r\n", 505),
        ("GET\r\n\r\n", 400),
    ] {
        assert_eq!(refused(&server, request).status, status, "{request:.80}");
    }
    stop(server);
}

#[test]
fn a_body_is_asked_for_when_the_client_waits_for_that() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    let head =
        "POST /echo HTTP/1.1\r\nHost: me\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    client.send(head);
    assert_eq!(client.answer_to_head().status, 100);
    client.send("hello");
    assert_eq!(client.answer().text(), "hello");
    drop(client);
    stop(server);
}

#[test]
fn an_old_client_is_closed_unless_it_asks_to_stay() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("keep-alive"));
    client.send("GET /hello HTTP/1.0\r\n\r\n");
    assert!(client.answer().closes());
    client.await_end();
    stop(server);
}

#[test]
fn close_outweighs_keep_alive() {
    let server = start(settings());
    for version in ["1.0", "1.1"] {
        for lines in [
            "Connection: close, keep-alive",
            "Connection: keep-alive, close",
            "Connection: Close ,\tKeep-Alive",
            "connection: upgrade,CLOSE,keep-alive,",
            "Connection: close\r\nConnection: keep-alive",
            "Connection: keep-alive\r\nCONNECTION: foo, close\r\nConnection: keep-alive",
        ] {
            let mut client = Client::connect(&server);
            client.send(&format!("GET /hello HTTP/{version}\r\nHost: me\r\n{lines}\r\n\r\n"));
            assert!(client.answer().closes(), "{version}, {lines:?}");
            client.await_end();
        }
    }
    stop(server);
}

#[test]
fn options_of_other_names_do_not_close_a_connection() {
    let server = start(settings());
    let mut client = Client::connect(&server);
    for (version, lines) in [
        ("1.1", "Connection: upgrade"),
        ("1.1", "Connection: closed, not-close"),
        ("1.0", "Connection: upgrade, Keep-Alive"),
        ("1.0", "Connection: upgrade\r\nConnection: keep-alive"),
    ] {
        client.send(&format!("GET /hello HTTP/{version}\r\nHost: me\r\n{lines}\r\n\r\n"));
        assert!(!client.answer().closes(), "{version}, {lines:?}");
    }
    drop(client);
    stop(server);
}

#[test]
fn the_last_answer_arrives_although_more_was_asked() {
    let server = start(settings());
    for _ in 0..50 {
        let mut client = Client::connect(&server);
        let last = "GET /hello HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n";
        // More than the server reads at once, so that some of it lies there when it closes.
        let more = post("/echo", "too late").repeat(500);
        client.try_send(format!("{}{last}{more}", get("/hello")).as_bytes());
        assert_eq!(client.answer().status, 200);
        assert!(client.answer().closes());
        client.await_end();
    }
    stop(server);
}

#[test]
fn when_all_workers_are_busy_the_next_is_told_so() {
    let server = start(settings());
    let mut guests: Vec<Client> = (0..4).map(|_| Client::connect(&server)).collect();
    eventually("all workers are busy", || server.connections() == 4);

    for _ in 0..10 {
        let mut late = Client::connect(&server);
        late.try_send(get("/hello").as_bytes());
        let answer = late.answer();
        assert_eq!(answer.status, 503);
        assert!(answer.closes());
        late.await_end();
    }

    // Those who are in are served, and when one leaves, the next may come.
    for guest in &mut guests {
        guest.send(&get("/hello"));
        assert_eq!(guest.answer().status, 200);
    }
    guests.pop();
    eventually("a worker is free", || server.connections() == 3);
    let mut next = Client::connect(&server);
    next.send(&get("/hello"));
    assert_eq!(next.answer().status, 200);
    drop((guests, next));
    stop(server);
}

#[test]
fn a_crowd_gets_clear_answers() {
    const CROWD: usize = 300;
    let server = start(Settings { connections: 16, ..settings() });
    let all_are_here = Barrier::new(CROWD);
    let statuses: Vec<u16> = thread::scope(|threads| {
        let visit = || {
            all_are_here.wait();
            let mut client = Client::connect(&server);
            client.try_send(get("/hello").as_bytes());
            client.answer().status
        };
        let visitors: Vec<_> = (0..CROWD).map(|_| threads.spawn(visit)).collect();
        visitors.into_iter().map(|visitor| visitor.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    println!("{} were served, {} were turned away", count(200), count(503));
    assert_eq!(count(200) + count(503), CROWD);
    assert!(count(200) > 0);

    eventually("all workers are free", || server.connections() == 0);
    let mut client = Client::connect(&server);
    client.send(&get("/hello"));
    assert_eq!(client.answer().status, 200);
    drop(client);
    stop(server);
}

#[test]
fn a_server_that_stops_answers_what_it_has_begun() {
    let server = start(settings());
    let address = server.address();
    let mut idle = Client::connect(&server);
    idle.send(&get("/hello"));
    assert_eq!(idle.answer().status, 200);
    let mut fresh = Client::connect(&server);
    let mut running = Client::connect(&server);
    running.send(
        "POST /echo HTTP/1.1\r\nHost: me\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n",
    );
    assert_eq!(running.answer_to_head().status, 100);
    eventually("all are in", || server.connections() == 3);

    let stopping = thread::spawn(move || server.stop(PATIENCE));
    // Who asks for nothing is let go at once.
    idle.await_end();
    fresh.await_end();
    eventually("nobody listens", || TcpStream::connect(address).is_err());
    running.send("answer");
    let answer = running.answer();
    assert_eq!((answer.status, answer.text()), (200, "answer"));
    assert!(answer.closes());
    assert_eq!(join(stopping), 0);
}

#[test]
fn a_server_that_stops_cuts_off_who_takes_too_long() {
    let server = start(settings());
    let mut slow = Client::connect(&server);
    slow.send(
        "POST /echo HTTP/1.1\r\nHost: me\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n",
    );
    assert_eq!(slow.answer_to_head().status, 100);
    assert_eq!(server.stop(SOON), 1);
    let mut rest = Vec::new();
    drop(slow.stream.read_to_end(&mut rest));
    assert!(rest.is_empty());
    drop(slow.stream.write_all(b"answer"));
}
