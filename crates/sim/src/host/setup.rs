//! A modelled host drawn from a seed: its disks, arrays and settings, and how often things go wrong.

use super::disk::{HostDisk, HostLoad};
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::events::WatchBug;
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts, ArrayMember, DiskFacts, DiskKey, MediaKind, SmartRefusal};
use scrubjay_watch::hours::DailyHours;
use scrubjay_watch::pool::{LastScrub, MemberGroup, PoolLack, PoolLosses, PoolScan, ZpoolFacts};
use scrubjay_watch::settings::{AlertChannel, WatchSettings};

/// Disks that die, a year and disk: 1.4 % (Backblaze, Drive Stats for 2023).
pub const DEATHS_A_YEAR: f64 = 0.014;
/// Disks with a first unreadable sector, a year and disk: 3.15 % of nearline disks (Bairavasundaram et al., SIGMETRICS'07).
pub const DEFECTS_A_YEAR: f64 = 0.0315;
/// Share of dying disks whose counters show it before (the study of Backblaze's data of 2026-Q1 that finds 24 to 27 %
/// without a sign).
pub const DEATHS_WITH_SIGNS: f64 = 0.75;
/// Disks with a bad cable, a year and disk: a judgement.
pub const CABLES_A_YEAR: f64 = 0.02;
/// Disks with a plug that is loose for some days, and disks that are too hot for some days, a year and disk: a judgement.
pub const ODDITIES_A_YEAR: f64 = 0.05;
/// Outages of a mail server, a year: a judgement.
pub const OUTAGES_A_YEAR: f64 = 4.0;
/// Times a year that the power fails, or a person takes the host down for a while: a judgement.
pub const POWER_OFFS_A_YEAR: f64 = 6.0;
/// Times a year that the clock is found to be wrong and set: a judgement.
pub const CLOCK_STEPS_A_YEAR: f64 = 2.0;

/// Times a year that an odd host is suspended, loses its history, and that a server refuses a recipient of a channel: judgements.
pub const SUSPENDS_A_YEAR: f64 = 8.0;
/// See above.
pub const HISTORY_LOSSES_A_YEAR: f64 = 2.0;
/// See above.
pub const REFUSALS_A_YEAR: f64 = 3.0;

/// Times a year that an array is checked by its own checker: a judgement.
pub const CHECKS_A_YEAR: f64 = 4.0;

/// The same of the pools of ZFS that a timer scrubs, as those of distributions do.
pub const TIMED_SCRUBS_A_YEAR: f64 = 12.0;

/// When every modelled year begins: 1 January 2026, 00:00 UTC, in seconds since 1970.
pub const EPOCH: u64 = 1_767_225_600;

/// A host that is to be run.
#[derive(Clone, Debug)]
pub struct HostSetup {
    /// The seed of all chance.
    pub seed: u64,
    /// Days that it runs.
    pub days: u64,
    /// Its disks, by place.
    pub disks: Vec<HostDisk>,
    /// Its arrays.
    pub arrays: Vec<ArrayFacts>,
    /// The watch's settings.
    pub settings: WatchSettings,
    /// Faults of disks and cables are this many times as frequent as in life.
    pub trouble: f64,
    /// The watch is killed before one in this many of its operations; `None`: never.
    pub kill_one_in: Option<u64>,
    /// Does its clock begin in 1970 whenever it is switched on, until it is put right a minute later?
    pub forgets_time: bool,
    /// Is the host off every night?
    pub is_off_at_night: bool,
    /// Do disks have loose plugs, hot days, other names after a reset, and attributes that mean something else than their number? Do
    /// its first two disks give one serial number? Is its history lost, and do servers refuse recipients?
    pub is_odd: bool,
    /// Is it suspended now and then? Odd storms are.
    pub has_suspends: bool,
    /// A bug seeded in the watch. Used only with the feature `planted`.
    pub bug: Option<WatchBug>,
}

/// The kernel's name of a place.
pub fn name_of(place: usize) -> String {
    let letter = |index: usize| char::from(b'a' + index as u8);
    match place {
        0..26 => format!("sd{}", letter(place)),
        _ => format!("sd{}{}", letter(place / 26 - 1), letter(place % 26)),
    }
}

