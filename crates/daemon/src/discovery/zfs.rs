//! Pools of ZFS on this machine, as arrays: by `zpool`, else by labels. It asks a program and reads devices' labels, so it is not part
//! of the survey, and for a thread of its own: a pool whose disks hang may never answer.
//!
//! A label is read when its device is first seen, and when the state of its pool changes; never regularly: that would keep disks
//! from sleeping.

use super::below::disk_below;
use super::identity::udev_notes;
use super::root::SystemRoot;
use super::seen::HostSurvey;
use crate::zfs::ask::{self, PoolAnswer};
use crate::zfs::facts::array_facts;
use crate::zfs::label::{self, MemberLabel};
use crate::zfs::labelled::{self, ImportedPool};
use scrubjay_watch::facts::{ArrayFacts, ArrayKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder with a folder for each imported pool.
const POOLS: &str = "/proc/spl/kstat/zfs";
/// How long an answer of `zpool` is used while the kernel's own words about its pools stay the same: a burst of surveys asks once, and a
/// resilver, which begins a moment after a device is back, is seen by the next one.
const FRESH: Duration = Duration::from_secs(10);

/// A device that carries a label of ZFS, by udev's notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZfsDevice {
    /// Its kernel name: `sda1`.
    pub name: String,
    /// Its disk: `sda`.
    pub disk: String,
    /// The name of its pool.
    pub pool: Option<String>,
    /// Its own identity in the pool.
    pub guid: Option<u64>,
    /// Its sectors.
    pub sectors: u64,
}

/// The pools that the kernel has imported.
pub fn imported(root: &SystemRoot) -> Vec<ImportedPool> {
    let folder = Path::new(POOLS);
    let pool = |name: String| {
        let state = root.text(&folder.join(&name).join("state"))?;
        Some(ImportedPool { guid: root.number(&folder.join(&name).join("guid")), name, state })
    };
    root.names(folder).into_iter().filter_map(pool).collect()
}

/// The devices that carry labels of ZFS.
pub fn devices(root: &SystemRoot) -> Vec<ZfsDevice> {
    let block = Path::new("/sys/class/block");
    let device = |name: String| {
        let folder = block.join(&name);
        let notes = udev_notes(root, &folder);
        notes.get("ID_FS_TYPE").filter(|kind| kind == "zfs_member")?;
        Some(ZfsDevice {
            disk: disk_below(root, &folder, &BTreeMap::new())?.disk,
            pool: notes.get("ID_FS_LABEL"),
            guid: notes.get("ID_FS_UUID_SUB").and_then(|text| text.parse().ok()),
            sectors: root.number(&folder.join("size")).unwrap_or(0),
            name,
        })
    };
    root.names(block).into_iter().filter_map(device).collect()
}

/// Looks at pools again and again.
pub struct PoolLooker {
    root: SystemRoot,
    ask: Box<dyn Fn() -> PoolAnswer + Send>,
    /// What `zpool` said, when, and what the kernel said then.
    answered: Option<(Instant, Vec<ImportedPool>, PoolAnswer)>,
    /// By device: what the kernel said of its pools when its label was read, and the label.
    labels: BTreeMap<String, (Vec<ImportedPool>, Option<MemberLabel>)>,
}

impl PoolLooker {
    /// Looks at this machine, and gives `zpool` this long for an answer.
    pub fn within(time_out: Duration) -> PoolLooker {
        PoolLooker::new(SystemRoot::default(), move || ask::pools(time_out))
    }

    /// Looks below this folder, and asks in this way in place of `zpool`.
    pub fn new(root: SystemRoot, ask: impl Fn() -> PoolAnswer + Send + 'static) -> PoolLooker {
        PoolLooker { root, ask: Box::new(ask), answered: None, labels: BTreeMap::new() }
    }

