//! The system's sendmail: a program that every mail server installs, and that reads a mail from its standard input.

use super::bounds::TimeBound;
use super::error::DeliveryError;
use super::mail::WrittenMail;
use super::program::ProgramCall;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Its usual paths (FHS 3.0 names the first two).
const PLACES: [&str; 3] = ["/usr/sbin/sendmail", "/usr/lib/sendmail", "/usr/bin/sendmail"];

/// A sendmail that exists.
pub(crate) struct SendmailRoute(pub(crate) PathBuf);

/// Finds the system's sendmail.
pub(crate) fn find() -> Option<SendmailRoute> {
    PLACES.iter().map(Path::new).find(|path| path.is_file()).map(|path| SendmailRoute(path.to_owned()))
}

impl SendmailRoute {
    /// The program's path.
    pub(crate) fn peer(&self) -> String {
        self.0.display().to_string()
    }

    /// Passes a mail on: lines of a single dot do not end it (`-i`). Delivery is up to the mail server.
    pub(crate) fn send(&self, mail: &WrittenMail, bound: &TimeBound) -> Result<String, DeliveryError> {
        let mut arguments: Vec<OsString> = vec!["-i".into(), "-f".into(), mail.from.to_string().into(), "--".into()];
        arguments.extend(mail.to.iter().map(|to| OsString::from(to.to_string())));
        // By convention it reads the system's line ends.
        let input = String::from_utf8_lossy(&mail.bytes).replace("\r\n", "\n").into_bytes();
        let call = ProgramCall {
            program: &self.0,
            arguments,
            environment: Vec::new(),
            input,
            advice: "look into the mail server's log, or name a server in [alert.email]",
        };
        let output = call.run(bound)?;
        Ok(if output.is_empty() { "sendmail took it".to_owned() } else { format!("sendmail took it: {output}") })
    }
}
