//! Turns single sightings into events: sorts them by time, and decides when the foreground is drained.
//!
//! Pure: sightings and the kernel's count of requests in flight go in, events come out.

use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;

/// One foreground request seen at a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    /// When it was seen (`CLOCK_MONOTONIC`).
    pub(super) at: Nanos,
    /// Whether it arrived or was completed.
    pub(super) kind: SightingKind,
}

/// What a tracepoint reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SightingKind {
    /// A request reached the disk.
    Arrival,
    /// A request was completed.
    Completion,
}

/// The longest time from the trace of an arrival until the kernel counts the request as in flight, and from a completion
/// until it no longer does. Our choice: a thousand times what either usually takes, and well below the idle intervals that
/// are worth a scrub request.
pub(super) const LAG_MAX: Nanos = Nanos::from_millis(1);

/// The foreground's requests since the disk was last seen without any.
///
/// Arrivals and completions do not add up: the kernel completes flushes that never arrived, completes a request in
/// parts, and merges requests that then are never completed. So the balance is only believed when it agrees with
/// `/sys/block/X/inflight`, and a zero there overrules it.
#[derive(Debug, Default)]
pub(super) struct ForegroundActivity {
    /// Whether there was a sighting since the last [`Event::ForegroundDrained`].
    open: bool,
    /// Arrivals less completions since then.
    outstanding: u64,
    /// Time of the last arrival.
    arrived: Nanos,
    /// Time of the last completion since then.
    completed: Option<Nanos>,
    /// Sightings were lost since then, so the last completion may have been missed.
    lossy: bool,
    /// `at` of the last event handed out.
    last_reported: Nanos,
}

impl ForegroundActivity {
    /// Turns the sightings since the last call into events, and empties `sightings`. `lossy`: further ones were lost.
    ///
    /// The sightings of one call are sorted. One that belongs to an earlier call (another CPU wrote it a moment late) is dated
    /// as late as the last of that call: events never run backwards.
    pub(super) fn report(&mut self, sightings: &mut Vec<Sighting>, lossy: bool, events: &mut Vec<Event>) {
        sightings.sort_by_key(|sighting| sighting.at);
        self.open |= lossy || !sightings.is_empty();
        self.lossy |= lossy;
        for Sighting { at, kind } in sightings.drain(..) {
            self.last_reported = self.last_reported.max(at);
            let at = self.last_reported;
            match kind {
                SightingKind::Arrival => {
                    self.outstanding += 1;
                    self.arrived = at;
                    events.push(Event::ForegroundArrived { at, count: 1 });
                }
                SightingKind::Completion => {
                    self.outstanding = self.outstanding.saturating_sub(1);
                    self.completed = Some(at);
                    events.push(Event::ForegroundCompleted { at, count: 1 });
                }
            }
        }
    }

