//! A member of an md array, as described in `/sys`: which member it is, where its data begin, which others are missing.

use super::nodes::BlockNode;
use scrubjay_core::layout::md_map::{MdMap, MdUnmapped, MdWords};
use scrubjay_core::units::SectorRange;

/// An array, seen from one of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdMemberView {
    /// `RAID5`.
    pub level: String,
    /// The number of places.
    pub disks: usize,
    /// What the member is in the array.
    pub role: MdDeviceRole,
    /// The map of places, or why there is none.
    pub map: Result<MdMap, &'static str>,
    /// The places that are empty, or whose disks are not in sync.
    pub missing: Vec<usize>,
    /// md's bad blocks by place: in sectors of its data, and also of the device, because either may be meant.
    bad: Vec<Vec<SectorRange>>,
    /// Whether parities and copies are not in sync yet, after creation or a crash.
    pub is_unsynced: bool,
}

/// The role of a device in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdDeviceRole {
    /// In its place, with data from sector `start` on.
    Member {
        /// Its place.
        slot: usize,
        /// First sector of its data on the device.
        start: u64,
    },
    /// A spare: it holds no data of the array.
    Spare,
    /// Faulty: its contents are not used any more.
    Faulty,
    /// It is being filled, replaces another, or keeps the journal.
    InTransition,
    /// The array does not run: its contents may be all that is left of the array.
    Stopped,
    /// The kernel does not report it.
    Unknown,
}

/// States of a running array (Linux, drivers/md/md.c, `array_states`).
const RUNNING: [&str; 6] = ["clean", "active", "active-idle", "write-pending", "read-auto", "readonly"];

impl MdMemberView {
    /// The array `node`, seen from its member `member`.
    pub fn of(node: &BlockNode, member: &str) -> MdMemberView {
        let level = node.text("md/level").unwrap_or_default();
        let disks = node.number("md/raid_disks").unwrap_or(0) as usize;
        let of = |device: &str, file: &str| node.text(&format!("md/{device}/{file}"));
        let devices: Vec<String> = node.names("md").into_iter().filter(|name| name.starts_with("dev-")).collect();
        let mut sizes: Vec<Option<u64>> = vec![None; disks.min(1 << 12)];
        let mut in_sync = vec![false; sizes.len()];
        let mut bad: Vec<Vec<SectorRange>> = vec![Vec::new(); sizes.len()];
        for device in &devices {
            let state = of(device, "state").unwrap_or_default();
            let slot =
                of(device, "slot").and_then(|slot| slot.parse::<usize>().ok()).filter(|slot| *slot < sizes.len());
            let Some(slot) = slot.filter(|_| !has_state(&state, "faulty") && !has_state(&state, "journal")) else {
                continue;
            };
            for list in ["bad_blocks", "unacknowledged_bad_blocks"] {
                let start = of(device, "offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
                bad[slot].extend(runs(&of(device, list).unwrap_or_default(), start));
            }
            let size = of(device, "size").and_then(|size| size.parse::<u64>().ok());
            sizes[slot] = sizes[slot].or(size.and_then(|size| size.checked_mul(2)));
            // The link of a disk that was pulled leads nowhere, but md calls it in sync until it next uses it.
            in_sync[slot] |= has_state(&state, "in_sync") && node.has(&format!("md/{device}/block/dev"));
        }
        let component = node.number("md/component_size").and_then(|size| size.checked_mul(2)).unwrap_or(0);
        let missing: Vec<usize> = (0..in_sync.len()).filter(|&slot| !in_sync[slot]).collect();
        // A missing member has the size of the others, or the array does not run.
        let sizes: Vec<u64> = sizes.iter().map(|size| size.unwrap_or(component)).collect();
        let words = MdWords {
            level: &level,
            layout: node.number("md/layout").unwrap_or(0),
            chunk: node.number("md/chunk_size").unwrap_or(0) / 512,
            component,
            sizes: &sizes,
            array: node.sectors,
        };
        let is_reshaping = node.text("md/reshape_position").is_some_and(|at| at != "none");
        let map = match is_reshaping {
            true => Err("it is being reshaped"),
            false => MdMap::new(&words).map_err(MdUnmapped::words),
        };
        let state = node.text("md/array_state").unwrap_or_default();
        let is_running = RUNNING.contains(&state.as_str()) && !level.is_empty() && disks > 0;
        let role = if is_running { device_role(node, &format!("dev-{member}")) } else { MdDeviceRole::Stopped };
        let is_unsynced = node.text("md/resync_start").is_some_and(|at| at != "none");
        let level = level.strip_prefix("raid").map_or(level.clone(), |number| format!("RAID{number}"));
        MdMemberView { level, disks, role, map, missing, bad, is_unsynced }
    }

    /// The places that cannot help to restore these sectors of the data of `slot`: those that are missing, and those with bad blocks
    /// there according to md.
    pub fn missing_at(&self, slot: usize, range: SectorRange) -> Vec<usize> {
        // The copies of a RAID-10 lie elsewhere on each member, so any bad block counts.
        let is_anywhere = self.level == "RAID10";
        let is_bad = |place: &usize| {
            let mut runs = self.bad.get(*place).into_iter().flatten();
            *place != slot && runs.any(|run| is_anywhere || !run.intersection(range).is_empty())
        };
        (0..self.disks).filter(|place| self.missing.contains(place) || is_bad(place)).collect()
    }
}

/// Parses a list of bad blocks: `10240 8` a line, relative to the data. Also returns them as if relative to the device.
fn runs(list: &str, start: u64) -> Vec<SectorRange> {
    let run = |line: &str| {
        let (at, count) = line.trim().split_once(' ')?;
        Some((at.parse::<u64>().ok()?, count.trim().parse::<u64>().ok()?))
    };
    let runs = list.lines().filter_map(run).filter(|(at, count)| at.checked_add(*count).is_some());
    let both = |(at, count): (u64, u64)| {
        let of_device = at.checked_sub(start).map(|at| SectorRange::at(at, count));
        [Some(SectorRange::at(at, count)), of_device].into_iter().flatten()
    };
    runs.flat_map(both).collect()
}

fn has_state(state: &str, word: &str) -> bool {
    state.split(',').any(|state| state.trim() == word)
}

fn device_role(node: &BlockNode, device: &str) -> MdDeviceRole {
    let of = |file: &str| node.text(&format!("md/{device}/{file}"));
    let Some(state) = of("state") else { return MdDeviceRole::Unknown };
    let slot = of("slot").and_then(|slot| slot.parse().ok());
    let start = of("offset").and_then(|offset| offset.parse().ok());
    match (slot, start) {
        _ if has_state(&state, "faulty") => MdDeviceRole::Faulty,
        _ if has_state(&state, "journal") || has_state(&state, "replacement") => MdDeviceRole::InTransition,
        (None, _) if has_state(&state, "spare") || of("slot").is_some_and(|slot| slot == "none") => MdDeviceRole::Spare,
        (Some(slot), Some(start)) if has_state(&state, "in_sync") => MdDeviceRole::Member { slot, start },
        (Some(_), _) if has_state(&state, "spare") => MdDeviceRole::InTransition,
        _ => MdDeviceRole::Unknown,
    }
}
