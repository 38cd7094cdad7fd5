//! Pushes, webhooks and heartbeats.

use super::super::scripted::{self, ScriptedServer};
use super::super::secret::tests::file;
use super::*;
use ring::hmac;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// Sends by ntfy; returns the outcome, and what the server received.
fn by_ntfy(server: ScriptedServer, message: &MessageRow) -> (Result<DeliveryReceipt, DeliveryError>, String) {
    by_ntfy_saying(server, message, &text())
}

fn by_ntfy_saying(
    server: ScriptedServer,
    message: &MessageRow,
    text: &MessageText,
) -> (Result<DeliveryReceipt, DeliveryError>, String) {
    let channels = channels(&format!("[ntfy]\nurl = \"http://127.0.0.1:{}/topic\"", server.port));
    let outcome = channels.deliver(message, text, &sender());
    (outcome, server.received())
}

fn error_for(answer: &str) -> String {
    let (outcome, _) = by_ntfy(ScriptedServer::http(answer), &message("ntfy"));
    let error = outcome.expect_err("it is an error").to_string();
    // The port differs each time.
    let (_, rest) = error.strip_prefix("http://127.0.0.1:").expect("it names the server").split_once(": ").unwrap();
    rest.to_owned()
}

#[test]
fn ntfy_has_the_text_as_body_and_the_rest_as_headers() {
    let folder = tempfile::tempdir().unwrap();
    let token = file(&folder, "token", "tk_secret\n", 0o600);
    let server = ScriptedServer::http(OK);
    let url = format!("http://127.0.0.1:{}/topic", server.port);
    let channels = channels(&format!("[ntfy]\nurl = \"{url}\"\ntoken-file = {token:?}"));
    let receipt = channels.deliver(&message("ntfy"), &text(), &sender()).unwrap();
    assert_eq!(receipt.reply, "HTTP 200");
    let received = server.received();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /topic HTTP/1.1\r\n"), "{head}");
    let head = head.to_lowercase();
    for line in [
        "title: [nas1] replace bay 3 (zl2abcde): 8 unreadable sectors",
        "priority: 4",
        "tags: warning",
        "authorization: bearer tk_secret",
        "content-type: text/plain; charset=utf-8",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    assert_eq!(body, "Found 12 Mar 2026.\nDo        have a backup");
}

#[test]
fn a_subject_cannot_add_a_header() {
    let evil = said("x\r\nX-Evil: 1\n\nbody\u{85}\u{2028}ü", text().body());
    let row = MessageRow { may_be_repeated: true, ..message("ntfy") };
    let (outcome, received) = by_ntfy_saying(ScriptedServer::http(OK), &row, &evil);
    outcome.unwrap();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(!head.to_lowercase().lines().any(|line| line.starts_with("x-evil")), "{head}");
    assert!(body.ends_with("\n\nThis may reach you twice: it is not known whether it arrived before."), "{body}");
}

#[test]
fn gotify_has_json_and_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let token = file(&folder, "token", "Akey", 0o400);
    let server = ScriptedServer::http(OK);
    let url = format!("http://127.0.0.1:{}/push/", server.port);
    let channels = channels(&format!("[gotify]\nurl = \"{url}\"\ntoken-file = {token:?}"));
    channels.deliver(&MessageRow { urgency: Urgency::Loss, ..message("gotify") }, &text(), &sender()).unwrap();
    let received = server.received();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /push/message HTTP/1.1\r\n") && head.to_lowercase().contains("\r\nx-gotify-key: akey")
    );
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["priority"], &body["title"]), (&10.into(), &text().subject().into()));
}

#[test]
fn a_webhook_has_an_object_whose_signature_holds() {
    let folder = tempfile::tempdir().unwrap();
    let secret = file(&folder, "secret", "hook secret", 0o600);
    let server = ScriptedServer::http("HTTP/1.1 204 No Content\r\n\r\n");
    let url = format!("http://127.0.0.1:{}/hook?a=b", server.port);
    let channels = channels(&format!("[webhook]\nurl = \"{url}\"\nsecret-file = {secret:?}"));
    let row = MessageRow { reason: MessageReason::Reminder(3), ..message("webhook") };
    assert_eq!(channels.deliver(&row, &text(), &sender()).unwrap().reply, "HTTP 204");
    let received = server.received();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{head}");
    let signature = head
        .to_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("x-scrubjay-signature: sha256=").map(str::to_owned));
    let bytes: Vec<u8> = signature
        .unwrap()
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, b"hook secret"), body.as_bytes(), &bytes).unwrap();
    let object: serde_json::Value = serde_json::from_str(body).unwrap();
    let expected = serde_json::json!({
        "schema": 1, "host": "nas1", "number": 7, "id": "<scrubjay-7.webhook@nas1>", "reply_to": null,
        "reason": "reminder", "reminder": 3, "urgency": "replace", "subject": text().subject(), "body": text().body(),
        "written": "2026-03-12T03:41:00Z", "opened": "2026-03-12T03:36:00Z", "may_be_repeated": false,
        "about": [{"subject": "disk", "name": "ZL2ABCDE", "kind": "health"}],
        "disk": {"key": "ZL2ABCDE", "name": "sdc", "model": "ST16000NM001G", "bay": "3", "controller": null,
            "media": "spinning", "sectors": 31_251_759_104_u64},
    });
    assert_eq!(object, expected);
}

