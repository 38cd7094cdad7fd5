//! What a run has learnt of a disk and its foreground, for the next run: its text form, there and back.
//!
//! No file is touched here.
//!
//! ```text
//! scrubjay learnt 1               the format's version
//! at 1763722222                   unix seconds
//! idle 214 33.000                 the number of idle intervals in this bucket of a `DurationHistogram`
//! followers 12 40.000 44.1 ...    octave, its intervals; by service time, the (weighted) number of requests that lost
//! worst 10 10 12.5 ...            by service time: the greatest (weighted) number of requests that lost by one collision
//! service there 3 5100000 ...     access pattern (away: random, there: sequential), index of the size: sixteen recent service times, in nanoseconds
//! clock 5c1f5e0e-...              the clock that the next three lines refer to: the boot, on Linux
//! beat 1 30.100 75.000            a period in seconds by which programs work: the evidence in nats, and of how many ends
//! young 0.000 0.612 ...           by part of the period: intervals that ended there, and the number expected by their age
//! old 3.000 0.311 ...             the same counts for intervals older than half a period
//! checksum 1c291ca3               CRC-32C of all lines above
//! ```
//!
//! It determines how a plan begins, and never how much may be lost: each run keeps its own account. What was learnt a
//! week ago counts half, and all of it counts for at most two hundred intervals, so that new observations soon outweigh
//! it. (With a thousand, the mean so far reached 1.2 of the goal where the load had changed meanwhile; with two
//! hundred, 1.01.)

use super::{AccessPattern, Observed, ServiceTimes};
use crate::units::{Nanos, UnixSeconds};
use scrubjay_code::crc32c;
use std::fmt::{self, Write};
use std::str::FromStr;

const MAGIC: &str = "scrubjay learnt 1";
/// The age at which what was learnt counts half, in seconds.
const HALF_LIFE: f64 = 7.0 * 86_400.0;
/// The idle intervals of an earlier run count as at most this many.
const INTERVALS_MAX: f64 = 200.0;
/// The longest name of a clock, in bytes.
const CLOCK_MAX: usize = 64;
/// The largest number that is accepted in a text, except in times.
const COUNT_MAX: f64 = 1e12;

/// The longest valid text, in bytes.
pub const BYTES_MAX: usize = 128 << 10;

/// What a run has learnt, for the next one; see the module's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedObservations {
    /// The date at which it was learnt.
    pub at: UnixSeconds,
    clock: String,
    periodicity: Option<Periodicity>,
    idle: Vec<(usize, f64)>,
    followers: Vec<(usize, Vec<f64>)>,
    worst: Vec<f64>,
    services: Vec<(AccessPattern, usize, Vec<u64>)>,
}

/// A period by which programs send requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Periodicity {
    /// The length of the period.
    pub period: Nanos,
    /// The score in nats: how much better than age alone it has predicted the ends of idle intervals.
    pub score: f64,
    /// The number of those ends.
    pub ends: f64,
    /// For young intervals and for old ones, by part of the period: the number that ended there, and the number expected.
    pub parts: [Vec<[f64; 2]>; 2],
}

impl SavedObservations {
    /// What `seen` holds, and the period that the policy believes.
    pub fn of(seen: &Observed, periodicity: Option<Periodicity>, at: UnixSeconds) -> SavedObservations {
        let (followers, worst) = seen.workload.followers.kept();
        let (idle, services) = (seen.workload.idle.kept().collect(), seen.service.kept());
        SavedObservations { at, clock: String::new(), periodicity, idle, followers, worst, services }
    }

    /// Adds the name of the clock to which the period refers: without one no periodicity is written. Up to 64 letters, digits
    /// and hyphens; another name counts as none.
    pub fn with_clock(self, clock: &str) -> SavedObservations {
        let is_name =
            clock.len() <= CLOCK_MAX && clock.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        SavedObservations { clock: if is_name { clock.to_owned() } else { String::new() }, ..self }
    }

