//! Queues worked out by hand, queueing theory, and recordings that depend on the seed alone.

use super::*;
use crate::replay::replay;
use crate::workload::{Bursts, TimeSpan};
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange};

const MS: u64 = 1_000_000;

/// The smallest scrubber: verifies a disk from end to end, one request at a time, whenever the foreground has been idle
/// for `wait`.
#[derive(Debug)]
struct Plain {
    sectors: u64,
    size: u64,
    wait: Nanos,
    at: u64,
    at_disk: bool,
    outstanding: u64,
    idle_since: Nanos,
}

impl Plain {
    fn new(sectors: u64, size: u64, wait: Nanos) -> Plain {
        Plain { sectors, size, wait, at: 0, at_disk: false, outstanding: 0, idle_since: Nanos::ZERO }
    }

    fn turn(&self) -> Option<Nanos> {
        let free = !self.at_disk && self.outstanding == 0 && self.at < self.sectors;
        free.then(|| self.idle_since + self.wait)
    }
}

impl Machine for Plain {
    fn handle(&mut self, _: Nanos, event: Event) {
        match event {
            Event::ForegroundArrived { count, .. } => self.outstanding += u64::from(count),
            Event::ForegroundCompleted { at, count } => {
                self.outstanding -= u64::from(count);
                self.idle_since = at;
            }
            Event::Completed { .. } => self.at_disk = false,
            Event::ForegroundDrained { .. } | Event::ForegroundCounted { .. } | Event::Tick => {}
        }
    }

    fn poll_op(&mut self, now: Nanos) -> Option<Op> {
        self.turn().filter(|&turn| turn <= now)?;
        let range = SectorRange::new(self.at, (self.at + self.size).min(self.sectors));
        let op = Op::Verify { id: OpId(self.at), range };
        (self.at, self.at_disk) = (range.end.0, true);
        Some(op)
    }

    fn poll_timeout(&self, _: Nanos) -> Option<Nanos> {
        self.turn()
    }

    fn is_done(&self) -> bool {
        self.at == self.sectors && !self.at_disk
    }
}

/// A disk on which every verification takes ten milliseconds.
fn slow_disk(sectors: u64) -> SimulatedDisk {
    let model = ServiceModel { positioning: Nanos(10 * MS), per_mib: Nanos::ZERO };
    SimulatedDisk::new(sectors, model)
}

fn requests(list: &[(u64, u64)]) -> Vec<ForegroundRequest> {
    list.iter().map(|&(at, service)| ForegroundRequest { at: Nanos(at * MS), service: Nanos(service * MS) }).collect()
}

/// Verifies one sector from 0 to 10 ms with this foreground (arrival and service in ms).
fn one_verify(foreground: &[(u64, u64)]) -> RunReport {
    let run = SimulatedPump::new(slow_disk(1), requests(foreground)).run(&mut Plain::new(1, 1, Nanos::ZERO));
    assert_eq!((run.report.end, run.report.scrub.ops, run.report.elapsed), (RunEnd::Done, 1, Nanos(10 * MS)));
    run.report
}

#[test]
fn one_request_three_milliseconds_into_a_ten_millisecond_verify_loses_seven() {
    let figures = one_verify(&[(3, 2)]).foreground;
    assert_eq!((figures.requests, figures.collisions, figures.delayed), (1, 1, 1));
    assert_eq!((figures.slowdown_max, figures.slowdown_total), (Nanos(7 * MS), Nanos(7 * MS)));
    assert_eq!((figures.response_total, figures.idle_intervals, figures.idle_total), (Nanos(2 * MS), 1, Nanos(3 * MS)));
}

#[test]
fn a_request_queued_behind_a_delayed_one_loses_as_much() {
    // Alone: 3..5 and 5..7 (queued). With the verification: 10..12 and 12..14.
    let report = one_verify(&[(3, 2), (4, 2)]);
    assert_eq!(report.foreground.slowdown_total, Nanos(14 * MS));
    assert_eq!((report.foreground.collisions, report.foreground.delayed, report.scrub.ops_hit), (2, 2, 1));
    assert!((report.foreground.slowdown_mean_seconds() - 0.007).abs() < 1e-12);
    assert!((report.foreground.response_mean_seconds() - 0.0025).abs() < 1e-12);
}

#[test]
fn requests_after_the_end_count_while_the_scrub_delays_them() {
    // Alone: 3..7, 11..12, 12..13, 20..21. With the verification: 10..14, 14..15, 15..16, 20..21: 7 + 3 + 3 ms. The
    // last request is not delayed, and is no part of the run.
    let figures = one_verify(&[(3, 4), (11, 1), (12, 1), (20, 1)]).foreground;
    assert_eq!((figures.requests, figures.collisions, figures.delayed), (3, 1, 3));
    assert_eq!((figures.slowdown_total, figures.slowdown_max), (Nanos(13 * MS), Nanos(7 * MS)));
}