impl HostSetup {
    /// A quiet host of `disks` disks, as a user might have it: in arrays of up to eight, with two channels for alerts.
    pub fn usual(seed: u64, disks: usize, days: u64) -> HostSetup {
        let mut rng = Rng::stream(seed, 1);
        let disks = (0..disks).map(|place| disk(&mut rng, place, HostLoad::Home, 16.0)).collect::<Vec<_>>();
        let arrays = arrays(disks.len(), &mut |_| 8);
        let channel = |name: &str| AlertChannel { name: name.into(), fingerprint: 1, proven_elsewhere: None };
        HostSetup {
            seed,
            days,
            arrays,
            disks,
            settings: WatchSettings {
                host: "nas1".into(),
                channels: vec![channel("email"), channel("ntfy")],
                secret: seed,
                ..WatchSettings::default()
            },
            trouble: 1.0,
            kill_one_in: None,
            forgets_time: false,
            is_off_at_night: false,
            is_odd: false,
            has_suspends: false,
            bug: None,
        }
    }

    /// A random host with much more trouble than in life: the meaning of a seed in the proof.
    pub fn storm(seed: u64) -> HostSetup {
        let mut rng = Rng::stream(seed, 2);
        let count = match rng.below(4) {
            0 => 1 + rng.below(2),
            1 | 2 => 3 + rng.below(10),
            _ => 13 + rng.below(48),
        };
        let loads = [HostLoad::Home, HostLoad::Office, HostLoad::Server, HostLoad::Busy];
        // A busy disk only shows that the date is missed, so few hosts have such disks.
        let choice = if rng.below(5) == 0 { 4 } else { 3 };
        let load = loads[rng.below(choice) as usize];
        let size = 0.5 + rng.uniform() * if count > 20 { 6.0 } else { 15.0 };
        let mut setup = HostSetup::usual(seed, 0, 200 + rng.below(250));
        setup.disks = (0..count as usize).map(|place| disk(&mut rng, place, load, size)).collect();
        for disk in &mut setup.disks {
            disk.sleeps = rng.below(6) == 0;
            disk.smart_refusal = (rng.below(15) == 0).then_some(SmartRefusal::NotSupported);
        }
        setup.arrays = arrays(setup.disks.len(), &mut |left| 2 + rng.below(9).min(left as u64) as usize);
        if rng.below(3) == 0 {
            let from = (rng.below(96) * 15) as u32;
            setup.settings.between = Some(DailyHours { from, to: (from + 60 + (rng.below(40) * 15) as u32) % 1440 });
        }
        if rng.below(2) == 0 {
            setup.settings.quiet = Some(DailyHours { from: 22 * 60, to: 7 * 60 });
        }
        // With the default limit no storm would have more arrays behind a controller than it allows.
        let mut narrow = Rng::stream(seed, 6);
        if narrow.below(3) == 0 {
            setup.settings.controller_max = 1 + narrow.below(3) as usize;
        }
        setup.settings.channels.truncate(1 + rng.below(2) as usize);
        setup.trouble = 1.0 + rng.uniform() * 15.0;
        setup.kill_one_in = (rng.below(3) > 0).then(|| 300 + rng.below(5000));
        setup.is_off_at_night = rng.below(8) == 0;
        setup.forgets_time = rng.below(5) == 0;
        setup.is_odd = Rng::stream(seed, 8).below(3) == 0;
        let is_odd = setup.is_odd;
        setup.has_suspends = is_odd;
        setup.disks.iter_mut().for_each(|disk| disk.is_odd = is_odd);
        if is_odd {
            make_twins(&mut setup.disks);
        }
        setup
    }

    /// A storm on a host whose arrays are pools of ZFS: others scrub some once a month, some now and then.
    pub fn pools(seed: u64) -> HostSetup {
        let mut setup = HostSetup::storm(seed);
        // What a lost history knew of scrubs nobody knows any more.
        (setup.is_odd, setup.has_suspends) = (false, false);
        setup.disks.iter_mut().for_each(|disk| disk.is_odd = false);
        for array in &mut setup.arrays {
            let group = MemberGroup { redundancy: array.redundancy, places: (0..array.members.len()).collect() };
            (array.layout, array.level) = (None, format!("ZFS raidz{}", array.redundancy));
            array.pool = Some(ZpoolFacts {
                groups: vec![group],
                lack: PoolLack::Nothing,
                failed: None,
                losses: PoolLosses::None,
                errors: Vec::new(),
                scrubbed: LastScrub::Never,
                scan: PoolScan::Idle,
                since: UnixSeconds(0),
            });
        }
        setup
    }

