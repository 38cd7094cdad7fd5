//! Mail by a scripted server and by a scripted sendmail. `tests/mail.rs` has tests with a real server.

use super::super::email::EmailSettings;
use super::super::mail::{self, MailAddresses};
use super::super::scripted::ScriptedServer;
use super::super::secret::tests::file;
use super::super::sendmail::SendmailRoute;
use super::*;
use std::fs;

/// The dialogue up to the mail.
const TO_DATA: [(&str, &str); 5] = [
    ("", "220 test ESMTP"),
    ("EHLO [127.0.0.1]", "250-test\r\n250 SIZE 1000000"),
    ("MAIL FROM:<scrubjay@nas1>", "250 ok"),
    ("RCPT TO:<me@example.org>", "250 ok"),
    ("DATA", "354 go on"),
];

fn plain(port: u16, more: &str) -> AlertChannels {
    channels(&format!("[email]\nto = [\"me@example.org\"]\nserver = \"127.0.0.1:{port}\"\ntls = \"none\"\n{more}"))
}

fn error_of(server: ScriptedServer, more: &str) -> String {
    let error = plain(server.port, more)
        .deliver(&message("email"), &text(), &sender())
        .expect_err("it is an error")
        .to_string();
    let rest = error.strip_prefix(&format!("127.0.0.1:{}: ", server.port)).expect("it names the server").to_owned();
    server.received();
    rest
}

fn written(message: MessageRow, text: &MessageText, host: &str) -> String {
    let to = vec!["me@example.org".parse().unwrap(), "you@example.org".parse().unwrap()];
    let sender = SenderFacts { host: host.to_owned(), ..SenderFacts::default() };
    let written = mail::write(&MailAddresses { to, from: None }, &OutgoingMessage::new(message, text, sender)).unwrap();
    String::from_utf8(written.bytes).unwrap()
}

#[test]
fn a_mail_is_delivered_and_the_servers_reply_is_the_receipt() {
    static SCRIPT: [(&str, &str); 7] = [
        TO_DATA[0],
        TO_DATA[1],
        TO_DATA[2],
        TO_DATA[3],
        TO_DATA[4],
        (".", "250 2.0.0 Ok: queued as 4B1D"),
        ("QUIT", "221 bye"),
    ];
    let server = ScriptedServer::smtp(&SCRIPT);
    let row = MessageRow { reply_to: Some("<scrubjay-3.email@nas1>".to_owned()), ..message("email") };
    let channels = plain(server.port, "");
    let receipt = channels.deliver(&row, &text(), &sender()).unwrap();
    assert_eq!(receipt.reply, "250 2.0.0 Ok: queued as 4B1D");
    let received = server.received();
    for line in [
        "From: \"Scrubjay on nas1\" <scrubjay@nas1>",
        "To: me@example.org",
        "Subject: [nas1] REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors",
        "Message-ID: <scrubjay-7.email@nas1>",
        "In-Reply-To: <scrubjay-3.email@nas1>",
        "References: <scrubjay-3.email@nas1>",
        "Content-Type: text/plain; charset=utf-8",
        "Auto-Submitted: auto-generated",
        "Found 12 Mar 2026.",
    ] {
        assert!(received.lines().any(|found| found == line), "{line} in\n{received}");
    }
    assert!(received.contains("\r\nDate: ") && !received.contains("X-Scrubjay-Repeated"), "{received}");
}

#[test]
fn one_refused_recipient_does_not_keep_the_mail_from_the_others() {
    let server = ScriptedServer::smtp(&[
        TO_DATA[0],
        TO_DATA[1],
        TO_DATA[2],
        ("RCPT TO:<gone@example.org>", "550 5.1.1 no such user"),
        ("RCPT TO:<me@example.org>", "250 ok"),
        TO_DATA[4],
        (".", "250 queued"),
        ("QUIT", "221 bye"),
    ]);
    let port = server.port;
    let to = "to = [\"gone@example.org\", \"me@example.org\"]";
    let channels = channels(&format!("[email]\n{to}\nserver = \"127.0.0.1:{port}\"\ntls = \"none\""));
    let receipt = channels.deliver(&message("email"), &text(), &sender()).unwrap();
    assert_eq!(receipt.reply, "250 queued; not for gone@example.org: 550 5.1.1 no such user");
    assert!(server.received().contains("RCPT TO:<me@example.org>"));
}