    /// The part that holds for the clock of this name: the period is dropped if it refers to another.
    pub fn by(self, clock: &str) -> SavedObservations {
        let periodicity = self.periodicity.filter(|_| self.clock == clock);
        SavedObservations { periodicity, ..self }
    }

    /// The periodicity, if one is known.
    pub fn periodicity(&self) -> Option<&Periodicity> {
        self.periodicity.as_ref()
    }

    /// Is there anything to recall?
    pub fn is_any(&self) -> bool {
        !self.idle.is_empty() || !self.services.is_empty()
    }

    /// The observations to begin with at `now`, which is the date `today`; older ones count less. `held_max`: see
    /// [`ServiceTimes::held_up_to`].
    pub fn recalled(&self, now: Nanos, today: UnixSeconds, held_max: Option<Nanos>) -> Observed {
        let mut seen = Observed { service: ServiceTimes::held_up_to(held_max), ..Observed::default() };
        let age = today.0.saturating_sub(self.at.0) as f64;
        let all: f64 = self.idle.iter().map(|&(_, count)| count).sum();
        let keep = (-age / HALF_LIFE).exp2() * (INTERVALS_MAX / all.max(INTERVALS_MAX));
        self.idle.iter().for_each(|&(bucket, count)| seen.workload.idle.recall(bucket, keep * count));
        seen.workload.followers.recall(&self.followers, &self.worst, keep);
        for (access, step, nanos) in &self.services {
            nanos.iter().for_each(|&nanos| seen.service.recall(*access, *step, nanos, now));
        }
        seen
    }

    fn encode(&self, text: &mut String) -> fmt::Result {
        let joined = |numbers: &[f64]| numbers.iter().map(|one| format!(" {one:.3}")).collect::<String>();
        writeln!(text, "{MAGIC}\nat {}", self.at.0)?;
        for (bucket, count) in &self.idle {
            writeln!(text, "idle {bucket} {count:.3}")?;
        }
        for (octave, numbers) in &self.followers {
            writeln!(text, "followers {octave}{}", joined(numbers))?;
        }
        writeln!(text, "worst{}", joined(&self.worst))?;
        for (access, step, nanos) in &self.services {
            let nanos: String = nanos.iter().map(|one| format!(" {one}")).collect();
            writeln!(text, "service {} {step}{nanos}", name(*access))?;
        }
        if let Some(Periodicity { period, score, ends, parts }) =
            self.periodicity.as_ref().filter(|_| !self.clock.is_empty())
        {
            writeln!(text, "clock {}\nbeat {} {score:.3} {ends:.3}", self.clock, period.as_secs_f64())?;
            for (age, parts) in AGES.iter().zip(parts) {
                writeln!(text, "{age}{}", joined(parts.as_flattened()))?;
            }
        }
        Ok(())
    }
}

/// The names of the rows of a [`Periodicity`], by age of the intervals.
const AGES: [&str; 2] = ["young", "old"];

fn name(access: AccessPattern) -> &'static str {
    match access {
        AccessPattern::Random => "away",
        AccessPattern::Sequential => "there",
    }
}

impl fmt::Display for SavedObservations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.encode(&mut text)?;
        writeln!(f, "{text}checksum {:08x}", crc32c(text.as_bytes()))
    }
}

/// A text is not a valid [`SavedObservations`]: it is cut short, damaged, or of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservationsError;

impl fmt::Display for ObservationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut short, damaged, or of another version")
    }
}

impl std::error::Error for ObservationsError {}

impl FromStr for SavedObservations {
    type Err = ObservationsError;

    fn from_str(text: &str) -> Result<SavedObservations, ObservationsError> {
        parse(text).ok_or(ObservationsError)
    }
}

