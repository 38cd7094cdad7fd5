//! What programs say of the machine: our own verbs, smartctl, lsblk; each within a time.

use scrubjay_control::past::HistoryEventKind;
use scrubjay_daemon::config::CONFIG_FILE;
use scrubjay_daemon::process::{ProcessEnding, wait_for_output};
use scrubjay_device::inventory;
use scrubjay_jobs::report::{Pseudonyms, SecretKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The time limit of a program.
const TIME_OUT: Duration = Duration::from_secs(80);
/// Bytes that a program may print.
const OUTPUT_MAX: usize = 2 << 20;
/// Disks of which SMART data are taken, at most.
const DISKS_MAX: usize = 64;

/// Our verbs, each with its arguments.
const VERBS: [(&str, &[&str]); 5] = [
    ("doctor", &["doctor", "--json"]),
    ("status", &["status", "--json"]),
    ("plan", &["plan", "--json"]),
    ("alerts", &["alert", "list", "--json"]),
    ("history", &["history", "--limit", "500", "--json"]),
];

/// `lsblk`'s columns. Without NAME: what LVM and cryptsetup make is named by people.
const COLUMNS: &str =
    "KNAME,PKNAME,TYPE,SIZE,ROTA,TRAN,FSTYPE,FSVER,LABEL,PARTLABEL,UUID,PARTUUID,PTUUID,SERIAL,WWN,MOUNTPOINT";

/// A part that is not there, and why.
type MissingPart = (String, String);

/// Asks all; what cannot be had is missing, with the reason. Names of arrays and pools are noted.
pub fn ask(state: Option<&Path>, names: &mut Pseudonyms) -> (Vec<(String, Value)>, Vec<MissingPart>) {
    let (mut parts, mut missing) = (Vec::new(), Vec::new());
    let mut take = |name: String, answer: Result<Value, String>| match answer {
        Ok(value) => parts.push((name, value)),
        Err(why) => missing.push((name, why)),
    };
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("scrubjay"));
    let mut status = Value::Null;
    for (name, arguments) in VERBS {
        let mut command = Command::new(&own);
        command.args(arguments);
        if let (Some(state), "history") = (state, name) {
            command.arg("--state").arg(state);
        }
        let mut answer = json_of(command);
        match &mut answer {
            Ok(value) if name == "status" => {
                note_arrays(&value["watch"]["arrays"], names);
                note_arrays(&value["pools"], names);
                status = value["watch"].clone();
            }
            Ok(value) if name == "history" => blank_unknown(value, &subjects(&status)),
            _ => {}
        }
        take(name.to_owned(), answer);
    }
    take("settings".to_owned(), settings(&status));
    let mut lsblk = Command::new("lsblk");
    lsblk.args(["--json", "--bytes", "--list", "--output", COLUMNS]);
    take("lsblk".to_owned(), json_of(lsblk));
    let disks = inventory::disks().unwrap_or_default().into_iter().filter(|disk| disk.is_hardware).collect::<Vec<_>>();
    if disks.len() > DISKS_MAX {
        take("further disks".to_owned(), Err(format!("a report has {DISKS_MAX} of them")));
    }
    for disk in disks.into_iter().take(DISKS_MAX) {
        let name = disk.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut explain = Command::new(&own);
        explain.args(["explain", &name, "--json"]);
        take(format!("explain {name}"), json_of(explain));
        take(format!("smartctl {name}"), smartctl(&disk.path));
    }
    (parts, missing)
}

/// smartctl's document, of whatever exit status: it says itself what is wrong.
fn smartctl(device: &Path) -> Result<Value, String> {
    let of = |program: &str| {
        let mut command = Command::new(program);
        command.args(["--json", "-x", "-n", "standby"]).arg(device).env("LC_ALL", "C");
        json_of(command)
    };
    // A user's PATH may lack it.
    of("smartctl")
        .or_else(|why| if Path::new("/usr/sbin/smartctl").exists() { of("/usr/sbin/smartctl") } else { Err(why) })
}

/// What the program prints, as JSON.
fn json_of(mut command: Command) -> Result<Value, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    match wait_for_output(child, TIME_OUT, OUTPUT_MAX) {
        ProcessEnding::Ended(output, status) => serde_json::from_slice(&output).map_err(|_| match status.code() {
            Some(code) => format!("it ended with {code} and printed no JSON"),
            None => "it was killed".to_owned(),
        }),
        ProcessEnding::TooMuch => Err(format!("it printed more than {OUTPUT_MAX} bytes")),
        ProcessEnding::TimedOut => Err(format!("it took longer than {} s", TIME_OUT.as_secs())),
        ProcessEnding::Lost(error) => Err(error.to_string()),
    }
}

