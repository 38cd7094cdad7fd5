//! One member's disk at work: its queue, its cache, and the work under way.

use super::flash::Flash;
use super::mechanics::Arm;
use super::noise::Noise;
use super::queue::DiskQueue;
use super::setup::{ArraySetup, Drive};
use super::work::DiskWork;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use std::collections::VecDeque;

/// Ranges that a disk remembers, those read or written last: a simple segmented cache (Denehy et al. 2004, section 3.1,
/// which does not state their number).
const SEGMENTS: usize = 8;
/// The time of a read from the cache. A choice, small compared with any seek.
const HIT_TIME: Nanos = Nanos(100_000);
/// Sectors of another client's read: 4 KiB.
const FOREIGN_READ_SECTORS: u64 = 8;

/// A disk, its queue and its cache.
#[derive(Debug)]
pub struct Spindle {
    drive: DriveState,
    queue: DiskQueue<DiskWork>,
    /// The work under way, by the time when it is done.
    under_way: VecDeque<(Nanos, DiskWork)>,
    /// The start and end of each remembered range, the oldest first.
    segments: VecDeque<(u64, u64)>,
}

#[derive(Debug)]
enum DriveState {
    Disk(Arm),
    Flash(Flash),
}

impl Spindle {
    /// The disk of a member.
    pub fn new(setup: &ArraySetup, disk: usize) -> Spindle {
        let drive = match setup.drive {
            Drive::Flash(chips) => DriveState::Flash(Flash::new(chips)),
            Drive::Disk(mechanics) => DriveState::Disk(Arm::new(
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

    /// The pieces of work that it has, and the distance of its head from a sector, in cylinders.
    pub fn load_and_distance(&self, sector: u64) -> (usize, u64) {
        let distance = match &self.drive {
            DriveState::Disk(arm) => arm.cylinder().abs_diff(arm.mechanics().cylinder(sector)),
            DriveState::Flash(_) => 0,
        };
        (self.queue.len() + self.under_way.len(), distance)
    }

    /// Adds a piece of work to the queue.
    pub fn push(&mut self, work: DiskWork) {
        self.queue.push(work.sector, work);
    }

    /// Begins the next piece of work, if it can; returns when that will be done.
    pub fn begin(&mut self, now: Nanos, noise: Noise, rng: &mut Rng) -> Option<Nanos> {
        let done = match &mut self.drive {
            DriveState::Disk(arm) => {
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
                        let place = rng.below(mechanics.sectors() - FOREIGN_READ_SECTORS);
                        begin = arm.work(now, place, FOREIGN_READ_SECTORS, false);
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
            DriveState::Flash(flash) => {
                let work = self.queue.pop(0)?;
                let done = flash.work(now, work.sector * 512, work.count * 512).saturating_add(noise.delay(rng));
                let at = self.under_way.partition_point(|&(other, _)| other <= done);
                self.under_way.insert(at, (done, work));
                done
            }
        };
        Some(done)
    }

    /// Ends the piece of work that is done first.
    ///
    /// # Panics
    /// When no work is under way.
    pub fn end(&mut self) -> DiskWork {
        self.under_way.pop_front().expect("it works on something").1
    }
}
