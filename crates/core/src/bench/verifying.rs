//! Whether a drive's VERIFY reads the medium, judged from response times.
//!
//! Compared are times by size, with the read cache on and off, and at places that were just read.
//!
//! Amvrosiadis et al. 2012, figures 1 and 4: two ATA drives with their cache on answered verifications of up to 16 KiB
//! in 0.3 ms, where the medium took 4 or 8 ms; a SAS drive took the same time with cache and without.

use super::words;
use crate::units::Nanos;
use std::fmt;

/// The least and the greatest size measured, in bytes: those of figure 1.
pub const SIZES: (u64, u64) = (1 << 10, 16 << 20);
/// The greatest size that counts as small, in bytes: up to it the drives of figure 1 answered from their cache.
const SMALL_MAX: u64 = 16 << 10;
/// Times whose interquartile range exceeds this share of their median are too noisy.
const SPREAD_MAX: f64 = 0.5;
/// The least number of times for a median.
const TIMES_MIN: usize = 4;

/// The state of the drive's read cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadCache {
    /// On.
    On,
    /// Switched off for the measurement.
    Off,
    /// Not known, and not changeable.
    Unknown,
}

impl fmt::Display for ReadCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ReadCache::On => "cache on",
            ReadCache::Off => "cache off",
            ReadCache::Unknown => "cache as it is",
        })
    }
}

/// Response times by size, of requests in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseTimes {
    /// The verifier: `read`, `scsi`, `ata` or `nvme`.
    pub way: &'static str,
    /// The state of the read cache.
    pub cache: ReadCache,
    /// Response times by size in bytes.
    pub sizes: Vec<(u64, Vec<Nanos>)>,
    /// Response times at small places that had been read just before.
    pub again: Vec<Nanos>,
    /// The number of requests that failed; these have no times.
    pub faults: u64,
}

/// Whether a drive's VERIFY reads the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyHonesty {
    /// It reads the medium.
    ReadsMedium,
    /// It answers from the drive's cache where that has the data.
    FromCache,
    /// It reads nothing at all.
    ReadsNothing,
    /// It cannot be determined.
    Unknown,
}

impl VerifyHonesty {
    /// One word, for programs.
    pub const fn word(self) -> &'static str {
        match self {
            VerifyHonesty::ReadsMedium => "reads-medium",
            VerifyHonesty::FromCache => "from-cache",
            VerifyHonesty::ReadsNothing => "reads-nothing",
            VerifyHonesty::Unknown => "unknown",
        }
    }
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyVerdict {
    /// The verifier.
    pub way: &'static str,
    /// The verdict.
    pub honesty: VerifyHonesty,
    /// The reason: a sentence without its full stop.
    pub why: String,
}

/// Median and interquartile range of some times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MiddleTime {
    /// The median.
    pub median: f64,
    /// The third quartile less the first.
    pub spread: f64,
}

impl MiddleTime {
    /// The median of some times; `None` if there are fewer than four.
    pub fn of(times: &[Nanos]) -> Option<MiddleTime> {
        let mut seconds: Vec<f64> = times.iter().map(|time| time.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        let at = |share: usize| seconds[(seconds.len() - 1) * share / 4];
        (seconds.len() >= TIMES_MIN).then(|| MiddleTime { median: at(2), spread: at(3) - at(1) })
    }

    fn is_noisy(self) -> bool {
        self.spread > SPREAD_MAX * self.median
    }
}

impl ResponseTimes {
    /// The median of all small requests together, because their times hardly depend on their size.
    fn small(&self) -> Option<MiddleTime> {
        let times =
            self.sizes.iter().filter(|(size, _)| *size <= SMALL_MAX).flat_map(|(_, times)| times.iter().copied());
        MiddleTime::of(&times.collect::<Vec<_>>())
    }

    /// The medians at the greatest size that both have.
    fn large<'r>(&'r self, other: &'r ResponseTimes) -> Option<(MiddleTime, MiddleTime)> {
        self.sizes.iter().rev().find_map(|(size, times)| {
            let (_, other_times) = other.sizes.iter().find(|(of, _)| of == size)?;
            MiddleTime::of(times).zip(MiddleTime::of(other_times))
        })
    }
}

