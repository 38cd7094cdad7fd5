//! Tests of the scrubber on a disk that is a set of unreadable sectors: small enough to try every case.

use super::*;
use crate::scrub::idle::{BackToBack, IntervalAdapter, Waiting};
use crate::scrub::tour::{Grid, OrderKind};
use crate::scrub::verdict::Sense;
use crate::units::Sector;
use proptest::prelude::*;
use std::collections::BTreeMap;

const EIO: Cause = Cause::Errno(5);

struct Bench {
    scrub: Scrub,
    bad: Vec<u64>,
    now: Nanos,
    requested: Vec<SectorRange>,
}

fn machine(grid: Grid, range: SectorRange, granule: u64, order: OrderKind, pass: Pass) -> Scrub {
    let config = Config { range, granule, depth: 1, held_max: None, started: Nanos::ZERO, today: UnixSeconds(1000) };
    let policy = Box::new(BackToBack { size: Bytes(16 * SECTOR_BYTES) });
    Scrub::new(
        config,
        order.order(&vec![UnixSeconds(0); grid.region_count() as usize]),
        policy,
        Coverage::new(grid),
        pass,
    )
}

impl Bench {
    fn new(grid: Grid, order: OrderKind, bad: &[u64]) -> Bench {
        let scrub = machine(grid, grid.disk(), 1, order, Pass::default());
        Bench { scrub, bad: bad.to_vec(), now: Nanos::ZERO, requested: Vec::new() }
    }

    /// Does one request; false when there is none to do.
    fn step(&mut self) -> bool {
        let Some(Op::Verify { id, range }) = self.scrub.poll_op(self.now) else { return false };
        assert!(!range.is_empty());
        self.requested.push(range);
        let is_bad = self.bad.iter().any(|&sector| range.contains(Sector(sector)));
        let outcome = if is_bad { VerifyOutcome::Unreadable(EIO) } else { VerifyOutcome::Clean };
        self.complete(id, outcome);
        true
    }

    fn complete(&mut self, id: OpId, outcome: VerifyOutcome) {
        let started = self.now;
        self.now += Nanos::from_millis(10);
        self.scrub.handle(self.now, Event::Completed { id, outcome, started, finished: self.now });
    }

    fn run(&mut self) -> ScrubReport {
        while self.step() {}
        self.scrub.report(self.now)
    }

    fn found(report: &ScrubReport) -> Vec<(u64, u64)> {
        report.unreadable.iter().map(|found| (found.range.start.0, found.range.count())).collect()
    }
}

/// Start and length of each run of neighbours.
fn runs(sectors: &[u64]) -> Vec<(u64, u64)> {
    let set: RangeSet = sectors.iter().map(|&sector| SectorRange::at(sector, 1)).collect();
    set.iter().map(|run| (run.start.0, run.count())).collect()
}

/// A volume's results: such ranges count as verified, corrected rows are counted for the whole pass, and service times
/// are not learnt from them.
#[test]
fn corrected_and_unwritten_ranges_count_as_verified() {
    let grid = Grid::new(64, 64, 16);
    let mut bench = Bench::new(grid, OrderKind::SEQUENTIAL, &[]);
    for outcome in
        [VerifyOutcome::Corrected(2), VerifyOutcome::Unwritten, VerifyOutcome::Corrected(3), VerifyOutcome::Clean]
    {
        let Some(Op::Verify { id, .. }) = bench.scrub.poll_op(bench.now) else { panic!("there is more") };
        assert_eq!(bench.scrub.seen().service.completions(), 0);
        bench.complete(id, outcome);
    }
    let report = bench.scrub.report(bench.now);
    assert_eq!((report.state, report.bytes_verified, report.corrected), (ScrubState::Complete, Bytes(64 * 512), 5));
    assert!(report.unreadable.is_empty() && report.transient_errors == 0);
}

