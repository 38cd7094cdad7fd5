//! The scrubber in random runs: disks, faults, depths, orders and stops by seed, judged by an oracle.
//!
//! The oracle is a flat array of which sectors were asked for, and with which answer.
//!
//! The disks can have sectors that are unreadable, sectors at which every request times out, and errors that go away.
//! They cannot lie. A failing assertion names its seed.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::idle::BackToBack;
use scrubjay_core::scrub::machine::{Event, Machine, Op, OpId};
use scrubjay_core::scrub::saved::Saved;
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::scrub::{Config, EndedPass, Pass, Scrub, ScrubState};
use scrubjay_core::units::{Bytes, Nanos, Sector, SectorRange, UnixSeconds};

const EIO: Cause = Cause::Errno(5);
const TIMED_OUT: Cause = Cause::Errno(110);

/// One disk, one range, and the oracle's knowledge.
struct Storm {
    seed: u64,
    rng: Rng,
    granule: u64,
    disk: u64,
    range: SectorRange,
    unreadable: Vec<bool>,
    silent: Vec<bool>,
    transient: f64,
    /// Was each sector in a request that came back clean, in this pass?
    read: Vec<bool>,
    /// Was each sector's own block requested alone, and reported as unreadable?
    proven: Vec<bool>,
    now: Nanos,
}

impl Storm {
    fn new(seed: u64) -> Storm {
        let mut rng = Rng::new(seed);
        let granule = [1, 8][rng.below(2) as usize];
        let blocks = 1 + rng.below(400);
        let disk = blocks * granule;
        let (first, second) = (rng.below(blocks + 1), rng.below(blocks + 1));
        let range = if first == second {
            SectorRange::at(0, disk)
        } else {
            SectorRange::new(first.min(second) * granule, first.max(second) * granule)
        };
        let mut marked = |runs: u64, longest: u64| {
            let mut marks = vec![false; disk as usize];
            for _ in 0..rng.below(runs + 1) {
                let start = rng.below(disk);
                let end = (start + 1 + rng.below(longest)).min(disk);
                marks[start as usize..end as usize].fill(true);
            }
            marks
        };
        let unreadable = marked(6, 200);
        let silent = if seed.is_multiple_of(3) { marked(2, 20) } else { vec![false; disk as usize] };
        let transient = if rng.below(2) == 0 { 0.05 } else { 0.0 };
        let flags = || vec![false; disk as usize];
        Storm {
            seed,
            rng,
            granule,
            disk,
            range,
            unreadable,
            silent,
            transient,
            read: flags(),
            proven: flags(),
            now: Nanos::ZERO,
        }
    }

    /// A machine that continues from `saved`, with random sizes and a random order.
    fn machine(&mut self, saved: Option<Saved>) -> Scrub {
        let region = (1 + self.rng.below(self.disk / self.granule)) * self.granule;
        let segment = (1 + self.rng.below(region / self.granule)) * self.granule;
        let grid = Grid::new(self.disk, region, segment);
        let config = Config {
            range: self.range,
            granule: self.granule,
            depth: 1 + self.rng.below(3) as usize,
            held_max: None,
            started: self.now,
            today: UnixSeconds(1_000_000 + self.now.0 / 1_000_000_000),
        };
        let size = Bytes((1 + self.rng.below(40)) * self.granule * 512);
        let kind = OrderKind::ALL[self.rng.below(3) as usize];
        let (coverage, pass) = match saved {
            Some(saved) => (saved.coverage.onto(grid), saved.pass.unwrap_or_default()),
            None => (Coverage::new(grid), Pass::default()),
        };
        Scrub::new(config, kind.order(&coverage.verified()), Box::new(BackToBack { size }), coverage, pass)
    }

    fn any(marks: &[bool], range: SectorRange) -> bool {
        marks[range.start.0 as usize..range.end.0 as usize].contains(&true)
    }

