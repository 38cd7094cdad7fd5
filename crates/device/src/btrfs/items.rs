//! Decodes items of btrfs's trees, as a search returns them: `linux/btrfs_tree.h`. Checks all values.

use std::io;

/// The tree of extents: allocated ranges by logical address.
pub(super) const EXTENT_TREE: u64 = 2;
/// The tree of trees, subvolumes included.
pub(super) const ROOT_TREE: u64 = 1;
/// The tree of chunks, by logical address.
pub(super) const CHUNK_TREE: u64 = 3;
/// The tree of device extents, by device and physical address.
pub(super) const DEVICE_TREE: u64 = 4;
/// The top-level subvolume.
pub(super) const TOP_SUBVOLUME: u64 = 5;
/// The tree of checksums, by logical address.
pub(super) const CSUM_TREE: u64 = 7;

/// The object of all chunks (`BTRFS_FIRST_CHUNK_TREE_OBJECTID`).
pub(super) const CHUNK_OBJECT: u64 = 256;
/// The object of all checksums (`BTRFS_EXTENT_CSUM_OBJECTID`, -10).
pub(super) const CSUM_OBJECT: u64 = 10_u64.wrapping_neg();

/// Kinds of items.
pub(super) const CSUM_ITEM: u8 = 128;
pub(super) const ROOT_BACKREF: u8 = 144;
pub(super) const EXTENT_ITEM: u8 = 168;
pub(super) const METADATA_ITEM: u8 = 169;
pub(super) const DEVICE_EXTENT: u8 = 204;
pub(super) const CHUNK_ITEM: u8 = 228;

/// Flags of chunks: contents and profile.
pub(super) const CHUNK_DATA: u64 = 1;
pub(super) const CHUNK_SYSTEM: u64 = 1 << 1;
pub(super) const CHUNK_METADATA: u64 = 1 << 2;
pub(super) const CHUNK_RAID0: u64 = 1 << 3;
pub(super) const CHUNK_RAID1: u64 = 1 << 4;
pub(super) const CHUNK_DUP: u64 = 1 << 5;
pub(super) const CHUNK_RAID10: u64 = 1 << 6;
pub(super) const CHUNK_RAID5: u64 = 1 << 7;
pub(super) const CHUNK_RAID6: u64 = 1 << 8;
pub(super) const CHUNK_RAID1C3: u64 = 1 << 9;
pub(super) const CHUNK_RAID1C4: u64 = 1 << 10;

/// `BTRFS_EXTENT_FLAG_TREE_BLOCK`.
const IS_TREE_BLOCK: u64 = 2;
/// The length of every stripe (`BTRFS_STRIPE_LEN`), in bytes.
pub(super) const STRIPE_BYTES: u64 = 64 << 10;

/// The key of an item. Trees are sorted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ItemKey {
    /// The object that the item belongs to.
    pub object: u64,
    /// The kind of the item.
    pub kind: u8,
    /// Depends on the kind; mostly where the item's range begins.
    pub offset: u64,
}

impl ItemKey {
    /// Made of these parts.
    pub const fn new(object: u64, kind: u8, offset: u64) -> ItemKey {
        ItemKey { object, kind, offset }
    }

    /// The next possible key; `None` after the last.
    pub fn next(self) -> Option<ItemKey> {
        let ItemKey { object, kind, offset } = self;
        match (offset.checked_add(1), kind.checked_add(1)) {
            (Some(offset), _) => Some(ItemKey { object, kind, offset }),
            (None, Some(kind)) => Some(ItemKey { object, kind, offset: 0 }),
            (None, None) => object.checked_add(1).map(|object| ItemKey { object, kind: 0, offset: 0 }),
        }
    }
}

/// A piece of a device that belongs to a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeviceExtent {
    /// The device's number.
    pub device: u64,
    /// Its first byte on the device.
    pub physical: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The logical address of its chunk.
    pub chunk: u64,
}

impl DeviceExtent {
    /// Its end on the device, exclusive.
    pub fn end(&self) -> u64 {
        self.physical.saturating_add(self.length)
    }
}

