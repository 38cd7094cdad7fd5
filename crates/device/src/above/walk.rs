//! The way up: from a device to the devices that lie on it, by `/sys`, up to those on which none lies.

use super::mapper;
use super::members::{MdDeviceRole, MdMemberView};
use super::nodes::{BlockNode, BlockTree};
use super::story::{EndKind, Keeper, LayerKind, SectorEnd, SectorLayer, SectorStory, StripePlace};
use scrubjay_core::layout::md_map::{MdMap, MdRole, MdSpot};
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};

/// The deepest stack of devices that is followed.
const DEPTH_MAX: usize = 12;
/// Pieces that are followed, at most; a range that is split into more is not followed further.
const PIECES_MAX: usize = 8192;

/// Queries on the way up.
pub trait Surroundings {
    /// The table of a device of the device mapper, or why it cannot be read.
    fn table(&self, node: &BlockNode) -> Result<String, String>;
    /// What lies on a device on which no other device lies.
    fn ends(&self, node: &BlockNode, range: SectorRange, depth: usize) -> (Vec<SectorLayer>, Vec<SectorEnd>);
}

/// Walks up from these sectors of a device.
pub fn walk(tree: &BlockTree, surroundings: &dyn Surroundings, node: &BlockNode, range: SectorRange) -> SectorStory {
    let mut walk = Walk { tree, surroundings, story: SectorStory::default() };
    let words = match node.partition_of() {
        Some((disk, start)) => {
            format!("a partition of {disk}: there it is sector {}", start.saturating_add(range.start.0))
        }
        None => format!("{} sectors in all", node.sectors),
    };
    walk.layer(0, &node.name, Some(range), LayerKind::Device, words, None);
    walk.climb(node, range, 1, &[]);
    walk.story
}

struct Walk<'a> {
    tree: &'a BlockTree,
    surroundings: &'a dyn Surroundings,
    story: SectorStory,
}

