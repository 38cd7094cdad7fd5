//! What is read in passes: a disk, or an array by its own checker.

use crate::facts::{ArrayFacts, DiskKey, SessionSubject, SubjectKey};
use crate::known::{ArrayState, DiskState};
use crate::reading::ReadingState;
use crate::state::Watch;

/// Something that is read in passes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchedSubject<'a> {
    Disk(&'a DiskState),
    /// Read by its own checker.
    Array(&'a ArrayState, &'a ReadingState),
}

impl<'a> WatchedSubject<'a> {
    /// `None`: the array's checker cannot be driven.
    pub fn of_array(array: &'a ArrayState) -> Option<WatchedSubject<'a>> {
        array.reading.as_ref().map(|reading| WatchedSubject::Array(array, reading))
    }

    pub fn reading(self) -> &'a ReadingState {
        match self {
            WatchedSubject::Disk(disk) => &disk.reading,
            WatchedSubject::Array(_, reading) => reading,
        }
    }

    pub fn key(self) -> SubjectKey {
        match self {
            WatchedSubject::Disk(disk) => SubjectKey::Disk(disk.row.facts.key.clone()),
            WatchedSubject::Array(array, _) => SubjectKey::Array(array.facts.key.clone()),
        }
    }

    /// A constant from 0 to 1, so that not all passes begin at the same time.
    pub fn spread(self) -> f64 {
        match self {
            WatchedSubject::Disk(disk) => disk.row.facts.key.spread(),
            WatchedSubject::Array(array, _) => DiskKey(array.facts.key.clone()).spread(),
        }
    }

    /// The pump's name for it; `None`: it is absent.
    pub fn name(self) -> Option<SessionSubject> {
        match self {
            WatchedSubject::Disk(disk) => disk.live.name.clone().map(SessionSubject::Disk),
            WatchedSubject::Array(array, _) => {
                array.absent_since.is_none().then(|| SessionSubject::Array(array.facts.key.clone()))
            }
        }
    }

    pub fn is_present(self) -> bool {
        match self {
            WatchedSubject::Disk(disk) => disk.live.name.is_some(),
            WatchedSubject::Array(array, _) => array.absent_since.is_none(),
        }
    }

    /// Does the array `other` use a disk that this subject reads?
    pub fn is_in(self, other: &ArrayFacts) -> bool {
        match self {
            WatchedSubject::Disk(disk) => disk.live.name.as_deref().is_some_and(|name| other.has_member(name)),
            WatchedSubject::Array(array, _) => {
                let mut names = array.facts.members.iter().filter_map(|member| member.disk.as_deref());
                array.facts.key == other.key || names.any(|name| other.has_member(name))
            }
        }
    }
}

impl Watch {
    /// All that is read in passes: the disks, then the arrays whose checkers can be driven; absent ones included.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = WatchedSubject<'_>> {
        self.seen
            .disks
            .values()
            .map(WatchedSubject::Disk)
            .chain(self.seen.arrays.values().filter_map(WatchedSubject::of_array))
    }

    /// The subject of a key; `None`: there is none.
    pub(crate) fn subject(&self, key: &SubjectKey) -> Option<WatchedSubject<'_>> {
        match key {
            SubjectKey::Disk(key) => self.seen.disks.get(key).map(WatchedSubject::Disk),
            SubjectKey::Array(key) => self.seen.arrays.get(key).and_then(WatchedSubject::of_array),
        }
    }

    pub(crate) fn reading(&self, key: &SubjectKey) -> Option<&ReadingState> {
        self.subject(key).map(WatchedSubject::reading)
    }

    pub(crate) fn reading_mut(&mut self, key: &SubjectKey) -> Option<&mut ReadingState> {
        match key {
            SubjectKey::Disk(key) => self.seen.disks.get_mut(key).map(|disk| &mut disk.reading),
            SubjectKey::Array(key) => self.seen.arrays.get_mut(key)?.reading.as_mut(),
        }
    }

    pub(crate) fn readings_mut(&mut self) -> impl Iterator<Item = &mut ReadingState> {
        let arrays = self.seen.arrays.values_mut().filter_map(|array| array.reading.as_mut());
        self.seen.disks.values_mut().map(|disk| &mut disk.reading).chain(arrays)
    }

    /// The subject that the pump calls by this name; `None`: it is not present.
    pub(crate) fn key_of(&self, subject: &SessionSubject) -> Option<SubjectKey> {
        match subject {
            SessionSubject::Disk(name) => self.seen.names.get(name).cloned().map(SubjectKey::Disk),
            SessionSubject::Array(key) => {
                self.seen.arrays.get(key).filter(|array| array.absent_since.is_none())?;
                Some(SubjectKey::Array(key.clone()))
            }
        }
    }
}
