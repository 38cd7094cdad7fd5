//! The events of a host, drawn before its life begins: deaths, defects, outages, power, clocks, people.

use super::setup::{
    CABLES_A_YEAR, CHECKS_A_YEAR, CLOCK_STEPS_A_YEAR, DEATHS_A_YEAR, DEATHS_WITH_SIGNS, DEFECTS_A_YEAR, EPOCH,
    HISTORY_LOSSES_A_YEAR, HostSetup, ODDITIES_A_YEAR, OUTAGES_A_YEAR, POWER_OFFS_A_YEAR, REFUSALS_A_YEAR,
    SUSPENDS_A_YEAR, TIMED_SCRUBS_A_YEAR,
};
use scrubjay_core::rng::Rng;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};

/// An event in the life of a host. Disks, arrays and channels are named by number; times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostEvent {
    /// An hour is over.
    Hour,
    /// The power goes off, for this long.
    PowerOff(u64),
    /// The power is back.
    PowerOn,
    /// The clock is set, by this much.
    Clock(i64),
    /// A host that forgets the time learns it, if this is still its start of that number.
    ClockFound(u64),
    /// A disk dies; if true, at first it only stops to answer reads.
    Die(usize, bool),
    /// A disk's counters grow.
    Sign(usize),
    /// Sectors of a disk go bad.
    Defect(usize),
    /// A cable of a disk spoils transfers.
    Cable(usize),
    /// A person touches a cable: a disk is gone for this long.
    Touch(usize, u64),
    /// A disk becomes too hot (true), or cools down.
    Heat(usize, bool),
    /// A disk that was gone is back.
    Back(usize),
    /// A session on a disk that does not answer reads gives up, if this is still the start of that number.
    NoReads(usize, u64),
    /// A person puts another disk in the place of this one.
    Replace(usize),
    /// A person declares that this disk will not come back.
    Forget(usize),
    /// A person accepts the state of a disk.
    Accept(usize),
    /// An array is in sync again.
    Rebuilt(usize),
    /// An array begins to check itself (true), or ends.
    Check(usize, bool),
    /// A channel accepts messages again (true), or refuses them.
    Accepts(usize, bool),
    /// A channel's answer about a message: the start of the watch, the message, was it accepted, did it arrive at once.
    Answer(u64, u64, bool, bool),
    /// A person types a code, by its number.
    Confirm(usize),
    /// A person tests the alerts.
    Test,
    /// A person wants nothing to be read for this long.
    Pause(u64),
    /// A person removes all channels but the first.
    Rechannel,
    /// A person adds a channel.
    AddChannel,
    /// The machine is suspended, for this long.
    Suspend(u64),
    /// The file of the history is lost, in the way of this number.
    LoseHistory(usize),
    /// A person takes note of that.
    AcceptHistory,
    /// A channel's server refuses one of its recipients (true), or takes all again.
    Recipients(usize, bool),
}

/// The times of a Poisson process with a mean of `per_year` events a year, from the beginning to `end`.
fn times(rng: &mut Rng, per_year: f64, end: u64) -> Vec<u64> {
    let mean = 365.0 * DAY as f64 / per_year;
    let mut times = Vec::new();
    let mut at = EPOCH as f64 + rng.exponential(mean);
    while at < end as f64 {
        times.push(at as u64);
        at += rng.exponential(mean);
    }
    times
}

/// All events that are drawn beforehand.
pub(super) fn draw(setup: &HostSetup) -> Vec<(u64, HostEvent)> {
    let end = EPOCH + setup.seconds();
    let mut events = vec![(EPOCH + HOUR, HostEvent::Hour)];
    for disk in 0..setup.disks.len() {
        events.extend(of_disk(setup, disk, end));
    }
    let mut rng = Rng::stream(setup.seed, 3);
    for at in times(&mut rng, POWER_OFFS_A_YEAR, end) {
        let long = rng.below(12) == 0;
        let span = if long { (1 + rng.below(45)) * DAY } else { 60 + rng.exponential(4.0 * HOUR as f64) as u64 };
        events.push((at, HostEvent::PowerOff(span)));
    }
    if setup.is_off_at_night {
        events.extend((0..setup.days).map(|day| (EPOCH + day * DAY + 22 * HOUR, HostEvent::PowerOff(8 * HOUR))));
    }
    for at in times(&mut rng, CLOCK_STEPS_A_YEAR, end) {
        let step = rng.below(2 * DAY) as i64 - DAY as i64;
        // A clock that is wrong is put right some days later.
        events.push((at, HostEvent::Clock(step)));
        events.push((at + HOUR + rng.below(5 * DAY), HostEvent::Clock(-step)));
    }
    for channel in 0..setup.settings.channels.len() {
        for at in times(&mut rng, OUTAGES_A_YEAR, end) {
            events.push((at, HostEvent::Accepts(channel, false)));
            events.push((at + HOUR + rng.below(5 * DAY), HostEvent::Accepts(channel, true)));
        }
    }
    for at in times(&mut rng, 6.0, end) {
        events.push((at, HostEvent::Pause(HOUR + rng.below(2 * DAY))));
    }
    for array in (0..setup.arrays.len()).filter(|_| setup.trouble > 1.0) {
        let is_timed = setup.arrays[array].pool.is_some() && (setup.seed + array as u64).is_multiple_of(2);
        let a_year = if is_timed { TIMED_SCRUBS_A_YEAR } else { CHECKS_A_YEAR };
        for at in times(&mut Rng::stream(setup.seed, 5000 + array as u64), a_year, end) {
            events.push((at, HostEvent::Check(array, true)));
            events.push((at + 12 * HOUR, HostEvent::Check(array, false)));
        }
    }
    if setup.is_odd {
        events.extend(oddities_of_host(setup, end));
    }
    if setup.has_suspends {
        let mut rng = Rng::stream(setup.seed, 10);
        let times = times(&mut rng, SUSPENDS_A_YEAR, end);
        events.extend(times.into_iter().map(|at| (at, HostEvent::Suspend(MINUTE + rng.below(6 * DAY)))));
    }
    if rng.below(5) > 0 {
        events.push((EPOCH + 10 * MINUTE, HostEvent::Test));
    }
    if rng.below(8) == 0 && setup.trouble > 1.0 {
        events.push((EPOCH + rng.below(setup.seconds()), HostEvent::Rechannel));
    }
    if rng.below(4) == 0 && setup.trouble > 1.0 {
        events.push((EPOCH + rng.below(setup.seconds()), HostEvent::AddChannel));
    }
    events
}

