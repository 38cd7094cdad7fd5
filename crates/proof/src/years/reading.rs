//! What is true of one disk: when points all over it were last read; and when the machine was on.

use std::collections::BTreeSet;

const DAY: u64 = 24 * 3600;

/// Points whose ages are followed on each disk, evenly spaced.
const POINTS: usize = 64;

/// The true state of a disk. Times are seconds since 1970 by a true clock.
#[derive(Clone, Debug)]
pub(super) struct DiskTruth {
    pub key: String,
    pub is_in: bool,
    /// When the disk was last put in or taken out.
    pub since: u64,
    /// When each point was last read; if it never was, when the disk came.
    last: [u64; POINTS],
    /// When each point was read the time before.
    before: [u64; POINTS],
    /// How far the present pass is (0 to 1), and when this one and the one before began.
    position: f64,
    begun: u64,
    begun_before: u64,
    /// When SMART data last reached the watch, and by how many seconds clocks had jumped by then.
    pub smart: Option<(u64, u64)>,
    /// Since when anything speaks against the disk.
    pub evidence: Option<u64>,
    /// Since when something that lasts speaks against the disk.
    pub lasting: Option<u64>,
    /// Since when its sessions could not begin, without a sector read or a pass ended in between.
    pub refused: Option<u64>,
    /// Has the machine ever been on with this disk?
    pub is_seen: bool,
    pub is_read: bool,
    pub forecast: Option<(u64, u64)>,
    pub is_forgotten: bool,
    /// Its controller.
    pub controller: Option<String>,
    /// Runs of sectors (from, to) that were reported to the watch as unreadable.
    pub unreadable: BTreeSet<(u64, u64)>,
    /// When a person last accepted the state of this disk.
    pub accepted: u64,
    /// From when to when it was out, each time.
    pub outs: Vec<(u64, u64)>,
    /// When an array was last degraded because it lacks this disk: the array's incident names it.
    pub covered: u64,
    /// From when to when it was too hot, each time.
    pub hots: Vec<(u64, u64)>,
    /// Since when a warning that sectors will be late stands.
    pub warned: Option<u64>,
}

impl DiskTruth {
    pub fn new(key: String, at: u64) -> DiskTruth {
        DiskTruth {
            key,
            is_in: true,
            since: at,
            last: [at; POINTS],
            before: [at; POINTS],
            position: 0.0,
            begun: at,
            begun_before: at,
            smart: None,
            evidence: None,
            lasting: None,
            refused: None,
            is_seen: false,
            is_read: false,
            forecast: None,
            is_forgotten: false,
            controller: None,
            unreadable: BTreeSet::new(),
            accepted: 0,
            outs: Vec::new(),
            covered: 0,
            hots: Vec::new(),
            warned: None,
        }
    }

    /// Notes that the machine sees the disk. One that was put in while the machine was off is known from now on.
    pub fn seen(&mut self, at: u64) {
        if !std::mem::replace(&mut self.is_seen, true) {
            (self.last, self.before) = ([at; POINTS], [at; POINTS]);
            (self.begun, self.begun_before) = (at, at);
        }
        self.put_back(at);
    }

    /// Notes that the disk is in again, whether or not the machine is on to see it.
    pub fn put_back(&mut self, at: u64) {
        if !self.is_in {
            (self.is_in, self.since) = (true, at);
            self.outs.last_mut().into_iter().for_each(|out| out.1 = at);
        }
    }

    /// Notes that the machine was off: heat that was known then is known to be over a day after that, when SMART is read again.
    pub fn was_off(&mut self, from: u64, to: u64) {
        let is_known = |hot: &&mut (u64, u64)| hot.0 <= from && hot.1 > from;
        self.hots.iter_mut().filter(is_known).for_each(|hot| hot.1 = hot.1.max(to + DAY));
    }

    /// Was it out, or too hot, at a time, or until some seconds before it?
    pub fn was_away(&self, at: u64, before: u64) -> bool {
        self.outs.iter().chain(&self.hots).any(|&(from, to)| from <= at && to.saturating_add(before) > at)
    }