/// Channels of one mail server, to two recipients: `you` and `me`.
fn to_two(port: u16) -> AlertChannels {
    let to = "to = [\"you@example.org\", \"me@example.org\"]";
    channels(&format!("[email]\n{to}\nserver = \"127.0.0.1:{port}\"\ntls = \"none\""))
}

/// A dialogue in which `you` is answered so, and `me` is accepted.
fn answered(you: &'static str) -> [(&'static str, &'static str); 8] {
    let you = ("RCPT TO:<you@example.org>", you);
    [TO_DATA[0], TO_DATA[1], TO_DATA[2], you, TO_DATA[3], TO_DATA[4], (".", "250 queued"), ("QUIT", "221 bye")]
}

#[test]
fn who_is_put_off_gets_it_later_and_those_who_have_it_get_it_once() {
    let server = ScriptedServer::smtp(&answered("451 4.7.1 greylisted"));
    let (port, channels) = (server.port, to_two(server.port));
    let error = channels.deliver(&message("email"), &text(), &sender()).unwrap_err().to_string();
    let expected = "not yet for you@example.org: 451 4.7.1 greylisted: sent to them again";
    assert_eq!(error, format!("127.0.0.1:{port}: {expected}"));
    server.received();
    assert_eq!(channels.refused("email"), Some(vec![]), "nobody is refused for good");
    // The same message again, at the same server.
    let you = ("RCPT TO:<you@example.org>", "250 ok");
    let script = [TO_DATA[0], TO_DATA[1], TO_DATA[2], you, TO_DATA[4], (".", "250 queued"), ("QUIT", "221 bye")];
    let server = ScriptedServer::smtp_at(port, &script);
    assert_eq!(channels.deliver(&message("email"), &text(), &sender()).unwrap().reply, "250 queued");
    assert!(!server.received().contains("RCPT TO:<me@example.org>"), "who has it is not asked again");
}

#[test]
fn who_is_refused_for_good_is_named_until_a_mail_reaches_all() {
    let server = ScriptedServer::smtp(&answered("550 5.1.1 no such user"));
    let (port, channels) = (server.port, to_two(server.port));
    assert_eq!(channels.refused("email"), None, "nothing was delivered yet");
    let receipt = channels.deliver(&message("email"), &text(), &sender()).unwrap();
    assert_eq!(receipt.reply, "250 queued; not for you@example.org: 550 5.1.1 no such user");
    server.received();
    let refused = vec![("you@example.org".to_owned(), "550 5.1.1 no such user".to_owned())];
    assert_eq!(channels.refused("email"), Some(refused));
    let server = ScriptedServer::smtp_at(port, &answered("250 ok"));
    channels.deliver(&message("email"), &text(), &sender()).unwrap();
    server.received();
    assert_eq!(channels.refused("email"), Some(vec![]));
}

#[test]
fn who_was_put_off_and_is_then_refused_for_good_does_not_keep_the_message() {
    let server = ScriptedServer::smtp(&answered("451 later"));
    let (port, channels) = (server.port, to_two(server.port));
    assert!(channels.deliver(&message("email"), &text(), &sender()).is_err());
    server.received();
    let you = ("RCPT TO:<you@example.org>", "550 never");
    let server = ScriptedServer::smtp_at(port, &[TO_DATA[0], TO_DATA[1], TO_DATA[2], you, ("QUIT", "221 bye")]);
    assert_eq!(
        channels.deliver(&message("email"), &text(), &sender()).unwrap().reply,
        "not for you@example.org: 550 never"
    );
    server.received();
    assert_eq!(channels.refused("email").unwrap().len(), 1);
}

#[test]
fn each_refusal_names_the_step_that_was_refused() {
    let error_for = |script| error_of(ScriptedServer::smtp(script), "");
    assert_eq!(
        error_for(&[("", "554 go away")]),
        "the connection was refused: 554 go away: look whether it takes mail from this machine"
    );
    let recipient =
        error_for(&[TO_DATA[0], TO_DATA[1], TO_DATA[2], ("RCPT", "550-5.7.1 no\r\n550 5.7.1 relaying"), ("", "")]);
    assert_eq!(
        recipient,
        "the recipient was refused: 550 5.7.1 no 5.7.1 relaying: check to; it may want user and password-file"
    );
    let sender = error_for(&[TO_DATA[0], TO_DATA[1], ("MAIL", "530 5.7.0 Authentication required"), ("", "")]);
    assert!(sender.starts_with("the sender was refused: 530 5.7.0 Authentication required: "), "{sender}");
    let mail = error_for(&[
        TO_DATA[0],
        TO_DATA[1],
        TO_DATA[2],
        TO_DATA[3],
        TO_DATA[4],
        (".", "451 4.7.1 greylisted"),
        ("", ""),
    ]);
    assert_eq!(mail, "the mail was refused: 451 4.7.1 greylisted: look into its log");
}

