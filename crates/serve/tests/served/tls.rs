//! TLS with third-party clients, which have implementations other than rustls.

use crate::certificates::TestCertificates;
use crate::host::Host;
use crate::libnbd::pattern;
use crate::stranger::{outcome, python, run};
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::server::Address;
use std::sync::mpsc;

/// The size of the devices in bytes: 16 MiB, as [`pattern`].
const SIZE: u64 = 16 << 20;

/// A server with certificates.
fn host(certs: &TestCertificates, is_required: bool, needs_certificate: bool) -> Option<Host<MemoryArray>> {
    Host::start(MemoryArray::new(SIZE).shuffled(9), |server| server.secure(certs.tls(is_required, needs_certificate)))
}

/// Its address for a client with the certificates of `holder`.
fn secure_uri(host: &Host<MemoryArray>, certs: &TestCertificates, holder: &str) -> String {
    format!("{}&tls-certificates={}", host.uri().replace("nbd+unix", "nbds+unix"), certs.folder(holder).display())
}

#[test]
fn nbdinfo_and_nbdcopy_work_over_tls_by_path_and_port() {
    let certs = TestCertificates::new();
    let (send, receive) = mpsc::channel();
    let Some(host) = Host::start(MemoryArray::new(SIZE).shuffled(4), |server| {
        server.secure(certs.tls(true, true));
        send.send(server.listen(&Address::Tcp("127.0.0.1:0".into())).unwrap()).unwrap();
    }) else {
        return;
    };
    let by_port =
        format!("nbds://{}/vol?tls-certificates={}", receive.recv().unwrap(), certs.folder("client").display());
    let (source, copied) = (host.path("there"), host.path("back"));
    for (seed, uri) in [(1, secure_uri(&host, &certs, "client")), (2, by_port)] {
        let Some(text) = run("nbdinfo", &["--json", &uri]) else { return };
        assert!(text.contains(r#""TLS": true"#) && text.contains(r#""structured": true"#), "{text}");
        std::fs::write(&source, pattern(seed)).unwrap();
        for options in [&["--connections=4", "--requests=64"][..], &["--synchronous", "--request-size=33554432"]] {
            let copy = |from: &str, to: &str| run("nbdcopy", &[options, &["--flush", from, to]].concat());
            if copy(source.to_str().unwrap(), &uri).is_none() {
                return;
            }
            copy(&uri, copied.to_str().unwrap());
            assert!(std::fs::read(&copied).unwrap() == pattern(seed), "{options:?}");
        }
    }
    assert!(host.end().bytes_mut() == pattern(2));
}

#[test]
fn qemu_img_works_over_tls() {
    let certs = TestCertificates::new();
    let Some(host) = host(&certs, true, true) else { return };
    let (source, copied) = (host.path("there"), host.path("back"));
    std::fs::write(&source, pattern(3)).unwrap();
    let (source, copied_path) = (source.to_str().unwrap(), copied.to_str().unwrap());
    let credentials =
        |holder: &str| format!("tls-creds-x509,id=papers,endpoint=client,dir={}", certs.folder(holder).display());
    let socket = host.path("nbd");
    let options = "driver=nbd,server.type=unix,export=vol,tls-creds=papers,tls-hostname=localhost";
    let image = format!("{options},server.path={}", socket.display());
    let (client, stranger) = (credentials("client"), credentials("stranger"));
    let Some(_) = run("qemu-img", &["convert", "--object", &client, "-n", "--target-image-opts", source, &image])
    else {
        return;
    };
    run("qemu-img", &["convert", "--object", &client, "--image-opts", &image, "-O", "raw", copied_path]);
    assert!(std::fs::read(&copied).unwrap() == pattern(3));
    let (is_let_in, text) = outcome("qemu-img", &["info", "--object", &stranger, "--image-opts", &image]).unwrap();
    assert!(!is_let_in, "{text}");
    let (is_let_in, text) = outcome("qemu-img", &["info", &host.uri()]).unwrap();
    assert!(!is_let_in && text.contains("TLS"), "{text}");
    host.end();
}

#[test]
fn clients_without_tls_are_refused_where_it_is_required() {
    let certs = TestCertificates::new();
    let Some(host) = host(&certs, true, false) else { return };
    let Some((is_let_in, text)) = outcome("nbdinfo", &[&host.uri()]) else { return };
    assert!(!is_let_in && text.contains("TLS"), "{text}");
    run("nbdinfo", &[&secure_uri(&host, &certs, "nobody")]);
    host.end();
}

#[test]
fn clients_with_and_without_tls_connect_where_it_is_allowed() {
    let certs = TestCertificates::new();
    let Some(host) = host(&certs, false, false) else { return };
    for (uri, is_secure) in [(host.uri(), false), (secure_uri(&host, &certs, "nobody"), true)] {
        let Some(text) = run("nbdinfo", &["--json", &uri]) else { return };
        assert!(text.contains(&format!(r#""TLS": {is_secure}"#)), "{text}");
    }
    host.end();
}

#[test]
fn a_client_that_wants_tls_fails_where_the_server_has_none() {
    let certs = TestCertificates::new();
    let Some(host) = Host::start(MemoryArray::new(SIZE), |_| ()) else { return };
    let Some((is_let_in, text)) = outcome("nbdinfo", &[&secure_uri(&host, &certs, "nobody")]) else { return };
    assert!(!is_let_in, "{text}");
    run("nbdinfo", &[&host.uri()]);
    host.end();
}

#[test]
fn only_clients_with_the_wrong_certificate_or_none_are_refused() {
    let certs = TestCertificates::new();
    let Some(host) = host(&certs, true, true) else { return };
    for (holder, is_fine) in [("nobody", false), ("client", true), ("stranger", false), ("client", true)] {
        let Some((is_let_in, text)) = outcome("nbdinfo", &["--size", &secure_uri(&host, &certs, holder)]) else {
            return;
        };
        assert_eq!(is_let_in, is_fine, "{holder}: {text}");
        assert_eq!(text.contains("16777216"), is_fine, "{holder}: {text}");
    }
    host.end();
}

#[test]
fn many_requests_at_a_time_go_through_many_channels() {
    let certs = TestCertificates::new();
    let Some(host) = host(&certs, true, true) else { return };
    let script = r#"
import nbd, random, sys
random.seed(8)
connections = []
for _ in range(6):
    h = nbd.NBD()
    h.set_uri_allow_local_file(True)
    h.connect_uri(sys.argv[1])
    assert h.get_tls_negotiated()
    connections.append(h)
size = connections[0].get_size()
step = size // len(connections)
for round in range(6):
    pieces = []
    for index, h in enumerate(connections):
        at, end = index * step, (index + 1) * step
        while at < end:
            length = min(end - at, random.choice([1, 511, 4096, 16384, 65537, 700000]))
            pieces.append((h, at, random.randbytes(length)))
            at += length
    cookies = [(h, h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data)), at)) for h, at, data in pieces[:200]]
    for h, cookie in cookies:
        while not h.aio_command_completed(cookie): h.poll(-1)
    reads = [(nbd.Buffer(len(data)), connections[k % 6], at, data) for k, (_, at, data) in enumerate(pieces[:200])]
    cookies = [(h, h.aio_pread(buffer, at)) for buffer, h, at, _ in reads]
    for h, cookie in cookies:
        while not h.aio_command_completed(cookie): h.poll(-1)
    for buffer, _, at, data in reads:
        assert buffer.to_bytearray() == data, (round, at)
for h in connections: h.shutdown()
sys.stdout.write("agreed")
"#;
    if let Some(text) = python(script, &[&secure_uri(&host, &certs, "client")]) {
        assert_eq!(text, "agreed");
    }
    host.end();
}