#[test]
fn names_exactly_the_unreadable_sectors_in_every_order() {
    let bad = [0, 17, 18, 19, 300, 511, 512, 999];
    for kind in OrderKind::ALL {
        let name = kind.name();
        let mut bench = Bench::new(Grid::new(1000, 128, 32), kind, &bad);
        let report = bench.run();
        assert_eq!(report.state, ScrubState::Complete, "{name}");
        assert_eq!(Bench::found(&report), runs(&bad), "{name}");
        assert_eq!(report.bytes_verified.0 + report.unreadable_sectors() * 512, 1000 * 512, "{name}");
        assert!(report.oldest_unread_seconds.is_some());
        let unreadable = bench.scrub.coverage().unreadable();
        assert_eq!(unreadable, 8, "{name}: the coverage map knows them too");
    }
}

proptest! {
    /// Any disk, any grid, any errors: every sector has the right verdict, and no good sector is blamed.
    #[test]
    fn every_sector_gets_the_right_verdict_on_any_disk(
        disk in 1u64..600,
        region in 1u64..200,
        segments in 1u64..8,
        granule in prop::sample::select(vec![1u64, 2, 8]),
        order in prop::sample::select(vec![OrderKind::SEQUENTIAL, OrderKind::STAGGERED, OrderKind::OLDEST]),
        bad in prop::collection::vec(0u64..600, 0..30),
    ) {
        let (disk, region) = (disk * granule, region * granule);
        let grid = Grid::new(disk, region, (region / granule).div_ceil(segments) * granule);
        let bad: Vec<u64> = bad.into_iter().filter(|&sector| sector < disk).collect();
        let scrub = machine(grid, grid.disk(), granule, order, Pass::default());
        let mut bench = Bench { scrub, bad: bad.clone(), now: Nanos::ZERO, requested: Vec::new() };
        let report = bench.run();
        prop_assert_eq!(report.state, ScrubState::Complete);
        let blocks: RangeSet = bad.iter().map(|sector| SectorRange::at(sector / granule * granule, granule)).collect();
        prop_assert_eq!(Bench::found(&report), blocks.iter().map(|r| (r.start.0, r.count())).collect::<Vec<_>>());
        prop_assert_eq!(report.bytes_verified.0 / 512 + report.unreadable_sectors(), disk);
        prop_assert_eq!(report.transient_errors, 0);
    }

    /// A pass that is stopped anywhere and continued from its saved state has the same findings and reads no sector
    /// twice that has a verdict.
    #[test]
    fn a_pass_stopped_anywhere_continues_with_the_same_findings(
        stop in 0usize..60,
        bad in prop::collection::vec(0u64..512, 0..6),
    ) {
        let grid = Grid::new(512, 128, 32);
        let mut first = Bench::new(grid, OrderKind::STAGGERED, &bad);
        (0..stop).for_each(|_| { first.step(); });
        let saved = first.scrub.pass().clone();
        let scrub = machine(grid, grid.disk(), 1, OrderKind::SEQUENTIAL, saved.clone());
        let mut second = Bench { scrub, bad: bad.clone(), now: Nanos::ZERO, requested: Vec::new() };
        let report = second.run();
        prop_assert_eq!(Bench::found(&report), runs(&bad));
        prop_assert_eq!(report.bytes_verified.0 / 512 + report.unreadable_sectors(), 512);
        for range in &second.requested {
            prop_assert_eq!(saved.done.count_in(*range), 0, "{} was known", range);
        }
    }
}

#[test]
fn an_error_pulls_its_region_forward_then_the_neighbours_then_the_tour_goes_on() {
    let grid = Grid::new(640, 128, 32);
    let mut bench = Bench::new(grid, OrderKind::STAGGERED, &[260]);
    let report = bench.run();
    assert_eq!(report.state, ScrubState::Complete);
    let mut regions: Vec<u64> = bench.requested.iter().map(|range| grid.region_of(range.start)).collect();
    regions.dedup();
    // Round 0 visits 0, 1, 2; the error is in 2: finish 2, then 1, then 3; then the tour: 4, and 0 and 4 to the end.
    assert_eq!(regions, [0, 1, 2, 1, 3, 4, 0, 4, 0, 4, 0, 4]);
}

