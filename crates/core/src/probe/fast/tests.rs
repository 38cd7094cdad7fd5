//! Tests of the prober on simple model disks; `sim/tests/probe.rs` lets it probe realistic ones.

use super::*;
use crate::probe::io::{Answers, ProbeBatch, RequestTiming};
use crate::probe::known::Unmeasurable;
use crate::rng::Rng;
use crate::units::Nanos;

const DEVICE: ProbedDevice = ProbedDevice { bytes: 64 << 30, block: 512, depth: usize::MAX };

/// Runs a prober to its end; `answer` returns the time in nanoseconds at which each request is done, `None` for an error.
fn probed(
    device: ProbedDevice,
    options: ProbeOptions,
    mut answer: impl FnMut(&ProbeBatch) -> Vec<Option<f64>>,
) -> Prober<KnownArray> {
    let mut prober = fast(device, options);
    while let Some(batch) = prober.poll_batch() {
        let done = answer(&batch);
        let timing = |(request, done): (&crate::probe::io::ProbeRequest, &Option<f64>)| RequestTiming {
            issued: request.at,
            done: Nanos(done.unwrap_or(1.0) as u64),
            is_failed: done.is_none(),
        };
        let timings = batch.requests.iter().zip(&done).map(timing).collect();
        prober.handle(Answers { timings, is_disturbed: false });
    }
    assert!(prober.is_done());
    prober
}

/// Disks that serve first come first served: a request takes 5 to 15 ms, or no time if it continues the one before.
/// Chunk `i` of 4 KiB lies on disk `list[i mod n]`.
fn striped(list: &[usize], seed: u64) -> impl FnMut(&ProbeBatch) -> Vec<Option<f64>> {
    let (list, mut rng) = (list.to_vec(), Rng::new(seed));
    move |batch| {
        let (mut free, mut ends) = (vec![0.0f64; list.len()], vec![u64::MAX; list.len()]);
        let mut done = Vec::new();
        for request in &batch.requests {
            let disk = list[(request.offset / 4096) as usize % list.len()];
            let service = if ends[disk] == request.offset { 1e4 } else { 5e6 + 10e6 * rng.uniform() };
            free[disk] = free[disk].max(request.at.0 as f64) + service;
            ends[disk] = request.offset + request.len;
            done.push(Some(free[disk]));
        }
        done
    }
}

fn value<T: Clone>(claim: &Option<Claim<T>>) -> Option<T> {
    claim.as_ref().map(|claim| claim.value.clone())
}

#[test]
fn three_disks_are_found_with_their_chunks() {
    let known = probed(DEVICE, ProbeOptions::default(), striped(&[0, 1, 2], 1)).known();
    assert_eq!((value(&known.pattern_bytes), value(&known.chunk_bytes)), (Some(12 << 10), Some(4 << 10)));
    assert_eq!((value(&known.phase_bytes), value(&known.copies)), (Some(0), Some(1)));
    assert_eq!((value(&known.classes), value(&known.disks)), (Some(vec![0, 1, 2]), Some(3)));
    // The last check limits the confidence: one error in a thousand.
    assert!(known.pattern_bytes.is_some_and(|claim| (0.998..0.999).contains(&claim.confidence)));
    assert_eq!((known.stage, known.findings), (ProbeStage::Done, vec![]));
}

#[test]
fn a_disk_that_holds_more_than_the_others_is_named() {
    let known = probed(DEVICE, ProbeOptions::default(), striped(&[0, 1, 0, 2], 2)).known();
    assert_eq!(value(&known.classes), Some(vec![0, 1, 0, 2]));
    let findings: Vec<ProbeFinding> = known.findings.into_iter().map(|claim| claim.value).collect();
    assert_eq!(findings, [ProbeFinding::Unequal { sizes: vec![2, 1, 1] }, ProbeFinding::Unknown]);
}

#[test]
fn a_single_disk_is_found_as_one_disk() {
    let known = probed(DEVICE, ProbeOptions::default(), striped(&[0], 3)).known();
    assert_eq!((value(&known.pattern_bytes), value(&known.chunk_bytes)), (Some(512), None));
    assert_eq!((value(&known.classes), value(&known.disks)), (Some(vec![0]), Some(1)));
}

