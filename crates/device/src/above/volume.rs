//! A member of a Scrubjay volume: finds the stripe, the chunk and the sector of the volume. Reads the member, and writes nothing.

use super::nodes::BlockNode;
use super::story::{EndKind, Keeper, LayerKind, SectorEnd, SectorLayer, StripePlace};
use crate::member::{Access, OpenMember};
use scrubjay_core::units::{MemberOffset, SECTOR_BYTES, SectorRange};
use scrubjay_core::volume::format::superblock::{MemberState, Superblock};

/// Finds what lies in these sectors of a member.
pub fn find_ends(node: &BlockNode, range: SectorRange, depth: usize) -> (Vec<SectorLayer>, Vec<SectorEnd>) {
    let unknown = |reason: String| (Vec::new(), vec![SectorEnd::unknown(&node.name, range, reason)]);
    let superblock = match OpenMember::open_now(&node.device(), Access::Inspect) {
        Ok(member) => match member.superblock() {
            Ok(superblock) => superblock,
            Err(error) => {
                return unknown(format!("what lies there in the Scrubjay volume is not known: the member {error}"));
            }
        },
        Err(error) => return unknown(format!("what lies there in the Scrubjay volume is not known: {error}")),
    };
    pieces(&superblock, &node.name, range, depth)
}

/// Splits the range at rows.
fn pieces(
    superblock: &Superblock,
    device: &str,
    range: SectorRange,
    depth: usize,
) -> (Vec<SectorLayer>, Vec<SectorEnd>) {
    let geometry = &superblock.geometry;
    let (mut layers, mut ends) = (Vec::new(), Vec::new());
    let mut at = range.start.byte();
    while at < range.end.byte() {
        let row = geometry.row_at(MemberOffset(at)).filter(|row| geometry.has_row(superblock.member, *row));
        let Some(row) = row else {
            // Before the rows, or behind the last.
            let end =
                if at < geometry.data_offset { geometry.data_offset.min(range.end.byte()) } else { range.end.byte() };
            let piece = SectorRange::new(at / SECTOR_BYTES, end.div_ceil(SECTOR_BYTES));
            let words = "the volume's own notes (superblocks, intents, the written map), of which each member has a copy, or left over";
            ends.push(SectorEnd {
                keepers: vec![keeper(superblock)],
                ..SectorEnd::of(device, piece, EndKind::Outside, words)
            });
            at = end;
            continue;
        };
        let start = geometry.chunk_offset(row).get();
        let end = (start + geometry.row_bytes()).min(range.end.byte());
        let piece = SectorRange::new(at / SECTOR_BYTES, end.div_ceil(SECTOR_BYTES));
        match geometry.chunk_at(superblock.member, row) {
            Some((stripe, position)) => {
                let data = geometry.layout.shape().data;
                let is_data = position.get() < data;
                let is_parity = !is_data && geometry.layout.shape().parity > 0;
                let role = match (is_data, position.get().checked_sub(data)) {
                    (false, Some(0)) if is_parity => "P".to_owned(),
                    (false, Some(1)) if is_parity => "Q".to_owned(),
                    (false, Some(number)) => format!("parity {}", number + 1),
                    _ => "data".to_owned(),
                };
                let within = at - start;
                let is_appendix = within >= geometry.chunk_bytes;
                let number = (stripe.get() * data as u64 + position.get() as u64) * geometry.chunk_bytes;
                let inside = (is_data && !is_appendix).then(|| {
                    let count = (end.min(start + geometry.chunk_bytes) - at).div_ceil(SECTOR_BYTES);
                    SectorRange::at((number + within) / SECTOR_BYTES, count)
                });
                let contents = match (is_appendix, is_data) {
                    (true, _) => "the appendix behind a chunk (where it belongs, its version, its checksum)".to_owned(),
                    (false, true) => match inside {
                        Some(inside) => format!("data: sector {} of the volume", inside.start),
                        None => "data".to_owned(),
                    },
                    (false, false) => format!("parity ({role})"),
                };
                let name = name(superblock);
                let words = format!(
                    "member {} of the Scrubjay volume {name}, stripe {stripe}, chunk {} of {}: {contents}",
                    superblock.member,
                    position.get() + 1,
                    geometry.layout.shape().width()
                );
                layers.push(SectorLayer {
                    depth,
                    device: name.clone(),
                    range: inside,
                    kind: LayerKind::Volume,
                    words,
                    place: Some(StripePlace {
                        member: superblock.member.get(),
                        stripe: Some(stripe.get()),
                        chunk_bytes: Some(geometry.chunk_bytes),
                        role,
                    }),
                });
                let (kind, words) = match (is_appendix, is_data) {
                    (true, _) => (EndKind::Outside, "what the volume writes beside each chunk; no data of a client"),
                    (false, true) => (EndKind::VolumeData, "data of the volume; only its user knows what they are"),
                    (false, false) => (EndKind::Parity, "parity only: no data of a client"),
                };
                ends.push(SectorEnd { keepers: vec![keeper(superblock)], ..SectorEnd::of(device, piece, kind, words) });
            }
            None => ends.push(SectorEnd::unknown(device, piece, "a row of the volume whose stripe has no number")),
        }
        at = end;
    }
    (layers, ends)
}

fn name(superblock: &Superblock) -> String {
    if superblock.name.is_empty() { superblock.array.to_string() } else { superblock.name.clone() }
}

/// The volume as its superblock describes it: members that it calls active count.
fn keeper(superblock: &Superblock) -> Keeper {
    let shape = superblock.geometry.layout.shape();
    let other_members = superblock.members.iter().enumerate().filter(|(index, _)| *index != superblock.member.get());
    let out = other_members.filter(|(_, member)| member.state != MemberState::Active).count();
    let why_not = match (shape.parity, out) {
        (0, _) => "it keeps no parities".to_owned(),
        (parity, out) if out >= parity => format!("{out} of its other members are out, by what this one knows"),
        _ => String::new(),
    };
    Keeper {
        name: name(superblock),
        what: format!("Scrubjay volume {}+{}", shape.data, shape.parity),
        is_able: why_not.is_empty(),
        why_not,
        command: format!("scrubjay scrub {}", name(superblock)),
    }
}
