//! Pushes by HTTPS: trusted is whom the system trusts.

use super::certificates::TestCertificates;
use super::{fault, send};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::thread;

/// Names the test as its own child, which has the CA among those of the system.
const TRUSTS: &str = "SCRUBJAY_TEST_TRUSTS";

/// A server that answers two connections with 200.
fn serve(certificates: &TestCertificates) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificate = CertificateDer::from_pem_file(certificates.path("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates.path("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(connection, stream.unwrap()));
            let mut head = String::new();
            // A client that does not trust it goes away.
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).is_ok_and(|length| length > 0) {}
            // What is not read when a connection is closed may take the answer with it.
            let length =
                head.to_ascii_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let _ = stream.read_exact(&mut vec![0; length.unwrap_or(0)]);
            let _ = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            stream.get_mut().conn.send_close_notify();
            let _ = stream.get_mut().flush();
        }
    });
    port
}

#[test]
fn a_push_goes_out_by_https_if_the_system_trusts_the_server() {
    let push = |host: &str, port: u16| format!("[ntfy]\nurl = \"https://{host}:{port}/topic\"");
    if let Ok(port) = std::env::var(TRUSTS) {
        let port = port.parse().unwrap();
        assert_eq!(send(&push("localhost", port), "ntfy").unwrap().reply, "HTTP 200");
        let named = fault(&push("127.0.0.1", port), "ntfy");
        assert!(named.contains(": the certificate is for another name: "), "{named}");
        return;
    }
    let certificates = TestCertificates::new();
    let port = serve(&certificates);
    let untrusted = fault(&push("localhost", port), "ntfy");
    let expected =
        format!("https://localhost:{port}: the certificate is not one that this system trusts: add its CA to those");
    assert!(untrusted.starts_with(&expected), "{untrusted}");
    let name = "https::a_push_goes_out_by_https_if_the_system_trusts_the_server";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(TRUSTS, port.to_string())
        .env("SSL_CERT_FILE", certificates.path("ours.pem"))
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{output}{}",
        String::from_utf8_lossy(&child.stderr)
    );
}