/// The settings in use: by keys, so that what is personal in them is known.
fn settings(status: &Value) -> Result<Value, String> {
    let path = status["settings_file"].as_str().unwrap_or(CONFIG_FILE);
    if !Path::new(path).exists() {
        return Ok(json!("none: the defaults hold"));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    // (An error would quote the line.)
    let table: toml::Table = text.parse().map_err(|_| "they are no TOML: scrubjay doctor shows where".to_owned())?;
    serde_json::to_value(table).map_err(|error| error.to_string())
}

/// Notes the names that people gave to arrays and pools.
fn note_arrays(arrays: &Value, names: &mut Pseudonyms) {
    for array in arrays.as_array().into_iter().flatten() {
        let name = array["name"].as_str().unwrap_or_default();
        let is_kernels =
            name.strip_prefix("md").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()));
        if !is_kernels {
            names.note(SecretKind::Name, name);
        }
    }
}

/// What the status knows: keys and names of disks and arrays.
fn subjects(status: &Value) -> BTreeSet<String> {
    let of = |list: &str, key: &str| -> Vec<String> {
        let entries = status[list].as_array().into_iter().flatten();
        entries.filter_map(|entry| entry[key].as_str().map(str::to_owned)).collect()
    };
    let known =
        [of("disks", "key"), of("disks", "name"), of("disks", "last_name"), of("arrays", "key"), of("arrays", "name")];
    known.concat().into_iter().filter(|name| name.len() > 1).collect()
}

/// Blanks the words of events of what is not known any more: nobody can say which of their words are names. A message is of a channel, so
/// that its words must say of whom it is.
fn blank_unknown(history: &mut Value, known: &BTreeSet<String>) {
    for event in history["events"].as_array_mut().into_iter().flatten() {
        let is_of = |key: &str| event[key].as_str().is_some_and(|subject| known.contains(subject));
        let is_message = HistoryEventKind::of_word(event["kind"].as_str().unwrap_or_default())
            .is_some_and(HistoryEventKind::is_of_message);
        let words = event["words"].as_str().unwrap_or_default();
        let is_known = match is_message {
            true => known.iter().any(|name| words.contains(name.as_str())),
            false => is_of("subject") || is_of("disk"),
        };
        if !is_known {
            event["words"] = json!("(of what is not known any more)");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_jobs::report::{BYTES_MAX, bundle};

    #[test]
    fn a_program_that_prints_no_json_is_missing_with_the_reason() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            json_of(command)
        };
        assert_eq!(shell("echo '{\"a\": 1}'; exit 4"), Ok(json!({"a": 1})), "whatever its status");
        assert_eq!(shell("echo no; exit 3"), Err("it ended with 3 and printed no JSON".to_owned()));
        assert!(json_of(Command::new("/nowhere/smartctl")).unwrap_err().starts_with("/nowhere/smartctl: No such file"));
    }

    #[test]
    fn names_of_arrays_and_words_of_the_forgotten_are_gone() {
        let status = json!({"disks": [{"key": "ZL2ABCDE"}], "arrays": [{"key": "u-1", "name": "annas"}, {"key": "u-2", "name": "md0"}]});
        let mut history = json!({"events": [
            {"subject": "ZL2ABCDE", "words": "ZL2ABCDE of annas is read; md0 too"},
            {"subject": "u-old", "words": "the pool of berta is gone"},
            {"subject": "email", "kind": "message-written", "words": "[nas] LOSS pool bertas: 3 blocks"},
            {"subject": "email", "kind": "message-written", "words": "[nas] REPLACE ZL2ABCDE: 8 unreadable sectors"},
            {"subject": "sda", "disk": "ZL2ABCDE", "words": "moved"},
        ]});
        let mut names = Pseudonyms::new([1; 32]);
        note_arrays(&status["arrays"], &mut names);
        blank_unknown(&mut history, &subjects(&status));
        let parts = vec![("status".to_owned(), status), ("history".to_owned(), history)];
        let text = Value::Object(bundle(parts, &mut names, BYTES_MAX).0).to_string();
        for secret in ["annas", "berta", "ZL2ABCDE"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for kept in ["is read; md0 too", "8 unreadable sectors", "moved"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
    }
}
