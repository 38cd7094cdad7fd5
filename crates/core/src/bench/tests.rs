//! Tests of the machine on modelled disks: a head that serves one request at a time, flash that serves many.

use super::machine::{BenchEnd, BenchOp, BenchRequest, BenchState, DiskBench, FAULTS_IN_A_ROW_MAX};
use super::plan::{BenchPattern, BenchPlan, DEPTHS};
use super::step_result::ForeignTraffic;
use crate::units::Nanos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A disk with several heads, each of which serves its requests in order.
struct ModelDisk {
    heads: Vec<Nanos>,
    service: fn(BenchRequest) -> Nanos,
    bad: BTreeSet<u64>,
    at_disk: BTreeMap<(Nanos, u64), BenchEnd>,
    requested: Vec<BenchRequest>,
}

impl ModelDisk {
    fn new(heads: usize, service: fn(BenchRequest) -> Nanos) -> ModelDisk {
        let (bad, at_disk, requested) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        ModelDisk { heads: vec![Nanos::ZERO; heads], service, bad, at_disk, requested }
    }

    fn send(&mut self, now: Nanos, request: BenchRequest) {
        let head = self.heads.iter_mut().min().expect("a head");
        *head = (*head).max(now) + (self.service)(request);
        let is_bad = self.bad.iter().any(|&bad| (request.offset..request.offset + request.len).contains(&bad));
        let result = if is_bad { Err(5) } else { Ok(()) };
        let end = BenchEnd { request, issued: now, done: *head, result, is_zero: request.offset.is_multiple_of(8192) };
        self.at_disk.insert((*head, self.requested.len() as u64), end);
        self.requested.push(request);
    }

    /// Runs the benchmark to its end, or until `stop` returns true.
    fn run(&mut self, bench: &mut DiskBench, mut stop: impl FnMut(Nanos) -> bool) {
        let mut now = Nanos::from_secs(1);
        loop {
            if stop(now) {
                bench.stop();
            }
            match bench.poll_op(now) {
                BenchOp::Request(request) => self.send(now, request),
                BenchOp::Wait(until) => match self.at_disk.first_key_value().map(|(key, _)| *key) {
                    Some(key) if key.0 <= until => {
                        let end = self.at_disk.remove(&key).expect("it is the first");
                        now = now.max(end.done);
                        bench.handle(end);
                    }
                    _ => now = until,
                },
                BenchOp::EndStep => bench.end_step(Some(ForeignTraffic::default())),
                BenchOp::Done => return,
            }
        }
    }
}

fn bench(bytes: u64, seconds: u64) -> DiskBench {
    DiskBench::new(BenchPlan::new(bytes, 512, &DEPTHS, Nanos::from_secs(seconds), false), 7)
}

/// 8.4 ms for a small request, 10 ms for a large one.
fn one_head(request: BenchRequest) -> Nanos {
    Nanos(if request.len > 4096 { 10_000_000 } else { 8_400_000 })
}

#[test]
fn one_head_has_the_same_rate_at_every_depth_and_obeys_littles_law() {
    let mut bench = bench(1 << 40, 5);
    ModelDisk::new(1, one_head).run(&mut bench, |_| false);
    assert_eq!(bench.state(), BenchState::Complete);
    assert_eq!(bench.results().len(), 15);
    for result in bench.results() {
        let (depth, rate) = (f64::from(result.step.depth), result.iops());
        let expected = if result.step.request > 4096 { 100.0 } else { 1000.0 / 8.4 };
        assert!((rate / expected - 1.0).abs() < 0.012, "{:?}: {rate}", result.step);
        assert!((rate * result.mean() / depth - 1.0).abs() < 0.012, "{:?}: {}", result.step, result.mean());
        assert!(result.is_complete && !result.is_repeating && result.fault_count == 0);
        assert_eq!(result.trace.iter().map(|bin| bin.requests).sum::<u64>(), result.requests);
    }
    let first = bench.first().expect("there was one");
    assert_eq!(first, Nanos(8_400_000));
}

#[test]
fn slow_disks_end_within_forty_seconds_with_all_depths_that_fit() {
    // The service time by request size, and the number of random depths that must be measured at least.
    type ModelService = fn(BenchRequest) -> Nanos;
    let disks: [(ModelService, usize); 6] = [
        (|request| Nanos(8_000_000 + request.len * 1000 / 150), 7), // 8 ms, 150 MB/s
        (|request| Nanos(17_000_000 + request.len * 1000 / 60), 6),
        (|request| Nanos(40_000_000 + request.len * 1000 / 20), 5),
        (|request| Nanos(300_000_000 + request.len * 10), 2),
        (|_| Nanos(3_000_000_000), 1),
        (|request| Nanos(50_000 + request.len / 2), 7),
    ];
    for (number, (service, depths)) in disks.into_iter().enumerate() {
        let mut bench = bench(1 << 40, 5);
        let mut end = Nanos::ZERO;
        ModelDisk::new(1, service).run(&mut bench, |now| {
            end = now;
            false
        });
        let duration = end.since(Nanos::from_secs(1));
        // A single request of disk 4 takes seconds.
        assert!(duration <= Nanos::from_secs(if number == 4 { 50 } else { 40 }), "disk {number}: {duration:?}");
        assert_eq!(bench.state(), BenchState::Complete);
        let random = bench.results().iter().filter(|result| result.step.pattern == BenchPattern::Random).count();
        assert!(random >= depths, "disk {number}: {random}");
        let sequential =
            bench.results().iter().filter(|result| result.step.pattern == BenchPattern::Sequential).count();
        assert!(sequential >= 1 && bench.results()[0].step.time == Nanos::from_secs(5), "disk {number}");
    }
}

