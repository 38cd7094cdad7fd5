//! What a person tells the watch: accept, forget, pause, resume, scrub now.

use super::ask;
use crate::args::{PauseArgs, ScrubNowArgs, SubjectArgs};
use crate::exit::Exit;
use crate::say::print_line;
use anyhow::Result;
use scrubjay_jobs::control::{WatchAnswer, WatchRequest};
use std::io;

/// Be silent until it grows.
pub fn accept(args: &SubjectArgs) -> Result<Exit> {
    tell(&WatchRequest::Accept { subject: args.subject.clone() })
}

/// It was taken out for good.
pub fn forget(args: &SubjectArgs) -> Result<Exit> {
    tell(&WatchRequest::Forget { subject: args.subject.clone() })
}

/// Read nothing for a while.
pub fn pause(args: &PauseArgs) -> Result<Exit> {
    tell(&WatchRequest::Pause { seconds: args.time })
}

/// Read it out of its turn.
pub fn scrub_now(args: &ScrubNowArgs) -> Result<Exit> {
    tell(&WatchRequest::ScrubNow { subject: args.subject.clone() })
}

/// Go on.
pub fn resume() -> Result<Exit> {
    tell(&WatchRequest::Resume)
}

/// Tells it, and says what the watch says.
pub fn tell(request: &WatchRequest) -> Result<Exit> {
    match ask(request)? {
        WatchAnswer::Done { said } => {
            print_line(&mut io::stdout().lock(), format_args!("{said}"))?;
            Ok(Exit::Clean)
        }
        _ => anyhow::bail!("the watch answered something else: is it another version?"),
    }
}
