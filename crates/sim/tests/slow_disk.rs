//! The budget on disks that are slow, or were so for a time.

use crate::budget::{disk, longer_than, ms, scrub};
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::Scrub;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, SavedObservations};
use scrubjay_core::units::Nanos;
use scrubjay_sim::pump::SimulatedPump;
use scrubjay_sim::source::Clients;
use scrubjay_sim::workload::{Bursts, TimeSpan};

/// Slow disks with little load: merely assumed bursts must not prevent the smallest request, neither at first nor after
/// a stop, or the scrub would never see when requests arrive.
#[test]
fn a_slow_disk_that_is_hardly_used_is_read() {
    for positioning in [8, 15, 25] {
        for think in [5, 30, 1_000_000] {
            let model = ServiceModel { positioning: ms(positioning), per_mib: ms(10) };
            let play = |mut scrub: Scrub, seconds| {
                let pause = TimeSpan::Uniform(Nanos::from_secs(think), Nanos::from_secs(think + 5));
                let clients = Clients::new(1, 1, TimeSpan::Fixed(ms(1)), pause, TimeSpan::Fixed(ms(15)), Rng::new(3));
                let pump = SimulatedPump::with_source(disk(model), clients).until(Nanos::from_secs(seconds));
                let report = pump.run(&mut scrub).report;
                (report, scrub.learnt(Nanos::from_secs(seconds)))
            };
            let (first, learnt) = play(scrub(Goal::default()), 40);
            let learnt: SavedObservations = learnt.to_string().parse().expect("it is whole");
            let mut restarted = scrub(Goal::default());
            restarted.recall(&learnt);
            let (second, _) = play(restarted, 40);
            for run in [first, second] {
                let megabytes = run.scrub.bytes.0 / 1_000_000;
                assert!(megabytes >= 600 / positioning, "{positioning} ms, {think} s: {megabytes} MB in 40 s");
            }
        }
    }
}

/// A busy machine's disk took longer than the max goal at the smallest size. It has become fast since, but is never idle for long,
/// because a file system writes every five seconds: this is noticed. While it is slow, and if it stays so, no more requests than
/// promised lose more than the max goal.
#[test]
fn a_disk_that_was_too_slow_is_tried_again_although_it_is_never_idle_for_long() {
    let uniform = |least, most| TimeSpan::Uniform(ms(least), ms(most));
    let thinks =
        [uniform(4900, 5100), uniform(1900, 2100), uniform(100, 300), TimeSpan::Exponential { mean: ms(2000) }];
    for (index, think) in thinks.into_iter().enumerate() {
        let play = |positioning, mut scrub: Scrub, hours: u64| {
            let end = Nanos::from_secs(hours * 3600);
            let model = ServiceModel { positioning: ms(positioning), per_mib: ms(10) };
            let clients = Clients::new(1, 1, TimeSpan::Fixed(ms(1)), think, TimeSpan::Fixed(ms(5)), Rng::new(3));
            let run = SimulatedPump::with_source(disk(model), clients).until(end).run(&mut scrub).report;
            let (broken, requests) = (longer_than(&scrub, ms(50)), run.foreground.requests);
            assert!(broken <= 4.0 + requests as f64 * 1e-4, "{index}, {positioning} ms: {broken} of {requests}");
            assert!(run.foreground.slowdown_mean_seconds() <= 1e-3, "{index}, {positioning} ms: {run:?}");
            (run.scrub.bytes.0 / 1_000_000, scrub.learnt(end))
        };
        let (_, learnt) = play(434, scrub(Goal::default()), 4);
        let learnt: SavedObservations = learnt.to_string().parse().expect("it is whole");
        let mut restarted = scrub(Goal::default());
        restarted.recall(&learnt);
        let (megabytes, _) = play(4, restarted, 2);
        assert!(megabytes >= 1000, "{index}: {megabytes} MB in two hours");
    }
}

/// One program that waits `think` after each request of 5 ms.
fn one(think: TimeSpan, seed: u64) -> Clients {
    Clients::new(1, 1, TimeSpan::Fixed(ms(1)), think, TimeSpan::Fixed(ms(5)), Rng::new(seed))
}

