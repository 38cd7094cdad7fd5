//! The result of `bench verify`, as JSON (schema 1). Fields are added, never renamed or taken away, within a schema.

use scrubjay_core::bench::verifying::{MiddleTime, ReadCache, ResponseTimes, VerifyVerdict};
use scrubjay_device::bench::verifying::MissingWay;
use serde::Serialize;

/// The JSON object of one run.
#[derive(Debug, Serialize)]
pub struct BenchVerifyDocument<'v> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    target: &'v str,
    id: &'v str,
    /// Time of one revolution that the verdicts use: the disk's own, or the shortest there is.
    turn_seconds: Option<f64>,
    is_complete: bool,
    /// Why the read cache was not switched.
    cache_note: Option<&'v str>,
    verdicts: Vec<VerdictEntry<'v>>,
    missing: Vec<MissingEntry<'v>>,
    times: Vec<TimesEntry>,
}

#[derive(Debug, Serialize)]
struct VerdictEntry<'v> {
    way: &'static str,
    /// `reads-medium`, `from-cache`, `reads-nothing` or `unknown`.
    verdict: &'static str,
    why: &'v str,
}

#[derive(Debug, Serialize)]
struct MissingEntry<'v> {
    way: &'static str,
    why: &'v str,
}

#[derive(Debug, Serialize)]
struct TimesEntry {
    way: &'static str,
    /// Was the read cache on? Null: not known.
    read_cache: Option<bool>,
    faults: u64,
    sizes: Vec<SizeEntry>,
    just_read: Option<MiddleEntry>,
}

#[derive(Debug, Serialize)]
struct SizeEntry {
    bytes: u64,
    #[serde(flatten)]
    middle: MiddleEntry,
}

#[derive(Debug, Serialize)]
struct MiddleEntry {
    requests: usize,
    median_seconds: f64,
    quartile_spread_seconds: f64,
}

impl<'v> BenchVerifyDocument<'v> {
    /// Makes the document of these results.
    pub fn new(
        (target, id): (&'v str, &'v str),
        turn_seconds: Option<f64>,
        is_complete: bool,
        cache_note: Option<&'v str>,
        verdicts: &'v [VerifyVerdict],
        missing: &'v [MissingWay],
        times: &[ResponseTimes],
    ) -> BenchVerifyDocument<'v> {
        let middle = |times: &[_]| {
            MiddleTime::of(times).map(|middle| MiddleEntry {
                requests: times.len(),
                median_seconds: middle.median,
                quartile_spread_seconds: middle.spread,
            })
        };
        let entry = |times: &ResponseTimes| TimesEntry {
            way: times.way,
            read_cache: match times.cache {
                ReadCache::On => Some(true),
                ReadCache::Off => Some(false),
                ReadCache::Unknown => None,
            },
            faults: times.faults,
            sizes: times
                .sizes
                .iter()
                .filter_map(|(bytes, times)| Some(SizeEntry { bytes: *bytes, middle: middle(times)? }))
                .collect(),
            just_read: middle(&times.again),
        };
        let verdict = |verdict: &'v VerifyVerdict| VerdictEntry {
            way: verdict.way,
            verdict: verdict.honesty.word(),
            why: &verdict.why,
        };
        BenchVerifyDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            target,
            id,
            turn_seconds,
            is_complete,
            cache_note,
            verdicts: verdicts.iter().map(verdict).collect(),
            missing: missing.iter().map(|missing| MissingEntry { way: missing.way, why: &missing.why }).collect(),
            times: times.iter().map(entry).collect(),
        }
    }
}
