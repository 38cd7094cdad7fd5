//! Mail by `tests/lab/smtp-server`, which is aiosmtpd. Where that cannot be had, these tests say that they were not run.

use super::certificates::TestCertificates;
use super::{fault, send};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/smtp-server")
}

/// Is there an aiosmtpd?
fn is_ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    *READY.get_or_init(|| match Command::new(program()).arg("--prepare").status() {
        Ok(status) if status.success() => true,
        Ok(status) if status.code() == Some(77) => false,
        Ok(status) => panic!("tests/lab/smtp-server: {status}"),
        Err(error) => {
            eprintln!("mail: not run: no python3 ({error})");
            false
        }
    })
}

/// A mail server, until it is dropped.
struct MailServer {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl MailServer {
    fn start(certificates: &TestCertificates, arguments: &[&str]) -> MailServer {
        let folder = certificates.path("mails");
        let mut child = Command::new(program())
            .arg(&folder)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()) // it complains of clients that go away
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        MailServer { child, port: line.trim().parse().expect("it says its port"), folder }
    }

    /// With this one's certificate and key.
    fn encrypted(certificates: &TestCertificates, tls: &str, holder: &str, more: &[&str]) -> MailServer {
        let (cert, key) = (certificates.path(&format!("{holder}.pem")), certificates.path(&format!("{holder}.key")));
        let files = ["--tls", tls, "--cert", cert.to_str().unwrap(), "--key", key.to_str().unwrap()];
        MailServer::start(certificates, &[&files[..], more].concat())
    }

    fn mails(&self) -> usize {
        fs::read_dir(&self.folder).map_or(0, |files| files.count() / 2)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Settings for a server on this port of localhost.
fn settings_for(port: u16, more: &str) -> String {
    format!("[email]\nto = [\"me@example.org\", \"you@example.org\"]\nserver = \"localhost:{port}\"\n{more}\n")
}

fn trusting(certificates: &TestCertificates, authority: &str) -> String {
    format!("ca-file = {:?}\n", certificates.path(authority))
}

/// Settings that log in as `me` with this password.
fn login(certificates: &TestCertificates, password: &str) -> String {
    let path = certificates.path("password");
    fs::write(&path, password).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    format!("user = \"me\"\npassword-file = {path:?}\n")
}

#[test]
fn a_mail_arrives_by_starttls_with_a_login_and_a_private_ca() {
    if !is_ready() {
        return;
    }
    let certificates = TestCertificates::new();
    let server =
        MailServer::encrypted(&certificates, "starttls", "server", &["--user", "me", "--password", "p@ss: ^$ü"]);
    let settings =
        settings_for(server.port, &(trusting(&certificates, "ours.pem") + &login(&certificates, "p@ss: ^$ü\n")));
    assert_eq!(send(&settings, "email").unwrap().reply, "250 2.0.0 Ok: queued as 1");
    let about: serde_json::Value = serde_json::from_slice(&fs::read(server.folder.join("1.json")).unwrap()).unwrap();
    let expected = serde_json::json!({
        "from": "scrubjay@nas1.example.org", "to": ["me@example.org", "you@example.org"], "user": "me", "encrypted": true,
        "hello": "nas1.example.org",
    });
    assert_eq!(about, expected);
    let mail = fs::read_to_string(server.folder.join("1.eml")).unwrap();
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("Subject: =?utf-8?b?") && head.contains("\r\nMessage-ID: <scrubjay-1.email@nas1>\r\n"),
        "{head}"
    );
    let text = "This is a test.\r\n.\r\n..dots\r\nTo prove that it arrived:  scrubjay alert confirm 004711";
    assert_eq!(body.trim_end(), text, "dots and all");
}

#[test]
fn a_mail_arrives_by_tls_from_the_first_byte_on() {
    if !is_ready() {
        return;
    }
    let certificates = TestCertificates::new();
    let server = MailServer::encrypted(&certificates, "tls", "server", &[]);
    let settings = settings_for(server.port, &format!("tls = \"tls\"\n{}", trusting(&certificates, "ours.pem")));
    send(&settings, "email").unwrap();
    assert_eq!(server.mails(), 1);
}

#[test]
fn a_certificate_that_is_not_trusted_or_for_another_name_stops_the_mail() {
    if !is_ready() {
        return;
    }
    let certificates = TestCertificates::new();
    for tls in ["starttls", "tls"] {
        let server = MailServer::encrypted(&certificates, tls, "server", &[]);
        let mode = format!("tls = \"{tls}\"\n");
        let untrusted = format!(
            "localhost:{}: the certificate is not one that this system trusts: name its CA with ca-file",
            server.port
        );
        assert_eq!(fault(&settings_for(server.port, &mode), "email"), untrusted);
        let other_ca = mode.clone() + &trusting(&certificates, "theirs.pem");
        assert_eq!(fault(&settings_for(server.port, &other_ca), "email"), untrusted);
        assert_eq!(server.mails(), 0);
        let other = MailServer::encrypted(&certificates, tls, "other", &[]);
        let named = fault(&settings_for(other.port, &(mode + &trusting(&certificates, "ours.pem"))), "email");
        assert!(
            named.ends_with(": the certificate is for another name: name the server as its certificate does"),
            "{named}"
        );
        assert_eq!(other.mails(), 0);
    }
}

#[test]
fn a_refused_login_and_a_missing_login_give_clear_errors() {
    if !is_ready() {
        return;
    }
    let certificates = TestCertificates::new();
    let server = MailServer::encrypted(&certificates, "starttls", "server", &["--user", "me", "--password", "right"]);
    let trust = trusting(&certificates, "ours.pem");
    let refused = fault(&settings_for(server.port, &(trust.clone() + &login(&certificates, "wrong"))), "email");
    let expected = "AUTH refused: 535 5.7.8 Authentication credentials invalid: check user and password-file";
    assert_eq!(refused, format!("localhost:{}: {expected}", server.port));
    let missing = fault(&settings_for(server.port, &trust), "email");
    assert!(missing.contains(": the sender was refused: 530 5.7.0 Authentication required: check from"), "{missing}");
    assert_eq!(server.mails(), 0);
}

#[test]
fn a_server_that_is_down_is_an_error_and_one_that_is_back_takes_the_mail() {
    if !is_ready() {
        return;
    }
    let certificates = TestCertificates::new();
    let server = MailServer::start(&certificates, &[]);
    let port = server.port;
    drop(server);
    let settings = settings_for(port, "tls = \"none\"");
    let down = fault(&settings, "email");
    assert_eq!(
        down,
        format!("localhost:{port}: cannot be reached: connection refused: look at its name, its port and the network")
    );
    let server = MailServer::start(&certificates, &["--port", &port.to_string()]);
    send(&settings, "email").unwrap();
    assert_eq!(server.mails(), 1);
}

#[test]
fn a_server_without_encryption_gets_mail_only_with_tls_none() {
    if !is_ready() {
        return;
    }
    let certificates = TestCertificates::new();
    let server = MailServer::start(&certificates, &[]);
    let starttls = fault(&settings_for(server.port, ""), "email");
    assert!(starttls.contains(": offers no encryption (STARTTLS): "), "{starttls}");
    let tls = fault(&settings_for(server.port, "tls = \"tls\""), "email");
    assert!(tls.contains(": does not speak TLS: its port may be one for tls = \"starttls\" (587)"), "{tls}");
    assert_eq!(server.mails(), 0);
    send(&settings_for(server.port, "tls = \"none\""), "email").unwrap();
    assert_eq!(server.mails(), 1);
}
