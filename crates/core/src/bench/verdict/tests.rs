//! Tests of the verdict on made-up figures: each class normal, slow and impossible, and everything that spoils the figures.

use super::super::class::MediumClass;
use super::super::intermediary::Intermediary;
use super::super::machine::{BenchRecord, BenchState, ZoneFigures};
use super::super::plan::{BenchPattern, BenchPlan, DEPTHS, TIME};
use super::super::step_result::{ForeignTraffic, StepFigures};
use super::*;
use crate::units::Nanos;

const HDD: MediumClass = MediumClass::Rotating { rpm: Some(7200) };

fn context(class: MediumClass) -> BenchContext {
    let is_rotational = matches!(class, MediumClass::Rotating { .. });
    BenchContext {
        class,
        intermediary: None,
        is_rotational,
        span_share: 1.0,
        hole_share: None,
        served_share: Some(1.0),
        raid_driver: None,
        is_thin: false,
        budget: if is_rotational { BUDGET_ROTATING } else { BUDGET_FLASH },
        clock_step: Nanos(1),
        is_scrubbed: false,
    }
}

/// Random steps with these means in milliseconds, at depths 1, 2, 4, ...; latencies spread evenly over half of the mean.
fn record(means: &[f64]) -> BenchRecord {
    let plan = BenchPlan::new(1 << 40, 512, &DEPTHS[..means.len()], TIME, false);
    let results = plan.steps.iter().filter(|step| step.pattern == BenchPattern::Random).zip(means);
    let results: Vec<StepFigures> = results
        .map(|(&step, &mean)| {
            let mut result = StepFigures::new(step);
            (result.window, result.is_complete) = (step.time, true);
            let count = (step.time.as_millis_f64() * f64::from(step.depth) / mean) as u64;
            let sampled = count.clamp(1, 20_000);
            for index in 0..sampled {
                let latency = Nanos((mean * (0.75 + (index as f64 + 0.5) / sampled as f64 / 2.0) * 1e6) as u64);
                result.add(latency, Nanos(step.time.0 / count * index));
            }
            result.requests = count;
            result.sent = count;
            result.bytes_moved = count * 4096;
            result.others = Some(ForeignTraffic::default());
            result
        })
        .collect();
    let zones = vec![ZoneFigures::default(); 64];
    BenchRecord { plan, state: BenchState::Complete, results, left_out: Vec::new(), zones, first: Some(Nanos(1)) }
}

fn codes(verdict: &BenchVerdict) -> Vec<&'static str> {
    verdict.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn a_normal_disk_of_7200_rpm_gets_a_normal_verdict() {
    let verdict = judge(&record(&[12.7, 16.9, 26.4, 45.0, 80.0, 150.0, 290.0]), &context(HDD));
    assert_eq!(
        verdict.sentence,
        "79 IOPS at 12.7 ms (depth 1): normal for 7200 rpm. Inside a budget of 20 ms: up to depth 2 = 118 IOPS at 16.9 ms."
    );
    assert_eq!((verdict.grade, verdict.inside, codes(&verdict)), (BenchGrade::Normal, Some(1), vec![]));
}

#[test]
fn each_class_is_graded_normal_slow_fast_and_impossible() {
    use BenchGrade::{Alike, Fast, Impossible, Normal, Slow};
    let rpm = |rpm| MediumClass::Rotating { rpm: Some(rpm) };
    for (class, mean, grade) in [
        (rpm(5400), 17.4, Normal),
        (rpm(5400), 25.0, Slow),
        (rpm(5400), 11.0, Fast),
        (rpm(5400), 4.0, Impossible),
        (HDD, 24.0, Slow),
        (HDD, 8.0, Fast),
        (HDD, 1.0, Impossible),
        (rpm(10_000), 7.4, Normal),
        (rpm(15_000), 5.5, Normal),
        (rpm(15_000), 1.0, Impossible),
        (MediumClass::Rotating { rpm: None }, 0.2, Alike),
        (MediumClass::SataSsd, 0.15, Normal),
        (MediumClass::SataSsd, 2.0, Slow),
        (MediumClass::SataSsd, 0.01, Impossible),
        (MediumClass::Nvme, 0.09, Normal),
        (MediumClass::Nvme, 0.4, Slow),
        (MediumClass::Card, 0.5, Normal),
    ] {
        let verdict = judge(&record(&[mean]), &context(class));
        assert_eq!(verdict.grade, grade, "{class} at {mean}: {}", verdict.sentence);
    }
}

