//! Table I on the volume itself: what it finds, names and repairs if rows are damaged in each of the seven ways.
//!
//! Stray writes are modelled in full: the write that hits the victim was meant for another row of the disk, which lacks
//! it, and an unaligned one also hits the row next to the victim. The volume must repair all of that.

use super::kinds;
use super::rig::{CHUNK, MisdirectedReads, Rig, SECTOR, SHAPE, STRIPES};
use scrubjay_chart::Table;
use scrubjay_core::finding::{FindingKind, Judgement};
use scrubjay_core::index::{MemberIndex, RowIndex};
use scrubjay_core::layout::ChunkPlace;
use scrubjay_core::volume::finding;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::model::SilentCorruption;

/// The stripe of the victims.
const STRIPE: u64 = 8;
/// The stripe in which the victim's disk has the same slot: stray writes were meant for it.
const TARGET: u64 = STRIPE - SHAPE.width() as u64;
/// The data slot that is damaged. The rows before and after it on its disk hold data, too.
const DATA_VICTIM: usize = 2;
/// The parity slot that is damaged.
const PARITY_VICTIM: usize = SHAPE.data;
/// The data slot that is written in order to have a parity written.
const WRITTEN_FOR_PARITY: usize = 0;

/// How the volume dealt with a damaged row; each value includes those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It reported nothing.
    Missed,
    /// It reported that something is wrong.
    Detected,
    /// It named this row of this member, and none that is intact.
    Located,
    /// Everything reads right, no disk has corrupt data any more, and another verification finds nothing.
    Repaired,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeRow {
    /// The scheme.
    pub scheme: Scheme,
    /// Whether a parity was damaged (and its stripe verified), or a data chunk (and read by a client).
    pub is_parity: bool,
    /// The verdict on each of [`SilentCorruption::ALL`], in its worst variant.
    pub verdicts: [Verdict; 7],
}

/// One way to damage a row. Counts are sectors.
#[derive(Clone, Copy, Debug)]
enum RowDamage {
    /// The sectors `from..to` of the last write were not written, the others were.
    Stale { from: u64, to: u64 },
    /// A write that was meant for another row begins `distance` sectors behind the row's beginning (before it, if negative).
    Stray { distance: i64 },
    /// Reads of the row return the bytes `distance` sectors behind it (before it, if negative).
    Misread { distance: i64, is_once: bool },
}

/// Damages rows of every scheme and returns the verdicts.
pub fn volume_table() -> Vec<VolumeRow> {
    let rows = Scheme::ALL.into_iter().flat_map(|scheme| [(scheme, false), (scheme, true)]);
    let row = |(scheme, is_parity)| {
        let worst = |kind: SilentCorruption| {
            let verdicts = damages(kind, scheme).into_iter().map(|damage| verdict(scheme, is_parity, damage));
            verdicts.min().expect("a kind has a variant")
        };
        VolumeRow { scheme, is_parity, verdicts: SilentCorruption::ALL.map(worst) }
    };
    rows.map(row).collect()
}

/// The table as an exhibit.
pub(super) fn table() -> Table {
    let name = |verdict| match verdict {
        Verdict::Missed => "-",
        Verdict::Detected => "detected",
        Verdict::Located => "located",
        Verdict::Repaired => "repaired",
    };
    let table = volume_table();
    Table {
        name: "integrity-volume".into(),
        title: "What the volume finds and repairs".into(),
        caption: format!(
            "All seven are located and repaired under {}. Rows of a volume 4+2 were damaged on its disks in every variant of each kind. A damaged chunk was then read by \
             a client, the stripe of a damaged parity verified. Detected: something was reported. Located: the report names \
             the damaged row and member, and none that is whole. Repaired: the client got the right bytes, all of them are \
             on the disks again, and verifying everything once more finds nothing. {}",
            whole_text(&table),
            misread_text()
        ),
        head: kinds::head(),
        rows: kinds::rows(|scheme, is_parity, at| {
            let row = table.iter().find(|row| (row.scheme, row.is_parity) == (scheme, is_parity));
            name(row.expect("all schemes are in it").verdicts[at])
        }),
    }
}

