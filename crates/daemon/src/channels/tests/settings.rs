//! Settings: which are refused, and their fingerprints.

use super::super::secret::tests::file;
use super::*;

/// A struct that has the settings as the daemon's whole settings do.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Outer {
    report: Option<String>,
    #[serde(flatten)]
    channels: ChannelSettings,
}

#[test]
fn an_unknown_setting_is_refused_by_name() {
    let error_of = |text: &str| toml::from_str::<ChannelSettings>(text).unwrap_err().to_string();
    assert!(error_of("[pigeon]\nname = \"Al\"").contains("unknown field `pigeon`, expected one of `email`, `ntfy`"));
    assert!(error_of("[email]\nto = [\"a@b\"]\npassword = \"x\"").contains("unknown field `password`"));
    assert!(error_of("[email]\nto = [\"a@b\"]\ntls = \"ssl\"").contains("expected one of `starttls`, `tls`, `none`"));
    assert!(error_of("[gotify]\nurl = \"https://g\"").contains("missing field `token-file`"));
}

#[test]
fn the_channels_can_share_a_table_with_other_settings() {
    let outer: Outer = toml::from_str("report = \"monthly\"\n[ntfy]\nurl = \"https://ntfy.sh/t\"").unwrap();
    assert_eq!((outer.report.as_deref(), outer.channels.ntfy.is_some()), (Some("monthly"), true));
    assert!(toml::from_str::<Outer>("[pigeon]").unwrap_err().to_string().contains("unknown field `pigeon`"));
}

#[test]
fn urls_are_http_and_their_secrets_are_never_shown() {
    let fault_of = |url: &str| fault(&format!("[ntfy]\nurl = {url:?}"));
    assert!(fault_of("ftp://ntfy.sh/t").starts_with("alert.ntfy.url: only http and https are spoken: "));
    assert!(fault_of("ntfy.sh/t").starts_with("alert.ntfy.url: "));
    assert!(fault_of("https:///t").starts_with("alert.ntfy.url: "));
    assert!(fault_of("https://a b/t").starts_with("alert.ntfy.url: this is no URL: "));
    assert!(fault_of("https://ntfy.sh").starts_with("alert.ntfy.url: no topic is named: "));
    assert!(fault_of("https://me:hunter2@ntfy.sh/t").starts_with("alert.ntfy.url: it holds a user or a password: "));
    assert!(!fault_of("https://me:hunter2@ntfy.sh/t").contains("hunter2"));
    let text = "[webhook]\nurl = \"https://hooks.example.org/services/s3cret?k=s3cret\"\n[heartbeat]\nurl = \"https://hc-ping.com/s3cret\"";
    let shown = format!("{:?} {:?}", settings(text), channels(text));
    assert!(shown.contains("https://hooks.example.org") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn a_fingerprint_changes_with_all_that_matters_and_with_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let password = file(&folder, "password", "one", 0o600);
    let base = format!(
        "[email]\nto = [\"a@example.org\"]\nserver = \"smtp.example.org\"\nuser = \"me\"\npassword-file = {password:?}\n"
    );
    let fingerprint_of = |text: &str| channels(text).fingerprint("email").unwrap();
    let first = fingerprint_of(&base);
    assert_eq!(first, fingerprint_of(&format!("{base}tls = \"starttls\"\n")), "what is assumed anyway");
    assert_eq!(first, fingerprint_of(&base.replace("org\"\nuser", "org:587\"\nuser")), "the same port");
    assert_eq!(first, fingerprint_of(&format!("{base}[ntfy]\nurl = \"https://ntfy.sh/t\"")), "another channel");
    let mut seen = vec![first];
    seen.push(fingerprint_of(&base.replace("a@", "b@")));
    seen.push(fingerprint_of(&base.replace("\"a@example.org\"", "\"a@example.org\", \"b@example.org\"")));
    seen.push(fingerprint_of(&base.replace("smtp.", "mail.")));
    seen.push(fingerprint_of(&base.replace("\"me\"", "\"you\"")));
    seen.push(fingerprint_of(&format!("{base}from = \"nas@example.org\"")));
    seen.push(fingerprint_of(&format!("{base}tls = \"tls\"")));
    file(&folder, "password", "two", 0o600);
    seen.push(fingerprint_of(&base));
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
    let listed = channels(&base).for_watch();
    assert_eq!((listed.len(), listed[0].name.as_str(), listed[0].fingerprint), (1, "email", fingerprint_of(&base)));
}

#[test]
fn a_message_for_a_channel_that_is_not_set_is_an_error() {
    let none = AlertChannels::from_settings(&ChannelSettings::default()).unwrap();
    let error = none.deliver(&message("email"), &text(), &sender()).unwrap_err().to_string();
    assert_eq!(error, "email: no such channel is set: look at [alert.email] in the settings");
    assert_eq!(none.fingerprint("email"), None);
}

#[test]
fn the_example_of_the_manual_parses_with_and_without_its_optional_lines() {
    let manual = include_str!("../../../../../docs/alerts.md");
    let (_, rest) = manual.split_once("```toml\n").unwrap();
    let example = rest.split_once("```").unwrap().0;
    for text in [example.to_owned(), example.replace("\n# ", "\n")] {
        let mut whole: toml::Table = toml::from_str(&text).unwrap();
        let settings: ChannelSettings = whole.remove("alert").unwrap().try_into().unwrap();
        let email = settings.email.unwrap();
        assert!(settings.ntfy.is_some() && settings.gotify.is_some() && settings.webhook.is_some());
        assert!(settings.exec.is_some() && settings.heartbeat.is_some());
        assert_eq!(email.ca_file.is_some(), text != example);
    }
}