#[test]
fn a_request_that_arrives_as_a_verify_ends_or_begins_is_not_delayed() {
    assert_eq!(one_verify(&[(10, 1)]).foreground.delayed, 0);
    // At the same instant the foreground goes first, and a scrubber that sees it waits.
    let run = SimulatedPump::new(slow_disk(1), requests(&[(0, 2)])).sight(ForegroundSight::Live).run(&mut Plain::new(
        1,
        1,
        Nanos::ZERO,
    ));
    assert_eq!((run.report.foreground.delayed, run.report.elapsed), (0, Nanos(12 * MS)));
}

#[test]
fn a_recording_lists_the_run_in_order() {
    let pump = SimulatedPump::new(slow_disk(2).with_errors([SectorRange::at(1, 1)]), requests(&[(3, 2)]));
    let run = pump.sight(ForegroundSight::Live).recorded().run(&mut Plain::new(2, 1, Nanos(MS)));
    let text = "told 0 tick\n\
                told 1000000 tick\n\
                gave 1000000 verify 0 0+1\n\
                told 3000000 arrived 3000000 1\n\
                told 3000000 tick\n\
                told 11000000 done 0 clean 1000000 11000000\n\
                told 11000000 tick\n\
                told 13000000 completed 13000000 1\n\
                told 13000000 tick\n\
                told 14000000 tick\n\
                gave 14000000 verify 1 1+1\n\
                told 24000000 done 1 unreadable errno:5 14000000 24000000\n\
                told 24000000 tick\n";
    assert_eq!(run.recording.to_string(), text);
    assert_eq!((run.report.scrub.ops_unreadable, run.report.scrub.busy), (1, Nanos(20 * MS)));
}

#[test]
fn a_drained_foreground_is_reported_late_but_with_its_true_times() {
    let pump = SimulatedPump::new(slow_disk(1), requests(&[(3, 2), (250, 2)]))
        .sight(ForegroundSight::Drained { period: Nanos(100 * MS) });
    let run = pump.recorded().run(&mut Plain::new(1, 1, Nanos(300 * MS)));
    // Looks at 100, 200, 300 ms; the look at 200 would see nothing and is left out.
    let text = "told 0 tick\n\
                told 100000000 arrived 3000000 1\n\
                told 100000000 completed 5000000 1\n\
                told 100000000 tick\n\
                told 300000000 arrived 250000000 1\n\
                told 300000000 completed 252000000 1\n\
                told 300000000 tick\n\
                told 552000000 tick\n\
                gave 552000000 verify 0 0+1\n\
                told 562000000 done 0 clean 552000000 562000000\n\
                told 562000000 tick\n";
    assert_eq!(run.recording.to_string(), text);
}

#[test]
fn time_up_and_stuck_are_ends_too() {
    // Verifications at 0..10, 12..22 and 22..32; the last one is cut off. The request at 24 collides with it, and so
    // does the one at 26, which comes after the end.
    let foreground = requests(&[(3, 2), (24, 1), (26, 1), (34, 1)]);
    let pump = SimulatedPump::new(slow_disk(1000), foreground).sight(ForegroundSight::Live).until(Nanos(25 * MS));
    let report = pump.run(&mut Plain::new(1000, 1, Nanos::ZERO)).report;
    assert_eq!((report.end, report.elapsed, report.scrub.ops), (RunEnd::TimeUp, Nanos(25 * MS), 2));
    assert_eq!((report.foreground.requests, report.foreground.collisions), (3, 3));
    assert_eq!(report.foreground.slowdown_total, Nanos((7 + 8 + 7) * MS));

    let mut stuck = Plain { outstanding: 1, ..Plain::new(1, 1, Nanos::ZERO) };
    assert_eq!(SimulatedPump::new(slow_disk(1), []).run(&mut stuck).report.end, RunEnd::Stuck);
}

#[test]
#[should_panic(expected = "the machine spins")]
fn a_machine_that_spins_is_stopped() {
    struct Spinning;
    impl Machine for Spinning {
        fn handle(&mut self, _: Nanos, _: Event) {}
        fn poll_op(&mut self, _: Nanos) -> Option<Op> {
            None
        }
        fn poll_timeout(&self, now: Nanos) -> Option<Nanos> {
            Some(now)
        }
        fn is_done(&self) -> bool {
            false
        }
    }
    SimulatedPump::new(slow_disk(1), []).run(&mut Spinning);
}