#[test]
fn bisection_needs_few_requests() {
    let mut bench = Bench::new(Grid::new(16, 16, 16), OrderKind::SEQUENTIAL, &[11]);
    bench.run();
    // 16 sectors: [0,16) fails; [0,8) is clean, so [8,16) need not be read; [8,12) fails; [8,10) is clean; 10, 11; [12,16).
    let requested: Vec<_> = bench.requested.iter().map(|range| (range.start.0, range.count())).collect();
    assert_eq!(requested, [(0, 16), (0, 8), (8, 4), (8, 2), (10, 1), (11, 1), (12, 4)]);
}

#[test]
fn unreadable_neighbours_are_one_run_only_if_their_causes_are_alike() {
    let medium = |block| Cause::Sense(Sense { key: 3, asc: 0x11, ascq: 0, block });
    let blocks = [(10, EIO), (11, medium(Some(11))), (12, medium(Some(12))), (13, Cause::Lost)];
    let runs = BTreeMap::from([(10, (1, EIO)), (11, (2, medium(Some(11)))), (13, (1, Cause::Lost))]);
    let mut ascending = Pass::default();
    blocks.iter().for_each(|&(sector, cause)| ascending.add_unreadable(SectorRange::at(sector, 1), cause));
    assert_eq!(ascending.unreadable, runs);
    let mut descending = Pass::default();
    blocks.iter().rev().for_each(|&(sector, cause)| descending.add_unreadable(SectorRange::at(sector, 1), cause));
    assert_eq!(descending.unreadable, runs);
}

#[test]
fn what_disagreed_is_verified_again_and_nothing_else() {
    let mut pass = Pass::default();
    pass.done.insert(SectorRange::at(0, 100));
    pass.add_unreadable(SectorRange::at(8, 8), Cause::Mismatch);
    pass.add_unreadable(SectorRange::at(40, 1), EIO);
    assert_eq!((pass.revisit_mismatches(), pass.done.count()), (8, 92));
    assert_eq!(pass.unreadable, BTreeMap::from([(40, (1, EIO))]));
    assert_eq!(pass.done.first_gap(SectorRange::at(0, 100)), Some(SectorRange::at(8, 8)));
    assert_eq!(pass.revisit_mismatches(), 0);
}

#[test]
fn an_error_that_goes_away_blames_no_sector() {
    let mut bench = Bench::new(Grid::new(64, 64, 64), OrderKind::SEQUENTIAL, &[]);
    let Some(Op::Verify { id, .. }) = bench.scrub.poll_op(bench.now) else { panic!("an op") };
    bench.complete(id, VerifyOutcome::Unreadable(EIO));
    let report = bench.run();
    assert_eq!((report.state, report.unreadable_sectors()), (ScrubState::Complete, 0));
    assert_eq!((report.transient_errors, report.transient_cause), (1, Some(EIO)));
    assert_eq!(report.bytes_verified, Bytes(64 * 512));
}

/// Answers `outcome` to each request that `sector` matches, and clean to all others, until no more requests come.
fn run_with_failing(bench: &mut Bench, sector: impl Fn(SectorRange) -> bool, outcome: VerifyOutcome) -> ScrubReport {
    for _ in 0..1000 {
        bench.now += RETRY_PAUSE;
        let Some(Op::Verify { id, range }) = bench.scrub.poll_op(bench.now) else { break };
        bench.requested.push(range);
        bench.complete(id, if sector(range) { outcome } else { VerifyOutcome::Clean });
    }
    bench.scrub.report(bench.now)
}