#[test]
fn an_unmeasurable_array_gets_its_reason_and_no_claims() {
    let after = |nanos: f64| move |batch: &ProbeBatch| batch.requests.iter().map(|_| Some(nanos)).collect();
    let tiny = ProbedDevice { bytes: 1 << 20, block: 512, depth: usize::MAX };
    let slowly = |batch: &ProbeBatch| (1..=batch.requests.len()).map(|i| Some(i as f64 * 9e6)).collect();
    let cases = [
        (probed(DEVICE, ProbeOptions::default(), after(900.0)), Unmeasurable::Memory { response_nanos: 900 }),
        (probed(DEVICE, ProbeOptions::default(), after(100_000.0)), Unmeasurable::Unfilled { depth: 8192 }),
        (probed(DEVICE, ProbeOptions::default(), after(5_000_000.0)), Unmeasurable::Unfilled { depth: 8192 }),
        (probed(ProbedDevice { depth: 1, ..DEVICE }, ProbeOptions::default(), slowly), Unmeasurable::Serial),
        (probed(tiny, ProbeOptions::default(), slowly), Unmeasurable::TooSmall { bytes_min: 400 * (16 << 10) }),
        (probed(DEVICE, ProbeOptions::default(), |batch| vec![None; batch.requests.len()]), Unmeasurable::Errors),
    ];
    for (prober, why) in cases {
        let known = prober.known();
        assert_eq!((known.unmeasurable, known.stage), (Some(why), ProbeStage::Done));
        assert_eq!((known.pattern_bytes, known.disks, known.fits), (None, None, None));
    }
}

#[test]
fn a_probe_with_a_small_budget_ends_early_within_it() {
    for requests in [0, 20, 500, 1500, 2500] {
        let options =
            ProbeOptions { budget: ProbeBudget { requests, ..ProbeBudget::UNLIMITED }, ..ProbeOptions::default() };
        let prober = probed(DEVICE, options, striped(&[0, 1, 2], 4));
        assert!(prober.spent().requests <= requests && prober.known().stage != ProbeStage::Done);
    }
}

#[test]
fn a_seed_gives_the_same_probe() {
    let run = |seed| probed(DEVICE, ProbeOptions { seed, ..ProbeOptions::default() }, striped(&[0, 1], 5)).spent();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn failed_requests_in_a_tenth_of_all_batches_do_not_change_the_classes() {
    let mut batches = 0;
    let mut disks = striped(&[0, 1, 2, 3], 6);
    let known = probed(DEVICE, ProbeOptions::default(), move |batch| {
        batches += 1;
        let mut done = disks(batch);
        if batches % 10 == 0 {
            done[0] = None;
        }
        done
    });
    assert_eq!(value(&known.known().classes), Some(vec![0, 1, 2, 3]));
}

/// Runs a prober on three disks; batches for which `is_disturbed` holds are reported as disturbed, and done at once.
/// Returns the places that each batch read, in order, and what is known at the end.
fn disturbed(is_disturbed: impl Fn(usize) -> bool) -> (Vec<Vec<u64>>, KnownArray) {
    let mut disks = striped(&[0, 1, 2], 7);
    let mut prober = fast(DEVICE, ProbeOptions::default());
    let mut asked: Vec<Vec<u64>> = Vec::new();
    while let Some(batch) = prober.poll_batch() {
        let is_disturbed = is_disturbed(asked.len());
        let done = disks(&batch);
        let timing = |(request, done): (&crate::probe::io::ProbeRequest, &Option<f64>)| RequestTiming {
            issued: request.at,
            done: if is_disturbed { Nanos(1) } else { Nanos(done.unwrap_or(1.0) as u64) },
            is_failed: false,
        };
        let timings = batch.requests.iter().zip(&done).map(timing).collect();
        asked.push(batch.requests.iter().map(|request| request.offset).collect());
        prober.handle(Answers { timings, is_disturbed });
    }
    (asked, prober.known())
}

#[test]
fn a_disturbed_batch_is_drawn_again_at_new_places_until_it_is_undisturbed() {
    // Batch 100 and its first repetition are disturbed: the third attempt counts. Its places are new, because the old
    // ones are in caches.
    let (asked, known) = disturbed(|batch| [100, 101].contains(&batch));
    assert_eq!((asked[101].len(), asked[102].len()), (asked[100].len(), asked[100].len()));
    assert!(asked[101] != asked[100] && asked[102] != asked[101] && asked[102] != asked[100]);
    assert_eq!((value(&known.classes), value(&known.disks)), (Some(vec![0, 1, 2]), Some(3)));
    // The disturbed times have no effect: without disturbance the result is the same.
    let (undisturbed, known_undisturbed) = disturbed(|_| false);
    assert_eq!(undisturbed[..=100], asked[..=100]);
    assert_eq!(
        (value(&known_undisturbed.classes), value(&known_undisturbed.pattern_bytes)),
        (value(&known.classes), value(&known.pattern_bytes))
    );
}

#[test]
fn a_batch_is_drawn_four_times_at_most_and_once_after_four_disturbed_batches() {
    // A batch is drawn four times at most, and only once after four batches in a row stayed disturbed.
    let disturbed_from = |batch| disturbed(move |at| (batch..batch + 100).contains(&at)).0;
    let (asked, calm) = (disturbed_from(100), disturbed(|_| false).0);
    let is_repeat_of = |batch: usize, of: usize| asked[batch].len() == calm[of].len();
    assert!((100..116).all(|batch| is_repeat_of(batch, 100 + (batch - 100) / 4)), "four batches, four times each");
    assert!((116..200).all(|batch| is_repeat_of(batch, 104 + (batch - 116))), "and then each once");
}
