//! Reads `zpool status -Pvj --json-int` (OpenZFS 2.3 and newer). A value that is not there is not known, never zero.

use super::pool::{Vdev, VdevClass, VdevKind, Zpool};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::pool::{LastScrub, PoolLosses, PoolScan};
use serde_json::{Map, Value};

/// Vdevs in a pool, at most: a tree from a program that is not ours is not trusted to end.
const DEPTH_MAX: usize = 8;
/// Names of damaged files that are kept, at most.
pub const FILES_MAX: usize = 100;
/// The share of what a scrub was to examine, below which it counts as one of a part (`zpool scrub -C`, or of a range of dates).
const WHOLE_SHARE: f64 = 0.8;

/// The pools in the output, by name.
///
/// # Errors
/// In words: it is no such output.
pub fn pools(text: &str) -> Result<Vec<Zpool>, String> {
    let document: Value = serde_json::from_str(text.trim()).map_err(|error| format!("no JSON: {error}"))?;
    let pools = document.get("pools").and_then(Value::as_object).ok_or("no \"pools\" in its JSON")?;
    pools.iter().map(|(name, pool)| pool_of(name, pool).ok_or_else(|| format!("pool {name} without a state"))).collect()
}

fn pool_of(name: &str, pool: &Value) -> Option<Zpool> {
    let state = text(pool, "state")?;
    let sections = [
        ("special", VdevClass::Special),
        ("dedup", VdevClass::Special),
        ("logs", VdevClass::Log),
        ("l2cache", VdevClass::Cache),
        ("spares", VdevClass::Spare),
    ];
    let root = pool.get("vdevs").and_then(Value::as_object).and_then(|roots| roots.values().next());
    let mut vdevs: Vec<Vdev> = root.map_or_else(Vec::new, |root| below(root.get("vdevs"), VdevClass::Data, 0));
    let tops: Vec<&Value> =
        root.and_then(|root| root.get("vdevs")?.as_object()).into_iter().flat_map(Map::values).collect();
    for (section, class) in sections {
        vdevs.extend(below(pool.get(section), class, 0));
    }
    let moves = |value: &Value, key: &str| {
        let state = value.get(key).and_then(|stats| text(stats, "state"));
        matches!(state.as_deref(), Some("ACTIVE" | "SCANNING"))
    };
    let is_moving = ["removal_stats", "raidz_expand_stats"].iter().any(|key| moves(pool, key));
    let is_rebuilt = tops.iter().any(|top| moves(top, "rebuild_stats"));
    let (scan, scrubbed) = scan(pool.get("scan_stats"));
    let files = pool.get("errlist").and_then(Value::as_array);
    let files: Vec<String> =
        files.into_iter().flatten().filter_map(Value::as_str).take(FILES_MAX).map(str::to_owned).collect();
    Some(Zpool {
        name: name.to_owned(),
        guid: number(pool, "pool_guid"),
        state,
        vdevs,
        losses: match number(pool, "error_count") {
            Some(0) => PoolLosses::None,
            Some(blocks) => PoolLosses::Lost { blocks, files },
            None => PoolLosses::Unknown("zpool status does not say how many errors there are".to_owned()),
        },
        scan: match scan {
            PoolScan::Idle if is_rebuilt => PoolScan::Resilver(None),
            PoolScan::Idle if is_moving => PoolScan::Moving,
            _ => scan,
        },
        scrubbed,
        bytes: None,
    })
}

fn below(vdevs: Option<&Value>, class: VdevClass, depth: usize) -> Vec<Vdev> {
    let vdevs = vdevs.and_then(Value::as_object).filter(|_| depth < DEPTH_MAX);
    vdevs.into_iter().flatten().map(|(name, vdev)| vdev_of(name, vdev, class, depth)).collect()
}

fn vdev_of(name: &str, vdev: &Value, class: VdevClass, depth: usize) -> Vdev {
    let errors = ["read_errors", "write_errors", "checksum_errors"];
    // `was` is where a device was that is not there.
    let path = || text(vdev, "path").or_else(|| text(vdev, "was"));
    let children = below(vdev.get("vdevs"), class, depth + 1);
    let kind = match (VdevKind::of_name(name), text(vdev, "vdev_type").as_deref()) {
        (_, Some("disk" | "file")) => VdevKind::Leaf,
        (VdevKind::Leaf, Some("mirror")) => VdevKind::Mirror,
        (kind, _) => kind,
    };
    Vdev {
        guid: number(vdev, "guid"),
        path: path().filter(|_| children.is_empty() && kind == VdevKind::Leaf),
        errors: errors.iter().filter_map(|key| number(vdev, key)).fold(0, u64::saturating_add),
        kind,
        children,
        ..Vdev::new(name, class, &text(vdev, "state").unwrap_or_default())
    }
}

/// What the scan does, and when a scrub last covered everything.
fn scan(stats: Option<&Value>) -> (PoolScan, LastScrub) {
    let Some(stats) = stats else { return (PoolScan::Idle, LastScrub::Never) };
    let count = |key: &str| number(stats, key);
    let (function, state) = (text(stats, "function").unwrap_or_default(), text(stats, "state").unwrap_or_default());
    let share = || {
        let (issued, all) =
            (count("issued")? as f64, count("to_examine")?.saturating_sub(count("skipped").unwrap_or(0)) as f64);
        (all > 0.0).then(|| (100.0 * issued / all).clamp(0.0, 100.0).round() as u8)
    };
    let is_whole = || {
        let (seen, all) =
            (count("examined")?.saturating_add(count("skipped").unwrap_or(0)) as f64, count("to_examine")? as f64);
        Some(seen >= all * WHOLE_SHARE)
    };
    match (function.as_str(), state.as_str()) {
        ("SCRUB", "SCANNING") if count("scrub_pause").is_some_and(|since| since > 0) => {
            (PoolScan::Paused(share()), LastScrub::Unknown)
        }
        ("SCRUB", "SCANNING") => (PoolScan::Scrub(share()), LastScrub::Unknown),
        (_, "SCANNING") => (PoolScan::Resilver(share()), LastScrub::Unknown),
        ("SCRUB", "FINISHED") if is_whole() == Some(true) => {
            let ended = count("end_time").filter(|end| *end > 0);
            (PoolScan::Idle, ended.map_or(LastScrub::Unknown, |end| LastScrub::Ended(UnixSeconds(end))))
        }
        ("NONE" | "", _) => (PoolScan::Idle, LastScrub::Never),
        _ => (PoolScan::Idle, LastScrub::Unknown),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// A whole number, also as text.
fn number(value: &Value, key: &str) -> Option<u64> {
    match value.get(key)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