    /// Whether [`ForegroundActivity::reconcile`] must be called. Not on an idle disk, which saves a read of `/sys`.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Reports the foreground as drained, if it is. `now` is a time before the kernel's count was read, `in_flight` is that
    /// count, scrub requests included (`None`: it could not be read), and `own` is the number of scrub requests.
    ///
    /// `own` may be stale by one request either way, so while scrub requests are in flight the balance must agree, too.
    pub(super) fn reconcile(&mut self, now: Nanos, in_flight: Option<u64>, own: u32, events: &mut Vec<Event>) {
        let balanced = self.outstanding == 0;
        let drained = match in_flight {
            Some(0) => balanced || now.since(self.arrived) >= LAG_MAX,
            Some(all) => balanced && all <= u64::from(own),
            None => balanced,
        };
        if !self.open || !drained {
            return;
        }
        // A request whose completion was missed ended before now; that is all that is known.
        let drained_at = if balanced && !self.lossy { self.completed.unwrap_or(now) } else { now };
        self.last_reported = self.last_reported.max(drained_at);
        events.push(Event::ForegroundDrained { at: self.last_reported });
        *self = ForegroundActivity { last_reported: self.last_reported, ..ForegroundActivity::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(at: u64) -> Sighting {
        Sighting { at: Nanos(at), kind: SightingKind::Arrival }
    }

    fn completion(at: u64) -> Sighting {
        Sighting { at: Nanos(at), kind: SightingKind::Completion }
    }

    fn arrived(at: u64) -> Event {
        Event::ForegroundArrived { at: Nanos(at), count: 1 }
    }

    fn completed(at: u64) -> Event {
        Event::ForegroundCompleted { at: Nanos(at), count: 1 }
    }

    fn drained(at: u64) -> Event {
        Event::ForegroundDrained { at: Nanos(at) }
    }

    /// One drain: reports, and reconciles if necessary.
    fn drain(
        activity: &mut ForegroundActivity,
        sightings: &[Sighting],
        now: u64,
        in_flight: Option<u64>,
        own: u32,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        activity.report(&mut sightings.to_vec(), false, &mut events);
        if activity.is_open() {
            activity.reconcile(Nanos(now), in_flight, own, &mut events);
        }
        events
    }

    /// Much later than any arrival in these tests.
    const LATER: u64 = 1_000 * LAG_MAX.0;

    #[test]
    fn an_idle_disk_yields_nothing() {
        let mut activity = ForegroundActivity::default();
        assert!(!activity.is_open());
        assert_eq!(drain(&mut activity, &[], 10, Some(0), 0), []);
        assert_eq!(drain(&mut activity, &[], 20, Some(1), 1), []);
    }

    #[test]
    fn drained_is_dated_by_the_last_completion_and_reported_once() {
        let mut activity = ForegroundActivity::default();
        let seen = [arrival(10), arrival(12), completion(20), completion(25)];
        let expected = [arrived(10), arrived(12), completed(20), completed(25), drained(25)];
        assert_eq!(drain(&mut activity, &seen, 90, Some(0), 0), expected);
        assert_eq!(drain(&mut activity, &[], LATER, Some(0), 0), []);
    }

    #[test]
    fn rings_are_merged_by_time_and_late_records_do_not_run_backwards() {
        let mut activity = ForegroundActivity::default();
        let first = drain(&mut activity, &[completion(30), arrival(20), arrival(10)], 40, Some(1), 0);
        assert_eq!(first, [arrived(10), arrived(20), completed(30)]);
        let second = drain(&mut activity, &[completion(35), completion(29)], 40, Some(0), 0);
        assert_eq!(second, [completed(30), completed(35), drained(35)]);
    }

    #[test]
    fn own_reads_in_flight_do_not_hide_a_foreground_request() {
        let mut activity = ForegroundActivity::default();
        // The kernel counts one request: the scrub's or, if that has just been completed, the foreground's.
        assert_eq!(drain(&mut activity, &[arrival(10)], LATER, Some(1), 1), [arrived(10)]);
        assert_eq!(drain(&mut activity, &[], LATER, Some(2), 1), []);
        assert_eq!(drain(&mut activity, &[completion(LATER)], LATER, Some(1), 1), [completed(LATER), drained(LATER)]);
    }

    #[test]
    fn an_arrival_is_believed_before_the_kernel_counts_it() {
        let mut activity = ForegroundActivity::default();
        assert_eq!(drain(&mut activity, &[arrival(10)], 11, Some(0), 0), [arrived(10)]);
        // Its completion never came, so it was merged or is not traced: the time of the check is the best date.
        assert_eq!(drain(&mut activity, &[], LATER, Some(0), 0), [drained(LATER)]);
    }

    #[test]
    fn a_completed_flush_that_never_arrived_does_not_offset_an_arrival() {
        let mut activity = ForegroundActivity::default();
        assert_eq!(drain(&mut activity, &[completion(10)], 11, Some(0), 0), [completed(10), drained(10)]);
        assert_eq!(drain(&mut activity, &[arrival(20)], LATER, Some(1), 0), [arrived(20)]);
    }

    #[test]
    fn after_lost_sightings_drained_is_dated_by_the_check() {
        let mut activity = ForegroundActivity::default();
        let mut events = Vec::new();
        activity.report(&mut vec![arrival(10), completion(20)], true, &mut events);
        activity.reconcile(Nanos(50), Some(0), 0, &mut events);
        assert_eq!(events, [arrived(10), completed(20), drained(50)]);
    }

    #[test]
    fn a_disk_that_is_gone_is_judged_by_the_balance() {
        let mut activity = ForegroundActivity::default();
        assert_eq!(drain(&mut activity, &[arrival(10)], LATER, None, 0), [arrived(10)]);
        assert_eq!(drain(&mut activity, &[completion(LATER)], LATER, None, 0), [completed(LATER), drained(LATER)]);
    }
}
