//! Tests: what is called repaired is repaired, and what waits for a member is not decided without it.

use super::promises::{right, superblock};
use super::*;
use crate::index::MemberIndex;
use crate::volume::format::superblock::MemberState;

/// A volume of six members, written and flushed.
fn flushed(byte: u8) -> Rig {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    write_and_flush(&mut rig, byte);
    rig
}

fn write_and_flush(rig: &mut Rig, byte: u8) {
    rig.write(0, &vec![byte; 40 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
}

#[test]
fn damage_of_a_member_that_refuses_its_repair_is_not_called_repaired() {
    for refuses in [false, true] {
        let mut rig = flushed(7);
        let copy = Superblock::offsets(MEMBER_BYTES).unwrap()[1].get() as usize;
        rig.members[2][copy..copy + 64].fill(0xaa);
        rig.refuses_all = refuses.then_some(2);
        rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(0)..StripeIndex(1));
        rig.pump();
        let found: Vec<_> = std::iter::from_fn(|| rig.volume.poll_finding())
            .filter(|record| (record.place, record.member.get()) == (FindingPlace::Superblock, 2))
            .map(|record| record.resolution)
            .collect();
        let end = if refuses { Resolution::Reconstructed } else { Resolution::Repaired };
        assert_eq!(found, [end], "it refuses: {refuses}");
        assert_eq!(rig.volume.status().members[2].0 == MemberState::Active, !refuses);
    }
}

/// The row's last write was lost. The resync cannot read the row and writes it, and that write is lost, too: then the
/// disk returns the old row again, whole and outdated.
#[test]
fn an_old_row_that_can_be_read_again_after_a_resync_is_not_called_repaired() {
    let mut rig = flushed(7);
    let (member, at) = rig.place(3, 1);
    let row = at..at + rig.geometry.row_bytes() as usize;
    let old = rig.members[member][row.clone()].to_vec();
    write_and_flush(&mut rig, 8);
    rig.members[member][row].copy_from_slice(&old);
    // Killed: the region is dirty.
    let mut rig = Rig::begin(std::mem::take(&mut rig.members), rig.geometry, VolumeOptions::default());
    let place = Some((member, at as u64));
    (rig.unreadable, rig.loses) = (place, place);
    rig.pump_until(|rig| rig.loses.is_none());
    rig.unreadable = None;
    rig.pump();
    assert_eq!(rig.kinds(), [(3, 1, FindingKind::Unreadable(None), Resolution::Reconstructed)]);
    assert!(rig.read(0, 40 * CHUNK) == right(8, 40 * CHUNK));
}

/// Of three members one is being rebuilt, and another one returns while the rebuild reads the rows that it needs.
#[test]
fn a_rebuild_does_not_decide_by_rows_read_before_a_member_returned() {
    for scheme in Scheme::ALL {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 2, 1);
        let size = rig.volume.size().min(200 * 2 * CHUNK);
        rig.write(0, &vec![7; size as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        rig.wait(20_000_000_000);
        rig.volume.fail(Nanos(rig.now), MemberIndex(0));
        rig.pump();
        rig.members[0].fill(0);
        rig.volume.replace(Nanos(rig.now), MemberIndex(0), Uuid([9; 16]), MEMBER_BYTES);
        rig.pump_until(|rig| {
            matches!(rig.volume.status().members[0].0, MemberState::Rebuilding { stripes_done: 64.. })
        });
        // Killed, and started while another member is away.
        let mut members = std::mem::take(&mut rig.members);
        let detached = std::mem::take(&mut members[1]);
        let mut rig = Rig::start(members, rig.geometry);
        rig.wait(60_000_000_000);
        rig.holds_reads = true;
        while rig.under_way.is_empty() {
            let next = rig.volume.poll_timeout().expect("the rebuild tries again");
            rig.now = rig.now.max(next.0);
            rig.pump();
        }
        rig.holds_reads = false;
        rig.members[1] = detached;
        let theirs = superblock(&rig.members[1]);
        assert_eq!(rig.volume.readd(Nanos(rig.now), &theirs, Uuid([77; 16]), MEMBER_BYTES), Ok(()), "{scheme}");
        rig.pump();
        rig.release();
        rig.wait(60_000_000_000);
        let states = [0, 1, 2].map(|member: usize| rig.volume.status().members[member].0);
        assert_eq!(states, [MemberState::Active; 3], "{scheme}");
        // Nothing is marked, and the new disk holds all of its rows.
        assert!(rig.read(0, size) == right(7, size), "{scheme}");
        rig.is_gone[1] = true;
        assert!(rig.read(0, size) == right(7, size), "{scheme}: without the one that came back");
    }
}