    /// The imported pools as arrays.
    pub fn look(&mut self) -> Vec<ArrayFacts> {
        let imported = imported(&self.root);
        if imported.is_empty() {
            (self.answered, self.labels) = (None, BTreeMap::new());
            return Vec::new();
        }
        let is_fresh =
            |(at, then, _): &(Instant, Vec<ImportedPool>, PoolAnswer)| at.elapsed() < FRESH && *then == imported;
        if !self.answered.as_ref().is_some_and(is_fresh) {
            self.answered = Some((Instant::now(), imported.clone(), (self.ask)()));
        }
        let devices = devices(&self.root);
        let answer = self.answered.as_ref().map(|(.., answer)| answer.clone()).unwrap_or_else(|| Ok(Vec::new()));
        let (mut pools, why) = match answer {
            Ok(pools) => (pools, "zpool status does not list it".to_owned()),
            Err(why) => (Vec::new(), why),
        };
        for pool in &imported {
            match pools.iter_mut().find(|answered| answered.name == pool.name) {
                Some(answered) => answered.guid = answered.guid.or(pool.guid),
                None => pools.push(self.by_labels(pool, &imported, &devices, &why)),
            }
        }
        let by_guid: BTreeMap<u64, &str> =
            devices.iter().filter_map(|device| Some((device.guid?, device.disk.as_str()))).collect();
        let disk_of = |guid: Option<u64>, path: Option<&str>| {
            let by_guid = guid.and_then(|guid| by_guid.get(&guid)).map(|disk| (*disk).to_owned());
            by_guid.or_else(|| self.disk_of(Path::new(path?)))
        };
        pools.iter().map(|pool| array_facts(pool, disk_of)).collect()
    }

    fn by_labels(
        &mut self,
        pool: &ImportedPool,
        imported: &[ImportedPool],
        devices: &[ZfsDevice],
        why: &str,
    ) -> crate::zfs::Zpool {
        self.labels.retain(|name, _| devices.iter().any(|device| device.name == *name));
        for device in devices.iter().filter(|device| device.pool.as_ref() == Some(&pool.name)) {
            let is_known = self.labels.get(&device.name).is_some_and(|(then, _)| then == imported);
            if !is_known {
                let label = label::read(&self.root.real(&PathBuf::from("/dev").join(&device.name)), device.sectors);
                self.labels.insert(device.name.clone(), (imported.to_vec(), label));
            }
        }
        let labels: Vec<&MemberLabel> = self.labels.values().filter_map(|(_, label)| label.as_ref()).collect();
        let present: BTreeSet<u64> = devices.iter().filter_map(|device| device.guid).collect();
        labelled::pool(pool, &labels, &present, why)
    }

    /// The disk of a device or a partition; `None` for a file, and for what is not there.
    fn disk_of(&self, path: &Path) -> Option<String> {
        let device = self.root.resolve(path)?;
        let folder = Path::new("/sys/class/block").join(device.strip_prefix("/dev").ok()?);
        disk_below(&self.root, &folder, &BTreeMap::new()).map(|below| below.disk)
    }
}

/// Adds pools to a survey. Those of which nothing is known yet are told.
pub fn add_pools(seen: &mut HostSurvey, pools: &[ArrayFacts]) {
    seen.arrays.extend(pools.iter().filter(|pool| seen.pools.contains(&pool.name)).cloned());
    let is_known =
        |name: &&String| seen.arrays.iter().any(|array| array.kind() == ArrayKind::Zfs && array.name == **name);
    let unknown: Vec<&String> = seen.pools.iter().filter(|name| !is_known(name)).collect();
    let words = |name: &&String| {
        format!(
            "ZFS pool {name}: nothing is known of it yet, so its disks may be read side by side (sudo zpool status -v {name})"
        )
    };
    let warnings: Vec<String> = unknown.iter().map(words).collect();
    seen.are_arrays_known &= warnings.is_empty();
    seen.warnings.extend(warnings);
}

#[cfg(test)]
mod tests;