/// Mean response times of one server with Poisson arrivals, against the formulas of Pollaczek and Khinchine: M/M/1
/// s/(1-r), M/D/1 s(1 + r/(2(1-r))).
#[test]
fn mean_response_times_are_those_of_queueing_theory() {
    let (gap, service) = (Nanos(10 * MS), Nanos(6 * MS));
    let mean = |span| {
        // This scrubber never gets its turn: its first request would come after the end.
        let mut patient = Plain::new(1, 1, Nanos::from_secs(1 << 20));
        let stream = Bursts::poisson(gap, span, Rng::new(21));
        let report = SimulatedPump::new(slow_disk(1), stream).until(Nanos::from_secs(4000)).run(&mut patient).report;
        assert_eq!((report.foreground.delayed, report.scrub.ops), (0, 0));
        assert!((report.foreground.requests as f64 / 400_000.0 - 1.0).abs() < 0.01);
        report.foreground.response_mean_seconds()
    };
    let markov = mean(TimeSpan::Exponential { mean: service });
    assert!((markov / 0.015 - 1.0).abs() < 0.03, "M/M/1: {markov}");
    let fixed = mean(TimeSpan::Fixed(service));
    assert!((fixed / 0.0105 - 1.0).abs() < 0.02, "M/D/1: {fixed}");
}

/// Slowdowns against the definition: two runs of the same foreground, with and without the scrub's requests.
#[test]
fn slowdowns_are_the_difference_of_two_runs() {
    let think = TimeSpan::Pareto { minimum: Nanos(5 * MS), shape: 1.2, maximum: Nanos::from_secs(10) };
    let gap = TimeSpan::Exponential { mean: Nanos(2 * MS) };
    let foreground: Vec<_> = Bursts::new(6, gap, think, gap, Rng::new(8)).take(20_000).collect();
    let mut scrubber = Plain::new(1 << 30, Bytes::mib(1).sectors(), Nanos(20 * MS));
    let pump = SimulatedPump::new(SimulatedDisk::new(1 << 30, ServiceModel::default()), foreground.clone());
    let run = pump.until(foreground[19_999].at + Nanos(1)).recorded().run(&mut scrubber);

    // Feeds both streams by their own times into two servers that only this test uses.
    let mut queue: Vec<(Nanos, u8, Nanos)> =
        foreground.iter().map(|request| (request.at, 0, request.service)).collect();
    let verify = |range: SectorRange| ServiceModel::default().service(range.bytes());
    queue.extend(run.recording.ops().map(|(now, Op::Verify { range, .. })| (now, 1, verify(range))));
    queue.sort();
    let (mut with, mut without) = (DiskServer::default(), DiskServer::default());
    let (mut total, mut max) = (0, 0);
    for (at, owner, service) in queue {
        let finished = with.serve(at, service).finished;
        if owner == 0 {
            let slowdown = finished - without.serve(at, service).finished;
            total += slowdown.0;
            max = max.max(slowdown.0);
        }
    }
    let figures = run.report.foreground;
    assert_eq!((figures.requests, figures.slowdown_total.0, figures.slowdown_max.0), (20_000, total, max));
    assert!(figures.delayed > figures.collisions && figures.collisions >= run.report.scrub.ops_hit);
    assert!(run.report.scrub.ops_hit > 100);
    // A scrubber that waits for idleness has one verification at the disk, so it delays no request by more than that.
    assert!(max <= verify(SectorRange::at(0, Bytes::mib(1).sectors())).0, "{max}");
}

#[test]
fn the_same_seed_gives_the_same_recording_and_a_replay_gives_it_again() {
    let scrubber = || Plain::new(200_000, 2048, Nanos(30 * MS));
    let recording = |seed| {
        let think = TimeSpan::Exponential { mean: Nanos(100 * MS) };
        let stream = Bursts::new(4, TimeSpan::Fixed(Nanos(MS)), think, TimeSpan::Fixed(Nanos(3 * MS)), Rng::new(seed));
        SimulatedPump::new(SimulatedDisk::new(200_000, ServiceModel::default()), stream)
            .recorded()
            .run(&mut scrubber())
            .recording
    };
    let recorded = recording(1);
    assert_eq!(recorded, recording(1));
    assert_ne!(recorded, recording(2));

    let read: Recording = recorded.to_string().parse().expect("its text is a recording");
    assert_eq!(replay(&mut scrubber(), &read).difference(&recorded), None);
    let smaller =
        replay(&mut Plain { size: 1024, ..scrubber() }, &read).difference(&recorded).expect("it acts otherwise");
    assert!(
        matches!(recorded.entries()[smaller], RecordingEntry::Issued { .. }),
        "the first difference is what it gave"
    );
}

#[test]
fn without_a_foreground_the_throughput_is_that_of_the_disk() {
    let disk = SimulatedDisk::new(8 << 20, ServiceModel::default());
    let report = SimulatedPump::new(disk, []).run(&mut Plain::new(8 << 20, 2048, Nanos::ZERO)).report;
    let each = 14.77e-3;
    assert!((report.elapsed.as_secs_f64() / (4096.0 * each) - 1.0).abs() < 1e-9);
    assert!((report.scrub_bytes_per_second() / (2048.0 * SECTOR_BYTES as f64 / each) - 1.0).abs() < 1e-9);
    assert_eq!(report.scrub.busy, report.elapsed);
}
