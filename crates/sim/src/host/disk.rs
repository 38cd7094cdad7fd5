//! A disk of a modelled host: its free time by the hour, its speed, and its faults.

use scrubjay_core::rng::Rng;
use scrubjay_core::units::{SECTOR_BYTES, SectorRange, UnixSeconds};
use scrubjay_watch::facts::{
    AtaAttribute, DiskFacts, DiskKey, MediaKind, PassReport, SmartFacts, SmartReading, SmartRefusal,
};

/// The pattern of a disk's use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLoad {
    /// Used in the evenings and on weekends.
    Home,
    /// Used in working hours.
    Office,
    /// Used at all times, and most at night, when it is backed up.
    Server,
    /// Used so much that it is seldom free.
    Busy,
}

impl HostLoad {
    /// The mean share (0 to 1) of an hour of the week (0 to 167) in which the disk can be read.
    fn share(self, hour: usize) -> f64 {
        let (day, hour) = (hour / 24, hour % 24);
        match self {
            HostLoad::Home if (17..23).contains(&hour) || day >= 5 && hour > 9 => 0.55,
            HostLoad::Home => 0.93,
            HostLoad::Office if day < 5 && (8..18).contains(&hour) => 0.2,
            HostLoad::Office => 0.9,
            HostLoad::Server if (1..4).contains(&hour) => 0.08,
            HostLoad::Server => 0.4,
            HostLoad::Busy => 0.07,
        }
    }
}

/// A run of sectors that went bad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadRun {
    /// Its place in the pass, 0 to 1.
    pub place: f64,
    /// Its sectors.
    pub sectors: SectorRange,
    /// Has any pass met it?
    pub is_found: bool,
}

/// A disk and its state.
#[derive(Clone, Debug)]
pub struct HostDisk {
    /// Its number, which no other disk ever has.
    pub number: usize,
    /// Its properties as the kernel and the drive report them.
    pub facts: DiskFacts,
    /// Can it be seen?
    pub is_seen: bool,
    /// Is it dead, never to be seen again?
    pub is_dead: bool,
    /// Does it answer questions, but no reads?
    pub fails_reads: bool,
    /// Does it sleep at night when it is not used?
    pub sleeps: bool,
    /// Why SMART cannot be read; `None`: it can.
    pub smart_refusal: Option<SmartRefusal>,
    /// Progress of its pass, 0 to 1. The session keeps this, [`HostDisk::pass`] and [`HostDisk::begun`].
    pub done: f64,
    /// The number of its pass.
    pub pass: u32,
    /// When its pass began, according to the watch.
    pub begun: UnixSeconds,
    /// The time up to which its running session is accounted for; `None`: no session runs.
    pub session: Option<u64>,
    /// Runs that went bad.
    pub bad: Vec<BadRun>,
    /// The runs that this pass has met, as indices into [`HostDisk::bad`].
    pub found: Vec<usize>,
    /// SMART 5: remapped sectors.
    pub remapped: u64,
    /// SMART 197: pending sectors.
    pub pending: u64,
    /// SMART 199: transfer errors of the cable.
    pub cable_errors: u64,
    /// Is it too hot?
    pub is_hot: bool,
    /// Has it, if it is flash, an attribute 197 that flips without a fault (as Crucial's MX500 has)?
    pub is_odd: bool,
    /// The key that it gives, if another disk gives the same one; its own in `facts` is what the watch is to tell it apart by.
    pub twin_of: Option<DiskKey>,
    load: HostLoad,
    /// Bytes a second on the outermost track; the innermost has half of it.
    speed: f64,
    seed: u64,
}

impl HostDisk {
    /// What it says of itself.
    pub fn told(&self) -> DiskFacts {
        DiskFacts { key: self.twin_of.as_ref().unwrap_or(&self.facts.key).clone(), ..self.facts.clone() }
    }

    /// A new disk.
    pub fn new(number: usize, facts: DiskFacts, load: HostLoad, speed: f64, seed: u64) -> HostDisk {
        HostDisk {
            number,
            facts,
            is_seen: true,
            is_dead: false,
            fails_reads: false,
            sleeps: false,
            smart_refusal: None,
            done: 0.0,
            pass: 0,
            begun: UnixSeconds(0),
            session: None,
            bad: Vec::new(),
            found: Vec::new(),
            remapped: 0,
            pending: 0,
            cable_errors: 0,
            is_hot: false,
            is_odd: false,
            twin_of: None,
            load,
            speed,
            seed,
        }
    }

    /// A new, empty disk of the same kind, to take this one's place.
    pub fn replacement(&self, number: usize) -> HostDisk {
        let key = DiskKey(format!("NEW{number:05}"));
        let facts = DiskFacts { key, ..self.facts.clone() };
        HostDisk { sleeps: self.sleeps, ..HostDisk::new(number, facts, self.load, self.speed, self.seed + 1) }
    }

    /// The share (0 to 1) of an hour (since 1970) in which it can be read: the mean of that hour of the week, times a
    /// factor of the week (0.8 to 1.2) and one of the hour (0.75 to 1.25).
    pub fn share(&self, hour: u64, week_hour: usize) -> f64 {
        let week_draw = Rng::stream(self.seed, hour / 168).uniform();
        let hour_draw = Rng::stream(self.seed ^ 0x5ca1e, hour).uniform();
        (self.load.share(week_hour) * (0.8 + 0.4 * week_draw) * (0.75 + 0.5 * hour_draw)).min(1.0)
    }

