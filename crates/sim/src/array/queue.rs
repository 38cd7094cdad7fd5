//! The order in which one disk serves its queue.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Upwards over the disk, then from its start again.
    CLook,
    /// The nearest cylinder first (shortest seek time first).
    Sstf,
}

impl Discipline {
    /// All disciplines.
    pub const ALL: [Discipline; 3] = [Discipline::Fcfs, Discipline::CLook, Discipline::Sstf];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Discipline::Fcfs => "fcfs",
            Discipline::CLook => "clook",
            Discipline::Sstf => "sstf",
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The queue of a disk.
#[derive(Clone, Debug)]
pub struct DiskQueue<T> {
    discipline: Discipline,
    arrivals: u64,
    in_turn: VecDeque<(u64, T)>,
    /// By sector, then by arrival.
    in_place: BTreeMap<(u64, u64), T>,
}

impl<T> DiskQueue<T> {
    /// An empty queue.
    pub fn new(discipline: Discipline) -> DiskQueue<T> {
        DiskQueue { discipline, arrivals: 0, in_turn: VecDeque::new(), in_place: BTreeMap::new() }
    }

    /// The number of waiting items.
    pub fn len(&self) -> usize {
        self.in_turn.len() + self.in_place.len()
    }

    /// Is the queue empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an item for this sector.
    pub fn push(&mut self, sector: u64, item: T) {
        self.arrivals += 1;
        match self.discipline {
            Discipline::Fcfs => self.in_turn.push_back((sector, item)),
            Discipline::CLook | Discipline::Sstf => {
                self.in_place.insert((sector, self.arrivals), item);
            }
        }
    }

    /// Removes the next item, for a disk whose heads are above sector `head`.
    pub fn pop(&mut self, head: u64) -> Option<T> {
        let at_or_above = |place: &BTreeMap<(u64, u64), T>| place.range((head, 0)..).next().map(|(&key, _)| key);
        let key = match self.discipline {
            Discipline::Fcfs => return self.in_turn.pop_front().map(|(_, item)| item),
            Discipline::CLook => at_or_above(&self.in_place).or_else(|| self.in_place.keys().next().copied())?,
            Discipline::Sstf => {
                let above = at_or_above(&self.in_place);
                let below = self.in_place.range(..(head, 0)).next_back().map(|(&key, _)| key);
                match (above, below) {
                    (Some(above), Some(below)) if head - below.0 < above.0 - head => below,
                    (above, below) => above.or(below)?,
                }
            }
        };
        self.in_place.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(discipline: Discipline, head: u64) -> Vec<u64> {
        let mut queue = DiskQueue::new(discipline);
        [50, 10, 90, 40, 60].into_iter().for_each(|sector| queue.push(sector, sector));
        let mut head = head;
        let mut served = Vec::new();
        while let Some(sector) = queue.pop(head) {
            served.push(sector);
            head = sector;
        }
        served
    }

    #[test]
    fn each_discipline_has_its_order() {
        assert_eq!(order(Discipline::Fcfs, 45), [50, 10, 90, 40, 60]);
        assert_eq!(order(Discipline::CLook, 45), [50, 60, 90, 10, 40]);
        assert_eq!(order(Discipline::Sstf, 46), [50, 60, 40, 10, 90]);
    }
}
