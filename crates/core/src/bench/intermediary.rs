//! What answers in place of a medium: layers of this machine, hypervisors, other hosts.
//!
//! No class of disks determines how fast these should be, so they get no verdict, for a named reason.

use super::class::MediumClass;
use std::fmt;

/// The intermediary that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intermediary {
    /// A hypervisor, by virtio.
    Virtio,
    /// A hypervisor: Xen.
    Xen,
    /// A hypervisor: Hyper-V.
    HyperV,
    /// A hypervisor: VMware.
    Vmware,
    /// A hypervisor or a driver that makes up a disk of this model.
    Emulated(String),
    /// A file, and the disk below it.
    Loop,
    /// The device mapper: LVM, encryption, caches.
    DeviceMapper,
    /// An array of md.
    Md,
    /// Compressed memory.
    Zram,
    /// A program on this machine.
    Ublk,
    /// A program, here or elsewhere.
    Nbd,
    /// An SSD in front of a disk.
    Bcache,
    /// This host together with another one.
    Drbd,
    /// A Ceph cluster.
    Rbd,
    /// Nothing: `null_blk`.
    Null,
    /// Another host, by this transport of NVMe over fabrics.
    NvmeFabrics(String),
    /// Another host, by iSCSI.
    Iscsi,
    /// A storage array, by Fibre Channel.
    FibreChannel,
    /// The kernel knows of no hardware behind the disk.
    Unknown,
}

impl Intermediary {
    /// One word, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Intermediary::Virtio => "virtio",
            Intermediary::Xen => "xen",
            Intermediary::HyperV => "hyper-v",
            Intermediary::Vmware => "vmware",
            Intermediary::Emulated(_) => "emulated",
            Intermediary::Loop => "loop",
            Intermediary::DeviceMapper => "device-mapper",
            Intermediary::Md => "md",
            Intermediary::Zram => "zram",
            Intermediary::Ublk => "ublk",
            Intermediary::Nbd => "nbd",
            Intermediary::Bcache => "bcache",
            Intermediary::Drbd => "drbd",
            Intermediary::Rbd => "rbd",
            Intermediary::Null => "null",
            Intermediary::NvmeFabrics(_) => "nvme-fabrics",
            Intermediary::Iscsi => "iscsi",
            Intermediary::FibreChannel => "fibre-channel",
            Intermediary::Unknown => "unknown",
        }
    }

    /// The class of the disks that it answers for.
    pub const fn class(&self) -> MediumClass {
        match self {
            Intermediary::Virtio
            | Intermediary::Xen
            | Intermediary::HyperV
            | Intermediary::Vmware
            | Intermediary::Emulated(_)
            | Intermediary::Unknown => MediumClass::Virtual,
            Intermediary::NvmeFabrics(_) | Intermediary::Iscsi | Intermediary::FibreChannel | Intermediary::Rbd => {
                MediumClass::Remote
            }
            _ => MediumClass::Layered,
        }
    }
}

impl fmt::Display for Intermediary {
    /// A phrase that continues "the disk is".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = "a hypervisor answers, with whatever lies below it";
        match self {
            Intermediary::Virtio => write!(f, "a virtio disk ({below})"),
            Intermediary::Xen => write!(f, "one of Xen's ({below})"),
            Intermediary::HyperV => write!(f, "one of Hyper-V's ({below})"),
            Intermediary::Vmware => write!(f, "one of VMware's ({below})"),
            Intermediary::Emulated(model) => write!(f, "made up ({model}: {below})"),
            Intermediary::Loop => f.write_str("a loop device (a file answers, with whatever lies below it)"),
            Intermediary::DeviceMapper => f.write_str(
                "one of the device mapper's (LVM, encryption or a cache answers, with whatever lies below it)",
            ),
            Intermediary::Md => f.write_str("an array of md (several disks answer)"),
            Intermediary::Zram => f.write_str("zram (compressed memory answers)"),
            Intermediary::Ublk => f.write_str("one of ublk's (a program answers)"),
            Intermediary::Nbd => f.write_str("a network block device (a program answers, here or elsewhere)"),
            Intermediary::Bcache => f.write_str("one of bcache's (an SSD answers for a disk)"),
            Intermediary::Drbd => f.write_str("one of DRBD's (another host answers, too)"),
            Intermediary::Rbd => f.write_str("one of Ceph's (other hosts answer)"),
            Intermediary::Null => f.write_str("null_blk (nothing answers)"),
            Intermediary::NvmeFabrics(transport) => {
                write!(f, "reached by NVMe over fabrics ({transport}: another host answers)")
            }
            Intermediary::Iscsi => f.write_str("reached by iSCSI (another host answers)"),
            Intermediary::FibreChannel => f.write_str("reached by Fibre Channel (a storage array answers)"),
            Intermediary::Unknown => f.write_str("not known (the kernel knows of no hardware behind it)"),
        }
    }
}