#[test]
fn a_device_of_unknown_class_is_named_by_its_performance() {
    let sentence = |mean: f64, is_rotational| {
        judge(&record(&[mean]), &BenchContext { is_rotational, ..context(MediumClass::Layered) }).sentence
    };
    assert!(sentence(8.4, true).contains(": as a disk of 10000 rpm would."), "{}", sentence(8.4, true));
    assert!(sentence(12.5, false).contains(": as a disk of 7200 rpm would."));
    assert!(sentence(0.09, false).contains(": as an NVMe SSD would."));
    assert!(sentence(0.15, false).contains(": as a SATA SSD would."));
    assert!(sentence(1.0, false).contains(": as a disk behind a network, or a slow card, would."));
    assert!(sentence(60.0, true).contains(": slow for a disk that rotates."));
    // A loop device on a virtual disk, which reports rotation whatever lies below.
    assert!(sentence(0.06, true).contains(": as an NVMe SSD would."), "{}", sentence(0.06, true));
    // The intermediary is named, and a device whose normal speed is unknown is not called slow.
    let named = |mean: f64, intermediary: Intermediary| {
        let class = intermediary.class();
        let context = BenchContext { intermediary: Some(intermediary), is_rotational: true, ..context(class) };
        let verdict = judge(&record(&[mean]), &context);
        (verdict.grade, verdict.sentence)
    };
    let (grade, text) = named(8.4, Intermediary::Loop);
    assert_eq!(grade, BenchGrade::Alike);
    let wanted = ": as a disk of 10000 rpm would; no verdict, because the disk is a loop device (a file answers, with whatever lies \
                  below it).";
    assert!(text.contains(wanted), "{text}");
    let (grade, text) = named(60.0, Intermediary::NvmeFabrics("tcp".to_owned()));
    assert!(grade == BenchGrade::Alike && text.contains("slower than a single disk would be; no verdict"), "{text}");
    assert!(text.contains("NVMe over fabrics (tcp: another host answers)"), "{text}");
    let budget = |mean| usual_budget(&record(&[mean]), MediumClass::Virtual, true);
    assert_eq!([budget(0.5), budget(9.0)], [BUDGET_FLASH, BUDGET_ROTATING]);
    assert_eq!(usual_budget(&record(&[0.5]), HDD, true), BUDGET_ROTATING);
}

#[test]
fn the_budget_is_kept_by_all_shallower_depths_too() {
    let inside = |means: &[f64]| judge(&record(means), &context(HDD)).inside;
    assert_eq!(inside(&[25.0, 12.0]), None);
    assert_eq!(inside(&[12.0, 25.0, 12.0]), Some(0));
    assert_eq!(inside(&[12.0, 13.0, 14.0]), Some(2));
    let all = judge(&record(&[12.0, 13.0]), &context(HDD)).sentence;
    assert!(all.contains("up to depth 2 (all that were measured)"), "{all}");
    let none = judge(&record(&[25.0, 30.0]), &context(HDD)).sentence;
    assert!(none.ends_with("Not even depth 1 is inside a budget of 20 ms."), "{none}");
}

#[test]
fn traffic_of_others_is_reported_and_much_of_it_prevents_a_verdict() {
    let with = |requests, sectors| {
        let mut record = record(&[12.7]);
        record.results[0].others = Some(ForeignTraffic { requests, sectors });
        judge(&record, &context(HDD))
    };
    assert_eq!(codes(&with(2, 16)), Vec::<&str>::new(), "half a percent");
    assert_eq!((with(20, 160).grade, codes(&with(20, 160))), (BenchGrade::Normal, vec!["others"]));
    let many = with(200, 1600);
    assert!(many.grade == BenchGrade::Unknown && many.sentence.contains("no verdict, because others used the disk"));
    let mut unseen = record(&[12.7]);
    unseen.results[0].others = None;
    assert_eq!(codes(&judge(&unseen, &context(HDD))), ["others-unseen"]);
}

#[test]
fn figures_of_holes_zeroes_or_memory_get_no_verdict() {
    let ssd = context(MediumClass::SataSsd);
    let judged = |record: &BenchRecord, context| judge(record, &context);
    let plain = record(&[0.1]);
    let holes = judged(&plain, BenchContext { hole_share: Some(0.9), ..ssd.clone() });
    assert!(holes.grade == BenchGrade::Unknown && holes.sentence.contains("90 % of the file were never written"));
    let few = judged(&plain, BenchContext { hole_share: Some(0.2), ..ssd.clone() });
    assert_eq!((few.grade, codes(&few)), (BenchGrade::Normal, vec!["holes"]));
    let memory = judged(&plain, BenchContext { served_share: Some(0.03), ..ssd.clone() });
    assert_eq!((memory.grade, codes(&memory)), (BenchGrade::Unknown, vec!["memory"]));
    let mut zeroes = record(&[0.1]);
    (zeroes.results[0].checked_for_zeroes, zeroes.results[0].zeroes) = (1000, 990);
    let trimmed = judged(&zeroes, BenchContext { is_thin: true, ..ssd });
    assert_eq!((trimmed.grade, codes(&trimmed)), (BenchGrade::Unknown, vec!["zeroes"]));
    assert!(trimmed.warnings[0].words.contains("it takes discards"), "{:?}", trimmed.warnings);
    let mut fresh = record(&[12.7]);
    (fresh.results[0].checked_for_zeroes, fresh.results[0].zeroes) = (390, 390);
    let disk = judge(&fresh, &context(HDD));
    assert_eq!(
        (disk.grade, codes(&disk)),
        (BenchGrade::Normal, vec!["zeroes"]),
        "a new disk that rotates reads them all"
    );
}