    /// The time that it runs, in seconds.
    pub fn seconds(&self) -> u64 {
        self.days * DAY
    }
}

fn disk(rng: &mut Rng, place: usize, load: HostLoad, terabytes: f64) -> HostDisk {
    let is_flash = rng.below(6) == 0;
    let (media, speed) = if is_flash { (MediaKind::Flash, 450e6) } else { (MediaKind::Spinning, 240e6) };
    let terabytes = if is_flash { terabytes.min(4.0) } else { terabytes };
    let facts = DiskFacts {
        key: DiskKey(format!("ZL{:06}", rng.below(1_000_000) * 100 + place as u64)),
        name: name_of(place),
        serial: None,
        model: if is_flash { "FLASH4T" } else { "ST16000NM001G" }.into(),
        bay: Some((place + 1).to_string()),
        controller: Some(format!("hba{}", place / 16)),
        media,
        sectors: (terabytes * 1e12 / 512.0) as u64 / 8 * 8,
        place: None,
    };
    HostDisk::new(place, facts, load, speed * (0.9 + 0.2 * rng.uniform()), rng.bits())
}

/// Lets the second disk give the key of the first, as some docks and bridges do: they differ in their sizes, or at least in their places.
fn make_twins(disks: &mut [HostDisk]) {
    let [first, second, ..] = disks else { return };
    for disk in [&mut *first, &mut *second] {
        disk.facts.place = Some(format!("slot{}", disk.number));
    }
    let key = first.facts.key.clone();
    second.facts.key = match first.facts.sectors == second.facts.sectors {
        true => DiskKey(format!("{key}@slot{}", second.number)),
        false => DiskKey(format!("{key}@{}", second.facts.sectors)),
    };
    second.twin_of = Some(key);
}

/// Arrays over neighbouring disks: a mirror of two, RAID-5 or RAID-6 of more; a disk that is left over is in none.
fn arrays(disks: usize, size: &mut dyn FnMut(usize) -> usize) -> Vec<ArrayFacts> {
    let (mut arrays, mut first) = (Vec::new(), 0);
    while disks - first >= 2 {
        let members = size(disks - first).min(disks - first);
        let (kind, level, parity) = match members {
            2 => (LayoutKind::Raid1, "RAID1", 1),
            3..=5 => (LayoutKind::Raid5Ls, "RAID5", 1),
            _ => (LayoutKind::Raid6Md, "RAID6", 2),
        };
        let shape = Shape { data: members - parity, parity };
        let member = |place| ArrayMember { disk: Some(name_of(place)), is_in_sync: true, data_start: 262_144 };
        arrays.push(ArrayFacts {
            key: format!("uuid{}", arrays.len()),
            name: format!("md{}", arrays.len()),
            level: level.into(),
            redundancy: parity as u32,
            members: (first..first + members).map(member).collect(),
            activity: ArrayActivity::Idle,
            layout: Layout::new(kind, shape, members).ok().map(|layout| (layout, 1024)),
            check_sectors: None,
            pool: None,
            lost_stripes: None,
        });
        first += members;
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_as_the_kernel_does_and_every_seed_is_a_host() {
        assert_eq!(
            (name_of(0), name_of(25), name_of(26), name_of(59)),
            ("sda".into(), "sdz".into(), "sdaa".into(), "sdbh".into())
        );
        let storms: Vec<HostSetup> = (0..200).map(HostSetup::storm).collect();
        assert!(storms.iter().all(|setup| (1..=60).contains(&setup.disks.len())));
        assert!(storms.iter().any(|setup| setup.disks.len() > 50) && storms.iter().any(|setup| setup.disks.len() == 1));
        assert!(storms.iter().flat_map(|setup| &setup.arrays).all(|array| array.layout.is_some()));
    }
}