#[test]
fn inconclusive_ranges_are_retried_then_left_out_and_the_rest_is_verified() {
    let timeout = VerifyOutcome::Inconclusive(Cause::Errno(110));
    let mut bench = Bench::new(Grid::new(256, 64, 64), OrderKind::SEQUENTIAL, &[]);
    let report = run_with_failing(&mut bench, |range| range.contains(Sector(20)), timeout);
    assert_eq!(report.state, ScrubState::Failed(Cause::Errno(110)));
    assert_eq!(report.bytes_verified, Bytes(240 * 512), "all but the one request");
    assert_eq!(report.unreadable_sectors(), 0, "no sector is blamed");
    let times = bench.requested.iter().filter(|range| range.contains(Sector(20))).count();
    assert_eq!(times as u32, 2 * failures::ATTEMPTS_MAX, "and once more at the end of the pass");
}

#[test]
fn requests_that_were_not_answered_at_first_are_counted_unless_a_stop_cut_them_short() {
    let timeout = VerifyOutcome::Inconclusive(Cause::Errno(110));
    let mut bench = Bench::new(Grid::new(256, 64, 64), OrderKind::SEQUENTIAL, &[]);
    for attempt in 0.. {
        bench.now += RETRY_PAUSE;
        let Some(Op::Verify { id, range }) = bench.scrub.poll_op(bench.now) else { break };
        let fails = range.contains(Sector(0)) && attempt < 2;
        bench.complete(id, if fails { timeout } else { VerifyOutcome::Clean });
        let expected = if attempt < 2 { 0 } else { 2 };
        assert_eq!(bench.scrub.report(bench.now).unanswered, expected, "a stop now would leave it behind");
    }
    let report = bench.scrub.report(bench.now);
    assert_eq!((report.state, report.unanswered), (ScrubState::Complete, 2));
    assert_eq!(report.unanswered_cause, Some(Cause::Errno(110)));
}

#[test]
fn a_zone_of_time_outs_does_not_keep_the_scrub_from_the_rest() {
    let timeout = VerifyOutcome::Inconclusive(Cause::Errno(110));
    let zone = SectorRange::new(5000, 5048);
    let mut bench = Bench::new(Grid::new(1 << 17, 1 << 13, 1 << 10), OrderKind::SEQUENTIAL, &[]);
    let report = loop {
        let report = run_with_failing(&mut bench, |range| !range.intersection(zone).is_empty(), timeout);
        if report.state != ScrubState::Running {
            break report;
        }
    };
    assert_eq!(report.state, ScrubState::Failed(Cause::Errno(110)));
    assert!((1 << 17) - report.bytes_verified.0 / 512 <= 64, "{} verified", report.bytes_verified);
}

#[test]
fn a_device_that_answers_nothing_is_given_up() {
    let timeout = VerifyOutcome::Inconclusive(Cause::Errno(110));
    let mut bench = Bench::new(Grid::new(1 << 20, 1 << 16, 1 << 14), OrderKind::SEQUENTIAL, &[]);
    let report = run_with_failing(&mut bench, |_| true, timeout);
    assert_eq!((report.state, bench.requested.len()), (ScrubState::Failed(Cause::Errno(110)), 64));
}

#[test]
fn a_device_that_answers_in_between_is_not_given_up() {
    let timeout = VerifyOutcome::Inconclusive(Cause::Errno(110));
    let mut bench = Bench::new(Grid::new(24 * 64, 256, 64), OrderKind::SEQUENTIAL, &[]);
    let report = run_with_failing(&mut bench, |range| range.start.0 % 64 == 32, timeout);
    assert_eq!(report.state, ScrubState::Failed(Cause::Errno(110)));
    assert_eq!(report.bytes_verified, Bytes(24 * 48 * 512), "all but the one request of each segment");
}

