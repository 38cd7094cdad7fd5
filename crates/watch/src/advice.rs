//! How to replace a disk: the steps for its bay and its arrays.

use crate::facts::ArrayKind;
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
}
