//! Two histories of one array: some members are started without the others, and the others without these.

use super::Simulation;
use crate::config::StormConfig;
use crate::member_metadata;
use crate::subject::StormSubject;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::member::{DiskFault, MemberOpDone, OpKind};
use scrubjay_sim::member_disk::{MemberDisk, WriteFate};

impl<S: StormSubject> Simulation<'_, S> {
    /// Starts some members without the others, and the others without these, if neither side lacks anything that it
    /// needs. All of them together must then be refused.
    pub(super) fn fork(&mut self) {
        let count = self.disk_set.disks.len();
        let gone_first = 1 + self.rng.below((1 << count) - 2);
        let sides = [gone_first, !gone_first].map(|gone| {
            let mut disks = self.disk_set.disks.clone();
            let is_out = |slot: &usize| gone & 1 << slot != 0;
            (0..count).filter(is_out).for_each(|slot| disks[slot].is_gone = true);
            disks
        });
        let is_bearable = |disks: &[MemberDisk]| {
            let is_whole = |disk: &MemberDisk| !disk.is_gone && member_metadata::is_whole(&self.setting.geometry, disk);
            disks.iter().any(is_whole) && S::refusal(disks).is_none()
        };
        if self.disk_set.fault_budget.lacking.contains(&true) || !sides.iter().all(|disks| is_bearable(disks)) {
            return;
        }
        let [first, second] = sides.map(|mut disks| {
            run_alone::<S>(self.setting, &mut disks);
            disks
        });
        let both: Vec<MemberDisk> =
            (0..count).map(|slot| [&first, &second][usize::from(first[slot].is_gone)][slot].clone()).collect();
        assert!(S::refusal(&both).is_some(), "two histories are put together");
    }
}

/// Runs an array on these disks until it serves, and kills it.
fn run_alone<S: StormSubject>(setting: &StormConfig, disks: &mut [MemberDisk]) {
    let mut subject = S::open(setting, disks);
    let mut now = Nanos::ZERO;
    while !subject.health().is_open {
        let op = subject.poll_op(now).expect("it opens by operations alone");
        now += Nanos(1);
        let disk = &mut disks[op.member.get()];
        let (buffer, result) = match op.kind {
            _ if disk.is_gone => (op.kind.buffer(), Err(DiskFault::Gone)),
            OpKind::Read { offset, mut buffer } => {
                let result = disk.read(offset.get(), &mut buffer);
                (Some(buffer), result)
            }
            OpKind::Write { offset, buffer, is_durable } => {
                disk.write(offset.get(), &buffer, is_durable, WriteFate::HONEST);
                (Some(buffer), Ok(()))
            }
            OpKind::Flush | OpKind::Discard { .. } => (None, Ok(())),
        };
        subject.handle(now, MemberOpDone { id: op.id, buffer, result });
    }
}