#[test]
fn an_error_has_the_servers_reply_and_advice() {
    let refused =
        |status: &str| error_for(&format!("HTTP/1.1 {status}\r\nContent-Length: 17\r\n\r\n{{\"error\": \"no\"}} \n"));
    assert_eq!(refused("500 Oops"), "the message was refused: HTTP 500 {\"error\": \"no\"}: look into its log");
    assert_eq!(
        refused("403 No"),
        "the message was refused: HTTP 403 {\"error\": \"no\"}: look at the token and what it may do"
    );
    assert_eq!(refused("404 No"), "the message was refused: HTTP 404 {\"error\": \"no\"}: look at url");
    assert_eq!(
        error_for(""),
        "broke off in the middle: look whether it is the right server and port, and into its log"
    );
    let cut_off = error_for("HTTP/1.1 200 OK\r\nContent-");
    assert!(cut_off.starts_with("broke off in the middle"), "{cut_off}");
    let other = error_for("220 smtp.example.org ESMTP\r\n");
    assert!(other.starts_with("does not speak HTTP ("), "{other}");
    let endless = error_for(&format!("HTTP/1.1 200 OK\r\n{}", "X-Long: yes\r\n".repeat(100_000)));
    assert!(
        endless.starts_with("answers with a header without end") || endless.starts_with("does not speak"),
        "{endless}"
    );
}

#[test]
fn only_the_beginning_of_a_huge_answer_is_read() {
    let huge = format!("HTTP/1.1 500 No\r\nContent-Length: 99999999\r\n\r\n{}", "a".repeat(300_000));
    assert!(error_for(&huge).len() < 400);
    let (outcome, _) = by_ntfy(
        ScriptedServer::http(format!("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{}", "a".repeat(300_000))),
        &message("ntfy"),
    );
    assert_eq!(outcome.unwrap().reply, "HTTP 200");
}

#[test]
fn a_redirect_is_not_followed_and_its_path_is_not_shown() {
    let redirect_target = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = redirect_target.local_addr().unwrap().port();
    for status in [301, 302, 303, 307, 308] {
        let answer =
            format!("HTTP/1.1 {status} Go\r\nLocation: http://127.0.0.1:{port}/s3cret\r\nContent-Length: 0\r\n\r\n");
        let error = error_for(&answer);
        assert!(error.starts_with(&format!("sends us to http://127.0.0.1:{port}: nothing follows it")), "{error}");
        assert!(!error.contains("s3cret"));
    }
    redirect_target.set_nonblocking(true).unwrap();
    assert!(redirect_target.accept().is_err(), "nobody went there");
    assert!(
        error_for("HTTP/1.1 302 Go\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
            .starts_with("sends us to another path")
    );
}

#[test]
fn delivery_to_a_silent_server_or_one_that_sends_byte_by_byte_fails_in_time() {
    let (hold, held) = mpsc::channel::<()>();
    let silent = ScriptedServer::new(move |mut stream| {
        let request = scripted::request(&mut stream);
        let _ = held.recv();
        request
    });
    let mut waiting = channels(&format!("[ntfy]\nurl = \"http://127.0.0.1:{}/topic\"", silent.port));
    waiting.bound = Duration::from_millis(300);
    let error = waiting.deliver(&message("ntfy"), &text(), &sender()).unwrap_err();
    assert!(matches!(error, DeliveryError::TimedOut { .. }), "{error}");
    drop(hold);
    silent.received();

    let dripping = ScriptedServer::new(|mut stream| {
        scripted::request(&mut stream);
        while stream.write_all(b"H").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        String::new()
    });
    let mut waiting = channels(&format!("[ntfy]\nurl = \"http://127.0.0.1:{}/topic\"", dripping.port));
    waiting.bound = Duration::from_millis(300);
    waiting.deliver(&message("ntfy"), &text(), &sender()).unwrap_err();
    dripping.received();
}

#[test]
fn a_closed_port_gives_the_error_connection_refused() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let channels = channels(&format!("[ntfy]\nurl = \"http://127.0.0.1:{port}/topic\""));
    let error = channels.deliver(&message("ntfy"), &text(), &sender()).unwrap_err().to_string();
    let expected = format!(
        "http://127.0.0.1:{port}: cannot be reached: connection refused: look at its name, its port and the network"
    );
    assert_eq!(error, expected);
}

#[test]
fn a_secret_that_the_server_repeats_is_masked_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let token = file(&folder, "token", "tk_secret", 0o600);
    let server = ScriptedServer::http("HTTP/1.1 401 No\r\nContent-Length: 19\r\n\r\nno token: tk_secret");
    let url = format!("http://127.0.0.1:{}/topic", server.port);
    let channels = channels(&format!("[ntfy]\nurl = \"{url}\"\ntoken-file = {token:?}"));
    let error = channels.deliver(&message("ntfy"), &text(), &sender()).unwrap_err();
    assert!(
        error.to_string().contains("HTTP 401 no token: ***") && !format!("{error:?}{channels:?}").contains("tk_secret")
    );
}

#[test]
fn a_heartbeat_is_a_get() {
    let server = ScriptedServer::http(OK);
    let channels = channels(&format!("[heartbeat]\nurl = \"http://127.0.0.1:{}/uuid\"", server.port));
    assert_eq!(channels.beat().unwrap().unwrap().reply, "HTTP 200");
    assert!(server.received().starts_with("GET /uuid HTTP/1.1\r\n"));
    assert!(AlertChannels::from_settings(&ChannelSettings::default()).unwrap().beat().is_none());
}

#[test]
fn a_port_without_tls_gives_the_error_does_not_speak_tls() {
    let plain = ScriptedServer::new(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        String::new()
    });
    let channels = channels(&format!("[ntfy]\nurl = \"https://localhost:{}/topic\"", plain.port));
    let error = channels.deliver(&message("ntfy"), &text(), &sender()).unwrap_err().to_string();
    assert!(error.contains(": does not speak TLS: write http:// if that is meant"), "{error}");
}
