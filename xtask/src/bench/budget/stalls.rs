//! Threads that only sleep, to detect when the machine stalled: a client's delay then was caused by no program on it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Threads (count): a virtual processor that its host does not run delays only those that slept on it.
const THREADS: usize = 4;

/// How long each thread sleeps at a time.
const NAP: Duration = Duration::from_millis(10);

/// The machine stalled if a thread wakes up this much late. With two computing threads, one in a hundred wakes up 4 ms
/// late.
const LATE: Duration = Duration::from_millis(20);

/// Detects stalls until it is asked for them.
pub struct StallDetector {
    is_over: Arc<AtomicBool>,
    stalls: Arc<Mutex<Vec<Stall>>>,
    threads: Vec<JoinHandle<()>>,
}

/// The time during which the machine stalled.
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    from: Instant,
    to: Instant,
}

impl Stall {
    /// Does it overlap the time that began at `at` and lasted `time`?
    pub fn overlaps(&self, at: Instant, time: Duration) -> bool {
        self.from < at + time && at < self.to
    }
}

impl StallDetector {
    /// Starts the threads.
    pub fn new() -> StallDetector {
        let (is_over, stalls) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let threads = (0..THREADS).map(|_| {
            let (is_over, stalls) = (Arc::clone(&is_over), Arc::clone(&stalls));
            thread::spawn(move || watch(&is_over, &stalls))
        });
        StallDetector { threads: threads.collect(), is_over, stalls }
    }

    /// Ends the threads, and returns the stalls.
    pub fn finish(self) -> Vec<Stall> {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // A thread that panicked has no further stalls.
            let _ = thread.join();
        }
        std::mem::take(&mut *self.stalls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn watch(is_over: &AtomicBool, stalls: &Mutex<Vec<Stall>>) {
    while !is_over.load(Ordering::Relaxed) {
        let due = Instant::now() + NAP;
        thread::sleep(NAP);
        let now = Instant::now();
        if now.saturating_duration_since(due) > LATE {
            stalls.lock().unwrap_or_else(PoisonError::into_inner).push(Stall { from: due, to: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_overlaps_each_time_that_shares_a_moment_with_it() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let stall = Stall { from: start + ms(10), to: start + ms(40) };
        assert!(
            stall.overlaps(start, ms(11))
                && stall.overlaps(start + ms(39), ms(1))
                && stall.overlaps(start + ms(20), ms(1))
        );
        assert!(!stall.overlaps(start, ms(10)) && !stall.overlaps(start + ms(40), ms(5)));
    }
}
