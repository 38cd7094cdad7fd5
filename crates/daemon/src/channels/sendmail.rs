//! The system's sendmail: the program that each mail server installs, and that takes a mail on its standard input.

use super::bounds::TimeBound;
use super::error::DeliveryError;
use super::mail::WrittenMail;
use super::program::ProgramCall;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where it lies (FHS 3.0 names the first two).
const PLACES: [&str; 3] = ["/usr/sbin/sendmail", "/usr/lib/sendmail", "/usr/bin/sendmail"];

/// A sendmail that is there.
pub(crate) struct SendmailRoute(pub(crate) PathBuf);

/// The system's, if it has one.
pub(crate) fn find() -> Option<SendmailRoute> {
    PLACES.iter().map(Path::new).find(|path| path.is_file()).map(|path| SendmailRoute(path.to_owned()))
}

impl SendmailRoute {
    /// The program.
    pub(crate) fn whom(&self) -> String {
        self.0.display().to_string()
    }

    /// Hands it over: lines of a single dot do not end it (`-i`). What happens then is the mail server's.
    pub(crate) fn send(&self, mail: &WrittenMail, bound: &TimeBound) -> Result<String, DeliveryError> {
        let mut arguments: Vec<OsString> = vec!["-i".into(), "-f".into(), mail.from.to_string().into(), "--".into()];
        arguments.extend(mail.to.iter().map(|to| OsString::from(to.to_string())));
        // Its convention is the system's end of line.
        let input = String::from_utf8_lossy(&mail.bytes).replace("\r\n", "\n").into_bytes();
        let call = ProgramCall {
            program: &self.0,
            arguments,
            environment: Vec::new(),
            input,
            advice: "look into the mail server's log, or name a server in [alert.email]",
        };
        let said = call.run(bound)?;
        Ok(if said.is_empty() { "sendmail took it".to_owned() } else { format!("sendmail took it: {said}") })
    }
}