#[test]
fn a_server_that_does_not_speak_smtp_gives_a_clear_error() {
    let error_for = |script| error_of(ScriptedServer::smtp(script), "");
    assert!(error_for(&[("", "HTTP/1.1 400 Bad Request")]).starts_with("does not speak SMTP as expected ("));
    let broken = error_of(ScriptedServer::new(|_| String::new()), "");
    assert_eq!(broken, "broke off in the middle: look whether it is the right server and port, and into its log");
    let endless = ScriptedServer::new(|mut stream| {
        while std::io::Write::write_all(&mut stream, &[b'2'; 4096]).is_ok() {}
        String::new()
    });
    assert!(error_of(endless, "").starts_with("does not speak SMTP as expected ("));
}

#[test]
fn nothing_is_sent_where_starttls_is_not_offered() {
    let server = ScriptedServer::smtp(&[TO_DATA[0], TO_DATA[1]]);
    let channels = channels(&format!("[email]\nto = [\"me@example.org\"]\nserver = \"127.0.0.1:{}\"", server.port));
    let error = channels.deliver(&message("email"), &text(), &sender()).unwrap_err().to_string();
    assert!(error.contains(": offers no encryption (STARTTLS): take its port for TLS"), "{error}");
    assert_eq!(server.received(), "EHLO [127.0.0.1]\r\n");
}

#[test]
fn data_injected_before_encryption_is_an_error() {
    let server = ScriptedServer::smtp(&[
        TO_DATA[0],
        ("EHLO", "250-test\r\n250 STARTTLS"),
        ("STARTTLS", "220 go on\r\n250-stranger\r\n250 AUTH PLAIN"),
    ]);
    let channels = channels(&format!("[email]\nto = [\"me@example.org\"]\nserver = \"127.0.0.1:{}\"", server.port));
    let error = channels.deliver(&message("email"), &text(), &sender()).unwrap_err().to_string();
    assert!(error.contains("(something was slipped in before encryption began)"), "{error}");
    assert!(server.received().ends_with("STARTTLS\r\n"));
}

#[test]
fn delivery_to_a_server_that_sends_byte_by_byte_fails_in_time_and_hangs_up() {
    let server = ScriptedServer::new(|mut stream| {
        while std::io::Write::write_all(&mut stream, b"2").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        "hung up".to_owned()
    });
    let mut channels = plain(server.port, "");
    channels.bound = Duration::from_millis(300);
    channels.deliver(&message("email"), &text(), &sender()).unwrap_err();
    assert_eq!(server.received(), "hung up");
}

#[test]
fn the_error_of_a_refused_login_masks_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let password = file(&folder, "password", "hunter2\n", 0o600);
    let more = format!("user = \"me\"\npassword-file = {password:?}");
    let script: &'static [(&str, &str)] =
        &[TO_DATA[0], ("EHLO", "250-test\r\n250 AUTH PLAIN"), ("AUTH PLAIN", "535 5.7.8 not with hunter2"), ("", "")];
    assert_eq!(
        error_of(ScriptedServer::smtp(script), &more),
        "AUTH refused: 535 5.7.8 not with ***: check user and password-file"
    );
    let without = ScriptedServer::smtp(&[TO_DATA[0], TO_DATA[1]]);
    assert!(error_of(without, &more).starts_with("AUTH refused: it offers neither PLAIN nor LOGIN: "));
}

#[test]
fn delivery_to_a_server_that_falls_silent_times_out() {
    let server = ScriptedServer::smtp(&[TO_DATA[0]]);
    let mut channels = plain(server.port, "");
    channels.bound = Duration::from_millis(300);
    let error = channels.deliver(&message("email"), &text(), &sender()).unwrap_err();
    assert!(matches!(error, DeliveryError::TimedOut { .. }), "{error}");
    server.received();
}