impl Walk<'_> {
    fn layer(
        &mut self,
        depth: usize,
        device: &str,
        range: Option<SectorRange>,
        kind: LayerKind,
        words: String,
        place: Option<StripePlace>,
    ) {
        self.story.layers.push(SectorLayer { depth, device: device.to_owned(), range, kind, words, place });
    }

    fn end(&mut self, mut end: SectorEnd, keepers: &[Keeper]) {
        end.keepers = keepers.iter().cloned().chain(end.keepers).collect();
        self.story.ends.push(end);
    }

    fn climb(&mut self, node: &BlockNode, range: SectorRange, depth: usize, keepers: &[Keeper]) {
        if depth > DEPTH_MAX || self.story.ends.len() + self.story.layers.len() > PIECES_MAX {
            return self.end(SectorEnd::unknown(&node.name, range, "too many layers or pieces to follow"), keepers);
        }
        let inside = range.intersection(node.all());
        if inside != range {
            let after_end = SectorRange::new(range.start.0.max(node.sectors), range.end.0);
            self.end(SectorEnd::of(&node.name, after_end, EndKind::Outside, "behind the end of the device"), keepers);
        }
        if inside.is_empty() {
            return;
        }
        let parts = node.partitions();
        if !parts.is_empty() {
            return self.partitions(node, &parts, inside, depth, keepers);
        }
        let holders = self.tree.holders(node);
        if holders.is_empty() {
            let (layers, ends) = self.surroundings.ends(node, inside, depth);
            self.story.layers.extend(layers);
            ends.into_iter().for_each(|end| self.end(end, keepers));
            return;
        }
        let holders: Vec<Option<BlockNode>> = holders.iter().map(|name| self.tree.node(name)).collect();
        let (mapped, unmapped): (Vec<_>, Vec<_>) = holders.into_iter().flatten().partition(|holder| holder.has("dm"));
        if !mapped.is_empty() {
            self.mapper(node, &mapped, inside, depth, keepers);
        }
        for holder in &unmapped {
            match holder.has("md") {
                true => self.md(node, holder, inside, depth, keepers),
                false => {
                    let reason = format!("{} lies on it, which is not followed", holder.name);
                    self.end(SectorEnd::unknown(&node.name, inside, reason), keepers);
                }
            }
        }
        if mapped.is_empty() && unmapped.is_empty() {
            self.end(SectorEnd::unknown(&node.name, inside, "something lies on it, which is not followed"), keepers);
        }
    }

    fn partitions(
        &mut self,
        node: &BlockNode,
        parts: &[(BlockNode, SectorRange)],
        range: SectorRange,
        depth: usize,
        keepers: &[Keeper],
    ) {
        let mut at = range.start.0;
        for (part, place) in parts {
            let piece = range.intersection(*place);
            if piece.is_empty() {
                continue;
            }
            if piece.start.0 > at {
                self.between(node, SectorRange::new(at, piece.start.0), keepers);
            }
            at = at.max(piece.end.0);
            let inside = SectorRange::at(piece.start.0 - place.start.0, piece.count());
            let words = format!("a partition of {}, from its sector {} on", node.name, place.start);
            self.layer(depth, &part.name, Some(inside), LayerKind::Partition, words, None);
            self.climb(part, inside, depth + 1, keepers);
        }
        if at < range.end.0 {
            self.between(node, SectorRange::new(at, range.end.0), keepers);
        }
    }

    fn between(&mut self, node: &BlockNode, range: SectorRange, keepers: &[Keeper]) {
        let words = format!(
            "outside of all partitions of {}: the partition table or its copy, a boot loader, or unused: no file system lies there",
            node.name
        );
        self.end(SectorEnd::of(&node.name, range, EndKind::Outside, words), keepers);
    }

    fn mapper(
        &mut self,
        node: &BlockNode,
        holders: &[BlockNode],
        range: SectorRange,
        depth: usize,
        keepers: &[Keeper],
    ) {
        let mut rest = vec![range];
        let mut is_known = true;
        for holder in holders {
            let name = holder.text("dm/name").unwrap_or_else(|| holder.name.clone());
            let table = match self.surroundings.table(holder) {
                Ok(table) => table,
                Err(reason) => {
                    is_known = false;
                    let reason = format!("{name} of the device mapper lies on it, which is not followed: {reason}");
                    self.end(SectorEnd::unknown(&node.name, range, reason), keepers);
                    continue;
                }
            };
            let found = mapper::mapped(&table, node.numbers, range);
            for target in found.foreign {
                is_known = false;
                let reason =
                    format!("{name} of the device mapper lies on it, whose target \"{target}\" is not followed");
                self.end(SectorEnd::unknown(&node.name, range, reason), keepers);
            }
            for run in found.runs {
                rest = rest.iter().flat_map(|piece| without(*piece, run.below)).collect();
                let above = SectorRange::at(run.above, run.below.count());
                let words = format!("{name} of the device mapper ({})", run.target);
                self.layer(depth, &holder.name, Some(above), LayerKind::Mapper, words, None);
                self.climb(holder, above, depth + 1, keepers);
            }
        }
        for piece in rest.into_iter().filter(|_| is_known) {
            let reason = "in no volume of the device mapper that is active: LVM's own notes, room that no volume has, or a volume that is not active";
            self.end(SectorEnd::unknown(&node.name, piece, reason), keepers);
        }
    }

    fn md(&mut self, node: &BlockNode, array: &BlockNode, range: SectorRange, depth: usize, keepers: &[Keeper]) {
        let view = MdMemberView::of(array, &node.name);
        let summary = format!("{} of {} members", view.level, view.disks);
        let stop = |walk: &mut Self, range, kind, words: String| {
            walk.layer(depth, &array.name, None, LayerKind::Md, summary.clone(), None);
            walk.end(SectorEnd::of(&node.name, range, kind, words), keepers);
        };
        let unknown = EndKind::Unknown;
        let (slot, start) = match view.role {
            MdDeviceRole::Member { slot, start } if slot < view.disks => (slot, start),
            MdDeviceRole::Spare => {
                let words = format!("a spare of {}: nothing of the array lies on it", array.name);
                return stop(self, range, EndKind::Outside, words);
            }
            MdDeviceRole::Stopped => {
                let words = format!("a member of {}, which does not run: what lies here may be needed", array.name);
                return stop(self, range, unknown, words);
            }
            // If the array is not complete without it, it may be all that is left of the data.
            MdDeviceRole::Faulty if !view.missing.is_empty() => {
                let words = format!(
                    "thrown out of {}, which is not whole without it: what lies here may be needed to bring it back",
                    array.name
                );
                return stop(self, range, unknown, words);
            }
            MdDeviceRole::Faulty => {
                let words = format!("thrown out of {}: what lies on it is not used any more", array.name);
                return stop(self, range, EndKind::Outside, words);
            }
            MdDeviceRole::InTransition => {
                let words = format!("being filled, a replacement, or the journal of {}: not followed", array.name);
                return stop(self, range, unknown, words);
            }
            _ => return stop(self, range, unknown, format!("what it is in {} is not known", array.name)),
        };
        let map = match &view.map {
            Ok(map) => map,
            Err(reason) => return stop(self, range, unknown, format!("{} is not followed: {reason}", array.name)),
        };
        let before = range.intersection(SectorRange::new(0, start));
        if !before.is_empty() {
            let words =
                format!("before the data of {}: md's superblock, its bitmap, or room that it keeps", array.name);
            stop(self, before, EndKind::Outside, words);
        }
        let end = start.saturating_add(map.used(slot));
        let after_end = SectorRange::new(range.start.0.max(end).min(range.end.0), range.end.0);
        if !after_end.is_empty() {
            let words = format!("behind the data of {}: md's superblock, or left over", array.name);
            stop(self, after_end, EndKind::Outside, words);
        }
        let data = range.intersection(SectorRange::new(start, end.max(start)));
        if data.is_empty() {
            return;
        }
        let wanted = SectorRange::new(data.start.0 - start, data.end.0 - start);
        let spots = map.spots(slot, wanted);
        let mut at = wanted.start.0;
        for spot in &spots {
            if spot.range.start.0 > at {
                self.unmapped(node, array, SectorRange::new(at + start, spot.range.start.0 + start), keepers);
            }
            at = spot.range.end.0;
            self.spot(node, array, (&view, map, slot, start), spot, depth, keepers);
        }
        if at < wanted.end.0 {
            self.unmapped(node, array, SectorRange::new(at + start, wanted.end.0 + start), keepers);
        }
    }

    fn unmapped(&mut self, node: &BlockNode, array: &BlockNode, range: SectorRange, keepers: &[Keeper]) {
        let reason = format!("in which chunk of {} it lies is not certain, so nothing is said", array.name);
        self.end(SectorEnd::unknown(&node.name, range, reason), keepers);
    }

    fn spot(
        &mut self,
        node: &BlockNode,
        array: &BlockNode,
        (view, map, slot, start): (&MdMemberView, &MdMap, usize, u64),
        spot: &MdSpot,
        depth: usize,
        keepers: &[Keeper],
    ) {
        let missing = view.missing_at(slot, spot.range);
        let survives = map.survives(slot, spot, &missing);
        let mut keepers = keepers.to_vec();
        if !matches!(view.level.as_str(), "linear" | "RAID0") {
            let missing_others = || missing.iter().filter(|&&place| place != slot);
            let places: Vec<String> = missing_others().map(|place| place.to_string()).collect();
            let why_not = match survives {
                true if view.is_unsynced => "it is not in sync yet, so what it would compute may be wrong".to_owned(),
                true => String::new(),
                false => format!("what it would need of member {} is missing, or known to be bad", places.join(", ")),
            };
            // A degraded array is not checked.
            let command = match missing_others().next() {
                None => format!("scrubjay scrub {}", array.device().display()),
                Some(_) => format!("once its members are whole again, scrubjay scrub {}", array.device().display()),
            };
            keepers.push(Keeper {
                name: array.device().display().to_string(),
                what: view.level.clone(),
                is_able: survives && !view.is_unsynced,
                why_not,
                command,
            });
        }
        let count = spot.range.count();
        let own = spot.array.map(|at| SectorRange::new(at, at.saturating_add(count)));
        let chunk = map.chunk().map(|chunk| chunk * SECTOR_BYTES);
        let place =
            StripePlace { member: slot, stripe: spot.stripe, chunk_bytes: chunk, role: spot.role.word().to_owned() };
        let words = format!(
            "{} of {} members: member {}{}, {}",
            view.level,
            view.disks,
            slot,
            spot.stripe.map_or(String::new(), |stripe| format!(", stripe {stripe}")),
            role_words(spot.role, own),
        );
        self.layer(depth, &array.name, own, LayerKind::Md, words, Some(place));
        if own.is_none() && survives {
            let below = SectorRange::new(spot.range.start.0 + start, spot.range.end.0 + start);
            let words = format!("parity of {} only: no file's bytes, and the array computes it again", array.name);
            return self.end(SectorEnd::of(&node.name, below, EndKind::Parity, words), &keepers);
        }
        let endangered = if survives { own.into_iter().collect() } else { map.lost_with(slot, spot, &missing) };
        if endangered.is_empty() {
            let below = SectorRange::new(spot.range.start.0 + start, spot.range.end.0 + start);
            let words = format!("parity of {} only, and no data depend on it now", array.name);
            return self.end(SectorEnd::of(&node.name, below, EndKind::Parity, words), &keepers);
        }
        for piece in endangered {
            if Some(piece) != own {
                let words =
                    format!("sector {}: of a missing member, and cannot be computed without this one", piece.start);
                self.layer(depth, &array.name, Some(piece), LayerKind::Md, words, None);
            }
            self.climb(array, piece, depth + 1, &keepers);
        }
    }
}

fn role_words(role: MdRole, own: Option<SectorRange>) -> String {
    let at = own.map_or(String::new(), |own| format!(": sector {} of the array", own.start));
    match role {
        MdRole::Data => format!("data{at}"),
        MdRole::Mirror => format!("one copy of several{at}"),
        MdRole::P => "parity (P)".to_owned(),
        MdRole::Q => "the second parity (Q)".to_owned(),
    }
}

/// The parts of a range that are not in another.
fn without(range: SectorRange, other: SectorRange) -> Vec<SectorRange> {
    let overlap = range.intersection(other);
    if overlap.is_empty() {
        return vec![range];
    }
    let parts = [SectorRange::new(range.start.0, overlap.start.0), SectorRange::new(overlap.end.0, range.end.0)];
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}