#[test]
fn an_attempt_is_not_taken_back_by_another_requests_success() {
    let grid = Grid::new(1 << 12, 1 << 12, 1 << 12);
    let mut bench = Bench::new(grid, OrderKind::SEQUENTIAL, &[]);
    let config = Config {
        range: grid.disk(),
        granule: 1,
        depth: 2,
        held_max: None,
        started: Nanos::ZERO,
        today: UnixSeconds(1),
    };
    let policy = Box::new(BackToBack { size: Bytes(16 * SECTOR_BYTES) });
    bench.scrub = Scrub::new(config, OrderKind::SEQUENTIAL.order(&[]), policy, Coverage::new(grid), Pass::default());
    let mut failed = 0;
    while !bench.scrub.is_done() {
        bench.now += RETRY_PAUSE;
        let ops: Vec<Op> = std::iter::from_fn(|| bench.scrub.poll_op(bench.now)).collect();
        assert!(!ops.is_empty() || bench.scrub.is_done());
        for Op::Verify { id, range } in ops {
            let is_bad = range.contains(Sector(100));
            failed += u32::from(is_bad);
            bench.complete(
                id,
                if is_bad { VerifyOutcome::Inconclusive(Cause::Errno(110)) } else { VerifyOutcome::Clean },
            );
        }
    }
    assert_eq!(failed, 2 * failures::ATTEMPTS_MAX, "in the tour and at the end");
}

#[test]
fn a_pass_of_smaller_blocks_goes_on_in_whole_ones() {
    let grid = Grid::new(1024, 512, 256);
    for bad in [1, 5, 20, 90, 95, 200, 203] {
        let done: RangeSet = [SectorRange::at(3, 90), SectorRange::at(200, 1)].into_iter().collect();
        let mut pass = Pass { begun: UnixSeconds(5), done, ..Pass::default() };
        if pass.done.covers(SectorRange::at(bad, 1)) {
            pass.unreadable.insert(bad, (1, EIO));
        }
        let mut bench = Bench::new(grid, OrderKind::SEQUENTIAL, &[bad]);
        bench.scrub = machine(grid, grid.disk(), 8, OrderKind::SEQUENTIAL, pass);
        let report = bench.run();
        assert_eq!((report.state, Bench::found(&report)), (ScrubState::Complete, vec![(bad / 8 * 8, 8)]), "{bad}");
        assert!(
            bench.requested.iter().all(|range| range.start.0 % 8 == 0 && range.count() % 8 == 0),
            "{:?}",
            bench.requested
        );
    }
}

#[test]
fn a_resumed_pass_is_as_old_as_its_beginning() {
    let grid = Grid::new(256, 64, 32);
    let done = [SectorRange::at(0, 100)].into_iter().collect();
    let pass = Pass { begun: UnixSeconds(400), done, ..Pass::default() };
    let mut bench = Bench::new(grid, OrderKind::SEQUENTIAL, &[]);
    bench.scrub = machine(grid, grid.disk(), 1, OrderKind::SEQUENTIAL, pass);
    let report = bench.run();
    assert_eq!(report.oldest_unread_seconds, Some(600), "the coverage map was new, the pass was not");
}

/// The pass before ended in the very second in which this one began, and when this pass reached the region is not known.
#[test]
fn a_region_partly_done_is_as_old_as_the_pass_whenever_it_was_last_verified() {
    let grid = Grid::new(256, 64, 32);
    let began = UnixSeconds(400);
    let mut coverage = Coverage::new(grid);
    (0..grid.region_count()).for_each(|region| coverage.complete(region, began, 0));
    let pass = Pass { begun: began, done: [SectorRange::at(0, 32)].into_iter().collect(), ..Pass::default() };
    resume_coverage(&mut coverage, &pass, grid.disk());
    coverage.touch(0, UnixSeconds(1000));
    coverage.complete(0, UnixSeconds(1000), 0);
    assert_eq!(coverage.oldest_unread_seconds(SectorRange::at(0, 64), UnixSeconds(1000)), Some(600));
}