#[test]
fn neither_subject_nor_host_nor_id_can_add_a_header() {
    let evil = "x\r\nBcc: evil@example.org\r\n\r\nbody\n.\n\u{85}\u{2028}\0";
    let row = MessageRow { id: format!("<{evil}@{evil}>"), reply_to: Some(evil.to_owned()), ..message("email") };
    let mail = written(row, &said(evil, &format!("{evil}\r\n.\r\nMAIL FROM:<x@y>")), evil);
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    let names: Vec<&str> =
        head.lines().filter(|line| !line.starts_with(' ')).map(|line| line.split(':').next().unwrap()).collect();
    let mut expected = vec![
        "From",
        "Subject",
        "Date",
        "Message-ID",
        "Content-Type",
        "Auto-Submitted",
        "To",
        "In-Reply-To",
        "References",
        "Content-Transfer-Encoding",
        "MIME-Version",
    ];
    let mut sorted = names.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected, "{head}");
    assert!(body.starts_with("x\r\nBcc: evil"), "the text is the text: {body}");
    assert!(mail.lines().all(|line| line.len() <= 998), "RFC 5322, 2.1.1");
}

#[test]
fn other_letters_are_encoded_and_a_possible_repetition_is_marked() {
    let row = MessageRow { may_be_repeated: true, ..message("email") };
    let mail = written(row, &said("[büro] prüfen …", "süß"), "büro");
    assert!(mail.is_ascii(), "{mail}");
    assert!(mail.contains("\r\nTo: me@example.org, you@example.org\r\n"), "{mail}");
    assert!(mail.contains("<scrubjay@b-ro>") && mail.contains("Subject: =?utf-8?b?"), "{mail}");
    assert!(mail.contains("\r\nX-Scrubjay-Repeated: maybe\r\n"), "{mail}");
    let plain = written(MessageRow { may_be_repeated: true, ..message("email") }, &text(), "nas1.example.org");
    assert!(
        plain.trim_end().ends_with("This may reach you twice: it is not known whether it arrived before."),
        "{plain}"
    );
}

#[test]
fn a_host_without_a_usable_name_still_sends() {
    for host in ["", "-", "...", "a..b", &"long".repeat(100)] {
        assert!(written(message("email"), &text(), host).contains("scrubjay@"), "{host}");
    }
}

#[test]
fn sendmail_has_the_mail_on_its_input_and_the_envelope_as_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let script = format!("echo \"$@\" >'{place}/arguments'; cat >'{place}/mail'; echo queued");
    let program = super::program::script(&folder, &script);
    let addresses =
        MailAddresses { to: vec!["me@example.org".parse().unwrap()], from: Some("nas@example.org".parse().unwrap()) };
    let mail = mail::write(&addresses, &OutgoingMessage::new(message("email"), &text(), sender())).unwrap();
    let output = SendmailRoute(program).send(&mail, &TimeBound::new(DELIVERY_MAX)).unwrap();
    assert_eq!(output, "sendmail took it: queued");
    assert_eq!(
        fs::read_to_string(folder.path().join("arguments")).unwrap(),
        "-i -f nas@example.org -- me@example.org\n"
    );
    let mail = fs::read_to_string(folder.path().join("mail")).unwrap();
    assert!(mail.contains("\nMessage-ID: <scrubjay-7.email@nas1>\n") && !mail.contains('\r'), "{mail}");
}

#[test]
fn a_setting_that_needs_another_names_it() {
    let email = |more: &str| fault(&format!("[email]\nto = [\"me@example.org\"]\n{more}"));
    let server = "server = \"smtp.example.org\"\n";
    assert_eq!(
        email(&format!("{server}user = \"me\"")),
        "alert.email.user: name a file with the password as well (password-file)"
    );
    assert!(
        email(&format!("{server}password-file = \"/x\"")).starts_with("alert.email.password-file: name who logs in")
    );
    assert!(email("tls = \"tls\"").starts_with("alert.email.tls: name the server as well"));
    let folder = tempfile::tempdir().unwrap();
    let password = file(&folder, "password", "x", 0o600);
    let plain = email(&format!("{server}tls = \"none\"\nuser = \"me\"\npassword-file = {password:?}"));
    assert!(plain.starts_with("alert.email.tls: a password goes to another machine encrypted only"), "{plain}");
    let no_ca = email(&format!("{server}ca-file = {password:?}"));
    assert!(no_ca.contains("holds no certificate: it is to begin with"), "{no_ca}");
    assert_eq!(fault("[email]\nto = []"), "alert.email.to: name at least one recipient");
    let named =
        EmailSettings { to: vec!["Me <me@example.org>".to_owned()], ..settings("[email]\nto = []").email.unwrap() };
    let named = AlertChannels::from_settings(&ChannelSettings { email: Some(named), ..ChannelSettings::default() });
    assert!(named.unwrap_err().to_string().starts_with("alert.email.to: \"Me <me@example.org>\" is no address: "));
}
