//! Limits on connections: clients, connections without a handshake and control clients do not displace each other.

use crate::host::Host;
use crate::raw::{FLUSH, READ, WRITE, begin_session, is_closed, reply, request};
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::member::ArrayMachine;
use scrubjay_serve::control::CommandHandler;
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::server::{Patience, Server};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Longer than anything takes that must happen.
const LONG: Duration = Duration::from_secs(60);

/// Gives a command, and returns its answer. A server that refuses may have answered, and hung up, before the command.
fn command(host: &Host<impl ArrayMachine + CommandHandler + Send + 'static>) -> String {
    let mut control = BufReader::new(UnixStream::connect(host.path("control")).unwrap());
    match control.get_mut().write_all(b"status\n") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
        _ => (),
    }
    let mut line = String::new();
    control.read_line(&mut line).unwrap();
    line
}

/// A server with a short time limit for clients that make no progress.
fn set_short_limits(server: &mut Server) {
    server.patience = Patience { progress: Nanos::from_millis(200), ..Patience::default() };
}

#[test]
fn clients_and_silent_connections_do_not_keep_commands_out() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), |_| ()) else { return };
    let clients: Vec<UnixStream> = (0..32).map(|_| begin_session(&host)).collect();
    let silent: Vec<UnixStream> = (0..40).map(|_| host.connect()).collect();
    assert_eq!(command(&host), "{\"error\":\"unknown command\"}\n");
    drop((clients, silent));
    host.end();
}

#[test]
fn silent_connections_do_not_keep_clients_out() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), |_| ()) else { return };
    let silent: Vec<UnixStream> = (0..100).map(|_| host.connect()).collect();
    let mut client = begin_session(&host);
    client.write_all(&request(FLUSH, 1, 0, 0)).unwrap();
    assert_eq!(reply(&mut client), (0, 1));
    drop(silent);
    host.end();
}

#[test]
fn a_control_client_beyond_the_limit_gets_the_reason() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), |_| ()) else { return };
    let mut clients: Vec<_> =
        (0..16).map(|_| BufReader::new(UnixStream::connect(host.path("control")).unwrap())).collect();
    for client in &mut clients {
        client.get_mut().write_all(b"x\n").unwrap();
        client.read_line(&mut String::new()).unwrap();
    }
    let refused = command(&host);
    assert!(refused.contains("16 others are giving it commands"), "{refused}");
    drop(clients);
    while command(&host) == refused {}
    host.end();
}

#[test]
fn a_client_that_never_reads_its_replies_is_cut_off() {
    let Some(host) = Host::start(MemoryArray::new(32 << 20), set_short_limits) else { return };
    let mut greedy = begin_session(&host);
    greedy.set_nonblocking(true).unwrap();
    let begin = Instant::now();
    let bytes = request(READ, 1, 0, 32 << 20);
    loop {
        match greedy.write(&bytes) {
            Ok(_) => (),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => break assert_eq!(error.kind(), ErrorKind::BrokenPipe),
        }
        assert!(begin.elapsed() < LONG, "it is listened to for ever");
    }
    host.end();
}

#[test]
fn a_client_that_stalls_within_a_message_is_cut_off_and_a_silent_one_is_not() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), set_short_limits) else { return };
    let mut silent = begin_session(&host);
    for part in [&request(WRITE, 1, 0, 65536)[..], &request(WRITE, 1, 0, 65536)[..20]] {
        let mut half = begin_session(&host);
        half.set_read_timeout(Some(LONG)).unwrap();
        half.write_all(part).unwrap();
        let begin = Instant::now();
        assert!(is_closed(&mut half) && begin.elapsed() < LONG);
    }
    silent.write_all(&request(FLUSH, 2, 0, 0)).unwrap();
    assert_eq!(reply(&mut silent), (0, 2));
    host.end();
}

#[test]
fn clients_that_hold_all_the_memory_delay_large_requests_only() {
    let Some(host) = Host::start(MemoryArray::new(64 << 20), |_| ()) else { return };
    let mut writer = begin_session(&host);
    writer.write_all(&[request(WRITE, 1, 0, 32 << 20), vec![1; 32 << 20]].concat()).unwrap();
    assert_eq!(reply(&mut writer), (0, 1));
    let greedy: Vec<UnixStream> = (0..4)
        .map(|_| {
            let mut client = begin_session(&host);
            client.write_all(&request(READ, 1, 0, 32 << 20).repeat(2)).unwrap();
            reply(&mut client); // its data is not read
            client
        })
        .collect();
    writer.write_all(&request(READ, 2, 0, 4096)).unwrap();
    assert_eq!(reply(&mut writer), (0, 2));
    writer.read_exact(&mut [0; 4096]).unwrap();
    let mut waiting = begin_session(&host);
    waiting.write_all(&request(READ, 3, 0, 32 << 20)).unwrap();
    drop(greedy);
    assert_eq!(reply(&mut waiting), (0, 3));
    drop(waiting);
    host.end();
}
