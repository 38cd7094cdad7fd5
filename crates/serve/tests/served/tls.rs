//! TLS with third-party clients, which have implementations other than rustls.

use crate::host::Host;
use crate::libnbd::pattern;
use crate::papers::Papers;
use crate::stranger::{outcome, python, run};
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::server::Address;
use std::sync::mpsc;

/// The size of the devices in bytes: 16 MiB, as [`pattern`].
const SIZE: u64 = 16 << 20;

/// A server with certificates.
fn host(papers: &Papers, is_required: bool, asks: bool) -> Option<Host<MemoryArray>> {
    Host::start(MemoryArray::new(SIZE).shuffled(9), |server| server.secure(papers.tls(is_required, asks)))
}

/// Its address for a client with the certificates of `holder`.
fn secure_uri(host: &Host<MemoryArray>, papers: &Papers, holder: &str) -> String {
    format!("{}&tls-certificates={}", host.uri().replace("nbd+unix", "nbds+unix"), papers.of(holder).display())
}

#[test]
fn nbdinfo_and_nbdcopy_get_across_by_path_and_port() {
    let papers = Papers::new();
    let (send, receive) = mpsc::channel();
    let Some(host) = Host::start(MemoryArray::new(SIZE).shuffled(4), |server| {
        server.secure(papers.tls(true, true));
        send.send(server.listen(&Address::Tcp("127.0.0.1:0".into())).unwrap()).unwrap();
    }) else {
        return;
    };
    let by_port = format!("nbds://{}/vol?tls-certificates={}", receive.recv().unwrap(), papers.of("client").display());
    let (there, back) = (host.path("there"), host.path("back"));
    for (seed, uri) in [(1, secure_uri(&host, &papers, "client")), (2, by_port)] {
        let Some(text) = run("nbdinfo", &["--json", &uri]) else { return };
        assert!(text.contains(r#""TLS": true"#) && text.contains(r#""structured": true"#), "{text}");
        std::fs::write(&there, pattern(seed)).unwrap();
        for options in [&["--connections=4", "--requests=64"][..], &["--synchronous", "--request-size=33554432"]] {
            let copy = |from: &str, to: &str| run("nbdcopy", &[options, &["--flush", from, to]].concat());
            if copy(there.to_str().unwrap(), &uri).is_none() {
                return;
            }
            copy(&uri, back.to_str().unwrap());
            assert!(std::fs::read(&back).unwrap() == pattern(seed), "{options:?}");
        }
    }
    assert!(host.end().bytes_mut() == pattern(2));
}

#[test]
fn qemu_img_gets_across() {
    let papers = Papers::new();
    let Some(host) = host(&papers, true, true) else { return };
    let (there, back) = (host.path("there"), host.path("back"));
    std::fs::write(&there, pattern(3)).unwrap();
    let (there, back_path) = (there.to_str().unwrap(), back.to_str().unwrap());
    let credentials =
        |holder: &str| format!("tls-creds-x509,id=papers,endpoint=client,dir={}", papers.of(holder).display());
    let socket = host.path("nbd");
    let options = "driver=nbd,server.type=unix,export=vol,tls-creds=papers,tls-hostname=localhost";
    let image = format!("{options},server.path={}", socket.display());
    let (ours, theirs) = (credentials("client"), credentials("stranger"));
    let Some(_) = run("qemu-img", &["convert", "--object", &ours, "-n", "--target-image-opts", there, &image]) else {
        return;
    };
    run("qemu-img", &["convert", "--object", &ours, "--image-opts", &image, "-O", "raw", back_path]);
    assert!(std::fs::read(&back).unwrap() == pattern(3));
    let (is_let_in, text) = outcome("qemu-img", &["info", "--object", &theirs, "--image-opts", &image]).unwrap();
    assert!(!is_let_in, "{text}");
    let (is_let_in, text) = outcome("qemu-img", &["info", &host.uri()]).unwrap();
    assert!(!is_let_in && text.contains("TLS"), "{text}");
    host.end();
}

#[test]
fn where_tls_is_required_nobody_gets_in_without_it() {
    let papers = Papers::new();
    let Some(host) = host(&papers, true, false) else { return };
    let Some((is_let_in, text)) = outcome("nbdinfo", &[&host.uri()]) else { return };
    assert!(!is_let_in && text.contains("TLS"), "{text}");
    run("nbdinfo", &[&secure_uri(&host, &papers, "nobody")]);
    host.end();
}

#[test]
fn where_tls_is_allowed_both_get_in() {
    let papers = Papers::new();
    let Some(host) = host(&papers, false, false) else { return };
    for (uri, is_secure) in [(host.uri(), false), (secure_uri(&host, &papers, "nobody"), true)] {
        let Some(text) = run("nbdinfo", &["--json", &uri]) else { return };
        assert!(text.contains(&format!(r#""TLS": {is_secure}"#)), "{text}");
    }
    host.end();
}

#[test]
fn where_there_is_no_tls_nobody_gets_it() {
    let papers = Papers::new();
    let Some(host) = Host::start(MemoryArray::new(SIZE), |_| ()) else { return };
    let Some((is_let_in, text)) = outcome("nbdinfo", &[&secure_uri(&host, &papers, "nobody")]) else { return };
    assert!(!is_let_in, "{text}");
    run("nbdinfo", &[&host.uri()]);
    host.end();
}

#[test]
fn clients_with_the_wrong_certificate_or_none_are_refused_and_nobody_else() {
    let papers = Papers::new();
    let Some(host) = host(&papers, true, true) else { return };
    for (holder, is_fine) in [("nobody", false), ("client", true), ("stranger", false), ("client", true)] {
        let Some((is_let_in, text)) = outcome("nbdinfo", &["--size", &secure_uri(&host, &papers, holder)]) else {
            return;
        };
        assert_eq!(is_let_in, is_fine, "{holder}: {text}");
        assert_eq!(text.contains("16777216"), is_fine, "{holder}: {text}");
    }
    host.end();
}

#[test]
fn many_requests_at_a_time_go_through_many_channels() {
    let papers = Papers::new();
    let Some(host) = host(&papers, true, true) else { return };
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
    if let Some(text) = python(script, &[&secure_uri(&host, &papers, "client")]) {
        assert_eq!(text, "agreed");
    }
    host.end();
}