#[test]
fn an_abandoned_step_does_not_wait_for_requests_at_the_disk() {
    let mut bench = bench(1 << 40, 5);
    let mut now = Nanos::from_secs(1);
    for _ in 0..20 {
        let BenchOp::Request(request) = bench.poll_op(now) else { panic!("depth 1") };
        assert!(matches!(bench.poll_op(now), BenchOp::Wait(_)));
        let issued = now;
        now += Nanos(8_000_000);
        bench.handle(BenchEnd { request, issued, done: now, result: Ok(()), is_zero: false });
    }
    assert!(matches!(bench.poll_op(now), BenchOp::Request(_)));
    bench.stop();
    assert!(matches!(bench.poll_op(now), BenchOp::Wait(_)), "it is still at the disk");
    let others = ForeignTraffic { requests: 3, sectors: 24 };
    bench.abandon(Some(others));
    assert_eq!((bench.poll_op(now), bench.state()), (BenchOp::Done, BenchState::Stopped));
    let result = &bench.results()[0];
    assert!((result.iops() - 125.0).abs() < 1e-6 && !result.is_complete, "{}", result.iops());
    assert_eq!((result.requests, result.others), (19, Some(others)), "the first one filled the queue");
}

#[test]
fn many_heads_serve_more_up_to_their_number() {
    let mut bench = bench(1 << 40, 1);
    ModelDisk::new(16, |_| Nanos(100_000)).run(&mut bench, |_| false);
    for result in &bench.results()[..7] {
        let served = f64::from(result.step.depth.min(16)) * 10_000.0;
        assert!((result.iops() / served - 1.0).abs() < 0.01, "{:?}: {}", result.step, result.iops());
        assert_eq!(result.deviation() < 1e-9, result.step.depth <= 16 || result.mean() > 0.0);
    }
}

#[test]
fn no_place_comes_twice_while_there_are_others() {
    let mut bench = bench(64 << 20, 1);
    let mut disk = ModelDisk::new(1, |_| Nanos(400_000));
    disk.run(&mut bench, |_| false);
    let small: Vec<u64> = disk.requested.iter().filter(|request| request.len == 4096).map(|r| r.offset).collect();
    let unique: BTreeSet<u64> = small.iter().copied().collect();
    assert_eq!(unique.len(), small.len(), "of 16384 places");
    assert!(bench.results()[..7].iter().all(|result| !result.is_repeating));
    let lower = small.iter().filter(|&&offset| offset < 32 << 20).count();
    assert!((lower as f64 / small.len() as f64 - 0.5).abs() < 0.02, "all of the disk: {lower} of {}", small.len());
}

#[test]
fn a_small_disk_is_read_again_and_marked_as_repeating() {
    for bytes in [512, 4096, 8192, 100 << 10, 1 << 20, (1 << 20) + 512] {
        let mut bench = bench(bytes, 1);
        let mut disk = ModelDisk::new(1, |_| Nanos(1_000_000));
        disk.run(&mut bench, |_| false);
        assert_eq!(bench.state(), BenchState::Complete, "{bytes}");
        assert!(bench.results()[0].is_repeating == (bytes < 1000 * 4096), "{bytes}");
        assert!(
            disk.requested.iter().all(|request| request.len > 0 && request.offset + request.len <= bytes),
            "{bytes}"
        );
    }
}

#[test]
fn every_zone_of_the_disk_is_measured_with_its_throughput() {
    let mut bench = bench(64 << 30, 2);
    // Inner zones are half as fast; a seek costs 12 ms.
    let mut disk = ModelDisk::new(1, |request| {
        let transfer = if request.offset < 32 << 30 { 5_000_000 } else { 10_000_000 };
        let is_first = request.offset.is_multiple_of(4 << 20);
        Nanos(if request.len == 4096 { 12_700_000 } else { transfer + if is_first { 12_000_000 } else { 0 } })
    });
    disk.run(&mut bench, |_| false);
    let rates: Vec<f64> = bench.zones().iter().map(|zone| zone.bytes as f64 / zone.time.as_secs_f64() / 1e6).collect();
    assert_eq!(rates.len(), 64);
    assert!(rates[..32].iter().all(|rate| (rate - 209.7).abs() < 1.0), "{rates:?}");
    assert!(rates[32..].iter().all(|rate| (rate - 104.9).abs() < 1.0), "{rates:?}");
    let random: f64 = bench.zones().iter().map(|zone| zone.random.count).sum();
    assert_eq!(random, bench.results()[0].requests as f64);
    // Two seconds are too short for so many runs: the step went on until every zone was measured once.
    assert!(bench.results()[7].is_complete && bench.zones().iter().all(|zone| zone.bytes > 0));
}

