//! A program of the user's as a channel: it gets the message in its environment and the text as its input.
//! The variables are smartd's (smartd.conf(5), `-M exec`), so that scripts for smartd work, and Scrubjay's own.

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::outgoing::{OutgoingMessage, subject_words};
use super::program::ProgramCall;
use super::route::{AlertRoute, ChannelKind};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::incident::{IncidentKind, MessageReason, reminder_pause};
use serde::Deserialize;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

const PROGRAM: &str = "alert.exec.program";

/// The settings `[alert.exec]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExecSettings {
    /// The absolute path of the program.
    pub program: PathBuf,
}

impl ChannelKind for ExecSettings {
    fn open(&self, addressees: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault> {
        let wrong = |problem: &str, advice| {
            let problem = format!("{} {problem}", self.program.display());
            ChannelFault::Wrong { key: PROGRAM, problem, advice }
        };
        if !self.program.is_absolute() {
            return Err(wrong("is no absolute path", "write it from / on, without arguments"));
        }
        let metadata = fs::metadata(&self.program).map_err(|error| ChannelFault::Unreadable {
            key: PROGRAM,
            path: self.program.clone(),
            why: error.to_string(),
        })?;
        let mode = metadata.permissions().mode();
        if !metadata.is_file() || mode & 0o111 == 0 {
            return Err(wrong("cannot be run", "name a program, and make it one: chmod 755"));
        }
        if mode & 0o002 != 0 {
            return Err(wrong("can be written by everybody", "it runs with the daemon's rights: chmod o-w"));
        }
        Ok(Arc::new(ExecRoute { program: self.program.clone(), addresses: addressees.join(" ") }))
    }
}

struct ExecRoute {
    program: PathBuf,
    addresses: String,
}

impl AlertRoute for ExecRoute {
    fn add_to_fingerprint(&self, maker: &mut FingerprintMaker) {
        maker.add("program", Some(self.program.as_os_str().as_bytes()));
    }

    fn peer(&self) -> String {
        self.program.display().to_string()
    }

    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError> {
        let call = ProgramCall {
            program: &self.program,
            arguments: Vec::new(),
            environment: environment(message, &self.addresses),
            input: message.text().into_bytes(),
            advice: "run it by hand; it has a minute, and is to end with 0",
        };
        let output = call.run(bound)?;
        Ok(if output.is_empty() { "exit status 0".to_owned() } else { format!("exit status 0: {output}") })
    }
}

/// The variables. All are always set; what is not known is empty, so that no value is inherited.
fn environment(message: &OutgoingMessage, addresses: &str) -> Vec<(&'static str, String)> {
    let row = &message.row;
    let disk = message.sender.disk.as_ref();
    let device = disk.map(|disk| format!("/dev/{}", disk.name)).unwrap_or_default();
    let described = disk.map(|disk| format!("{device} [{}, {}]", disk.model, disk.key)).unwrap_or_default();
    let first_time = message.sender.opened.unwrap_or(row.written);
    let incidents: Vec<String> = row
        .about
        .iter()
        .map(|key| {
            let (subject, name) = subject_words(&key.subject);
            format!("{} {subject} {name}", key.kind.word())
        })
        .collect();
    let flag = |is_set: bool| if is_set { "1" } else { "0" }.to_owned();
    vec![
        ("SMARTD_ADDRESS", addresses.to_owned()),
        ("SMARTD_MESSAGE", message.body.lines().next().unwrap_or_default().to_owned()),
        ("SMARTD_FULLMESSAGE", message.text()),
        ("SMARTD_DEVICE", device),
        ("SMARTD_DEVICETYPE", disk.map(|_| "auto".to_owned()).unwrap_or_default()),
        ("SMARTD_DEVICESTRING", described),
        ("SMARTD_FAILTYPE", fail_type(message).to_owned()),
        ("SMARTD_SUBJECT", message.subject.clone()),
        ("SMARTD_TFIRST", local_time(first_time)),
        ("SMARTD_TFIRSTEPOCH", first_time.0.to_string()),
        ("SMARTD_PREVCNT", message.reminder().unwrap_or(0).to_string()),
        ("SMARTD_NEXTDAYS", next_days(row.reason)),
        ("SCRUBJAY_HOST", message.sender.host.clone()),
        ("SCRUBJAY_NUMBER", row.number.to_string()),
        ("SCRUBJAY_ID", row.id.clone()),
        ("SCRUBJAY_REPLY_TO", row.reply_to.clone().unwrap_or_default()),
        ("SCRUBJAY_REASON", message.reason().to_owned()),
        ("SCRUBJAY_URGENCY", row.urgency.word().to_owned()),
        ("SCRUBJAY_INCIDENTS", incidents.join("\n")),
        ("SCRUBJAY_DISK", disk.map(|disk| disk.key.0.clone()).unwrap_or_default()),
        ("SCRUBJAY_BAY", disk.and_then(|disk| disk.bay.clone()).unwrap_or_default()),
        ("SCRUBJAY_MAY_BE_REPEATED", flag(row.may_be_repeated)),
    ]
}

/// The type of failure: smartd's word if it has one, else Scrubjay's.
fn fail_type(message: &OutgoingMessage) -> &'static str {
    match (message.row.reason, message.row.about.first().map(|key| key.kind)) {
        (MessageReason::Test, _) => "EmailTest",
        (_, Some(IncidentKind::Health)) => "Health",
        (_, Some(IncidentKind::Missing)) => "FailedOpenDevice",
        (_, Some(IncidentKind::Unknown)) => "FailedReadSmartData",
        (_, Some(kind)) => kind.word(),
        (_, None) => message.reason(),
    }
}

/// Days to the next reminder, if nothing changes.
fn next_days(reason: MessageReason) -> String {
    let number = match reason {
        MessageReason::Opened | MessageReason::Grown => 0,
        MessageReason::Reminder(number) => number,
        MessageReason::Resolved | MessageReason::Report | MessageReason::Test => return String::new(),
    };
    (reminder_pause(number) / DAY).to_string()
}

/// A time as smartd writes it: `Thu Mar 12 03:41:00 2026 CET`.
fn local_time(at: UnixSeconds) -> String {
    let seconds = i64::try_from(at.0).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let zoned = seconds.map(|time| time.to_zoned_datetime(jiff::tz::TimeZone::system()));
    zoned.map(|time| time.strftime("%a %b %e %H:%M:%S %Y %Z").to_string()).unwrap_or_default()
}