#[test]
fn a_part_that_cuts_regions_is_complete_too() {
    let grid = Grid::new(256, 64, 32);
    let mut bench = Bench::new(grid, OrderKind::STAGGERED, &[]);
    bench.scrub = machine(grid, SectorRange::new(40, 200), 1, OrderKind::STAGGERED, Pass::default());
    let report = bench.run();
    assert_eq!((report.state, report.oldest_unread_seconds), (ScrubState::Complete, Some(0)));
}

#[test]
fn a_transient_error_survives_a_stop() {
    let grid = Grid::new(64, 64, 64);
    let mut bench = Bench::new(grid, OrderKind::SEQUENTIAL, &[]);
    let Some(Op::Verify { id, .. }) = bench.scrub.poll_op(bench.now) else { panic!("an op") };
    bench.complete(id, VerifyOutcome::Unreadable(EIO));
    (0..5).for_each(|_| assert!(bench.step()));
    let pass = bench.scrub.pass().clone();
    assert_eq!((pass.transient_errors, pass.transient_cause), (1, Some(EIO)));
    bench.scrub = machine(grid, grid.disk(), 1, OrderKind::SEQUENTIAL, pass);
    assert_eq!(bench.run().transient_errors, 1);
}

#[test]
fn a_dead_area_is_put_off_until_all_else_is_done() {
    let dead: Vec<u64> = (1000..3000).collect();
    for (region, segment) in [(4096, 1024), (1024, 256), (700, 300)] {
        let mut bench = Bench::new(Grid::new(8192, region, segment), OrderKind::SEQUENTIAL, &dead);
        let report = bench.run();
        assert_eq!(Bench::found(&report), runs(&dead), "and still every sector of it is named");
        let last_good = bench.requested.iter().rposition(|range| range.start.0 >= 8000).unwrap();
        let asked_before = bench.requested[..last_good].iter().filter(|range| range.count() == 1).count();
        assert!(asked_before < 200, "{asked_before} single sectors before the rest was read");
    }
}

#[test]
fn many_bad_spots_far_apart_are_no_dead_area() {
    let spots: Vec<u64> = (0..100).map(|segment| segment * 64 + 40).collect();
    let mut bench = Bench::new(Grid::new(100 * 64, 640, 64), OrderKind::SEQUENTIAL, &spots);
    let report = bench.run();
    assert_eq!(Bench::found(&report), runs(&spots));
    assert!(bench.requested.is_sorted_by_key(|range| range.start), "nothing is put off to the end");
}

#[test]
fn a_vanished_disk_ends_the_scrub_without_findings() {
    let mut bench = Bench::new(Grid::new(64, 64, 64), OrderKind::SEQUENTIAL, &[]);
    assert!(bench.step());
    let Some(Op::Verify { id, .. }) = bench.scrub.poll_op(bench.now) else { panic!("an op") };
    bench.complete(id, VerifyOutcome::Gone);
    assert!(bench.scrub.is_done());
    assert_eq!(bench.scrub.state(), ScrubState::Gone);
    assert_eq!(bench.scrub.report(bench.now).bytes_verified, Bytes(16 * 512));
}

