//! Tests of TLS: a client of rustls, and a session over memory, without a socket between them.

use super::channel::SEALED_BYTES_MAX;
use super::{Tls, TlsError, TlsFiles, TlsSession};
use crate::memory::MemoryArray;
use crate::nbd::{Export, TlsMode};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion, version};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::RequestId;
use scrubjay_core::volume::member::ArrayMachine;
use scrubjay_device::completion::Outgoing;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The size of the device in bytes: a reply takes several rounds of encryption.
const SIZE: u64 = 1 << 20;

/// The client's flags and STARTTLS, in clear text.
const START: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0";
/// The server's greeting, and its reply to STARTTLS.
const STARTED: &[u8] = b"NBDMAGICIHAVEOPT\0\x03\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x05\0\0\0\x01\0\0\0\0";
/// EXPORT_NAME; the reply has the size, the flags, and nothing else.
const BEGIN: &[u8] = b"IHAVEOPT\0\0\0\x01\0\0\0\0";

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;

/// A request from offset 0 on.
fn request(command: u16, len: u32) -> Vec<u8> {
    [&b"\x25\x60\x95\x13\0\0"[..], &command.to_be_bytes(), b"cookie77", &[0; 8], &len.to_be_bytes()].concat()
}

/// The reply to `request`, before its data.
const REPLY: &[u8] = b"\x67\x44\x66\x98\0\0\0\0cookie77";

/// Two authorities: one issued the certificates of the server and of one client, the other that of the other client.
struct TestCertificates {
    folder: TempDir,
}

impl TestCertificates {
    fn new() -> TestCertificates {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        for (authority, holders) in [("ours", &["server", "client"][..]), ("theirs", &["stranger"])] {
            let mut params = CertificateParams::new([]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
            write(authority, issuer.pem());
            for holder in holders {
                let key = KeyPair::generate().unwrap();
                let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
                write(holder, params.signed_by(&key, &issuer).unwrap().pem());
                write(&format!("{holder}.key"), key.serialize_pem());
            }
        }
        write("empty", String::new());
        write("long", "x".repeat((1 << 20) + 1));
        write("torn", "-----BEGIN CERTIFICATE-----\nAAAA\n".to_owned());
        write("nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned());
        TestCertificates { folder }
    }

    fn files(&self, certificate: &str, key: &str, client_authority: Option<&str>) -> TlsFiles {
        let path = |name: &str| self.folder.path().join(name);
        TlsFiles { certificate: path(certificate), key: path(key), client_authority: client_authority.map(path) }
    }

    fn tls(&self, client_authority: Option<&str>) -> Tls {
        Tls::open(true, &self.files("server", "server.key", client_authority)).unwrap()
    }

    /// A client that trusts the server's authority.
    fn client(&self, holder: Option<&str>, version: &'static SupportedProtocolVersion) -> ClientConnection {
        let path = |name: &str| self.folder.path().join(name);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(path("ours")).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots);
        let config = match holder {
            None => config.with_no_client_auth(),
            Some(holder) => {
                let chain = vec![CertificateDer::from_pem_file(path(holder)).unwrap()];
                let key = PrivateKeyDer::from_pem_file(path(&format!("{holder}.key"))).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
    }
}

/// The server's side: a client's bytes go in, and bytes to be sent come out.
struct Peer {
    session: TlsSession,
    array: MemoryArray,
    /// Bytes come and go in pieces of this length at most.
    piece: usize,
}

impl Peer {
    fn new(tls: &Tls, piece: usize) -> Peer {
        let export = Export::new("vol", SIZE, 4096, false);
        Peer { session: TlsSession::new(Arc::new(export), tls), array: MemoryArray::new(SIZE), piece }
    }

    /// A peer after STARTTLS.
    fn started(tls: &Tls, piece: usize) -> Peer {
        let mut peer = Peer::new(tls, piece);
        assert_eq!(peer.send(START), STARTED);
        peer
    }

    fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut back = self.take();
        for mut piece in bytes.chunks(self.piece) {
            while let Some((ticket, request)) = self.session.advance(&mut piece, Buffer::zeroed) {
                self.array.submit(Nanos::ZERO, RequestId(ticket as u64), request);
                while let Some((id, reply)) = self.array.poll_reply() {
                    self.session.reply(id.0 as usize, reply);
                }
            }
            assert!(piece.is_empty() || self.session.is_over());
            back.extend(self.take());
        }
        back
    }

    fn take(&mut self) -> Vec<u8> {
        let mut taken = Vec::new();
        while self.session.has_output() {
            let outgoing = self.session.take_output(Outgoing::default(), drop);
            assert!(!outgoing.is_empty() && outgoing.len() <= SEALED_BYTES_MAX + (4 << 10), "{}", outgoing.len());
            outgoing.slices().for_each(|slice| taken.extend_from_slice(slice));
        }
        taken
    }

    /// Sends `bytes` from the client by TLS; returns what the client receives, or its error.
    fn exchange(&mut self, client: &mut ClientConnection, bytes: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        client.writer().write_all(bytes).unwrap();
        let mut received = Vec::new();
        loop {
            let mut sent = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut sent).unwrap();
            }
            let back = self.send(&sent);
            if sent.is_empty() && back.is_empty() {
                return Ok(received);
            }
            let mut back = &back[..];
            while !back.is_empty() {
                client.read_tls(&mut back).unwrap();
                let state = client.process_new_packets()?;
                let mut plain = vec![0; state.plaintext_bytes_to_read()];
                client.reader().read_exact(&mut plain).unwrap();
                received.extend(plain);
            }
        }
    }
}

