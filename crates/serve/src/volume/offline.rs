//! Checks a volume without clients: every stripe that was ever written is read in full, and repaired if that is allowed.

use super::finding_words::finding_of;
use super::gather::Gathered;
use crate::members::MemberTable;
use scrubjay_core::finding::Finding;
use scrubjay_core::index::StripeIndex;
use scrubjay_core::units::{Nanos, UnixSeconds};
use scrubjay_core::volume::Volume;
use scrubjay_core::volume::block::RequestId;
use scrubjay_core::volume::format::superblock::MemberState;
use scrubjay_core::volume::member::{ArrayMachine, DiskFault, MemberOp, MemberOpDone, MemberOpId, OpKind};
use scrubjay_device::clock;
use scrubjay_device::completion::{Completion, IoEnd, IoRing};
use std::io;

/// Operations of the ring at a time, at most (count); the volume limits its operations itself.
const RING_DEPTH: u32 = 1024;
/// Stripes verified at a time (count).
const STRIPES_AT_ONCE: u64 = 8;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// Stripes that were ever written (count): a check that was not ended early read them all.
    pub stripes: u64,
    /// Stripes read in which nothing was wrong (count).
    pub clean: u64,
    /// Stripes that a crash left undecided, and that were not judged (count).
    pub undecided: u64,
    /// What was wrong.
    pub findings: Vec<Finding>,
    /// Member indexes of members that are not active: the volume is as safe as the others make it.
    pub degraded: Vec<usize>,
    /// Was it ended early?
    pub is_stopped: bool,
}

/// Checks a volume. `progress` receives the stripes done and their total, and returns whether to go on.
///
/// # Errors
/// When io_uring is refused or fails, or there is no random number. Errors of disks are findings.
pub fn check(
    gathered: &mut Gathered,
    is_read_only: bool,
    today: UnixSeconds,
    mut progress: impl FnMut(u64, u64) -> bool,
) -> io::Result<Checked> {
    let mut ring = IoRing::new(RING_DEPTH)?;
    let mut volume = gathered.start(is_read_only, today)?;
    let geometry = gathered.assembly.superblock.geometry;
    let mut checked = Checked::default();
    let mut bad = std::collections::BTreeSet::new();
    let (mut next, mut under_way, mut read, mut is_going) = (0, 0, 0, true);
    loop {
        while is_going && under_way < STRIPES_AT_ONCE && next < geometry.stripes {
            volume.verify(clock::now(), RequestId(next), StripeIndex(next)..StripeIndex(next + 1));
            (next, under_way) = (next + 1, under_way + 1);
        }
        pump(&mut volume, &mut ring, &gathered.members)?;
        while let Some((RequestId(stripe), _)) = volume.poll_reply() {
            read += u64::from(volume.is_written(StripeIndex(stripe)));
            under_way -= 1;
        }
        while let Some(record) = volume.poll_finding() {
            let path = gathered.paths.get(record.member.get()).and_then(Option::as_deref);
            checked.findings.push(finding_of(&record, path, &geometry));
            bad.extend(record.place.stripe());
        }
        if is_going && !progress(next - under_way, geometry.stripes) {
            (is_going, checked.is_stopped) = (false, true);
        }
        if under_way == 0 && (!is_going || next == geometry.stripes) {
            break;
        }
    }
    let status = volume.status();
    checked.stripes = status.stripes_written;
    let is_whole = |state: &MemberState| *state == MemberState::Active;
    let members = status.members.iter().enumerate();
    checked.degraded = members.filter(|(_, (state, _))| !is_whole(state)).map(|(slot, _)| slot).collect();
    checked.undecided = status.stripes_undecided;
    let read = if checked.is_stopped { read } else { checked.stripes };
    checked.clean = read.saturating_sub(bad.len() as u64 + checked.undecided);
    volume.stop(clock::now());
    while !volume.is_stopped() {
        pump(&mut volume, &mut ring, &gathered.members)?;
    }
    Ok(checked)
}

/// Starts the volume's operations, and waits for a completion.
fn pump(volume: &mut Volume, ring: &mut IoRing<MemberOpId>, members: &MemberTable) -> io::Result<()> {
    while ring.room() > 0 {
        let Some(op) = volume.poll_op(clock::now()) else { break };
        start(volume, ring, members, op);
    }
    if ring.in_flight() > 0 {
        let timeout = volume.poll_timeout().map(|time| Nanos(time.0.saturating_sub(clock::now().0)));
        ring.wait(timeout)?;
    }
    while let Some(Completion { name, end }) = ring.poll() {
        let IoEnd::Disk { buffer, result } = end else { panic!("only disks are asked here") };
        volume.handle(clock::now(), MemberOpDone { id: name, buffer, result });
    }
    Ok(())
}

fn start(
    volume: &mut Volume,
    ring: &mut IoRing<MemberOpId>,
    members: &MemberTable,
    MemberOp { id, member, kind }: MemberOp,
) {
    match (members.file(member), kind) {
        (Some(file), OpKind::Read { offset, buffer }) => ring.read(id, file, offset.get(), buffer),
        (Some(file), OpKind::Write { offset, buffer, is_durable }) => {
            ring.write(id, file, offset.get(), buffer, is_durable)
        }
        (Some(file), OpKind::Flush) => ring.flush(id, file),
        (Some(file), OpKind::Discard { offset, len }) => ring.discard(id, file, offset.get()..(offset + len).get()),
        (None, kind) => {
            let buffer = match kind {
                OpKind::Read { buffer, .. } | OpKind::Write { buffer, .. } => Some(buffer),
                OpKind::Flush | OpKind::Discard { .. } => None,
            };
            volume.handle(clock::now(), MemberOpDone { id, buffer, result: Err(DiskFault::Gone) });
        }
    }
}