/// A chunk: a range of logical addresses, and its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChunkItem {
    /// Its first logical address.
    pub logical: u64,
    /// Its length in bytes of logical addresses.
    pub length: u64,
    /// Flags: contents and profile.
    pub flags: u64,
    /// Copies of each column, for RAID-10.
    pub sub_stripes: u16,
    /// The first byte of each stripe: device, and byte offset on it.
    pub stripes: Vec<(u64, u64)>,
}

/// A tree block that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeBlock {
    /// Its logical address.
    pub logical: u64,
    /// The transaction that wrote it.
    pub generation: u64,
}

/// The number that begins at byte `at`, little-endian; `None` beyond the end.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut all = [0; 8];
    all[..BYTES].copy_from_slice(bytes.get(at..at + BYTES)?);
    Some(u64::from_le_bytes(all))
}

fn invalid_data(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The first `count` items of the result of a search. (Heads are in the byte order of this machine, items in btrfs's.)
///
/// # Errors
/// When they do not fit.
pub(super) fn found_items(bytes: &[u8], count: u32) -> io::Result<Vec<(ItemKey, &[u8])>> {
    /// `struct btrfs_ioctl_search_header`: transaction, object, offset, type, length.
    const HEAD: usize = 32;
    let mut rest = bytes;
    let mut all = Vec::with_capacity(count.min(4096) as usize);
    for _ in 0..count {
        let (head, remainder) =
            rest.split_at_checked(HEAD).ok_or_else(|| invalid_data("a search ends inside an item"))?;
        let word = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let kind = u8::try_from(half(24)).map_err(|_| invalid_data("a search returned an unknown kind of item"))?;
        let (item, remainder) = remainder
            .split_at_checked(half(28) as usize)
            .ok_or_else(|| invalid_data("a search ends inside an item"))?;
        all.push((ItemKey::new(word(8), kind, word(16)), item));
        rest = remainder;
    }
    Ok(all)
}

/// Decodes a device extent.
///
/// # Errors
/// When it is too short, or ends beyond all addresses.
pub(super) fn device_extent(key: ItemKey, item: &[u8]) -> io::Result<DeviceExtent> {
    let read = || Some((number::<8>(item, 16)?, number::<8>(item, 24)?));
    let (chunk, length) = read().ok_or_else(|| invalid_data("a device extent is too short"))?;
    let is_sound = length > 0 && key.offset.checked_add(length).is_some();
    let extent = DeviceExtent { device: key.object, physical: key.offset, length, chunk };
    if is_sound { Ok(extent) } else { Err(invalid_data("a device extent has no length, or no end")) }
}

/// Decodes a chunk.
///
/// # Errors
/// When it is too short, or its stripes are inconsistent.
pub(super) fn chunk(key: ItemKey, item: &[u8]) -> io::Result<ChunkItem> {
    const HEAD: usize = 48;
    const STRIPE: usize = 32;
    let read = || {
        let (length, stripe) = (number::<8>(item, 0)?, number::<8>(item, 16)?);
        let (flags, count) = (number::<8>(item, 24)?, number::<2>(item, 44)?);
        let stripes = (0..count as usize).map(|index| {
            let at = HEAD + index * STRIPE;
            Some((number::<8>(item, at)?, number::<8>(item, at + 8)?))
        });
        let stripes = stripes.collect::<Option<Vec<_>>>()?;
        Some((
            stripe,
            ChunkItem { logical: key.offset, length, flags, sub_stripes: number::<2>(item, 46)? as u16, stripes },
        ))
    };
    let (stripe, chunk) = read().ok_or_else(|| invalid_data("a chunk is too short"))?;
    let is_sound = stripe == STRIPE_BYTES
        && chunk.length > 0
        && chunk.logical.checked_add(chunk.length).is_some()
        && !chunk.stripes.is_empty()
        && (chunk.flags & CHUNK_RAID10 == 0
            || chunk.sub_stripes > 0 && chunk.stripes.len().is_multiple_of(chunk.sub_stripes.into()));
    if is_sound { Ok(chunk) } else { Err(invalid_data("a chunk makes no sense")) }
}

/// Decodes a tree block, if the extent is one.
///
/// # Errors
/// When the item is too short.
pub(super) fn tree_block(key: ItemKey, item: &[u8]) -> io::Result<Option<TreeBlock>> {
    if !matches!(key.kind, EXTENT_ITEM | METADATA_ITEM) {
        return Ok(None);
    }
    let read = || Some((number::<8>(item, 8)?, number::<8>(item, 16)?));
    let (generation, flags) = read().ok_or_else(|| invalid_data("an extent is too short"))?;
    Ok((flags & IS_TREE_BLOCK != 0).then_some(TreeBlock { logical: key.object, generation }))
}

/// Whether the extent covers the logical address.
pub(super) fn covers(key: ItemKey, node_bytes: u64, logical: u64) -> bool {
    let length = match key.kind {
        EXTENT_ITEM => key.offset,
        METADATA_ITEM => node_bytes,
        _ => return false,
    };
    (key.object..key.object.saturating_add(length)).contains(&logical)
}

/// Decodes the parent of a subvolume: the directory's inode, and the name there.
pub(super) fn root_backref(item: &[u8]) -> Option<(u64, &[u8])> {
    let length = number::<2>(item, 16)? as usize;
    Some((number::<8>(item, 0)?, item.get(18..18 + length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of Linux 6.18 for one chunk of a RAID-1 on two devices: head and item.
    const CHUNK_FOUND: &str = "0c00000000000000 0001000000000000 0000d00100000000 e4000000 70000000 \
        0000001000000000 0200000000000000 0000010000000000 1400000000000000 00000100 00000100 00100000 0200 0100 \
        0100000000000000 0000d00100000000 6e7a03a5c4374762848c0a95e1097a33 \
        0200000000000000 0000900000000000 fb87c74001044d8eb51c34c78364287b";
    /// The result for two of its device extents.
    const DEVICE_EXTENTS_FOUND: &str = "0c00000000000000 0100000000000000 0000d00100000000 cc000000 30000000 \
        0300000000000000 0001000000000000 0000d00100000000 0000001000000000 84a217dbb48b45f894ca69152e725a87 \
        0c00000000000000 0100000000000000 0000d01100000000 cc000000 30000000 \
        0300000000000000 0001000000000000 0000d01100000000 0000cc0c00000000 84a217dbb48b45f894ca69152e725a87";
    /// The result for a block group and two tree blocks of its extent tree.
    const EXTENTS_FOUND: &str = "0c00000000000000 0000d00100000000 0000001000000000 c0000000 18000000 \
        00c0080000000000 0001000000000000 1400000000000000 \
        0c00000000000000 00c0d10100000000 0000000000000000 a9000000 21000000 \
        0100000000000000 0500000000000000 0200000000000000 b0f7ffffffffffffff \
        0c00000000000000 0000d20100000000 0000000000000000 a9000000 21000000 \
        0100000000000000 0500000000000000 0200000000000000 b00900000000000000";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn header(object: u64, kind: u32, offset: u64, item: &[u8]) -> Vec<u8> {
        let words = [9_u64, object, offset].into_iter().flat_map(u64::to_ne_bytes);
        let halves = [kind, item.len() as u32].into_iter().flat_map(u32::to_ne_bytes);
        words.chain(halves).chain(item.iter().copied()).collect()
    }

    #[test]
    fn the_next_key_follows_in_the_order_of_the_tree() {
        let last = |kind, object| ItemKey::new(object, kind, u64::MAX).next();
        assert_eq!(ItemKey::new(1, 2, 3).next(), Some(ItemKey::new(1, 2, 4)));
        assert_eq!(last(2, 1), Some(ItemKey::new(1, 3, 0)));
        assert_eq!(last(u8::MAX, 1), Some(ItemKey::new(2, 0, 0)));
        assert_eq!(last(u8::MAX, u64::MAX), None);
    }

    #[test]
    fn a_search_is_cut_into_items_and_a_torn_one_is_refused() {
        let mut all = header(1, 204, 4096, &[1, 2, 3]);
        all.extend(header(2, 228, 7, &[]));
        let items = found_items(&all, 2).unwrap();
        assert_eq!(items[0], (ItemKey::new(1, 204, 4096), &[1_u8, 2, 3][..]));
        assert_eq!(items[1], (ItemKey::new(2, 228, 7), &[][..]));
        assert!(found_items(&all, 3).is_err());
        assert!(found_items(&all[..34], 1).is_err());
        assert!(found_items(&header(1, 256, 0, &[]), 1).is_err(), "no such kind");
    }

    #[test]
    fn device_extents() {
        let all = bytes(DEVICE_EXTENTS_FOUND);
        let extents: Vec<_> =
            found_items(&all, 2).unwrap().into_iter().map(|(key, item)| device_extent(key, item).unwrap()).collect();
        let at = |physical, length| DeviceExtent { device: 1, physical, length, chunk: physical };
        assert_eq!(extents, [at(30_408_704, 256 << 20), at(298_844_160, 214_695_936)]);
        let (key, item) = found_items(&all, 1).unwrap()[0];
        assert!(device_extent(key, &item[..20]).is_err());
        assert!(device_extent(ItemKey::new(1, DEVICE_EXTENT, u64::MAX), item).is_err(), "it has no end");
    }

    #[test]
    fn a_chunk_is_decoded_and_an_invalid_one_is_refused() {
        let all = bytes(CHUNK_FOUND);
        let (key, item) = found_items(&all, 1).unwrap()[0];
        assert_eq!(key, ItemKey::new(CHUNK_OBJECT, CHUNK_ITEM, 30_408_704));
        let chunk_of = chunk(key, item).unwrap();
        assert_eq!((chunk_of.length, chunk_of.flags), (256 << 20, CHUNK_METADATA | CHUNK_RAID1));
        assert_eq!(chunk_of.stripes, [(1, 30_408_704), (2, 9_437_184)]);
        assert!(chunk(key, &item[..90]).is_err(), "a stripe is missing");
        let mut other = item.to_vec();
        other[17] = 1;
        assert!(chunk(key, &other).is_err(), "stripes of another length");
        other = item.to_vec();
        other[44] = 0;
        assert!(chunk(key, &other).is_err(), "no stripes");
        other = item.to_vec();
        (other[24], other[46]) = (CHUNK_RAID10 as u8, 0);
        assert!(chunk(key, &other).is_err(), "a RAID-10 of no copies");
    }

    #[test]
    fn tree_blocks_and_extents_of_data() {
        let all = bytes(EXTENTS_FOUND);
        let items = found_items(&all, 3).unwrap();
        let blocks: Vec<_> = items.iter().filter_map(|(key, item)| tree_block(*key, item).unwrap()).collect();
        let at = |logical| TreeBlock { logical, generation: 5 };
        assert_eq!(blocks, [at(30_523_392), at(30_539_776)], "a block group is none");
        let (key, item) = items[1];
        let mut data = item.to_vec();
        data[16] = 1;
        assert_eq!(tree_block(ItemKey::new(4096, EXTENT_ITEM, 8192), &data).unwrap(), None);
        assert!(tree_block(key, &item[..10]).is_err());
        assert!(covers(key, 16384, 30_523_392 + 16383) && !covers(key, 16384, 30_523_392 + 16384));
        assert!(covers(ItemKey::new(4096, EXTENT_ITEM, 8192), 16384, 12287));
        assert!(!covers(ItemKey::new(4096, 178, 8192), 16384, 4096), "a back reference");
    }

    #[test]
    fn a_subvolume_has_a_place() {
        let item = bytes("0001000000000000 0500000000000000 0400 736e6170");
        assert_eq!(root_backref(&item), Some((256, &b"snap"[..])));
        assert_eq!(root_backref(&item[..20]), None);
    }
}
