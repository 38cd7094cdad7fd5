//! The fast prober on modelled arrays, one or a few of each kind. `examples/probe_trials.rs` tries many.

use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::probe::fast::{ProbeOptions, fast};
use scrubjay_core::probe::known::{LevelRefusal, ProbeFinding, Unmeasurable};
use scrubjay_sim::array::Array;
use scrubjay_sim::array::map::ChunkMap;
use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::setup::ArraySetup;
use scrubjay_sim::array::surprises::families;
use scrubjay_sim::array::trials::{TrialCase, TrialOutcome, layouts, misconfigured, odd, sizes};

/// One and a half times the mean of many trials of likely arrays without noise; the last check takes 700 to 2,500 requests of it.
const REQUESTS_MAX: u64 = 10_000;

/// Everything is found, and, except under heavy noise, in at most `requests_max` requests.
fn assert_right(cases: &[TrialCase], seeds: u64, requests_max: u64) {
    for case in cases {
        for seed in 0..seeds {
            let TrialOutcome { setup, known, spent, is_right } = case.probe(seed);
            assert!(is_right, "{}, seed {seed}: {known:?}", case.name);
            let is_cheap = spent.requests <= requests_max || setup.noise == Noise::Heavy;
            assert!(is_cheap, "{}, seed {seed}: {} requests", case.name, spent.requests);
        }
    }
}

#[test]
fn arrays_of_every_size_are_found_under_every_discipline_and_noise() {
    assert_right(&sizes(), 1, REQUESTS_MAX);
}

#[test]
fn every_layout_is_found_or_one_that_reads_cannot_tell_from_it() {
    assert_right(&layouts(), 1, REQUESTS_MAX);
}

#[test]
fn arrays_without_a_known_layout_are_printed_as_they_are() {
    assert_right(&misconfigured(), 3, REQUESTS_MAX);
}

#[test]
fn members_that_are_slow_lost_or_no_disks_are_named() {
    assert_right(&odd(), 1, u64::MAX);
}

/// On arrays that nothing was tuned on: of statements with a confidence of 0.99 or more, less than one in a hundred is
/// wrong, and no layout. (With other seeds one was: docs/probe.md.)
#[test]
fn confident_statements_about_untuned_arrays_are_true() {
    let (mut confident, mut wrong) = (0, Vec::new());
    for seed in 0..20 {
        for family in families() {
            let outcome = family.probe(90_000 + seed);
            for statement in outcome.statements.iter().filter(|statement| statement.confidence >= 0.99) {
                confident += 1;
                if !statement.is_true {
                    wrong.push((statement.about, format!("{}, seed {seed}: {statement:?}", family.name)));
                }
            }
        }
    }
    assert!(confident > 800, "{confident} statements");
    assert!(wrong.len() * 100 < confident, "{} of {confident}: {wrong:#?}", wrong.len());
    assert!(wrong.iter().filter(|(about, _)| *about == "layout").count() == 0, "{wrong:#?}");
}

/// Ten disks of RAID-6 on 256 MiB: half the pattern is found, and looks like pairs. A device without a known layout is
/// not written to, even if that is allowed, and its size is among the causes given.
#[test]
fn a_device_without_a_known_layout_is_not_written_to() {
    let layout = Layout::new(LayoutKind::Raid6Md, Shape { data: 8, parity: 2 }, 10).expect("such an array");
    let mut look_like_pairs = 0;
    for seed in 0..60 {
        let setup = ArraySetup { bytes_max: 256 << 20, seed, ..ArraySetup::new(ChunkMap::Layout(layout), 32 << 10) };
        let mut array = Array::new(setup);
        let mut prober = fast(array.device(), ProbeOptions { seed, allows_writes: true, ..ProbeOptions::default() });
        array.serve(&mut prober);
        let known = prober.known();
        if let Some(Unmeasurable::NoChunks { bytes_min }) = known.unmeasurable {
            look_like_pairs += usize::from(known.copies.is_some_and(|copies| copies.value == 2));
            let no_layout = ProbeFinding::NoLevel { why: LevelRefusal::NoLayout };
            assert!(bytes_min.is_some(), "seed {seed}");
            assert!(known.write_ratio.is_none(), "seed {seed}: {:?}", known.write_ratio);
            assert!(
                known.findings.iter().any(|finding| finding.value == no_layout),
                "seed {seed}: {:?}",
                known.findings
            );
        }
    }
    assert!(look_like_pairs > 0, "some look like pairs");
}