/// The events of a disk.
pub(super) fn of_disk(setup: &HostSetup, disk: usize, end: u64) -> Vec<(u64, HostEvent)> {
    let mut rng = Rng::stream(setup.seed, 1000 + disk as u64);
    let mut events = Vec::new();
    if let Some(&at) = times(&mut rng, DEATHS_A_YEAR * setup.trouble, end).first() {
        events.push((at, HostEvent::Die(disk, rng.below(3) == 0)));
        if rng.uniform() < DEATHS_WITH_SIGNS {
            let signs = 1 + rng.below(4);
            events.extend((0..signs).map(|_| (at.saturating_sub(rng.below(20 * DAY)), HostEvent::Sign(disk))));
        }
    }
    events.extend(
        times(&mut rng, DEFECTS_A_YEAR * setup.trouble, end).into_iter().map(|at| (at, HostEvent::Defect(disk))),
    );
    events
        .extend(times(&mut rng, CABLES_A_YEAR * setup.trouble, end).into_iter().map(|at| (at, HostEvent::Cable(disk))));
    for at in times(&mut rng, CABLES_A_YEAR * setup.trouble, end) {
        events.push((at, HostEvent::Touch(disk, 20 + rng.below(8 * MINUTE))));
    }
    if setup.is_odd {
        events.extend(oddities(setup, disk, end));
    }
    events
}

/// A plug that is loose: the disk is gone for up to an hour and a half, dozens of times within days; and a disk that is too hot by
/// day, and cools down at night.
fn oddities(setup: &HostSetup, disk: usize, end: u64) -> Vec<(u64, HostEvent)> {
    let mut rng = Rng::stream(setup.seed, 9000 + disk as u64);
    let mut events = Vec::new();
    for begin in times(&mut rng, ODDITIES_A_YEAR * setup.trouble, end) {
        for _ in 0..10 + rng.below(60) {
            events.push((begin + rng.below(12 * DAY), HostEvent::Touch(disk, rng.below(90 * MINUTE))));
        }
    }
    for begin in times(&mut rng, ODDITIES_A_YEAR * setup.trouble, end) {
        for day in 0..3 + rng.below(20) {
            let at = begin + day * DAY;
            events.push((at, HostEvent::Heat(disk, true)));
            events.push((at + HOUR + rng.below(15 * HOUR), HostEvent::Heat(disk, false)));
        }
    }
    events
}

/// A machine that loses its history, and has recipients whose addresses a server refuses for some days.
fn oddities_of_host(setup: &HostSetup, end: u64) -> Vec<(u64, HostEvent)> {
    let mut rng = Rng::stream(setup.seed, 9);
    let mut events = Vec::new();
    for at in times(&mut rng, HISTORY_LOSSES_A_YEAR, end) {
        events.push((at, HostEvent::LoseHistory(rng.below(4) as usize)));
    }
    for channel in 0..setup.settings.channels.len() {
        for at in times(&mut rng, REFUSALS_A_YEAR, end) {
            events.push((at, HostEvent::Recipients(channel, true)));
            events.push((at + HOUR + rng.below(20 * DAY), HostEvent::Recipients(channel, false)));
        }
    }
    events
}

/// The runs that go bad at once, at most 40: P(at least n) = 0.915 n^-0.74 (fitted to Schroeder, Damouras & Gill,
/// FAST'10, as `sim::lse` does).
pub(super) fn runs_of_a_defect(rng: &mut Rng) -> usize {
    ((0.915 / rng.uniform().max(1e-6)).powf(1.0 / 0.74) as usize).clamp(1, 40)
}