/// A disk whose requests all take longer than the max goal, for a working day: what the scrub sends to see whether it has become faster stays
/// within the mean and the max goal, also where programs work by a clock whose period is about the time between two such requests.
#[test]
fn what_is_sent_to_a_disk_that_is_too_slow_is_within_the_goals() {
    let exponential = |seconds| TimeSpan::Exponential { mean: Nanos::from_secs(seconds) };
    let cases = [
        (434, 50, TimeSpan::Fixed(ms(25_200))),
        (434, 50, TimeSpan::Uniform(ms(25_000), ms(25_600))),
        (434, 50, TimeSpan::Uniform(Nanos::ZERO, ms(20_000))),
        (434, 50, exponential(1)),
        (434, 50, exponential(10)),
        (434, 50, exponential(100)),
        (6000, 50, TimeSpan::Fixed(ms(5_000))),
        (12, 10, TimeSpan::Fixed(ms(5_005))),
        (8, 2, TimeSpan::Fixed(ms(1_003))),
    ];
    for (index, (positioning, max, think)) in cases.into_iter().enumerate() {
        let goal = Goal::new(ms(1), ms(max));
        let model = ServiceModel { positioning: ms(positioning), per_mib: ms(10) };
        let mut scrub = scrub(goal);
        let end = Nanos::from_secs(8 * 3600);
        let run = SimulatedPump::with_source(disk(model), one(think, 5)).until(end).run(&mut scrub).report;
        let (requests, lost) = (run.foreground.requests, scrub.seen().slowdown.lost());
        let earned = goal.mean.as_secs_f64() * requests as f64;
        let once = 1.01 * (positioning + 1) as f64 / 1e3;
        assert!(lost.as_secs_f64() <= earned + once, "{index}: {lost:?} of {requests}");
        let broken = longer_than(&scrub, ms(max));
        assert!(broken <= 4.0 + requests as f64 * 1e-4, "{index}: {broken} of {requests}");
    }
}

/// The same where a hundred requests come at once: one request of the scrub that meets them delays all, and there is hardly another.
#[test]
fn what_is_sent_to_a_disk_that_is_too_slow_is_rare_where_many_requests_come_at_once() {
    for seed in 1..=4 {
        let think = TimeSpan::Exponential { mean: Nanos::from_secs(60) };
        let bursts = Bursts::new(100, TimeSpan::Fixed(ms(1)), think, TimeSpan::Fixed(ms(5)), Rng::new(seed));
        let mut scrub = scrub(Goal::default());
        let model = ServiceModel { positioning: ms(434), per_mib: ms(10) };
        let run = SimulatedPump::new(disk(model), bursts).until(Nanos::from_secs(8 * 3600)).run(&mut scrub).report;
        let (broken, requests) = (longer_than(&scrub, ms(50)), run.foreground.requests);
        assert!(broken <= 104.0 + requests as f64 * 1e-4, "{seed}: {broken} of {requests}");
        let (lost, earned) = (scrub.seen().slowdown.lost().as_secs_f64(), 1e-3 * requests as f64);
        assert!(lost <= earned + 100.0 * 0.44, "{seed}: {lost} s of {requests}");
    }
}

/// A disk that was slow for a time, at the beginning or later, is read again in the same run, once the foreground has made up for what
/// it lost meanwhile.
#[test]
fn a_disk_that_was_slow_for_a_time_is_read_again() {
    let minutes = |count: u64| Nanos::from_secs(60 * count);
    let hardly = Nanos::from_secs(15);
    let cases = [
        ([minutes(20), minutes(50)], 200, TimeSpan::Exponential { mean: ms(5000) }),
        ([minutes(60), minutes(62)], 434, TimeSpan::Exponential { mean: ms(2000) }),
        ([Nanos::ZERO, minutes(1)], 434, TimeSpan::Uniform(ms(3000), ms(5000))),
        ([Nanos::ZERO, minutes(1)], 434, TimeSpan::Uniform(Nanos::ZERO, ms(20_000))),
        ([Nanos::ZERO, hardly], 6000, TimeSpan::Uniform(ms(4900), ms(5100))),
        ([minutes(20), minutes(50)], 434, TimeSpan::Uniform(ms(4900), ms(5100))),
        ([minutes(20), minutes(50)], 434, TimeSpan::Uniform(ms(1000), ms(2000))),
        ([minutes(20), minutes(50)], 434, TimeSpan::Exponential { mean: ms(2000) }),
    ];
    for (index, (times, longer, think)) in cases.into_iter().enumerate() {
        for seed in 1..=2 {
            let read_until = |end: Nanos| {
                let model = ServiceModel { positioning: ms(4), per_mib: ms(10) };
                let disk = disk(model).busy(times, ms(longer));
                let mut scrub = scrub(Goal::default());
                let run = SimulatedPump::with_source(disk, one(think, seed)).until(end).run(&mut scrub).report;
                let (broken, requests) = (longer_than(&scrub, ms(50)), run.foreground.requests);
                assert!(broken <= 4.0 + requests as f64 * 1e-4, "{index}, {seed}: {broken} of {requests}");
                let is_made_up = run.foreground.slowdown_mean_seconds() < 0.9e-3;
                (run.scrub.bytes.0 / 1_000_000, is_made_up)
            };
            let (before, _) = read_until(times[1]);
            let (soon, is_made_up) = read_until(times[1] + minutes(120));
            let (by, read) = if is_made_up { (120, soon) } else { (360, read_until(times[1] + minutes(360)).0) };
            assert!(read - before >= 1000, "{index}, {seed}: {} MB in {by} minutes", read - before);
        }
    }
}