    /// Bytes a second at the place of its pass: half as many on inner tracks (papers of the field say "more than fifty percent").
    pub fn speed_at_pass(&self) -> f64 {
        match self.facts.media {
            MediaKind::Spinning => self.speed * (1.0 - 0.5 * self.done),
            MediaKind::Flash => self.speed,
        }
    }

    /// Reads for `useful_seconds` of free time, and meets the bad runs there; returns the progress before.
    pub fn read(&mut self, useful_seconds: f64) -> f64 {
        let before = self.done;
        let bytes = (self.facts.sectors * SECTOR_BYTES) as f64;
        self.done = (self.done + self.speed_at_pass() * useful_seconds / bytes).min(1.0);
        for (index, run) in self.bad.iter_mut().enumerate() {
            if (before..self.done).contains(&run.place) && !self.found.contains(&index) {
                self.found.push(index);
                if !run.is_found {
                    run.is_found = true;
                    self.pending += run.sectors.count();
                }
            }
        }
        before
    }

    /// The report of its session.
    pub fn report(&self) -> PassReport {
        let mut unreadable: Vec<SectorRange> = self.found.iter().map(|&index| self.bad[index].sectors).collect();
        unreadable.sort_by_key(|run| run.start);
        PassReport {
            pass: self.pass,
            begun: self.begun,
            is_found: false,
            done: (self.done * self.facts.sectors as f64) as u64,
            unreadable,
            retries: 0,
            corrected: 0,
            mismatched: 0,
            bytes_per_second: self.speed_at_pass() as u64,
            service_nanos: 0,
        }
    }

    /// Is it asleep in this hour of the week? Only at night, and not while it is being read.
    pub fn is_asleep(&self, week_hour: usize) -> bool {
        self.sleeps && self.session.is_none() && week_hour % 24 < 7
    }

    /// The result of reading its SMART data.
    pub fn smart(&self, week_hour: usize) -> SmartReading {
        if let Some(refusal) = self.smart_refusal {
            return SmartReading::Refused(refusal);
        }
        if self.is_asleep(week_hour) {
            return SmartReading::Asleep;
        }
        // The raw values of 188 and 194 are packed, as those of many drives are.
        let celsius = if self.is_hot { 90 } else { 30 + self.seed % 8 };
        let attributes = [(5, self.remapped), (188, 0x000c_000c_000c), (194, 0x0017_0000_0000 + celsius)];
        let attributes = attributes.into_iter().chain([(197, self.pending), (199, self.cable_errors)]);
        let mut attributes: Vec<AtaAttribute> = attributes.map(|(id, raw)| AtaAttribute::usual(id, raw)).collect();
        if self.is_odd && self.facts.media == MediaKind::Flash {
            let name = "Current_Pending_ECC_Cnt".to_owned();
            attributes.push(AtaAttribute { id: 197, name, value: None, raw: (week_hour / 7 % 2) as u64 });
        }
        SmartReading::Facts(SmartFacts { passed: Some(true), attributes, ..SmartFacts::default() })
    }

    /// Do its counters show something that lasts? Of flash, a few remapped blocks are usual.
    pub fn has_lasting_evidence(&self) -> bool {
        let usual = if self.facts.media == MediaKind::Flash { 99 } else { 0 };
        self.pending > 0 || self.remapped > usual
    }

    /// Have its drive or its reads shown anything that speaks against it?
    pub fn has_evidence(&self) -> bool {
        let is_counted = self.pending + self.remapped + self.cable_errors > 0;
        is_counted || !self.found.is_empty() || self.fails_reads || self.is_hot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> HostDisk {
        let facts = DiskFacts {
            key: DiskKey("S".into()),
            name: "sda".into(),
            model: "M".into(),
            serial: None,
            bay: None,
            place: None,
            controller: None,
            media: MediaKind::Spinning,
            sectors: 1 << 31,
        };
        HostDisk::new(0, facts, HostLoad::Home, 200e6, 1)
    }

    #[test]
    fn a_pass_takes_longer_on_inner_tracks_and_finds_the_bad_sectors() {
        let mut disk = disk();
        disk.bad.push(BadRun { place: 0.7, sectors: SectorRange::at(4711, 8), is_found: false });
        let mut halves = [0, 0];
        while disk.done < 1.0 {
            halves[usize::from(disk.done >= 0.5)] += 1;
            disk.read(10.0);
            assert_eq!(disk.report().unreadable.len(), usize::from(disk.done > 0.7));
        }
        assert!(halves[1] * 10 > halves[0] * 13, "{halves:?}");
        assert!(disk.pending == 8 && disk.has_evidence());
    }

    #[test]
    fn the_free_share_of_an_hour_never_changes_and_differs_from_the_next_hours() {
        let disk = disk();
        let shares: Vec<f64> = (0..168).map(|hour| disk.share(hour, hour as usize)).collect();
        assert_eq!(shares, (0..168).map(|hour| disk.share(hour, hour as usize)).collect::<Vec<_>>());
        assert!(shares.iter().all(|share| (0.2..=1.0).contains(share)) && shares[1] != shares[2]);
    }
}
