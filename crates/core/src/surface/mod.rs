//! The surface of a disk: how fast each place of it answers, and which places, and which disks, answer slower than they should.
//!
//! ```text
//! a scrub's own requests -> scrub::timing -> Visit (one segment) -> PassVisits -> SpeedMap (one region: typical, p99, stalled)
//!                                                                                   -> slow::slow_places    against the neighbours
//!                                                                  -> daily::DailyTimings -> slow_disk     against its past and its siblings
//! ```
//!
//! Every measured time is one of a request that was alone at the disk and followed the one before: neither a foreground request nor a
//! seek is in it. Times are kept as steps of a sixteenth of an octave (4.4 %).

pub mod daily;
pub mod map;
pub mod slow;
pub mod visit;

use crate::units::{Bytes, Nanos};

/// The time that reading a MiB takes, in steps of a sixteenth of an octave from 32.8 us to 1.9 s; or nothing: it was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadTime(u8);

impl ReadTime {
    /// Nothing was measured.
    pub const NONE: ReadTime = ReadTime(0);
    /// Steps between a time and its double.
    pub const STEPS_PER_OCTAVE: f64 = 16.0;
    /// The time of step 1.
    const FIRST: f64 = 32_768.0;

    /// The step of `time` for `bytes`.
    pub fn of(time: Nanos, bytes: Bytes) -> ReadTime {
        ReadTime::of_nanos(time.0 as f64 * (1 << 20) as f64 / bytes.0.max(1) as f64)
    }

    /// The step of a time in nanoseconds a MiB.
    pub fn of_nanos(nanos_per_mib: f64) -> ReadTime {
        let step = (nanos_per_mib.max(1.0) / ReadTime::FIRST).log2() * ReadTime::STEPS_PER_OCTAVE + 1.0;
        ReadTime(step.round().clamp(1.0, 255.0) as u8)
    }

    /// The step as it is saved; 0: nothing was measured.
    pub fn code(self) -> u8 {
        self.0
    }

    /// The step that was saved as `code`.
    pub fn of_code(code: u8) -> ReadTime {
        ReadTime(code)
    }

    /// Whether anything was measured.
    pub fn is_measured(self) -> bool {
        self.0 > 0
    }

    /// The time of this step in nanoseconds a MiB; `None`: nothing was measured.
    pub fn nanos_per_mib(self) -> Option<f64> {
        let octaves = (f64::from(self.0) - 1.0) / ReadTime::STEPS_PER_OCTAVE;
        self.is_measured().then(|| ReadTime::FIRST * octaves.exp2())
    }

    /// The speed of this step in bytes a second; `None`: nothing was measured.
    pub fn bytes_per_second(self) -> Option<f64> {
        self.nanos_per_mib().map(|nanos| (1 << 20) as f64 * 1e9 / nanos)
    }
}

/// How many times as long something took that is this many steps behind.
pub fn ratio_of_steps(steps: f64) -> f64 {
    (steps / ReadTime::STEPS_PER_OCTAVE).exp2()
}

/// The steps between a time and the one that is `ratio` times as long.
pub fn steps_of_ratio(ratio: f64) -> f64 {
    ratio.log2() * ReadTime::STEPS_PER_OCTAVE
}

/// The median of the measured timings among `timings` (the lower one of two); [`ReadTime::NONE`]: none was measured. Orders `timings` anew.
pub(crate) fn median(timings: &mut [ReadTime]) -> ReadTime {
    timings.sort_unstable();
    let first = timings.partition_point(|timing| !timing.is_measured());
    let measured = &timings[first..];
    if measured.is_empty() { ReadTime::NONE } else { measured[(measured.len() - 1) / 2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back_within_half_a_step() {
        for nanos in [40_000.0, 100_000.0, 4_000_000.0, 1.1e7, 1.5e9] {
            let back = ReadTime::of_nanos(nanos).nanos_per_mib().unwrap();
            assert!((back / nanos).log2().abs() <= 0.5 / 16.0 + 1e-9, "{nanos}: {back}");
        }
        assert_eq!(ReadTime::of(Nanos::from_millis(8), Bytes::mib(2)), ReadTime::of_nanos(4e6));
        assert_eq!(ReadTime::of_nanos(0.0).code(), 1, "faster than the scale");
        assert_eq!(ReadTime::of_nanos(1e12).code(), 255, "slower than the scale");
        assert_eq!(ReadTime::NONE.nanos_per_mib(), None);
        assert!((ratio_of_steps(steps_of_ratio(1.5)) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn what_was_not_measured_is_no_part_of_a_median() {
        let of = |codes: &[u8]| median(&mut codes.iter().map(|&code| ReadTime(code)).collect::<Vec<_>>()).0;
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[0, 0]), 0);
        assert_eq!(of(&[0, 7, 0, 9, 8]), 8);
        assert_eq!(of(&[7, 9]), 7);
    }
}