fn parse(text: &str) -> Option<SavedObservations> {
    let body_end = text.trim_end_matches('\n').rfind('\n')? + 1;
    let (body, last) = text.split_at(body_end);
    let is_whole = text.len() <= BYTES_MAX && last.trim_end() == format!("checksum {:08x}", crc32c(body.as_bytes()));
    let mut lines = body.lines();
    if !is_whole || lines.next() != Some(MAGIC) {
        return None;
    }
    let mut learnt = SavedObservations {
        at: UnixSeconds(lines.next()?.strip_prefix("at ")?.parse().ok()?),
        ..SavedObservations::default()
    };
    for line in lines {
        let mut words = line.split(' ');
        match words.next()? {
            "idle" => {
                let place = words.next()?.parse().ok()?;
                let [count] = *numbers(words)? else { return None };
                learnt.idle.push((place, count));
            }
            "followers" => learnt.followers.push((words.next()?.parse().ok()?, numbers(words)?)),
            "worst" => learnt.worst = numbers(words)?,
            "service" => {
                let access = match words.next()? {
                    "away" => AccessPattern::Random,
                    "there" => AccessPattern::Sequential,
                    _ => return None,
                };
                let step = words.next()?.parse().ok()?;
                let nanos: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
                learnt.services.push((access, step, nanos?));
            }
            "clock" => learnt = learnt.with_clock(words.next()?),
            "beat" => {
                let [period, score, ends] = *numbers(words)? else { return None };
                let period = Nanos::from_secs_f64(period);
                learnt.periodicity = Some(Periodicity { period, score, ends, ..Periodicity::default() });
            }
            age => {
                let row = AGES.iter().position(|one| *one == age)?;
                let numbers = numbers(words)?;
                let (parts, []) = numbers.as_chunks::<2>() else { return None };
                learnt.periodicity.as_mut()?.parts[row] = parts.to_vec();
            }
        }
    }
    Some(learnt)
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
    words.map(|word| word.parse().ok().filter(|one| (0.0..=COUNT_MAX).contains(one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::units::Bytes;

    /// A disk with seeks of 8 ms, idle for 10 to 500 ms, after which three requests arrive 20 ms apart.
    fn seen() -> Observed {
        let (mut seen, mut rng) = (Observed::default(), Rng::new(1));
        let ms = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
        for round in 0..3000u64 {
            seen.workload.add_idle(Nanos::ZERO, ms(10.0 * 50f64.powf(rng.uniform())));
            seen.workload.add_requests(1);
            for _ in 0..2 {
                seen.workload.add_idle(Nanos::ZERO, ms(20.0));
                seen.workload.add_requests(1);
            }
            let (size, at) = ([Bytes::kib(64), Bytes::kib(512)][round as usize % 2], Nanos::from_millis(round));
            let service = ms(rng.exponential(1.0) + size.as_mib_f64() * 10.0);
            seen.service.add(size, AccessPattern::Sequential, service, at);
            seen.service.add(size, AccessPattern::Random, service + ms(8.0), at);
        }
        seen
    }

    #[test]
    fn recalled_observations_are_like_the_original_and_fade() {
        let (seen, at) = (seen(), UnixSeconds(1_763_722_222));
        let learnt = SavedObservations::of(&seen, None, at);
        let text = learnt.to_string();
        assert!(text.len() < BYTES_MAX / 4, "{}", text.len());
        let read: SavedObservations = text.parse().unwrap();
        assert_eq!(read.to_string(), text);
        let now = Nanos::from_secs(5);
        let recalled = read.recalled(now, at, None);
        assert!((recalled.workload.idle.moments().count - INTERVALS_MAX).abs() < 1.0);
        assert_eq!((recalled.workload.requests, recalled.workload.intervals), (0, 0), "no account is kept");
        let survival = |seen: &Observed, seconds: f64| {
            let longer = seen.workload.idle.survival().into_iter().find(|one| one.threshold >= seconds);
            longer.unwrap().longer / seen.workload.idle.moments().count
        };
        for seconds in [0.015, 0.05, 0.2, 0.4] {
            let (before, after) = (survival(&seen, seconds), survival(&recalled, seconds));
            assert!((before - after).abs() < 0.001, "{seconds}: {before} and {after}");
        }
        let queue_factor = |seen: &Observed| seen.workload.followers.queue_factor(0.3, 0.064);
        let (before, after) = (queue_factor(&seen), queue_factor(&recalled));
        assert!(before > 1.5 && (after / before - 1.0).abs() < 0.2, "few ends are recalled: {before} and {after}");
        for (size, access) in [64, 512, 1024]
            .into_iter()
            .flat_map(|kib| [AccessPattern::Random, AccessPattern::Sequential].map(|h| (kib, h)))
        {
            let of = |seen: &Observed| seen.service.of(Bytes::kib(size), access);
            let (before, after) = (of(&seen), of(&recalled));
            assert!(
                (before.mean / after.mean - 1.0).abs() < 0.1
                    && (before.usual_high / after.usual_high - 1.0).abs() < 0.2,
                "{before:?} {after:?}"
            );
        }
        let later = read.recalled(now, UnixSeconds(at.0 + 7 * 86_400), None).workload.idle.moments().count;
        assert!((later - INTERVALS_MAX / 2.0).abs() < 1.0, "{later}");
    }

    #[test]
    fn a_period_is_saved_with_its_clock_and_dropped_on_another() {
        let parts = [vec![[3.0, 0.5], [0.0, 0.25]], vec![[1.0, 0.125], [2.0, 4.0]]];
        let periodicity = Periodicity { period: Nanos::from_secs(30), score: 31.5, ends: 75.0, parts };
        let learnt = SavedObservations::of(&seen(), Some(periodicity.clone()), UnixSeconds(1)).with_clock("5c1f-0e");
        let read: SavedObservations = learnt.to_string().parse().unwrap();
        assert_eq!(read.clone().by("5c1f-0e").periodicity(), Some(&periodicity));
        assert_eq!(read.clone().by("another").periodicity(), None);
        assert_eq!(read.by("").periodicity(), None);
        for clock in ["", "two words", "a\nb"] {
            let read: SavedObservations = learnt.clone().with_clock(clock).to_string().parse().unwrap();
            assert_eq!(read.by(clock).periodicity(), None, "{clock:?}");
        }
        let text = learnt.to_string();
        let sealed =
            |body: &str| format!("{body}checksum {:08x}\n", crc32c(body.as_bytes())).parse::<SavedObservations>();
        let body = &text[..text.rfind("checksum").unwrap()];
        assert!(sealed(body).is_ok());
        for (original, damaged) in
            [("beat 30", "beat x"), ("young 3", "young 3 3"), ("old", "older"), ("beat", "worst")]
        {
            assert!(sealed(&body.replacen(original, damaged, 1)).is_err(), "{damaged}");
        }
    }

    #[test]
    fn a_damaged_text_is_refused() {
        let text = SavedObservations::of(&seen(), None, UnixSeconds(1)).to_string();
        let sealed =
            |body: &str| format!("{body}checksum {:08x}\n", crc32c(body.as_bytes())).parse::<SavedObservations>();
        let body = &text[..text.rfind("checksum").unwrap()];
        assert!(sealed(body).is_ok());
        assert_eq!(text.replacen("idle", "idlf", 1).parse::<SavedObservations>(), Err(ObservationsError));
        for (original, damaged) in
            [("idle ", "idle -1 "), ("idle ", "idle 3 nan\nidle "), ("there", "where"), ("at 1", "at x")]
        {
            assert!(sealed(&body.replacen(original, damaged, 1)).is_err(), "{damaged}");
        }
        assert!(["", "checksum 00000000", MAGIC].iter().all(|text| text.parse::<SavedObservations>().is_err()));
        // Indices that do not exist are ignored.
        let odd =
            format!("{MAGIC}\nat 5\nidle 99999 5\nfollowers 99 1\nworst 1\nservice there 99 5 5\nservice away 0\n");
        let recalled = sealed(&odd).unwrap().recalled(Nanos::ZERO, UnixSeconds(5), None);
        assert_eq!((recalled.workload.idle.moments().count, recalled.service.completions()), (0.0, 0));
    }
}
