//! The fate of a modelled host's disks and arrays: they die, go bad, are taken out, replaced and rebuilt.

use super::disk::BadRun;
use super::fact::HostFact;
use super::life::{self, HostEvent};
use super::run::ModelledHost;
use super::setup::{EPOCH, name_of};
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts};
use scrubjay_watch::pool::{LastScrub, PoolScan};

/// The speed at which an array is rebuilt, in bytes a second: a judgement.
const REBUILD_SPEED: u64 = 120_000_000;
/// The first place whose name a disk may have that comes back, and how many such names there are: more than disks.
const RENAMED_FROM: usize = 100;
const RENAMED: usize = 500;
/// One in this many defects hits two members of an array at one place. That is far rarer in life; here its consequences
/// are to be seen.
const DEFECTS_OF_TWO_ONE_IN: u64 = 8;

impl ModelledHost<'_> {
    /// An array as the kernel sees it now.
    pub(super) fn array(&self, array: usize) -> ArrayFacts {
        let mut facts = self.setup.arrays[array].clone();
        for (member, &number) in facts.members.iter_mut().zip(&self.members[array]) {
            let disk = &self.disks[number];
            member.disk = disk.is_seen.then(|| disk.facts.name.clone());
        }
        facts
    }

    pub(super) fn observe_members(&mut self, array: usize) {
        let (key, members) = (self.setup.arrays[array].key.clone(), self.members[array].clone());
        self.observe(&HostFact::Array(&key, &members));
    }

    fn report_array(&mut self, array: usize) {
        let facts = self.array(array);
        let places = facts.members.iter().zip(&self.members[array]);
        let lost: Vec<usize> = places.filter(|(member, _)| !member.is_in_sync).map(|(_, number)| *number).collect();
        self.observe(&HostFact::ArrayState(&facts.key, &lost, facts.activity != ArrayActivity::Idle));
        self.observe_scrub(&facts);
        self.send(WatchEvent::ArraySeen(facts));
    }

    /// Lets the observer know of the whole scrub that a pool shows, if the watch runs.
    pub(super) fn observe_scrub(&mut self, facts: &ArrayFacts) {
        if let Some(LastScrub::Ended(at)) =
            facts.pool.as_ref().map(|pool| pool.scrubbed).filter(|_| self.watch.is_some())
        {
            let at = (at.0 as i64 - self.ahead) as u64;
            self.observe(&HostFact::PoolScrubbed(&facts.key, at));
        }
    }

    /// What a pool shows of its scan from now on; ZFS remembers the last one only.
    fn scan(&mut self, array: usize, scan: PoolScan, scrubbed: LastScrub) {
        if let Some(pool) = &mut self.setup.arrays[array].pool {
            (pool.scan, pool.scrubbed) = (scan, scrubbed);
        }
    }

    /// The array of a disk, and its place in the array.
    fn membership(&self, number: usize) -> Option<(usize, usize)> {
        let place = |members: &Vec<usize>| members.iter().position(|&member| member == number);
        self.members.iter().enumerate().find_map(|(array, members)| Some((array, place(members)?)))
    }

    pub(super) fn take_out(&mut self, number: usize) {
        self.read(number);
        // A pass that came to its end since the last hour was reported then, not an hour later.
        if let Some(finished) = self.finish_if_done(number) {
            self.send(finished);
        }
        self.end_session(number);
        self.disks[number].is_seen = false;
        self.observe(&HostFact::DiskOut(number));
        self.send(WatchEvent::DiskGone(self.disks[number].facts.name.clone()));
        self.send(WatchEvent::Tick);
    }

    pub(super) fn bring_back(&mut self, number: usize) {
        if self.disks[number].is_dead {
            return;
        }
        self.disks[number].is_seen = true;
        if self.setup.is_odd {
            let is_free = |name: &String| self.disks.iter().all(|disk| disk.facts.name != *name);
            let mut names = (self.renames..).map(|number| name_of(RENAMED_FROM + number % RENAMED));
            self.renames += 1;
            self.disks[number].facts.name = names.find(is_free).expect("there are more names than disks");
        }
        self.observe(&HostFact::DiskBack(number));
        self.send(WatchEvent::DiskSeen(self.disks[number].told()));
        if let Some((array, _)) = self.membership(number) {
            self.report_array(array);
        }
        self.send(WatchEvent::Tick);
    }

    pub(super) fn die(&mut self, number: usize) {
        if self.disks[number].is_dead {
            return;
        }
        self.disks[number].is_dead = true;
        if self.disks[number].is_seen {
            self.take_out(number);
        }
        if let Some((array, place)) = self.membership(number) {
            self.setup.arrays[array].members[place].is_in_sync = false;
            self.report_array(array);
        }
        self.plan_within(DAY, 30 * DAY, HostEvent::Replace(number));
    }

    pub(super) fn defect(&mut self, number: usize) {
        let sectors = self.disks[number].facts.sectors;
        let centre = self.rng.below(sectors);
        for _ in 0..life::runs_of_a_defect(&mut self.rng) {
            // Within a hundred megabytes of the first one.
            let start = (centre + self.rng.below(200_000)).min(sectors - 8) / 8 * 8;
            let (place, sectors) = (start as f64 / sectors as f64, SectorRange::at(start, 8));
            if !self.disks[number].bad.iter().any(|bad| bad.sectors == sectors) {
                self.disks[number].bad.push(BadRun { place, sectors, is_found: false });
            }
        }
        if self.rng.below(DEFECTS_OF_TWO_ONE_IN) == 0 {
            self.spread(number);
        }
    }

    /// Makes the bad runs of a disk bad in another member of its array, too.
    fn spread(&mut self, number: usize) {
        let Some((array, place)) = self.membership(number) else { return };
        let members = &self.members[array];
        let other = members[(place + 1) % members.len()];
        for BadRun { sectors, .. } in self.disks[number].bad.clone() {
            let disk = &mut self.disks[other];
            let is_new = !disk.bad.iter().any(|bad| bad.sectors == sectors);
            if is_new && sectors.end.0 <= disk.facts.sectors {
                let place = sectors.start.0 as f64 / disk.facts.sectors as f64;
                disk.bad.push(BadRun { place, sectors, is_found: false });
            }
        }
    }

    /// Begins or ends an array's check of itself.
    pub(super) fn check(&mut self, array: usize, is_on: bool) {
        let activity = &mut self.setup.arrays[array].activity;
        let (from, to) = match is_on {
            true => (ArrayActivity::Idle, ArrayActivity::Checking),
            false => (ArrayActivity::Checking, ArrayActivity::Idle),
        };
        if *activity == from {
            *activity = to;
            let ended = LastScrub::Ended(self.clock());
            match is_on {
                true => self.scan(array, PoolScan::Scrub(None), LastScrub::Unknown),
                false => self.scan(array, PoolScan::Idle, ended),
            }
            self.report_array(array);
            self.send(WatchEvent::Tick);
        }
    }

    /// A person puts a new disk in the place of this one.
    pub(super) fn replace(&mut self, number: usize) {
        let Some(place) = self.places.iter().position(|&known| known == number) else { return };
        if !self.disks[number].is_dead {
            self.die(number);
        }
        let new = self.disks.len();
        let disk = self.disks[number].replacement(new);
        let facts = disk.facts.clone();
        self.disks.push(disk);
        self.places[place] = new;
        self.observe(&HostFact::DiskIn(new, &facts));
        self.send(WatchEvent::DiskSeen(self.disks[new].told()));
        if let Some((array, member)) = self.membership(number) {
            self.members[array][member] = new;
            self.setup.arrays[array].activity = ArrayActivity::Rebuilding;
            self.scan(array, PoolScan::Resilver(None), LastScrub::Unknown);
            self.observe_members(array);
            self.report_array(array);
            let bytes = self.disks[new].facts.sectors * SECTOR_BYTES;
            self.plan(self.now + bytes / REBUILD_SPEED, HostEvent::Rebuilt(array));
        }
        self.send(WatchEvent::Tick);
        let end = EPOCH + self.setup.seconds();
        for (at, event) in life::of_disk(&self.setup, new, end) {
            if at > self.now {
                self.plan(at, event);
            }
        }
        self.plan_within(HOUR, 2 * DAY, HostEvent::Forget(number));
    }

    pub(super) fn rebuilt(&mut self, array: usize) {
        let facts = &mut self.setup.arrays[array];
        for (member, &number) in facts.members.iter_mut().zip(&self.members[array]) {
            member.is_in_sync = !self.disks[number].is_dead;
        }
        facts.activity = ArrayActivity::Idle;
        self.scan(array, PoolScan::Idle, LastScrub::Unknown);
        self.report_array(array);
        self.send(WatchEvent::Tick);
    }
}