#[test]
fn data_pass_through_tls_unchanged_in_pieces_of_any_size() {
    let certificates = TestCertificates::new();
    let data: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    for (piece, version) in
        [(1, &version::TLS13), (777, &version::TLS12), (5000, &version::TLS13), (1 << 20, &version::TLS13)]
    {
        let mut peer = Peer::started(&certificates.tls(None), piece);
        let mut client = certificates.client(None, version);
        client.set_buffer_limit(None);
        let greeting = peer.exchange(&mut client, BEGIN).unwrap();
        assert_eq!((&greeting[..8], greeting.len()), (&SIZE.to_be_bytes()[..], 10));
        let writing = [request(WRITE, SIZE as u32), data.clone(), request(READ, 700)].concat();
        assert_eq!(peer.exchange(&mut client, &writing).unwrap(), [REPLY, REPLY, &data[..700]].concat());
        assert!(peer.exchange(&mut client, &request(READ, SIZE as u32)).unwrap() == [REPLY, &data].concat());
        assert!(peer.session.lend_payload().is_none());

        let last = [request(READ, 1), request(DISCONNECT, 0)].concat();
        client.send_close_notify();
        assert_eq!(peer.exchange(&mut client, b"").unwrap(), b"");
        assert!(peer.session.is_over() && !peer.session.has_output(), "farewells were said");
        assert_eq!(peer.send(&last), b"");
    }
}

#[test]
fn the_last_requests_before_close_notify_are_replied_to() {
    let certificates = TestCertificates::new();
    let mut peer = Peer::started(&certificates.tls(None), 1 << 20);
    let mut client = certificates.client(None, &version::TLS13);
    peer.exchange(&mut client, BEGIN).unwrap();
    client.writer().write_all(&request(READ, 3)).unwrap();
    client.writer().write_all(&[request(READ, 4), request(DISCONNECT, 0)].concat()).unwrap();
    client.send_close_notify();
    assert_eq!(peer.exchange(&mut client, b"").unwrap(), [REPLY, &[0; 3], REPLY, &[0; 4]].concat());
    assert!(peer.session.is_over() && !client.wants_read(), "the server said farewell, too");
}

#[test]
fn clear_text_behind_starttls_is_never_executed() {
    let certificates = TestCertificates::new();
    let mut peer = Peer::new(&certificates.tls(None), 1 << 20);
    let back = peer.send(&[START, BEGIN, &request(READ, 512)].concat());
    let alert = back.strip_prefix(STARTED).expect("TLS may begin");
    assert!(alert.starts_with(b"\x15\x03"), "an alert and nothing else: {alert:?}");
    assert!(peer.session.is_over() && alert.len() == 7);
}

#[test]
fn a_stalled_tls_handshake_counts_as_under_way() {
    let certificates = TestCertificates::new();
    let mut peer = Peer::started(&certificates.tls(None), 1 << 20);
    let mut hello = Vec::new();
    certificates.client(None, &version::TLS13).write_tls(&mut hello).unwrap();
    assert_eq!(peer.send(&hello[..hello.len() - 1]), b"");
    assert!(!peer.session.has_begun() && peer.session.wants_input());
    assert!(!peer.send(&hello[hello.len() - 1..]).is_empty());
    assert!(!peer.session.has_begun() && peer.session.wants_input());
    peer.session.hang_up();
    assert!(peer.session.is_over() && !peer.session.has_output());
}

#[test]
fn only_clients_with_the_right_certificate_are_let_in() {
    let certificates = TestCertificates::new();
    for version in [&version::TLS12, &version::TLS13] {
        for (holder, is_let_in) in [(None, false), (Some("stranger"), false), (Some("client"), true)] {
            let mut peer = Peer::started(&certificates.tls(Some("ours")), 1 << 20);
            let result = peer.exchange(&mut certificates.client(holder, version), BEGIN);
            assert_eq!(result.is_ok(), is_let_in, "{holder:?}: {result:?}");
            assert_eq!(peer.session.is_over(), !is_let_in);
        }
    }
}

#[test]
fn each_error_names_the_file_and_what_is_wrong_with_it() {
    let certificates = TestCertificates::new();
    let refusal = |certificate: &str, key: &str, authority: Option<&str>| {
        Tls::open(true, &certificates.files(certificate, key, authority)).unwrap_err().to_string()
    };
    for (certificate, key, authority, expected) in [
        ("nowhere", "server.key", None, "nowhere: No such file"),
        ("server", "nowhere", None, "nowhere: No such file"),
        ("server", "server.key", Some("nowhere"), "nowhere: No such file"),
        ("empty", "server.key", None, "empty: no certificate in it"),
        ("server.key", "server.key", None, "server.key: no certificate in it"),
        ("long", "server.key", None, "long: not a PEM file"),
        ("torn", "server.key", None, "torn: not a PEM file"),
        ("nonsense", "server.key", None, "nonsense: invalid peer certificate"),
        ("server", "server", None, "server: no private key in it that can be used"),
        ("server", "client.key", None, "client.key: not the key of the certificate in "),
        ("server", "server.key", Some("empty"), "empty: no certificate in it"),
        ("server", "server.key", Some("nonsense"), "nonsense: invalid peer certificate"),
    ] {
        let error = refusal(certificate, key, authority);
        assert!(error.contains(&format!("/{expected}")), "{error}\n{expected}");
    }
    let files = certificates.files("server", "server.key", Some("ours"));
    assert!(matches!(Tls::open(false, &files), Err(TlsError::AuthorityWithoutTls)));
    let files = TlsFiles { client_authority: None, ..files };
    assert_eq!(Tls::open(false, &files).unwrap().mode(), TlsMode::Allow);
    assert!(matches!(Tls::open(true, &certificates.files("", "", None)), Err(TlsError::Unreadable { .. })));
    assert!(Path::new(&files.key).exists());
}
