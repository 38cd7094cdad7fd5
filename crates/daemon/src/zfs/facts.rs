//! A pool as an array for the watch. Names come from disks and other programs: no control character of theirs goes on.

use super::pool::{Vdev, VdevClass, VdevKind, Zpool};
use scrubjay_core::shown;
use scrubjay_core::units::{SECTOR_BYTES, UnixSeconds};
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts, ArrayMember};
use scrubjay_watch::pool::{MemberGroup, PoolLack, PoolLosses, PoolScan, ZpoolFacts};
use scrubjay_words::counted;
use std::path::Path;

/// Without control characters.
fn shown(text: &str) -> String {
    shown::shown(text).into_owned()
}

/// A pool as an array. `disk_of` gives the disk of a device, by its identity in the pool and its path.
pub fn array_facts(pool: &Zpool, disk_of: impl Fn(Option<u64>, Option<&str>) -> Option<String>) -> ArrayFacts {
    let mut members: Vec<ArrayMember> = Vec::new();
    let mut groups = Vec::new();
    let mut errors = Vec::new();
    let disk = |leaf: &Vdev| disk_of(leaf.guid, leaf.path.as_deref());
    let tops = || pool.vdevs.iter().filter(|top| top.kind != VdevKind::Hole);
    for top in tops() {
        let leaves = top.leaves();
        let faults = leaves.iter().filter(|leaf| leaf.errors > 0).map(|leaf| (short(leaf), leaf.errors));
        errors.extend(faults);
        if matches!(top.class, VdevClass::Cache | VdevClass::Spare) {
            continue;
        }
        let slots = if top.children.is_empty() { std::slice::from_ref(top) } else { &top.children[..] };
        let first = members.len();
        for slot in slots {
            let leaves = slot.leaves();
            // Where one stands in for another, the place has its data if one of them has.
            let working = leaves.iter().find(|leaf| leaf.works()).or(leaves.first());
            members.push(ArrayMember {
                disk: working.and_then(|leaf| disk(leaf)),
                is_in_sync: slot.works(),
                data_start: 0,
            });
        }
        if matches!(top.class, VdevClass::Data | VdevClass::Special) {
            groups.push(MemberGroup { redundancy: top.redundancy(), places: (first..members.len()).collect() });
        }
        // Those that stand aside are read one at a time, too.
        let aside = slots.iter().flat_map(|slot| slot.leaves().into_iter().filter(|leaf| leaf.works()).skip(1));
        let aside = aside.filter_map(disk).collect::<Vec<_>>();
        members.extend(aside.into_iter().map(|disk| ArrayMember { disk: Some(disk), is_in_sync: true, data_start: 0 }));
    }
    // Where a device that works is replaced by another one nothing lacks meanwhile.
    let is_exchange =
        tops().flat_map(|top| &top.children).any(|slot| slot.leaves().iter().filter(|leaf| leaf.works()).count() > 1);
    let lack = match pool.scan {
        _ if members.iter().any(|member| !member.is_in_sync) => PoolLack::Nothing,
        PoolScan::Resilver(_) if !is_exchange => PoolLack::Filling,
        _ if pool.state != "ONLINE" => PoolLack::Amiss,
        _ => PoolLack::Nothing,
    };
    errors.sort();
    let redundancy = groups.iter().map(|group: &MemberGroup| group.redundancy).min().unwrap_or(0);
    ArrayFacts {
        key: pool.guid.map_or_else(|| format!("zfs {}", shown(&pool.name)), |guid| guid.to_string()),
        name: shown(&pool.name),
        level: level(tops().filter(|top| top.class == VdevClass::Data)),
        redundancy,
        members,
        activity: match pool.scan {
            PoolScan::Resilver(_) | PoolScan::Moving => ArrayActivity::Rebuilding,
            PoolScan::Scrub(_) => ArrayActivity::Checking,
            PoolScan::Idle | PoolScan::Paused(_) => ArrayActivity::Idle,
        },
        layout: None,
        // Whether it is to be scrubbed by the watch, the settings say.
        check_sectors: pool.bytes.map(|bytes| bytes / SECTOR_BYTES),
        lost_stripes: None,
        pool: Some(ZpoolFacts {
            groups,
            lack,
            failed: Some(shown(&pool.state)).filter(|state| !matches!(state.as_str(), "ONLINE" | "DEGRADED")),
            losses: match &pool.losses {
                PoolLosses::None => PoolLosses::None,
                PoolLosses::Unknown(why) => PoolLosses::Unknown(shown(why)),
                PoolLosses::Lost { blocks, files } => {
                    PoolLosses::Lost { blocks: *blocks, files: files.iter().map(|file| shown(file)).collect() }
                }
            },
            errors,
            scrubbed: pool.scrubbed,
            scan: pool.scan,
            since: UnixSeconds(0),
        }),
    }
}

/// `ZFS raidz2`, `ZFS 3 mirrors`, `ZFS of single disks`.
fn level<'a>(tops: impl Iterator<Item = &'a Vdev>) -> String {
    let names: Vec<String> = tops
        .map(|top| match top.kind {
            VdevKind::Mirror => "mirror".to_owned(),
            VdevKind::Raidz(parity) => format!("raidz{parity}"),
            VdevKind::Draid(parity) => format!("draid{parity}"),
            _ => "disk".to_owned(),
        })
        .collect();
    match &names[..] {
        [] => "ZFS".to_owned(),
        [only] if only == "disk" => "ZFS single disk".to_owned(),
        [only] => format!("ZFS {only}"),
        [first, rest @ ..] if rest.iter().all(|name| name == first) => match first.as_str() {
            "mirror" => format!("ZFS {}", counted(names.len() as u64, "mirror")),
            "disk" => format!("ZFS {} single disks", names.len()),
            first => format!("ZFS {} {first}", names.len()),
        },
        _ => "ZFS mixed".to_owned(),
    }
}

/// The name of a device for people: `sda1`, `ata-WDC_WD80-part1`.
fn short(leaf: &Vdev) -> String {
    let path = leaf.path.as_deref().unwrap_or(&leaf.name);
    shown(&Path::new(path).file_name().map_or_else(|| leaf.name.clone(), |name| name.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests;
