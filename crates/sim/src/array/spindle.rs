//! One member's disk at work: what waits for it, and what it is doing.

use super::flash::Flash;
use super::mechanics::Arm;
use super::noise::Noise;
use super::queue::DiskQueue;
use super::setup::{ArraySetup, Drive};
use super::work::DiskWork;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use std::collections::VecDeque;

/// Ranges that a disk remembers, the last ones read: a simple segmented cache (Denehy et al. 2004, section 3.1). How many
/// they had is not said.
const SEGMENTS: usize = 8;
/// How long it takes to give what is remembered. A choice, small beside any seek.
const HIT_TIME: Nanos = Nanos(100_000);
/// A stranger reads so much: 4 KiB.
const STRANGER_SECTORS: u64 = 8;

/// A disk, its queue and its cache.
#[derive(Debug)]
pub struct Spindle {
    drive: RunningWork,
    queue: DiskQueue<DiskWork>,
    /// What it works on, by the time when that is done.
    under_way: VecDeque<(Nanos, DiskWork)>,
    /// The start and end of each remembered range, the oldest first.
    segments: VecDeque<(u64, u64)>,
}

#[derive(Debug)]
enum RunningWork {
    Disk(Arm),
    Flash(Flash),
}

impl Spindle {
    /// That of a member.
    pub fn new(setup: &ArraySetup, disk: usize) -> Spindle {
        let drive = match setup.drive {
            Drive::Flash(chips) => RunningWork::Flash(Flash::new(chips)),
            Drive::Disk(mechanics) => RunningWork::Disk(Arm::new(
                setup
                    .odd
                    .iter()
                    .filter(|odd| odd.disk == disk)
                    .fold(mechanics, |mechanics, odd| mechanics.slower(odd.rotation, odd.seek)),
            )),
        };
        let (queue, under_way) = (DiskQueue::new(setup.discipline), VecDeque::new());
        Spindle { drive, queue, under_way, segments: VecDeque::new() }
    }

    /// How much it has to do, in pieces of work, and how many cylinders its head is from a sector.
    pub fn look(&self, sector: u64) -> (usize, u64) {
        let distance = match &self.drive {
            RunningWork::Disk(arm) => arm.cylinder().abs_diff(arm.mechanics().cylinder(sector)),
            RunningWork::Flash(_) => 0,
        };
        (self.queue.len() + self.under_way.len(), distance)
    }

    /// One more piece waits.
    pub fn push(&mut self, work: DiskWork) {
        self.queue.push(work.sector, work);
    }

    /// Begins what comes next, if it can: when it will be done.
    pub fn begin(&mut self, now: Nanos, noise: Noise, rng: &mut Rng) -> Option<Nanos> {
        let done = match &mut self.drive {
            RunningWork::Disk(arm) => {
                if !self.under_way.is_empty() {
                    return None;
                }
                let mechanics = *arm.mechanics();
                let work = self.queue.pop(arm.cylinder() * mechanics.sectors_per_track * mechanics.heads)?;
                let (start, end) = (work.sector, work.sector + work.count);
                let hit = !work.is_write && self.segments.iter().any(|&(from, to)| from <= start && end <= to);
                let done = if hit {
                    now.saturating_add(HIT_TIME)
                } else {
                    let mut begin = now;
                    if noise.is_intruded(rng) {
                        let place = rng.below(mechanics.sectors() - STRANGER_SECTORS);
                        begin = arm.work(now, place, STRANGER_SECTORS, false);
                    }
                    self.segments.retain(|&(from, to)| !work.is_write || end <= from || to <= start);
                    self.segments.push_back((start, end));
                    if self.segments.len() > SEGMENTS {
                        self.segments.pop_front();
                    }
                    arm.work(begin, start, work.count, work.is_write).saturating_add(noise.delay(rng))
                };
                self.under_way.push_back((done, work));
                done
            }
            RunningWork::Flash(flash) => {
                let work = self.queue.pop(0)?;
                let done = flash.work(now, work.sector * 512, work.count * 512).saturating_add(noise.delay(rng));
                let at = self.under_way.partition_point(|&(other, _)| other <= done);
                self.under_way.insert(at, (done, work));
                done
            }
        };
        Some(done)
    }

    /// What is done by now.
    ///
    /// # Panics
    /// When nothing is under way.
    pub fn end(&mut self) -> DiskWork {
        self.under_way.pop_front().expect("it works on something").1
    }
}