/// The schemes under which everything is repaired: `pure (data), stamp`.
fn whole_text(table: &[VolumeRow]) -> String {
    let is_whole = |row: &VolumeRow| row.verdicts == [Verdict::Repaired; 7];
    let names = table.chunks(2).filter_map(|rows| match [is_whole(&rows[0]), is_whole(&rows[1])] {
        [true, true] => Some(rows[0].scheme.name().to_owned()),
        [true, false] => Some(format!("{} (data)", rows[0].scheme)),
        [false, true] => Some(format!("{} (parities)", rows[0].scheme)),
        [false, false] => None,
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The effect of a read that goes astray once, which leaves nothing to repair.
fn misread_text() -> String {
    let names = |has_property: fn(MisreadEffect) -> bool| {
        let schemes = Scheme::ALL.into_iter().filter(|&scheme| has_property(misread_effect(scheme)));
        schemes.map(Scheme::name).collect::<Vec<_>>().join(", ")
    };
    format!(
        "(Misdirected reads go on until the row is written. One that goes astray once is answered right under {}, and \
         reported under {}.)",
        names(|effect| effect.is_right),
        names(|effect| effect.is_reported)
    )
}

/// The effect of a read that goes astray once and is right the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MisreadEffect {
    is_right: bool,
    is_reported: bool,
}

fn misread_effect(scheme: Scheme) -> MisreadEffect {
    let mut effect = MisreadEffect { is_right: true, is_reported: true };
    for kind in [SilentCorruption::MisdirectedRead, SilentCorruption::MisdirectedReadUnaligned] {
        for damage in damages(kind, scheme) {
            let RowDamage::Misread { distance, .. } = damage else { continue };
            let mut rig = Rig::new(scheme);
            inject(&mut rig, DATA_VICTIM, RowDamage::Misread { distance, is_once: true });
            effect.is_right &= rig.reads_right(STRIPE, DATA_VICTIM);
            effect.is_reported &= !rig.records().is_empty();
        }
    }
    effect
}

/// Every variant of a kind: each cut of a write, and each distance of a stray write that hits the row's content.
fn damages(kind: SilentCorruption, scheme: Scheme) -> Vec<RowDamage> {
    let content = (CHUNK / SECTOR) as i64;
    let row = content + i64::from(scheme.has_appendix());
    let other = (TARGET as i64 - STRIPE as i64) * row;
    match kind {
        SilentCorruption::LostWrite => vec![RowDamage::Stale { from: 0, to: row as u64 }],
        SilentCorruption::TornWrite => {
            let cut = (1..content).map(|from| (from, row));
            // Disks write sectors in any order: the appendix may be written when other sectors are not.
            let all = cut.chain([(content - 1, content)]);
            all.map(|(from, to)| RowDamage::Stale { from: from as u64, to: to as u64 }).collect()
        }
        SilentCorruption::MisdirectedWrite => vec![RowDamage::Stray { distance: 0 }],
        SilentCorruption::MisdirectedWriteFront => {
            (1..row).map(|hit| RowDamage::Stray { distance: hit - row }).collect()
        }
        SilentCorruption::MisdirectedWriteEnd => (1..content).map(|distance| RowDamage::Stray { distance }).collect(),
        SilentCorruption::MisdirectedRead => vec![RowDamage::Misread { distance: other, is_once: false }],
        SilentCorruption::MisdirectedReadUnaligned => {
            (1..row).map(|distance| RowDamage::Misread { distance, is_once: false }).collect()
        }
    }
}

/// Damages a row and judges how the volume deals with it.
fn verdict(scheme: Scheme, is_parity: bool, damage: RowDamage) -> Verdict {
    let mut rig = Rig::new(scheme);
    let slot = if is_parity { PARITY_VICTIM } else { DATA_VICTIM };
    let damaged = inject(&mut rig, slot, damage);
    let is_right = if is_parity {
        rig.verify(STRIPE..STRIPE + 1);
        true
    } else {
        rig.reads_right(STRIPE, slot)
    };
    let records = rig.records();
    if records.is_empty() {
        return Verdict::Missed;
    }
    let names = |finding: &finding::VolumeFinding, place: &ChunkPlace| {
        finding.kind != FindingKind::Mismatch(Judgement::Undecided)
            && finding.member == MemberIndex(place.disk)
            && rig.geometry.row_at(finding.offset) == Some(RowIndex(place.row))
    };
    let is_named = records.iter().any(|finding| names(finding, &damaged[0]));
    if !is_named || !records.iter().all(|finding| damaged.iter().any(|place| names(finding, place))) {
        return Verdict::Detected;
    }
    match is_right && is_repaired(&mut rig) {
        true => Verdict::Repaired,
        false => Verdict::Located,
    }
}

/// Verifies everything, then checks that everything is as it should be.
fn is_repaired(rig: &mut Rig) -> bool {
    rig.verify(0..STRIPES);
    rig.records();
    rig.verify(0..STRIPES);
    rig.records().is_empty() && rig.reads_all_right() && rig.records().is_empty() && !rig.is_damaged()
}

/// Damages the row of a slot of [`STRIPE`]; returns the rows that are wrong now, that one first.
fn inject(rig: &mut Rig, slot: usize, damage: RowDamage) -> Vec<ChunkPlace> {
    let layout = rig.geometry.layout;
    let (victim, target) = (layout.place(STRIPE, slot), layout.place(TARGET, slot));
    assert_eq!(victim.disk, target.disk, "one disk");
    let written = if slot < SHAPE.data { slot } else { WRITTEN_FOR_PARITY };
    match damage {
        RowDamage::Stale { from, to } => {
            let old = rig.row(victim);
            rig.write(STRIPE, written, 1);
            let (from, to) = (from * SECTOR, to * SECTOR);
            rig.strike(victim, from as i64, &old[from as usize..to as usize]);
            vec![victim]
        }
        RowDamage::Stray { distance } => {
            let old = rig.row(target);
            rig.write(TARGET, written, 1);
            let stray = rig.row(target);
            rig.strike(target, 0, &old);
            rig.strike(victim, distance * SECTOR as i64, &stray);
            let neighbour = (distance != 0)
                .then(|| ChunkPlace { row: victim.row.saturating_add_signed(distance.signum()), ..victim });
            [victim, target].into_iter().chain(neighbour).collect()
        }
        RowDamage::Misread { distance, is_once } => {
            rig.misdirect_reads(MisdirectedReads { place: victim, distance: distance * SECTOR as i64, is_once });
            vec![victim]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Detected, Located, Missed, Repaired};
    use super::*;

    #[test]
    fn every_kind_is_located_and_repaired_on_the_volume_but_in_a_bare_array() {
        for row in volume_table() {
            let expected = match (row.scheme, row.is_parity) {
                (Scheme::None, false) => [Missed; 7],
                // If data and parities disagree, either may be wrong.
                (Scheme::None, true) => [Detected; 7],
                // Its content is not protected, its list is. (The row behind the fifth kind's victim is a parity, too.)
                (Scheme::Pure, true) => [Repaired, Detected, Repaired, Detected, Located, Repaired, Repaired],
                _ => [Repaired; 7],
            };
            assert_eq!(row.verdicts, expected, "{}, parity: {}", row.scheme, row.is_parity);
        }
    }

    /// The damage is really injected: without protection, reads return wrong bytes.
    #[test]
    fn a_bare_array_returns_damaged_bytes() {
        for damage in SilentCorruption::ALL.into_iter().flat_map(|kind| damages(kind, Scheme::None)) {
            let mut rig = Rig::new(Scheme::None);
            let damaged = inject(&mut rig, DATA_VICTIM, damage);
            assert!(rig.is_damaged() && !rig.reads_right(STRIPE, DATA_VICTIM), "{damage:?} of {damaged:?}");
        }
    }

    #[test]
    fn a_single_misread_is_answered_right_and_reported_where_rows_check_themselves() {
        for scheme in Scheme::ALL {
            let expected = MisreadEffect { is_right: scheme.has_appendix(), is_reported: scheme.checks_itself() };
            assert_eq!(misread_effect(scheme), expected, "{scheme}");
        }
        assert!(
            misread_text().contains("under pure, hybrid1, hybrid2, stamp, and reported under hybrid1, hybrid2, stamp")
        );
    }
}
