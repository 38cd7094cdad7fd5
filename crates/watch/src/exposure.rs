//! Exposure: what a rebuild would have to read if one more member of an array died tonight, and how much of that is known to be readable.
//!
//! No probability is claimed: nobody has one for this disk, this night. What is known is which sectors cannot be read, and when each was read last.

use crate::calendar::elapsed;
use crate::facts::ArrayFacts;
use crate::health::HealthState;
use crate::passes::PassHistory;
use crate::risk::stripe_risk;
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange, UnixSeconds};

/// What would have to be read of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExposedMember {
    /// The kernel's name of its disk.
    pub disk: String,
    /// Sectors of it that could not be read.
    pub unreadable: u64,
    /// What the watch has never read.
    pub never: Bytes,
    /// What it read longer ago than it should have.
    pub late: Bytes,
    /// When its oldest sector was read; `None`: some were never read.
    pub oldest: Option<UnixSeconds>,
}

/// What a rebuild would meet if the member `dies` died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// The kernel's name of that member's disk.
    pub dies: String,
    /// Stripes that could not be rebuilt; `None`: the array's layout is not known.
    pub lost_stripes: Option<u64>,
    /// How many more members could be lost then.
    pub left: i64,
    /// The member of which most is unknown, or unreadable.
    pub worst: ExposedMember,
}

/// What is known of a disk that is a member.
pub(crate) struct KnownMember<'a> {
    pub(crate) health: HealthState,
    pub(crate) passes: &'a PassHistory,
}

/// What would happen if one more member died: the one that is worst, or whose death would be. `None`: the array has no redundancy left, or nothing is
/// known of its members. `every`: the seconds within which each sector should be read.
pub(crate) fn exposure<'a>(
    array: &ArrayFacts,
    now: UnixSeconds,
    every: u64,
    known: impl Fn(&str) -> Option<KnownMember<'a>>,
) -> Option<Exposure> {
    let left = array.redundancy_left() - 1;
    let names = || array.members.iter().filter(|member| member.is_in_sync).filter_map(|member| member.disk.as_deref());
    let is_named = array.members.iter().all(|member| !member.is_in_sync || member.disk.is_some());
    if left < 0 || array.pool.is_some() || !is_named {
        return None;
    }
    let exposed = |name: &str| {
        let KnownMember { passes, .. } = known(name)?;
        Some(ExposedMember {
            disk: name.to_owned(),
            unreadable: passes.unreadable_sectors(),
            never: Bytes(passes.never_read() * SECTOR_BYTES),
            late: Bytes((passes.unread_longer(now, every) - passes.never_read()) * SECTOR_BYTES),
            oldest: passes.oldest(),
        })
    };
    let weight = |member: &ExposedMember| {
        (member.unreadable, member.oldest.is_none(), member.oldest.map_or(0, |oldest| elapsed(now, oldest)))
    };
    let if_dies = |dies: &str| {
        let place = array.members.iter().position(|member| member.disk.as_deref() == Some(dies))?;
        let needed = names().filter(|name| *name != dies && shares_stripes(array, place, name));
        // Of all or of none: what is not known must not be passed over.
        let needed: Option<Vec<ExposedMember>> = needed.map(exposed).collect();
        let worst = needed?.into_iter().max_by_key(weight)?;
        let mut without = array.clone();
        without.members[place].is_in_sync = false;
        let unreadable = |name: &str| -> Vec<SectorRange> {
            known(name).map(|member| member.passes.known_unreadable()).unwrap_or_default()
        };
        let risk = stripe_risk(&without, unreadable);
        let lost_stripes = risk.is_known.then(|| risk.lost().count() as u64);
        Some(Exposure { dies: dies.to_owned(), lost_stripes, left, worst })
    };
    let health = |name: &str| known(name).map_or(HealthState::Ok, |member| member.health);
    let is_ill = |name: &&str| health(name) >= HealthState::Watch;
    let gravest = names().filter(is_ill).max_by_key(|name| health(name));
    match gravest {
        Some(ill) => if_dies(ill),
        None => names().filter_map(if_dies).max_by_key(|found| (found.lost_stripes, weight(&found.worst))),
    }
}

