//! What to do about a disk: how to replace it, by its bay and its arrays, and where to look.

use crate::facts::ArrayKind;
use crate::health::HealthSign;
use crate::state::{DiskState, Watch};
use crate::words::typed;
use scrubjay_core::units::{Bytes, SECTOR_BYTES};

impl Watch {
    /// How to replace a disk: this one, in this bay, in these arrays.
    pub(crate) fn steps_to_replace(&self, disk: &DiskState) -> Vec<String> {
        let facts = &disk.row.facts;
        let size = Bytes(facts.sectors.saturating_mul(SECTOR_BYTES));
        let bay = facts.bay.as_ref().map_or(String::new(), |bay| format!(" (bay {bay})"));
        let mut steps = vec![
            "have a backup of what it holds".to_owned(),
            format!("order a disk of {size} or larger"),
            format!("find it: sudo scrubjay locate {}{bay}", typed(facts.serial_shown())),
        ];
        let name = disk.live.name.as_deref().unwrap_or("OLD");
        let arrays = self.present_arrays().filter(|array| array.has_member(name));
        steps.extend(arrays.map(|array| match array.kind() {
            // A rebuild reads every sector of the others, and fails at a bad one.
            _ if array.redundancy_left() <= 0 => format!(
                "{} has no redundancy left: start no rebuild; copy what can be read first (docs/repair.md)",
                array.name
            ),
            _ if array.is_degraded() => {
                format!("{} lacks a member: replace that one first, and this one when it is whole", array.name)
            }
            ArrayKind::Md => format!(
                "sudo mdadm /dev/{0} --add /dev/NEW; sudo mdadm /dev/{0} --replace /dev/{name} --with /dev/NEW",
                array.name
            ),
            ArrayKind::Btrfs => {
                format!("sudo btrfs replace start -B -r /dev/{name} /dev/NEW MOUNTPOINT (of {})", array.name)
            }
            ArrayKind::Zfs => {
                format!(
                    "sudo zpool replace {} {name} NEW; sudo zpool status {0} shows the resilver",
                    typed(&array.name)
                )
            }
            ArrayKind::Volume => {
                let place =
                    array.members.iter().position(|member| member.disk.as_deref() == Some(name)).unwrap_or_default();
                format!("sudo scrubjay volume fail {place}; sudo scrubjay volume replace {place} /dev/NEW")
            }
        }));
        if steps.len() == 3 {
            steps.push("swap it, and restore what it held".to_owned());
        }
        let numbered = steps.iter().zip(1..).map(|(step, number)| match number {
            1 => format!("Do        1. {step}"),
            _ => format!("          {number}. {step}"),
        });
        numbered.collect()
    }
    /// What to do about the place that a self-test could not read: a drive may lose more by being made to read it before the backup, so
    /// the pass reads it in its turn.
    pub(crate) fn place_lines(&self, disk: &DiskState, signs: &[HealthSign]) -> Vec<String> {
        let place = signs.iter().find_map(|sign| match sign {
            HealthSign::SelfTestFailed { lba, is_old: false } => *lba,
            _ => None,
        });
        let (Some(lba), Some(name)) = (place, &disk.live.name) else { return Vec::new() };
        vec![
            format!("Place     after the backup, what lies at that sector: sudo scrubjay explain /dev/{name} {lba}+1"),
            "          The pass comes to it in its turn, and reads what fails in small requests.".to_owned(),
        ]
    }
}