    fn answer(&mut self, range: SectorRange) -> VerifyOutcome {
        let seed = self.seed;
        assert!(
            !range.is_empty() && range.start >= self.range.start && range.end <= self.range.end,
            "seed {seed}: {range}"
        );
        let is_whole = range.start.0.is_multiple_of(self.granule) && range.end.0.is_multiple_of(self.granule);
        assert!(is_whole, "seed {seed}: {range}");
        let span = range.start.0 as usize..range.end.0 as usize;
        if Storm::any(&self.silent, range) {
            return VerifyOutcome::Inconclusive(TIMED_OUT);
        }
        if Storm::any(&self.unreadable, range) || self.rng.uniform() < self.transient {
            if range.count() == self.granule {
                self.proven[span].fill(true);
            }
            return VerifyOutcome::Unreadable(EIO);
        }
        self.read[span].fill(true);
        VerifyOutcome::Clean
    }

    /// Runs until the machine is done, or for `ops` operations; answers in random order if several are under way.
    fn run(&mut self, scrub: &mut Scrub, ops: u64) {
        let mut in_flight: Vec<(OpId, SectorRange)> = Vec::new();
        for round in 0.. {
            assert!(round < 200_000, "seed {}: it never ends", self.seed);
            while let Some(Op::Verify { id, range }) = scrub.poll_op(self.now) {
                in_flight.push((id, range));
            }
            if scrub.is_done() || round >= ops && in_flight.is_empty() {
                return;
            }
            if in_flight.is_empty() {
                let next = scrub.poll_timeout(self.now).expect("a machine that runs has something in mind");
                self.now = next.max(self.now + Nanos(1));
                continue;
            }
            let (id, range) = in_flight.swap_remove(self.rng.below(in_flight.len() as u64) as usize);
            let (outcome, started) = (self.answer(range), self.now);
            self.now += Nanos::from_millis(5);
            scrub.handle(self.now, Event::Completed { id, outcome, started, finished: self.now });
        }
    }

    /// Checks that every claim of the machine is what the oracle saw.
    fn judge(&self, scrub: &Scrub) {
        let (seed, report) = (self.seed, scrub.report(self.now));
        let is_reported = |sector| report.unreadable.iter().any(|found| found.range.contains(Sector(sector)));
        for sector in self.range.start.0..self.range.end.0 {
            let index = sector as usize;
            let is_done = scrub.pass().done.covers(SectorRange::at(sector, 1));
            match (is_done, is_reported(sector)) {
                (true, true) => assert!(self.proven[index], "seed {seed}: {sector} is blamed without proof"),
                (true, false) => {
                    assert!(self.read[index], "seed {seed}: {sector} counts as verified, but was never read")
                }
                (false, is_blamed) => assert!(!is_blamed, "seed {seed}: {sector} is blamed, but not done"),
            }
        }
        let known = report.bytes_verified.0 / 512 + report.unreadable_sectors();
        assert_eq!(
            known == self.range.count(),
            report.state == ScrubState::Complete,
            "seed {seed}: {:?}",
            report.state
        );
        if report.state != ScrubState::Complete {
            assert_eq!(report.state, ScrubState::Failed(TIMED_OUT), "seed {seed}");
            assert!(Storm::any(&self.silent, self.range), "seed {seed}: all answered, and still not complete");
        }
    }
}

#[test]
fn every_claim_of_the_scrubber_is_true_in_every_storm() {
    for seed in 0..3000 {
        let mut storm = Storm::new(seed);
        let mut scrub = storm.machine(None);
        // Some stops, each through the text that a state file holds.
        while storm.rng.below(3) > 0 && !scrub.is_done() {
            let ops = storm.rng.below(60);
            storm.run(&mut scrub, ops);
            if scrub.is_done() {
                break;
            }
            let (coverage, pass) = (scrub.coverage().clone(), Some(scrub.pass().clone()));
            let saved =
                Saved { disk: "storm".to_owned(), at: UnixSeconds(1), coverage, pass, ended: EndedPass::default() };
            let restored: Saved = saved.to_string().parse().expect("what is saved comes back");
            scrub = storm.machine(Some(restored));
        }
        storm.run(&mut scrub, u64::MAX);
        storm.judge(&scrub);
    }
}
