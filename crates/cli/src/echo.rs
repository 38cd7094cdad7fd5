//! The echo of Ctrl-C: off while a live line is drawn, because `^C` behind the line would leave it standing.

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// While it lives, the terminal at standard input does not echo control characters.
#[derive(Debug)]
pub struct EchoOff(Option<Termios>);

impl EchoOff {
    /// Switches it off; does nothing without a terminal, or in the background, where the kernel would stop this process.
    pub fn new() -> EchoOff {
        let Some(saved) = is_in_foreground().then(|| tcgetattr(io::stdin()).ok()).flatten() else {
            return EchoOff(None);
        };
        let mut quiet = saved.clone();
        quiet.local_modes.remove(LocalModes::ECHOCTL);
        let done = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        EchoOff(done.is_ok().then_some(saved))
    }
}

/// Switches the echo on again once a stop was requested: a second Ctrl-C ends the process at once, which runs no destructor.
pub fn restore_at(stop: &AtomicBool, echo: &mut Option<EchoOff>) {
    if stop.load(Ordering::Relaxed) {
        *echo = None;
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        if let Some(saved) = self.0.take().filter(|_| is_in_foreground()) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &saved);
        }
    }
}

fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
