//! The risk of an array: stripes in which unreadable sectors of several members meet.

use crate::facts::ArrayFacts;
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange};
use std::collections::BTreeMap;

/// Damaged stripes of one array that are examined, at most. An array with more must be attended to in any case.
const STRIPES_MAX: usize = 4096;

/// A stripe in which more than one chunk is bad, or one too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedStripe {
    /// Its number.
    pub stripe: u64,
    /// The places of the members whose unreadable sectors lie in it.
    pub members: Vec<usize>,
    /// How many more chunks of it may be lost; negative: it cannot be rebuilt.
    pub left: i64,
    /// The data in its bad chunks that are at stake, in bytes.
    pub bytes: Bytes,
}

/// The damaged stripes of an array, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StripeRisk {
    /// Stripes with an unreadable sector on some member.
    pub damaged: u64,
    /// The stripes in which unreadable sectors of two or more members meet, or that cannot be rebuilt, by number.
    pub shared: Vec<SharedStripe>,
    /// Is the array's layout known? Without it nothing is known of stripes.
    pub is_known: bool,
}

impl StripeRisk {
    /// Stripes that cannot be rebuilt.
    pub fn lost(&self) -> impl Iterator<Item = &SharedStripe> {
        self.shared.iter().filter(|shared| shared.left < 0)
    }
}

/// Finds where the unreadable sectors of an array's members meet. `unreadable` returns those of a disk, by the kernel's name.
pub fn stripe_risk(array: &ArrayFacts, mut unreadable: impl FnMut(&str) -> Vec<SectorRange>) -> StripeRisk {
    let Some((layout, chunk)) = array.layout.filter(|(layout, chunk)| {
        *chunk > 0 && layout.disks() == array.members.len() // an array that is being reshaped has another layout
    }) else {
        return StripeRisk::default();
    };
    let mut damaged_stripes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (place, member) in array.members.iter().enumerate().filter(|(_, member)| member.is_in_sync) {
        let runs = member.disk.as_deref().map(&mut unreadable).unwrap_or_default();
        for run in runs.into_iter().filter(|run| run.end.0 > member.data_start && !run.is_empty()) {
            let first = run.start.0.saturating_sub(member.data_start) / chunk;
            let last = (run.end.0 - 1 - member.data_start) / chunk;
            for row in (first..=last).take(STRIPES_MAX.saturating_sub(damaged_stripes.len())) {
                let Some((stripe, _)) = layout.chunk_at(place, row) else { continue };
                let members = damaged_stripes.entry(stripe).or_default();
                if !members.contains(&place) {
                    members.push(place);
                }
            }
        }
    }
    let shape = layout.shape();
    let shared = damaged_stripes.iter().filter_map(|(&stripe, members)| {
        let is_bad = |slot: &usize| {
            let disk = layout.place(stripe, *slot).disk;
            !array.members[disk].is_in_sync || members.contains(&disk)
        };
        let bad: Vec<usize> = (0..shape.width()).filter(is_bad).collect();
        let left = shape.parity as i64 - bad.len() as i64;
        // In a mirror either chunk holds the data; in other arrays the data chunks do.
        let data = bad.iter().filter(|&&slot| slot < shape.data).count() as u64;
        let bytes = Bytes(data.max(u64::from(left < 0)) * chunk * SECTOR_BYTES);
        (members.len() > 1 || left < 0).then(|| SharedStripe { stripe, members: members.clone(), left, bytes })
    });
    StripeRisk { damaged: damaged_stripes.len() as u64, shared: shared.collect(), is_known: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{ArrayActivity, ArrayMember};
    use scrubjay_core::layout::{Layout, LayoutKind, Shape};

    const CHUNK: u64 = 1024;
    const START: u64 = 2048;

    fn array(kind: LayoutKind, shape: Shape, disks: usize) -> ArrayFacts {
        let member = |place| ArrayMember { disk: Some(format!("sd{place}")), is_in_sync: true, data_start: START };
        ArrayFacts {
            key: "uuid".into(),
            name: "tank".into(),
            level: "RAID6".into(),
            redundancy: shape.parity as u32,
            members: (0..disks).map(member).collect(),
            activity: ArrayActivity::Idle,
            layout: Some((Layout::new(kind, shape, disks).unwrap(), CHUNK)),
            check_sectors: None,
            pool: None,
            lost_stripes: None,
        }
    }

    /// Unreadable sectors of disks 0 and 1.
    fn risk(array: &ArrayFacts, on_sd0: &[u64], on_sd1: &[u64]) -> StripeRisk {
        stripe_risk(array, |name| match name {
            "sd0" => on_sd0.iter().map(|&sector| SectorRange::at(sector, 8)).collect(),
            "sd1" => on_sd1.iter().map(|&sector| SectorRange::at(sector, 8)).collect(),
            _ => Vec::new(),
        })
    }

    #[test]
    fn sectors_of_two_members_meet_only_in_one_stripe() {
        let raid6 = array(LayoutKind::Raid6Md, Shape { data: 6, parity: 2 }, 8);
        let apart = risk(&raid6, &[START], &[START + CHUNK]);
        assert_eq!((apart.damaged, apart.shared.len(), apart.is_known), (2, 0, true));
        let met = risk(&raid6, &[START + 5 * CHUNK], &[START + 6 * CHUNK - 8]);
        let [shared] = &met.shared[..] else { panic!("one stripe: {met:?}") };
        assert_eq!((shared.stripe, &shared.members[..], shared.left), (5, &[0, 1][..], 0));
        assert_eq!(met.lost().count(), 0, "RAID-6 rebuilds two");
    }

    #[test]
    fn a_missing_member_makes_a_damaged_stripe_lost() {
        let mut raid5 = array(LayoutKind::Raid5Ls, Shape { data: 3, parity: 1 }, 4);
        assert_eq!(risk(&raid5, &[START], &[]).shared, []);
        raid5.members[3].is_in_sync = false;
        let risk = risk(&raid5, &[START], &[]);
        assert_eq!(risk.lost().map(|lost| (lost.stripe, lost.left)).collect::<Vec<_>>(), [(0, -1)]);
        assert!(risk.shared[0].bytes.0 >= CHUNK * SECTOR_BYTES);
    }

    #[test]
    fn halves_of_different_mirrors_do_not_meet() {
        let raid10 = array(LayoutKind::Raid1, Shape { data: 1, parity: 1 }, 4);
        // The layout defines which disks are a pair.
        let pair = raid10.layout.unwrap().0.place(0, 1).disk;
        let first = raid10.layout.unwrap().0.place(0, 0).disk;
        let is_pair = [first, pair] == [0, 1];
        assert_eq!(risk(&raid10, &[START], &[START]).shared.len(), usize::from(is_pair));
    }

    #[test]
    fn no_stripe_is_counted_without_a_layout_or_for_sectors_before_the_data() {
        let mut raid6 = array(LayoutKind::Raid6Md, Shape { data: 6, parity: 2 }, 8);
        assert_eq!(risk(&raid6, &[0], &[0]).damaged, 0, "the superblock's sectors");
        raid6.layout = None;
        assert_eq!(risk(&raid6, &[START], &[START]), StripeRisk::default());
    }
}