#[test]
fn failed_requests_are_counted_and_listed_and_do_not_end_the_measurement() {
    let mut bench = bench(4 << 20, 1);
    let mut disk = ModelDisk::new(1, |_| Nanos(1_000_000));
    disk.bad = [12 << 10, 2 << 20].into();
    disk.run(&mut bench, |_| false);
    assert_eq!(bench.state(), BenchState::Complete);
    let faults: BTreeSet<u64> =
        bench.results().iter().flat_map(|result| &result.faults).filter(|f| f.len == 4096).map(|f| f.offset).collect();
    assert_eq!(faults, [12 << 10, 2 << 20].into());
    let first = &bench.results()[0];
    assert!(first.fault_count >= 1 && first.requests > 0);
    assert!(first.faults.iter().all(|fault| fault.errno == 5));
}

#[test]
fn a_disk_on_which_every_request_fails_is_given_up_soon() {
    let mut bench = bench(4 << 20, 5);
    let mut disk = ModelDisk::new(1, |_| Nanos(1_000_000));
    disk.bad = (0..4 << 20).step_by(4096).collect();
    disk.run(&mut bench, |_| false);
    assert_eq!((bench.state(), bench.results()[0].fault_count), (BenchState::Failing, FAULTS_IN_A_ROW_MAX));
    assert_eq!(bench.results().len(), 1);
}

#[test]
fn a_stop_keeps_the_figures_so_far() {
    let mut bench = bench(1 << 40, 5);
    ModelDisk::new(1, one_head).run(&mut bench, |now| now >= Nanos::from_secs(8));
    assert_eq!(bench.state(), BenchState::Stopped);
    let results = bench.results();
    assert_eq!(results.len(), 2);
    assert!(results[0].is_complete && !results[1].is_complete);
    assert!((results[1].iops() / 119.0 - 1.0).abs() < 0.02, "{}", results[1].iops());
    bench.stop();
    assert_eq!(bench.poll_op(Nanos::from_secs(9)), BenchOp::Done);
}

#[test]
fn the_time_to_wake_up_is_in_the_first_request_only() {
    let mut bench = bench(1 << 40, 1);
    let mut disk = ModelDisk::new(1, |_| Nanos(8_000_000));
    disk.heads = vec![Nanos::from_secs(8)]; // it spins up
    disk.run(&mut bench, |_| false);
    assert_eq!(bench.first(), Some(Nanos(7_008_000_000)));
    assert_eq!(bench.results()[0].latency_max, Nanos(8_000_000));
}

#[test]
fn deeper_queues_are_left_out_where_requests_take_seconds() {
    let mut bench = bench(1 << 40, 5);
    let mut disk = ModelDisk::new(1, |_| Nanos(600_000_000));
    disk.run(&mut bench, |_| false);
    let depths = |pattern| -> Vec<u32> {
        bench.results().iter().filter(|r| r.step.pattern == pattern).map(|r| r.step.depth).collect()
    };
    assert_eq!(depths(BenchPattern::Random), [1, 2]);
    assert_eq!(bench.left_out().iter().filter(|step| step.pattern == BenchPattern::Random).count(), 5);
    assert_eq!(bench.state(), BenchState::Complete);
}

#[test]
fn a_rate_that_breaks_down_is_in_the_trace() {
    let mut bench = bench(1 << 40, 5);
    let mut credit = VecDeque::from(vec![300_000u64; 8000]);
    // Burst credit for 8000 requests, then a tenth of the rate.
    let mut now = Nanos::from_secs(1);
    loop {
        match bench.poll_op(now) {
            BenchOp::Request(request) => {
                let issued = now;
                now += Nanos(credit.pop_front().unwrap_or(3_000_000));
                bench.handle(BenchEnd { request, issued, done: now, result: Ok(()), is_zero: false });
            }
            BenchOp::Wait(_) => panic!("nothing is at the disk"),
            BenchOp::EndStep => break bench.end_step(None),
            BenchOp::Done => panic!("it has only begun"),
        }
    }
    let drift = bench.results()[0].drift().expect("a break");
    assert!((drift.first - 3333.0).abs() < 20.0 && (drift.last - 333.0).abs() < 20.0, "{drift:?}");
}