#[test]
fn the_foreground_goes_first_and_its_lost_time_is_counted() {
    let grid = Grid::new(1 << 20, 1 << 18, 1 << 14);
    let config = Config {
        range: grid.disk(),
        granule: 1,
        depth: 1,
        held_max: None,
        started: Nanos::ZERO,
        today: UnixSeconds(1),
    };
    let policy = Box::new(IntervalAdapter::new(Waiting { wait: Nanos::from_millis(100), size: Bytes::mib(1) }));
    let order = OrderKind::SEQUENTIAL.order(&[]);
    let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
    let ms = Nanos::from_millis;
    assert_eq!(scrub.poll_op(ms(50)), None);
    assert_eq!(scrub.poll_timeout(ms(50)), Some(ms(100)));
    let Some(Op::Verify { id, .. }) = scrub.poll_op(ms(100)) else { panic!("idle for long enough") };
    scrub.handle(ms(115), Event::ForegroundArrived { at: ms(108), count: 1 });
    scrub.handle(ms(115), Event::Completed { id, outcome: VerifyOutcome::Clean, started: ms(100), finished: ms(115) });
    assert_eq!(scrub.poll_op(ms(115)), None, "the foreground is waiting");
    scrub.handle(ms(130), Event::ForegroundCompleted { at: ms(125), count: 1 });
    assert_eq!(
        scrub.poll_timeout(ms(130)),
        Some(Nanos(136_750_000)),
        "a sixteenth of 108 ms: has anybody come meanwhile?"
    );
    assert_eq!((scrub.poll_op(ms(224)), scrub.poll_timeout(ms(224))), (None, Some(ms(225))));
    let report = scrub.report(ms(130));
    assert_eq!((report.slowdown.total, report.slowdown.max, report.foreground_requests), (ms(7), ms(7), 1));
    assert_eq!((report.idle, report.reading), (ms(108 + 5), ms(15)));
}

#[test]
fn credited_ranges_are_not_read_again() {
    let mut bench = Bench::new(Grid::new(256, 64, 32), OrderKind::SEQUENTIAL, &[]);
    bench.scrub.credit(Nanos::ZERO, SectorRange::at(40, 60));
    let report = bench.run();
    assert_eq!((report.state, report.bytes_verified), (ScrubState::Complete, Bytes(256 * 512)));
    assert_eq!(report.bytes_requested, Bytes(196 * 512));
}

#[test]
fn a_place_that_stalls_the_drive_is_read_last_by_small_requests_and_when_nobody_is_there() {
    let grid = Grid::new(4096, 1024, 256);
    let mut bench = Bench::new(grid, OrderKind::STAGGERED, &[]);
    bench.scrub.spare(SectorRange::at(1024, 1024));
    let policy = Box::new(BackToBack { size: Bytes(256 * SECTOR_BYTES) });
    bench.scrub.change_policy(Nanos::ZERO, policy);
    bench.scrub.handle(Nanos::ZERO, Event::ForegroundArrived { at: Nanos::ZERO, count: 1 });
    bench.scrub.handle(Nanos::ZERO, Event::ForegroundCompleted { at: Nanos::ZERO, count: 1 });
    while bench.step() {}
    assert_eq!(bench.scrub.report(bench.now).bytes_verified, Bytes(3 * 1024 * 512));
    assert!(bench.requested.iter().all(|range| !(1024..2048).contains(&range.start.0)));
    let again = bench.scrub.poll_timeout(bench.now).unwrap();
    assert_eq!(again, Nanos::from_secs(60), "a minute after the request of another");
    bench.now = again;
    let report = bench.run();
    assert_eq!((report.state, report.spared), (ScrubState::Complete, Bytes(1024 * 512)));
    let last = &bench.requested[bench.requested.len() - 8..];
    assert!(last.iter().all(|range| range.count() == 128 && (1024..2048).contains(&range.start.0)), "{last:?}");
    // Somebody is always there: after an hour it is read all the same.
    let mut busy = Bench::new(grid, OrderKind::SEQUENTIAL, &[]);
    busy.scrub.spare(SectorRange::at(0, 1024));
    let begun = busy.now;
    while busy.scrub.state() == ScrubState::Running && busy.now < Nanos::from_secs(9_000) {
        if !busy.step() {
            busy.now += Nanos::from_secs(30);
            let at = busy.now;
            busy.scrub.handle(at, Event::ForegroundArrived { at, count: 1 });
            busy.scrub.handle(at, Event::ForegroundCompleted { at, count: 1 });
        }
    }
    assert_eq!(busy.scrub.state(), ScrubState::Complete);
    assert!(busy.now.since(begun) >= Nanos::from_secs(3600));
}
