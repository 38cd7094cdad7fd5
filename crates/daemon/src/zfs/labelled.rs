//! Pools as the kernel's text files and the labels of their devices show them, where `zpool` cannot be asked.

use super::label::{LabelRole, MemberLabel};
use super::pool::{Vdev, VdevClass, VdevKind, Zpool};
use scrubjay_watch::pool::{LastScrub, PoolLosses, PoolScan};
use std::collections::{BTreeMap, BTreeSet};

/// A pool that the kernel has imported, by `/proc/spl/kstat/zfs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPool {
    /// Its name.
    pub name: String,
    /// Its identity, if the kernel gives it.
    pub guid: Option<u64>,
    /// The state of its devices as a whole, in ZFS's word.
    pub state: String,
}

/// An imported pool by the labels of its devices. `present` are the identities of the devices that are here, `why` is the reason why
/// `zpool` was not asked.
pub fn pool(imported: &ImportedPool, labels: &[&MemberLabel], present: &BTreeSet<u64>, why: &str) -> Zpool {
    let is_its = |label: &&&MemberLabel| {
        let of_pool =
            label.pool.as_ref().map(|(name, guid)| imported.guid.map_or(*name == imported.name, |own| own == *guid));
        label.role == LabelRole::Member && of_pool == Some(true)
    };
    // Of each top-level vdev what was written last.
    let mut tops: BTreeMap<u64, (u64, &Vdev)> = BTreeMap::new();
    let mut guid = imported.guid;
    let newest = labels.iter().filter(is_its).max_by_key(|label| label.txg);
    let expected = newest.and_then(|label| label.tops).unwrap_or(0);
    for label in labels.iter().filter(is_its) {
        guid = guid.or(label.pool.as_ref().map(|(_, guid)| *guid));
        let Some((id, top)) = &label.top else { continue };
        if tops.get(id).is_none_or(|(txg, _)| *txg < label.txg) {
            tops.insert(*id, (label.txg, top));
        }
    }
    let is_well = imported.state == "ONLINE";
    let is_hole = |id: &u64| newest.is_some_and(|label| label.holes.contains(id));
    let absent: Vec<u64> = (0..expected).filter(|id| !is_well && !tops.contains_key(id) && !is_hole(id)).collect();
    let mut vdevs: Vec<Vdev> = tops.into_values().map(|(_, top)| top.clone()).collect();
    vdevs.retain(|top| top.kind != VdevKind::Hole);
    vdevs.iter_mut().for_each(|top| judge(top, is_well, present));
    // One of which no device is here: without it the pool is lost.
    vdevs.extend(absent.into_iter().map(|id| Vdev::new(&format!("vdev-{id}"), VdevClass::Data, "UNAVAIL")));
    Zpool {
        name: imported.name.clone(),
        guid,
        state: imported.state.clone(),
        vdevs,
        losses: PoolLosses::Unknown(why.to_owned()),
        scan: PoolScan::Idle, // not known: nothing but `zpool` tells
        scrubbed: LastScrub::Unknown,
        bytes: None,
    }
}

/// Gives each leaf a state. All work where the pool is ONLINE as a whole; else those do that are here, and not marked.
fn judge(vdev: &mut Vdev, is_well: bool, present: &BTreeSet<u64>) {
    vdev.children.iter_mut().for_each(|child| judge(child, is_well, present));
    if vdev.children.is_empty() && (is_well || vdev.state.is_empty()) {
        // A file, or a place of a dRAID, is no device.
        let is_device = vdev.path.as_deref().is_some_and(|path| path.starts_with("/dev/"));
        let is_here = !is_device || vdev.guid.is_some_and(|guid| present.contains(&guid));
        vdev.state = if is_well || is_here { "ONLINE" } else { "UNAVAIL" }.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::super::label::label;
    use super::super::label::tests::{labelled_device, mirror_list};
    use super::*;

    fn read(guid: u64, offline: Option<u64>) -> MemberLabel {
        let device = labelled_device(2 << 20, &mirror_list(guid, offline));
        label(&device[16 << 10..][..112 << 10], 16 << 10).unwrap()
    }

    fn states(state: &str, offline: Option<u64>, present: &[u64]) -> Vec<String> {
        let (first, second) = (read(11, offline), read(12, None));
        let imported = ImportedPool { name: "tank".into(), guid: Some(42), state: state.into() };
        let pool = pool(&imported, &[&first, &second], &present.iter().copied().collect(), "zpool is not installed");
        assert_eq!(pool.losses, PoolLosses::Unknown("zpool is not installed".into()));
        pool.vdevs[0].leaves().iter().map(|leaf| leaf.state.clone()).collect()
    }

    #[test]
    fn what_is_missing_or_marked_does_not_work_unless_the_kernel_says_that_all_does() {
        assert_eq!(states("ONLINE", None, &[11, 12]), ["ONLINE", "ONLINE"]);
        assert_eq!(states("ONLINE", Some(12), &[11]), ["ONLINE", "ONLINE"], "its label is older");
        assert_eq!(states("DEGRADED", None, &[11]), ["ONLINE", "UNAVAIL"]);
        assert_eq!(states("DEGRADED", Some(11), &[11, 12]), ["OFFLINE", "ONLINE"]);
    }

    #[test]
    fn a_top_level_vdev_of_which_no_device_is_here_is_missed_where_not_all_is_well() {
        let mut first = read(11, None);
        first.tops = Some(3);
        first.holes = vec![1];
        let tops = |state: &str, label: &MemberLabel| {
            let imported = ImportedPool { name: "tank".into(), guid: Some(42), state: state.into() };
            let pool = pool(&imported, &[label], &BTreeSet::from([11, 12]), "");
            pool.vdevs.iter().map(|top| (top.name.clone(), top.works())).collect::<Vec<_>>()
        };
        let expected = [("mirror-0".to_owned(), true), ("vdev-2".to_owned(), false)];
        assert_eq!(tops("SUSPENDED", &first), expected);
        assert_eq!(tops("ONLINE", &first), expected[..1], "the kernel has them all");
    }

    #[test]
    fn another_pools_labels_are_none_of_it() {
        let label = read(11, None);
        let imported = ImportedPool { name: "tank".into(), guid: Some(43), state: "ONLINE".into() };
        assert_eq!(pool(&imported, &[&label], &BTreeSet::new(), "").vdevs, []);
    }
}
