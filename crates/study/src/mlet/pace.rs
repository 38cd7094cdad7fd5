//! The pace of a tour in the idle intervals of a trace, as a simulated scrub reads there.

use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::IntervalPolicy;
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact::Firing;

/// Of steps that are closer together than this share of the trace, only some are kept: 9 s of a week, less than any
/// delay in the results.
const STEP_MIN: f64 = 1.0 / 65_536.0;

/// The bytes a scrub has read by each moment of a trace. The trace repeats without end: the next pass begins when the
/// last request is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// (seconds, bytes) since the first request, both ascending and linear in between, from zero to the end of the
    /// pass.
    steps: Vec<(f64, f64)>,
}

impl Pace {
    /// Plays `policy` in the idle intervals of a trace, as [`scrubjay_sim::exact::simulate`] does. `None`: it reads
    /// nothing.
    pub fn of(
        requests: &[ForegroundRequest],
        disk: ServiceModel,
        policy: &mut (impl IntervalPolicy + ?Sized),
    ) -> Option<Pace> {
        let began = requests.first()?.at;
        let (mut free, mut delay) = (began, Nanos::ZERO);
        let (mut fired, mut bytes) = (Vec::new(), 0.0);
        for request in requests {
            let idle = request.at.since(free);
            if idle > delay {
                let pattern = policy.pattern();
                let firing = Firing::of(&pattern, idle - delay, |size| disk.service(size));
                policy.ended(idle - delay);
                if firing.bytes > 0 {
                    let begin = (free + delay + pattern.wait).since(began).as_secs_f64();
                    let end = (request.at + firing.residual).since(began).as_secs_f64();
                    push(&mut fired, (begin, bytes));
                    bytes += firing.bytes as f64;
                    push(&mut fired, (end, bytes));
                }
                delay = firing.residual;
            } else {
                delay = delay.since(idle);
            }
            free = free.max(request.at).saturating_add(request.service);
        }
        let span = free.since(began).as_secs_f64();
        (bytes > 0.0).then(|| Pace { steps: thinned(fired, (span, bytes)) })
    }

    /// The duration of one pass of the trace, in seconds.
    pub fn span(&self) -> f64 {
        self.last().0
    }

    /// The bytes read in one pass of the trace: more than zero.
    pub fn bytes(&self) -> f64 {
        self.last().1
    }

    /// The bytes read from the beginning of the trace to `moment` (seconds, `0..=span`).
    pub fn read_by(&self, moment: f64) -> f64 {
        let next = self.steps.partition_point(|step| step.0 < moment);
        between(&self.steps, next, moment, |step| step)
    }

    /// The time after which `bytes` are read, in seconds from the beginning; it may take several passes of the trace.
    pub fn when(&self, bytes: f64) -> f64 {
        let passes = (bytes / self.bytes()).floor();
        let rest = bytes - passes * self.bytes();
        let next = self.steps.partition_point(|step| step.1 < rest);
        passes * self.span() + between(&self.steps, next, rest, |(time, bytes)| (bytes, time))
    }

    /// The time from `moment` (seconds, `0..=span`) until `bytes` more are read, in seconds.
    pub fn delay(&self, moment: f64, bytes: f64) -> f64 {
        // In a pause of the scrub, the moment at which the bytes read so far were reached is before `moment`.
        (self.when(self.read_by(moment) + bytes) - moment).max(0.0)
    }

    /// The mean duration of a tour over `bytes`, in seconds.
    pub fn period(&self, bytes: f64) -> f64 {
        bytes / self.bytes() * self.span()
    }

    /// The steps of one pass: (seconds, bytes), both ascending.
    pub fn steps(&self) -> &[(f64, f64)] {
        &self.steps
    }

    fn last(&self) -> (f64, f64) {
        *self.steps.last().expect("a pace has an end")
    }
}

/// Adds a step; one at the same moment as the last replaces it.
fn push(steps: &mut Vec<(f64, f64)>, step: (f64, f64)) {
    match steps.last_mut() {
        Some(last) if last.0 >= step.0 => last.1 = step.1,
        _ => steps.push(step),
    }
}

