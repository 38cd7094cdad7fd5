//! What is true of what an incident may be about: its cause, and of what it is a consequence.

use super::oracle::YearOracle;
use scrubjay_watch::incident::{IncidentKey, IncidentKind, IncidentSubject};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// A warned date is at most this many seconds away: a warning may come a day early, and by what a sixteenth of a pass took.
const SOON: u64 = 9 * DAY;
/// Seconds for which what was held back by a cause may be caught up with in silence.
const CATCH_UP: u64 = 14 * DAY;

impl YearOracle {
    /// Was this disk held back at this time, or shortly before: by a degraded array, or because it was not there, or too hot? Those say so.
    pub(super) fn is_held(&self, at: u64, disk: usize) -> bool {
        let before = CATCH_UP + 2 * DAY + self.jumped;
        let mut arrays = self.arrays.values().filter(|array| array.members.contains(&disk));
        arrays.any(|array| array.was_degraded(at, before) || array.was_degraded(at + DAY, before))
            || self.disks[disk].was_away(at, before)
    }

    /// Has the cause of this incident lasted for some days, so that it is silent itself? (A new channel is told all that is open.)
    pub(super) fn is_long_held(&self, at: u64, key: &IncidentKey) -> bool {
        let IncidentSubject::Disk(disk) = &key.subject else { return false };
        let Some(disk) = self.disks.iter().position(|known| known.key == disk.0) else { return false };
        let is_new = self.mail.channels.values().any(|channel| at < channel.known_since.saturating_add(2 * DAY));
        let mut arrays = self.arrays.values().filter(|array| array.members.contains(&disk));
        let is_long = |since: u64| self.power.after_stretch(since + DAY, HOUR) + self.jumped <= at;
        key.kind == IncidentKind::Unread && !is_new && arrays.any(|array| array.degraded_since.is_some_and(is_long))
    }

    /// Does an array that lacks this disk say so for it, or did until some days ago?
    pub(super) fn is_covered(&self, at: u64, disk: usize) -> bool {
        let covered = self.disks[disk].covered;
        covered > 0 && covered + CATCH_UP + 2 * DAY + self.jumped > at
    }

    /// Notes for which disks degraded arrays speak.
    pub(super) fn cover(&mut self, at: u64) {
        let lost: Vec<usize> = self.arrays.values().flat_map(|array| array.lost.iter().copied()).collect();
        lost.into_iter().for_each(|disk| self.disks[disk].covered = at);
    }

    /// Is this incident a consequence of another one, which lists it?
    pub(super) fn is_consequence(&self, at: u64, key: &IncidentKey) -> bool {
        let IncidentSubject::Disk(disk) = &key.subject else { return false };
        let Some(disk) = self.disks.iter().position(|known| known.key == disk.0) else { return false };
        match key.kind {
            IncidentKind::Unread => self.is_held(at, disk),
            IncidentKind::Missing => self.is_covered(at, disk),
            IncidentKind::Unknown | IncidentKind::Stuck => {
                self.disks[disk].was_away(at, CATCH_UP + 2 * DAY + self.jumped)
            }
            _ => false,
        }
    }

    /// May this incident be over for the watch though the model has a cause for it? Sectors are late by the watch's own account, which
    /// is finer than the model's; a channel may seem down to the model for hours after; and what does not last (a cable) is evidence for
    /// ever there.
    pub(super) fn may_end_unseen(&self, key: &IncidentKey) -> bool {
        let IncidentSubject::Disk(disk) = &key.subject else {
            return matches!(key.kind, IncidentKind::Undelivered | IncidentKind::Stripes);
        };
        let is_lasting = self.disks.iter().any(|known| known.key == disk.0 && known.lasting.is_some());
        matches!(key.kind, IncidentKind::Unread | IncidentKind::Stuck)
            || key.kind == IncidentKind::Health && !is_lasting
    }

    /// Is there anything in truth that an incident of this kind may be about?
    pub(super) fn has_cause(&self, at: u64, key: &IncidentKey) -> bool {
        let jumped = self.jumped;
        match &key.subject {
            IncidentSubject::Disk(disk) => {
                let Some(disk) = self.disks.iter().find(|known| known.key == disk.0) else { return false };
                // With a loose plug the watch knows less well when what was read.
                let soon = if disk.was_away(at, 2 * DAY) { SOON + 2 * DAY } else { SOON };
                match key.kind {
                    IncidentKind::Health => disk.evidence.is_some(),
                    IncidentKind::Missing => !disk.is_in,
                    IncidentKind::Unknown => {
                        disk.smart.is_none_or(|(read, before)| at - read + jumped - before + HOUR > DAY)
                    }
                    IncidentKind::Stuck => disk.refused.is_some_and(|since| since + DAY <= at + jumped),
                    IncidentKind::Unread => disk.oldest_sixteenth() + self.every < at + soon + jumped,
                    _ => false,
                }
            }
            IncidentSubject::Array(array) => {
                let Some(array) = self.arrays.get(array) else { return false };
                let bad = array.members.iter().filter(|&&member| self.disks[member].evidence.is_some()).count();
                match key.kind {
                    IncidentKind::Degraded => array.degraded_since.is_some(),
                    IncidentKind::Unread => {
                        array.unscrubbed_since(self.every).is_some_and(|since| since <= at + jumped)
                    }
                    IncidentKind::Stripes => bad + usize::from(array.degraded_since.is_some()) > 1,
                    _ => false,
                }
            }
            IncidentSubject::Watch => key.kind == IncidentKind::History && self.history_lost.is_some(),
            IncidentSubject::Channel(name) => {
                let Some(channel) = self.mail.channels.get(name) else { return false };
                let is_just_on = self.power.on_since.is_some_and(|on| at - on < 6 * HOUR);
                match key.kind {
                    IncidentKind::Recipients => self.refused.contains_key(name),
                    IncidentKind::Unproven => {
                        let since = channel.confirmed.map_or(channel.known_since, |confirmed| confirmed + 90 * DAY);
                        since < at + jumped
                    }
                    IncidentKind::Undelivered => self.mail.may_seem_down(at, channel) || is_just_on,
                    _ => false,
                }
            }
        }
    }
}
