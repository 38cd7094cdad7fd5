//! What a program may ask of a session while it runs: to stop, to pause and go on, to keep another goal.

use scrubjay_core::scrub::idle::PolicyConfig;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by the thread that runs a session and those that steer it. Each wish is seen within 50 ms.
#[derive(Debug, Default)]
pub struct SessionControl {
    is_stopped: Arc<AtomicBool>,
    is_paused: AtomicBool,
    policy: Mutex<Option<PolicyConfig>>,
}

impl SessionControl {
    /// One that also stops when `flag` is set: by a signal, say.
    pub fn stopped_by(flag: Arc<AtomicBool>) -> SessionControl {
        SessionControl { is_stopped: flag, ..SessionControl::default() }
    }

    /// Ends the session, once what is at the disk has come back. A later session goes on from there.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Was it asked to stop?
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Sends no more requests, and keeps watching the others, until [`SessionControl::resume`].
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::Relaxed);
    }

    /// Goes on after a pause.
    pub fn resume(&self) {
        self.is_paused.store(false, Ordering::Relaxed);
    }

    /// Is it paused?
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// From now on this policy decides, with this goal. It knows the load that was seen so far; a budget's account begins anew.
    pub fn change_policy(&self, policy: PolicyConfig) {
        *self.policy.lock().unwrap_or_else(PoisonError::into_inner) = Some(policy);
    }

    /// The policy that was asked for since it was last looked, if any.
    pub(crate) fn take_policy(&self) -> Option<PolicyConfig> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