    /// Notes the reading of a part of the disk; returns for each point in it when it was read before, and when it was now.
    pub fn read(&mut self, (from, to): (f64, f64), (begin, end): (u64, u64)) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        self.position = to;
        if to > from {
            self.refused = None; // a disk that has read nothing may still be stuck
        }
        if from == 0.0 {
            (self.begun_before, self.begun) = (self.begun, begin);
        }
        for (point, (last, before)) in self.last.iter_mut().zip(&mut self.before).enumerate() {
            let place = (point as f64 + 0.5) / POINTS as f64;
            if (from..to).contains(&place) {
                let at = begin + ((place - from) / (to - from) * (end - begin) as f64) as u64;
                pairs.push((*last, at));
                (*before, *last) = (*last, at);
            }
        }
        pairs
    }

    /// When the longest unread sector was read, for an observer who knows of each sixteenth of a pass only when it began.
    pub fn oldest_sixteenth(&self) -> u64 {
        const SIXTEENTH: usize = POINTS / 16;
        let is_going_on = self.position < 1.0;
        // When a point was read in the pass before the present one, or in the last pass if that is over.
        let earlier = |point: usize| {
            let is_again = is_going_on && self.last[point] >= self.begun;
            if is_again { self.before[point] } else { self.last[point] }
        };
        let unread = (0..16).filter(|&part| !is_going_on || (part + 1) as f64 / 16.0 > self.position);
        let begun = unread.map(|part| match part {
            0 if is_going_on => self.begun_before,
            0 => self.begun,
            // The reading of this sixteenth began after that of the point before it.
            _ => earlier(part * SIXTEENTH - 1),
        });
        begun.min().unwrap_or_default()
    }

    /// When the latest pass began.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// When the point that waits longest was read.
    pub fn oldest(&self) -> u64 {
        self.last.iter().copied().min().unwrap_or_default()
    }
}

/// When the machine was on and off.
#[derive(Clone, Debug, Default)]
pub(super) struct PowerTruth {
    /// When it was off, from and to, ascending; the last may be going on (to `u64::MAX`).
    off: Vec<(u64, u64)>,
    pub on_since: Option<u64>,
}

impl PowerTruth {
    /// Since when it is off; `None`: it is on, or was never on.
    pub fn off_since(&self) -> Option<u64> {
        self.off.last().filter(|last| last.1 == u64::MAX).map(|last| last.0)
    }

    pub fn switch(&mut self, at: u64, is_on: bool) {
        if is_on {
            if let Some(last) = self.off.last_mut().filter(|last| last.1 == u64::MAX) {
                last.1 = at;
            }
            self.on_since = Some(at);
        } else {
            self.off.push((at, u64::MAX));
            self.on_since = None;
        }
    }

    /// The end of the first uninterrupted stretch of `length` seconds, from `from` on, with the machine on; `u64::MAX`:
    /// there is none yet.
    pub fn after_stretch(&self, from: u64, length: u64) -> u64 {
        let mut begin = from;
        let first = self.off.partition_point(|&(_, to)| to <= from);
        for &(off, on) in &self.off[first..] {
            if off >= begin.saturating_add(length) {
                break;
            }
            begin = begin.max(on);
        }
        begin.saturating_add(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_an_unbroken_time_with_the_machine_on() {
        let mut power = PowerTruth::default();
        power.switch(0, true);
        [(100, false), (200, true), (205, false), (300, true)]
            .into_iter()
            .for_each(|(at, is_on)| power.switch(at, is_on));
        assert_eq!((power.after_stretch(10, 50), power.after_stretch(60, 50)), (60, 350));
        power.switch(400, false);
        assert_eq!(power.after_stretch(350, 60), u64::MAX);
    }

    #[test]
    fn points_are_read_once_a_pass_at_their_time() {
        let mut disk = DiskTruth::new("a".into(), 5);
        let pairs = disk.read((0.0, 0.5), (100, 200));
        assert_eq!((pairs.len(), disk.oldest()), (32, 5));
        assert!(pairs.iter().all(|&(before, at)| before == 5 && (100..200).contains(&at)));
        disk.refused = Some(150);
        disk.read((0.5, 0.5), (199, 200));
        assert_eq!(disk.refused, Some(150), "that a session runs says nothing");
        disk.read((0.5, 1.0), (200, 300));
        assert_eq!(disk.refused, None);
        assert!((100..105).contains(&disk.oldest()));
    }
}