/// Whether the disk has chunks in stripes of the member in `place`. Without a layout: all have.
fn shares_stripes(array: &ArrayFacts, place: usize, name: &str) -> bool {
    let Some(other) = array.members.iter().position(|member| member.disk.as_deref() == Some(name)) else {
        return false;
    };
    let Some((layout, _)) = array.layout.filter(|(layout, _)| layout.disks() == array.members.len()) else {
        return true;
    };
    (0..2 * layout.disks() as u64).any(|stripe| {
        let has = |disk: usize| (0..layout.shape().width()).any(|slot| layout.place(stripe, slot).disk == disk);
        has(place) && has(other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::DAY;
    use crate::facts::{ArrayActivity, ArrayMember};
    use scrubjay_core::layout::{Layout, LayoutKind, Shape};

    const NOW: UnixSeconds = UnixSeconds(400 * DAY);

    fn array(kind: LayoutKind, shape: Shape, disks: usize) -> ArrayFacts {
        let member = |place| ArrayMember { disk: Some(format!("sd{place}")), is_in_sync: true, data_start: 0 };
        ArrayFacts {
            key: "uuid".into(),
            name: "tank".into(),
            level: "RAID5".into(),
            redundancy: shape.parity as u32,
            members: (0..disks).map(member).collect(),
            activity: ArrayActivity::Idle,
            layout: Some((Layout::new(kind, shape, disks).unwrap(), 1024)),
            check_sectors: None,
            pool: None,
            lost_stripes: None,
        }
    }

    fn read_days_ago(days: u64) -> PassHistory {
        let mut passes = PassHistory::new(1 << 20, UnixSeconds(1));
        passes.read.fill(UnixSeconds(NOW.0 - days * DAY));
        passes
    }

    fn of(array: &ArrayFacts, disks: &[(HealthState, PassHistory)]) -> Option<Exposure> {
        exposure(array, NOW, 35 * DAY, |name| {
            let (health, passes) = disks.get(name[2..].parse::<usize>().unwrap())?;
            Some(KnownMember { health: *health, passes })
        })
    }

    #[test]
    fn the_worst_that_is_known_is_named_and_what_a_layout_excludes_is_not_read() {
        let well = |days: u64| (HealthState::Ok, read_days_ago(days));
        let raid5 = array(LayoutKind::Raid5Ls, Shape { data: 2, parity: 1 }, 3);
        let found = of(&raid5, &[well(3), well(60), well(5)]).unwrap();
        assert_eq!((&*found.worst.disk, found.lost_stripes, found.left), ("sd1", Some(0), 0));
        assert_eq!(
            (found.worst.late, found.worst.never, found.worst.unreadable),
            (Bytes(SECTOR_BYTES << 20), Bytes(0), 0)
        );
        // The ill one is the one that dies, so the rest has to be read.
        let ill = of(&raid5, &[well(3), (HealthState::Watch, read_days_ago(60)), well(5)]).unwrap();
        assert_eq!((&*ill.dies, &*ill.worst.disk, ill.worst.late), ("sd1", "sd2", Bytes(0)));
        // A sector that cannot be read is a stripe that is lost with any other member.
        let mut bad = read_days_ago(3);
        bad.unreadable_before = vec![SectorRange::at(5000, 8)];
        let found = of(&raid5, &[well(3), (HealthState::Ok, bad.clone()), well(5)]).unwrap();
        assert_eq!((&*found.worst.disk, found.worst.unreadable, found.lost_stripes), ("sd1", 8, Some(1)));
        let raid6 = array(LayoutKind::Raid6Md, Shape { data: 2, parity: 2 }, 4);
        let found = of(&raid6, &[well(3), (HealthState::Ok, bad.clone()), well(5), well(1)]).unwrap();
        assert_eq!((found.worst.unreadable, found.lost_stripes, found.left), (8, Some(0), 1));
        // Two mirrors: only the partner is read.
        let raid10 = array(LayoutKind::Raid1, Shape { data: 1, parity: 1 }, 4);
        let partner = of(&raid10, &[(HealthState::Watch, read_days_ago(1)), well(3), well(70), well(80)]).unwrap();
        assert_eq!((&*partner.dies, &*partner.worst.disk), ("sd0", "sd1"));
    }

    #[test]
    fn an_array_without_redundancy_left_has_no_next_loss_to_speak_of() {
        let mut raid5 = array(LayoutKind::Raid5Ls, Shape { data: 2, parity: 1 }, 3);
        assert!(of(&raid5, &[]).is_none(), "nothing is known of its disks");
        raid5.members[0].is_in_sync = false;
        let disks = [
            (HealthState::Ok, read_days_ago(1)),
            (HealthState::Ok, read_days_ago(1)),
            (HealthState::Ok, read_days_ago(1)),
        ];
        assert!(of(&raid5, &disks).is_none());
    }
}
