//! Requests to a running session: to stop, to pause, to resume, to change the policy and its goal.

use scrubjay_core::scrub::idle::PolicyConfig;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by the thread that runs a session and those that steer it. A request takes effect within 50 ms.
#[derive(Debug, Default)]
pub struct SessionControl {
    is_stopped: Arc<AtomicBool>,
    is_paused: AtomicBool,
    was_continued: Arc<AtomicBool>,
    policy: Mutex<Option<PolicyConfig>>,
}

impl SessionControl {
    /// A control that also stops the session when `flag` is set (by a signal, say).
    pub fn stopped_by(flag: Arc<AtomicBool>) -> SessionControl {
        SessionControl { is_stopped: flag, ..SessionControl::default() }
    }

    /// The flag that stops the session.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_stopped)
    }

    /// The flag to set when the whole process continues after it was stopped (SIGCONT).
    pub fn continued_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.was_continued)
    }

    /// Whether the process has continued after a stop, since the last call.
    pub(crate) fn take_continued(&self) -> bool {
        self.was_continued.swap(false, Ordering::Relaxed)
    }

    /// Ends the session once its requests at the disk have completed. A later session resumes from there.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Sends no more scrub requests, but keeps watching the foreground, until [`SessionControl::resume`].
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::Relaxed);
    }

    /// Continues after a pause.
    pub fn resume(&self) {
        self.is_paused.store(false, Ordering::Relaxed);
    }

    /// Whether the session is paused.
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Changes the policy, and its goal, from now on. The new policy receives the load observed so far; a budget's account starts
    /// from zero.
    pub fn change_policy(&self, policy: PolicyConfig) {
        *self.policy.lock().unwrap_or_else(PoisonError::into_inner) = Some(policy);
    }

    /// The policy requested since the last call, if any.
    pub(crate) fn take_policy(&self) -> Option<PolicyConfig> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