#[test]
fn caches_and_controllers_in_between_are_named() {
    let raid = judge(&record(&[12.7]), &BenchContext { raid_driver: Some("hpsa".into()), ..context(HDD) });
    assert!(codes(&raid) == ["raid-controller"] && raid.warnings[0].words.contains("(hpsa)"));
    // A third of the requests are served by a cache, the others by the medium: the mean alone would pass.
    let mut mixed = record(&[12.7]);
    let count = mixed.results[0].requests / 2;
    (0..count).for_each(|index| mixed.results[0].add(Nanos(90_000), Nanos(index)));
    assert!(codes(&judge(&mixed, &context(HDD))).contains(&"cache"));
    let part = judge(&record(&[8.0]), &BenchContext { span_share: 0.1, ..context(HDD) });
    assert!(part.grade == BenchGrade::Normal && part.sentence.contains("whose arm moves over 10 % of the disk only"));
}

#[test]
fn sleep_bursts_clocks_and_queues_without_gain_are_reported() {
    let mut slept = record(&[12.7]);
    slept.first = Some(Nanos::from_secs(7));
    let verdict = judge(&slept, &context(HDD));
    assert_eq!(codes(&verdict), ["slept"]);
    assert!(verdict.warnings[0].words.contains("the first request took 7.0 s"));
    let mut ssd = record(&[0.1]);
    ssd.first = Some(Nanos::from_millis(12));
    assert_eq!(codes(&judge(&ssd, &context(MediumClass::SataSsd))), ["slept"], "a power state");
    let mut burst = record(&[0.5]);
    let result = &mut burst.results[0];
    result.trace.clear();
    for bin in 0..50u64 {
        (0..if bin < 20 { 300 } else { 100 }).for_each(|_| result.add(Nanos(500_000), Nanos(bin * result.bin.0)));
    }
    assert_eq!(codes(&judge(&burst, &context(MediumClass::Virtual))), ["falls"]);
    let coarse = BenchContext { clock_step: Nanos(4_000_000), ..context(HDD) };
    assert_eq!(codes(&judge(&record(&[12.7]), &coarse)), ["clock"]);
    let flat = judge(&record(&[8.4, 16.8, 33.6, 67.2]), &context(MediumClass::Rotating { rpm: None }));
    assert!(codes(&flat) == ["no-gain"] && flat.warnings[0].words.contains("(no NCQ)"), "{:?}", flat.warnings);
}

#[test]
fn repeated_places_are_reported_whichever_steps_met_them() {
    let warning = |which: &[usize]| {
        let mut record = record(&[0.5, 0.6, 0.7]);
        which.iter().for_each(|&index| record.results[index].is_repeating = true);
        let verdict = judge(&record, &context(MediumClass::SataSsd));
        verdict.warnings.into_iter().find(|warning| warning.code == "repeating").map(|warning| warning.words)
    };
    assert_eq!(warning(&[]), None);
    assert!(warning(&[0, 1, 2]).unwrap().contains("in random depth 1 and 2 more steps places came again"));
    assert!(warning(&[1, 2]).unwrap().contains("in random depth 2 and one more step places came again"));
    assert!(warning(&[2]).unwrap().contains("in random depth 4 places came again"));
}

#[test]
fn a_weak_zone_of_the_disk_is_reported() {
    let mut weak = record(&[12.7]);
    for (index, zone) in weak.zones.iter_mut().enumerate() {
        zone.bytes = 3 << 20;
        zone.time = Nanos::from_millis(if index == 40 { 120 } else { 20 });
    }
    let verdict = judge(&weak, &context(HDD));
    assert_eq!(codes(&verdict), ["weak-zone"]);
    assert!(verdict.warnings[0].words.starts_with("at 63 % of the disk it gave 26 MB/s"), "{:?}", verdict.warnings);
}

#[test]
fn without_figures_the_verdict_is_unknown_and_states_the_reason() {
    let mut none = record(&[12.7]);
    none.results.clear();
    for (state, why) in [
        (BenchState::Gone, "No figures: the disk is gone."),
        (BenchState::Failing, "No figures: no request ended well."),
        (BenchState::Stopped, "No figures: it was stopped before there were enough requests."),
    ] {
        none.state = state;
        let verdict = judge(&none, &context(HDD));
        assert_eq!((verdict.sentence.as_str(), verdict.grade), (why, BenchGrade::Unknown));
    }
    let mut writes = record(&[12.7]);
    writes.plan.is_write = true;
    assert!(judge(&writes, &context(HDD)).sentence.starts_with("79 write IOPS at 12.7 ms (depth 1): no verdict"));
}