/// Judges one verifier by its times and those of reads. `turn` is the time of one turn in seconds if the disk rotates,
/// the shortest that is possible.
pub fn judge(way: &'static str, all: &[ResponseTimes], turn: Option<f64>) -> VerifyVerdict {
    let of = |way: &str, cache| all.iter().find(|times| times.way == way && times.cache == cache);
    let first =
        |way: &str| [ReadCache::On, ReadCache::Unknown, ReadCache::Off].into_iter().find_map(|cache| of(way, cache));
    let verdict = |honesty, why: String| VerifyVerdict { way, honesty, why };
    let unknown = |why: &str| verdict(VerifyHonesty::Unknown, why.to_owned());
    let Some(verify) = first(way) else { return unknown("it was not measured") };
    let shown = |time: MiddleTime| words::latency(time.median);
    if let Some((verified, read)) = first("read").and_then(|read| verify.large(read)) {
        if verified.is_noisy() || read.is_noisy() {
            return unknown("the times of large requests vary: measure again when nothing else uses the disk");
        }
        if verified.median < 0.2 * read.median {
            let why = format!("a large one takes {}, where a read of as much takes {}", shown(verified), shown(read));
            return verdict(VerifyHonesty::ReadsNothing, why);
        }
    }
    if verify.cache == ReadCache::Off {
        return unknown("it was measured with the read cache off only: what it does with it on is not known");
    }
    let Some(turn) = turn else {
        return unknown(
            "nothing rotates, so times do not show whether it reads the medium or a cache; it takes as long as if it read",
        );
    };
    let off = of(way, ReadCache::Off).and_then(ResponseTimes::small);
    let on = of(way, ReadCache::On).and_then(ResponseTimes::small);
    let again = MiddleTime::of(&verify.again);
    if [off, on, again].into_iter().flatten().any(MiddleTime::is_noisy) {
        return unknown("the times of small requests vary: measure again when nothing else uses the disk");
    }
    if let Some((on, off)) = on.zip(off).filter(|(on, off)| on.median < off.median / 3.0) {
        let why = format!("small ones take {} with the read cache on, and {} with it off", shown(on), shown(off));
        return verdict(VerifyHonesty::FromCache, why);
    }
    let Some(again) = again else { return unknown("too few requests ended well") };
    if again.median < turn / 4.0 {
        let why = format!(
            "a place that was just read is verified in {}, sooner than it can come round again ({})",
            shown(again),
            words::latency(turn)
        );
        return verdict(VerifyHonesty::FromCache, why);
    }
    if again.median < turn / 2.0 {
        return unknown(
            "a place that was just read is verified sooner than it comes round, but not soon enough for a cache",
        );
    }
    let cache_note = on.zip(off).map_or_else(String::new, |(on, off)| {
        format!("; small ones take {} with the read cache on, and {} with it off", shown(on), shown(off))
    });
    let why =
        format!("a place that was just read takes {} to verify: it has to come round again{cache_note}", shown(again));
    verdict(VerifyHonesty::ReadsMedium, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const TURN: f64 = 1.0 / 120.0;

    /// A drive of 7200 rpm that transfers 150 MB/s: small sequential requests take `small` ms, places that were just
    /// read take `again` ms, each with a relative noise of `noise`.
    fn times(way: &'static str, cache: ReadCache, small: f64, again: f64, noise: f64) -> ResponseTimes {
        let mut rng = Rng::new(3);
        let mut around = |millis: f64| Nanos((millis * 1e6 * (1.0 + noise * (2.0 * rng.uniform() - 1.0))) as u64);
        let sizes = (10..=24).map(|bits| 1u64 << bits);
        let sizes = sizes.map(|size| {
            let millis = small.max(size as f64 / 150e3);
            (size, (0..8).map(|_| around(millis)).collect())
        });
        let sizes = sizes.collect();
        ResponseTimes { way, cache, sizes, again: (0..16).map(|_| around(again)).collect(), faults: 0 }
    }

    fn honesty(all: &[ResponseTimes], turn: Option<f64>) -> VerifyHonesty {
        judge(all[all.len() - 1].way, all, turn).honesty
    }

    #[test]
    fn the_drives_of_figure_1_are_judged_as_in_the_paper() {
        let read = times("read", ReadCache::On, 0.3, 0.1, 0.1);
        let caviar =
            [read.clone(), times("ata", ReadCache::Off, 8.3, 8.3, 0.05), times("ata", ReadCache::On, 0.296, 0.3, 0.05)];
        assert_eq!(honesty(&caviar, Some(TURN)), VerifyHonesty::FromCache);
        let why = judge("ata", &caviar, Some(TURN)).why;
        assert!(why.contains("with the read cache on, and 8."), "{why}");
        let ultrastar =
            [read, times("scsi", ReadCache::Off, 4.03, 4.0, 0.05), times("scsi", ReadCache::On, 4.01, 4.0, 0.05)];
        assert_eq!(honesty(&ultrastar, Some(1.0 / 250.0)), VerifyHonesty::ReadsMedium);
    }

    #[test]
    fn without_a_cache_switch_rereads_decide() {
        let read = times("read", ReadCache::Unknown, 0.3, 0.1, 0.1);
        let of = |again| honesty(&[read.clone(), times("ata", ReadCache::Unknown, 0.3, again, 0.05)], Some(TURN));
        assert_eq!(of(0.2), VerifyHonesty::FromCache);
        assert_eq!(of(8.3), VerifyHonesty::ReadsMedium);
        assert_eq!(of(3.0), VerifyHonesty::Unknown, "neither");
    }

    #[test]
    fn a_verifier_that_reads_nothing_is_recognised_even_if_nothing_rotates() {
        let read = times("read", ReadCache::Unknown, 0.3, 0.1, 0.1);
        let mut reads_nothing = times("scsi", ReadCache::Unknown, 0.05, 0.05, 0.1);
        reads_nothing.sizes.iter_mut().for_each(|(_, times)| times.fill(Nanos(50_000)));
        for turn in [None, Some(TURN)] {
            assert_eq!(honesty(&[read.clone(), reads_nothing.clone()], turn), VerifyHonesty::ReadsNothing);
        }
        let flash = judge("nvme", &[read, times("nvme", ReadCache::Unknown, 0.1, 0.1, 0.1)], None);
        assert!(flash.honesty == VerifyHonesty::Unknown && flash.why.contains("nothing rotates"), "{flash:?}");
    }

    #[test]
    fn noisy_or_few_times_give_no_verdict() {
        let read = times("read", ReadCache::On, 0.3, 0.1, 0.1);
        let noisy = [read.clone(), times("ata", ReadCache::On, 4.0, 4.0, 0.95)];
        assert_eq!(honesty(&noisy, Some(TURN)), VerifyHonesty::Unknown);
        let mut few = times("ata", ReadCache::On, 8.3, 8.3, 0.05);
        few.again.truncate(2);
        assert_eq!(honesty(&[read, few], Some(TURN)), VerifyHonesty::Unknown);
        assert_eq!(judge("ata", &[], Some(TURN)).why, "it was not measured");
    }
}