/// The steps from zero to `end`, without those that make no difference.
fn thinned(fired: Vec<(f64, f64)>, end: (f64, f64)) -> Vec<(f64, f64)> {
    let mut steps = vec![(0.0, 0.0)];
    let mut left_out = None;
    for step in fired {
        let kept = steps[steps.len() - 1].0;
        if step.0 - kept < end.0 * STEP_MIN {
            left_out = Some(step);
        } else if step.0 < end.0 {
            // The last one of a run of omitted steps is kept, so that a pause after the run is not blurred.
            steps.extend(left_out.take());
            steps.push(step);
        }
    }
    steps.extend(left_out.filter(|step| step.0 < end.0));
    steps.push(end);
    steps
}

/// The other coordinate at `x`, on the line that ends with step `next`; `oriented` returns (x, other) of a step.
fn between(steps: &[(f64, f64)], next: usize, x: f64, oriented: impl Fn((f64, f64)) -> (f64, f64)) -> f64 {
    let Some(&after) = steps.get(next) else { return oriented(steps[steps.len() - 1]).1 };
    let (x1, y1) = oriented(after);
    let (x0, y0) = oriented(steps[next.saturating_sub(1)]);
    if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;
    use scrubjay_core::scrub::idle::Waiting;
    use scrubjay_core::units::Bytes;
    use scrubjay_sim::exact;
    use scrubjay_trace::Periods;

    /// A request takes one second per MiB, and nothing for positioning.
    const DISK: ServiceModel = ServiceModel { positioning: Nanos(0), per_mib: Nanos::from_secs(1) };
    const MIB: f64 = 1_048_576.0;

    fn at(seconds: u64) -> ForegroundRequest {
        ForegroundRequest { at: Nanos::from_secs(seconds), service: Nanos::from_secs(1) }
    }

    /// Busy 5..6, 16..17 and 27..28: two intervals of 10 s, of which 8 s are used.
    #[test]
    fn a_pace_by_hand() {
        let mut policy = Waiting { wait: Nanos::from_secs(2), size: Bytes::mib(1) };
        let pace = Pace::of(&[at(5), at(16), at(27)], DISK, &mut policy).unwrap();
        let expected = [(0.0, 0.0), (3.0, 0.0), (11.0, 8.0), (14.0, 8.0), (22.0, 16.0), (23.0, 16.0)];
        assert_eq!(pace.steps(), expected.map(|(time, mib)| (time, mib * MIB)));
        assert_eq!((pace.read_by(2.0), pace.read_by(7.0), pace.read_by(12.0)), (0.0, 4.0 * MIB, 8.0 * MIB));
        assert_eq!((pace.when(0.0), pace.when(8.0 * MIB), pace.when(9.0 * MIB)), (0.0, 11.0, 15.0));
        assert_eq!((pace.when(17.0 * MIB), pace.period(32.0 * MIB)), (23.0 + 4.0, 46.0), "the trace is repeated");
        assert_eq!((pace.delay(12.0, 0.0), pace.delay(12.0, 1.0 * MIB)), (0.0, 3.0));
        policy.wait = Nanos::from_secs(10);
        assert_eq!(Pace::of(&[at(5), at(16), at(27)], DISK, &mut policy), None);
        assert_eq!(Pace::of(&[], DISK, &mut policy), None);
    }

    #[test]
    fn as_much_is_read_as_the_exact_simulator_reads() {
        let (mut rng, mut now) = (Rng::new(3), Nanos::ZERO);
        let requests: Vec<ForegroundRequest> = (0..20_000)
            .map(|_| {
                now += Nanos::from_secs_f64(rng.exponential(0.2).powi(2));
                ForegroundRequest { at: now, service: Nanos::from_millis(5) }
            })
            .collect();
        let disk = ServiceModel::ULTRASTAR_15K450;
        let mut policy = Waiting { wait: Nanos::from_millis(3), size: Bytes::mib(1) };
        let periods: Periods = requests.iter().copied().collect();
        let outcome = exact::simulate(&periods, disk, &mut policy);
        assert!(outcome.collisions > 100 && outcome.slowdown_max > Nanos::from_millis(10));
        let pace = Pace::of(&requests, disk, &mut policy).unwrap();
        assert_eq!((pace.bytes(), pace.span()), (outcome.scrub_bytes as f64, periods.span().as_secs_f64()));
        assert!(pace.steps().is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
    }
}
