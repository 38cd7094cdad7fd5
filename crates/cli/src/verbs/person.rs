//! A person's commands to the watch: accept, forget, pause, resume, scrub now.

use super::ask;
use crate::args::{PauseArgs, ScrubNowArgs, SubjectArgs};
use crate::exit::Exit;
use crate::say::print_line;
use anyhow::Result;
use scrubjay_control::{WatchAnswer, WatchRequest};
use std::io;

/// Accepts the open incidents of a subject until they grow.
pub fn accept(args: &SubjectArgs) -> Result<Exit> {
    send(&WatchRequest::Accept { subject: args.subject.clone() })
}

/// Forgets a disk or array that was taken out for good.
pub fn forget(args: &SubjectArgs) -> Result<Exit> {
    send(&WatchRequest::Forget { subject: args.subject.clone() })
}

/// Pauses reading.
pub fn pause(args: &PauseArgs) -> Result<Exit> {
    send(&WatchRequest::Pause { seconds: args.time })
}

/// Reads a disk or checks an array out of its turn.
pub fn scrub_now(args: &ScrubNowArgs) -> Result<Exit> {
    send(&WatchRequest::ScrubNow { subject: args.subject.clone() })
}

/// Ends the pause.
pub fn resume() -> Result<Exit> {
    send(&WatchRequest::Resume)
}

/// Sends a command, and prints the answer.
pub fn send(request: &WatchRequest) -> Result<Exit> {
    match ask(request)? {
        WatchAnswer::Done { said } => {
            print_line(&mut io::stdout().lock(), format_args!("{said}"))?;
            Ok(Exit::Clean)
        }
        _ => anyhow::bail!("the watch answered something else: is it another version?"),
    }
}
