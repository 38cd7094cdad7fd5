//! The appendix of a chunk: written behind it so that later reads can tell whether the chunk is what it should be.
//!
//! Fields lie at the end of the row (chunk and appendix), so that a write that was cut short leaves an old checksum.
//! docs/format.md draws the bytes. A row is sealed once before it is written and opened whenever it is read; an appendix that
//! is read alone proves itself by its body sum.

use crate::index::{MemberIndex, RowIndex, StripePosition, indexed};
use scrubjay_code::{crc32c, crc32c_extend};

/// Bytes behind the chunk in every row, at least: the fields of a data chunk.
pub const DATA_TAG_BYTES: usize = 48;

/// Bytes that each data chunk of the stripe adds to a parity's appendix: a version (8) and a checksum (4).
pub const ENTRY_BYTES: usize = 12;

/// The version's top bit: the chunk's content was lost (the parities encode the mark in its place), and reads of it fail
/// until it is written again.
const LOST_BIT: u64 = 1 << 63;

/// Write numbers and generations stay below this: no array lives long enough to reach it, so a greater number was made up.
pub const NUMBER_END: u64 = 1 << 62;

/// A volume whose numbers are not below this is opened for reading only: there is no room for later numbers.
pub const NUMBER_WRITABLE_END: u64 = NUMBER_END / 2;

const SELF_SUM: usize = 4;
const BODY_SUM: usize = 8;
const ROLE: usize = 12;
const PLACE: usize = 20;
const ARRAY: usize = 28;
/// Start of a data chunk's version (8 bytes), in bytes before the end of its row.
pub const VERSION: usize = 36;
const PREDECESSOR_SUM: usize = 44;

/// Bytes that an appendix needs, for parities that list `data` data chunks.
pub const fn appendix_need(data: usize) -> usize {
    DATA_TAG_BYTES + ENTRY_BYTES * data
}

/// The number of a write. Zero: never written. Versions are compared without their lost bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

impl Version {
    /// Whether the content was lost with this write.
    pub const fn is_lost(self) -> bool {
        self.0 & LOST_BIT != 0
    }

    /// The same number with the lost bit set.
    pub const fn lost(self) -> Version {
        Version(self.0 | LOST_BIT)
    }

    /// The number without the lost bit.
    pub const fn number(self) -> u64 {
        self.0 & !LOST_BIT
    }
}

/// The physical identity of a row: where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowIdentity {
    /// The array: the first eight bytes of its UUID.
    pub array: u64,
    /// The member.
    pub member: MemberIndex,
    /// The row on that member, below 2^48.
    pub row: RowIndex,
    /// The position in the stripe.
    pub position: StripePosition,
}

impl RowIdentity {
    fn place(self) -> u64 {
        assert!(self.row.get() < 1 << 48, "a member has fewer than 2^48 rows");
        (self.member.get() as u64) << 48 | self.row.get()
    }
}

/// The entry of one data chunk in the lists of the parities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListEntry {
    /// The chunk's version; zero in schemes without versions.
    pub version: Version,
    /// The CRC-32C of the chunk's content; schemes that do not list checksums do not rely on it.
    pub sum: u32,
}

indexed!(StripePosition: ListEntry, Option<ListEntry>);

/// Writes a data chunk's appendix. `entry.sum` is the CRC-32C of the chunk's content, `predecessor_sum` that of its neighbour's.
pub fn seal_data(row: &mut [u8], chunk_bytes: usize, identity: RowIdentity, entry: ListEntry, predecessor_sum: u32) {
    let appendix = &mut row[chunk_bytes..];
    appendix.fill(0);
    put(appendix, PREDECESSOR_SUM, &predecessor_sum.to_le_bytes());
    seal(appendix, VERSION, identity, entry.version, entry.sum);
}

/// Writes a parity's appendix. `sum` is the CRC-32C of its content, `entries` the list of the data chunks that it encodes.
pub fn seal_parity(row: &mut [u8], chunk_bytes: usize, identity: RowIdentity, sum: u32, entries: &[ListEntry]) {
    let appendix = &mut row[chunk_bytes..];
    appendix.fill(0);
    let sums_at = VERSION + 4 * entries.len();
    let versions_at = sums_at + 8 * entries.len();
    for (index, entry) in entries.iter().enumerate() {
        put(appendix, sums_at - 4 * index, &entry.sum.to_le_bytes());
        put(appendix, versions_at - 8 * index, &entry.version.0.to_le_bytes());
    }
    let newest = entries.iter().map(|entry| entry.version.number()).max().unwrap_or(0);
    seal(appendix, versions_at, identity, Version(newest), sum);
}

/// Replaces the copy of the predecessor's checksum in a data chunk's appendix; no checksum covers it.
pub fn renew_predecessor_sum(appendix: &mut [u8], predecessor_sum: u32) {
    put(appendix, PREDECESSOR_SUM, &predecessor_sum.to_le_bytes());
}

fn seal(appendix: &mut [u8], body_at: usize, identity: RowIdentity, version: Version, content_sum: u32) {
    put(appendix, VERSION, &version.0.to_le_bytes());
    put(appendix, ARRAY, &identity.array.to_le_bytes());
    put(appendix, PLACE, &identity.place().to_le_bytes());
    put(appendix, ROLE, &(identity.position.get() as u32).to_le_bytes());
    let (body_sum, self_sum) = sums(appendix, body_at, content_sum);
    put(appendix, BODY_SUM, &body_sum.to_le_bytes());
    put(appendix, SELF_SUM, &self_sum.to_le_bytes());
}

/// The checksum of the body, and that of content and body.
fn sums(appendix: &[u8], body_at: usize, content_sum: u32) -> (u32, u32) {
    let body = &appendix[appendix.len() - body_at..appendix.len() - BODY_SUM];
    (crc32c(body), crc32c_extend(content_sum, body))
}

fn put(appendix: &mut [u8], from_end: usize, bytes: &[u8]) {
    let start = appendix.len() - from_end;
    appendix[start..start + bytes.len()].copy_from_slice(bytes);
}

fn take_u32(appendix: &[u8], from_end: usize) -> u32 {
    let start = appendix.len() - from_end;
    u32::from_le_bytes(appendix[start..start + 4].try_into().expect("four bytes"))
}

fn take_u64(appendix: &[u8], from_end: usize) -> u64 {
    let start = appendix.len() - from_end;
    u64::from_le_bytes(appendix[start..start + 8].try_into().expect("eight bytes"))
}

/// The status of a row, from what it says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// It is whole and in its place, as far as the scheme can tell (`none` and `pure` cannot: every row that can be read is
    /// sound). Whether it is current, only other rows show.
    Sound,
    /// It is in its place, but its content does not fit its appendix: a write was cut short, or another write overwrote its
    /// beginning.
    Torn,
    /// It belongs to another place of this array: it was written, or read, in the wrong place.
    Elsewhere {
        /// The member that the row belongs to.
        member: MemberIndex,
        /// Number of the row there, from 0.
        row: RowIndex,
        /// Whether the row is whole; otherwise only its end is foreign.
        is_whole: bool,
    },
    /// It names neither this place nor another one of this array.
    Corrupt,
    /// The disk could not read it.
    Unreadable,
    /// There is no evidence of it: its member is out or does not hold the row yet, or it was not read, or only an appendix was,
    /// which alone proves nothing.
    NotRead,
}

/// A data chunk's appendix, opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataTag {
    /// The row's status, in schemes where rows check themselves.
    pub status: RowStatus,
    /// The version (0 in a torn row whose appendix is damaged too), and the CRC-32C of the content that was read.
    pub entry: ListEntry,
    /// The predecessor's checksum, as this appendix has it.
    pub predecessor_sum: u32,
}

/// Opens the appendix of a data chunk whose content has the CRC-32C `content_sum`. `None`: the appendix was read alone; then
/// only its body is judged, and the entry's sum is 0.
pub fn open_data(appendix: &[u8], identity: RowIdentity, content_sum: Option<u32>) -> DataTag {
    let status = status(appendix, VERSION, identity, content_sum);
    // The appendix lies in one sector, so a write that was cut short leaves the old body there, or the new one. A body that
    // does not match its checksum is neither: its version field means nothing.
    let is_version_known = status != RowStatus::Torn || status_of_body(appendix, VERSION, identity) == RowStatus::Sound;
    let version = if is_version_known { written_version(appendix) } else { Version(0) };
    DataTag {
        status,
        entry: ListEntry { version, sum: content_sum.unwrap_or(0) },
        predecessor_sum: take_u32(appendix, PREDECESSOR_SUM),
    }
}

/// The version field of a data chunk's appendix, whether or not it can be believed.
pub fn written_version(appendix: &[u8]) -> Version {
    Version(take_u64(appendix, VERSION))
}

/// Opens a parity's appendix, and fills `entries` with its list, one entry per data chunk. With `content_sum` the whole row
/// is judged, without it (an appendix read alone) only the body. The second value: whether the list can be believed. It can
/// when the body is whole and in its place, even if the row is torn.
///
/// # Panics
/// When the appendix is too short for a list as long as `entries`.
pub fn open_parity(
    appendix: &[u8],
    identity: RowIdentity,
    content_sum: Option<u32>,
    entries: &mut [ListEntry],
) -> (RowStatus, bool) {
    let sums_at = VERSION + 4 * entries.len();
    let versions_at = sums_at + 8 * entries.len();
    for (index, entry) in entries.iter_mut().enumerate() {
        entry.sum = take_u32(appendix, sums_at - 4 * index);
        entry.version = Version(take_u64(appendix, versions_at - 8 * index));
    }
    let status = status(appendix, versions_at, identity, content_sum);
    let is_list_sound = status == RowStatus::Sound
        || status == RowStatus::Torn && status_of_body(appendix, versions_at, identity) == RowStatus::Sound;
    (status, is_list_sound)
}

fn status_of_body(appendix: &[u8], body_at: usize, identity: RowIdentity) -> RowStatus {
    status(appendix, body_at, identity, None)
}

fn status(appendix: &[u8], body_at: usize, identity: RowIdentity, content_sum: Option<u32>) -> RowStatus {
    let (body_sum, self_sum) = sums(appendix, body_at, content_sum.unwrap_or(0));
    let is_whole = content_sum.is_none_or(|_| self_sum == take_u32(appendix, SELF_SUM));
    let is_body_whole = body_sum == take_u32(appendix, BODY_SUM);
    let place = take_u64(appendix, PLACE);
    let is_of_array = take_u64(appendix, ARRAY) == identity.array;
    let is_in_place =
        is_of_array && place == identity.place() && take_u32(appendix, ROLE) == identity.position.get() as u32;
    // The second value: whether the checksums match, the body sum and (if the content was read) the self sum.
    match (is_in_place, is_whole && is_body_whole) {
        (true, true) => RowStatus::Sound,
        (true, false) => RowStatus::Torn,
        // In a parity's place, a data row's body has no list of this length, so its sum does not match; but its fixed fields
        // lie in the same place. The place that they name is checked before it is used.
        (false, is_whole) if is_of_array && place != identity.place() => RowStatus::Elsewhere {
            member: MemberIndex((place >> 48) as usize),
            row: RowIndex(place & ((1 << 48) - 1)),
            is_whole,
        },
        _ => RowStatus::Corrupt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 512;
    const IDENTITY: RowIdentity =
        RowIdentity { array: 0xfeed, member: MemberIndex(3), row: RowIndex(77), position: StripePosition(1) };

    fn data_row(fill: u8, version: u64) -> Vec<u8> {
        let mut row = vec![fill; CHUNK + 512];
        let sum = crc32c(&row[..CHUNK]);
        seal_data(&mut row, CHUNK, IDENTITY, ListEntry { version: Version(version), sum }, 0x1234);
        row
    }

    fn open(row: &[u8], identity: RowIdentity) -> DataTag {
        open_data(&row[CHUNK..], identity, Some(crc32c(&row[..CHUNK])))
    }

    #[test]
    fn a_sealed_row_opens_sound_in_its_own_place_only() {
        let row = data_row(7, 42);
        let tag = open(&row, IDENTITY);
        assert_eq!((tag.status, tag.entry.version, tag.predecessor_sum), (RowStatus::Sound, Version(42), 0x1234));
        let elsewhere = RowStatus::Elsewhere { member: MemberIndex(3), row: RowIndex(77), is_whole: true };
        assert_eq!(open(&row, RowIdentity { row: RowIndex(78), ..IDENTITY }).status, elsewhere);
        assert_eq!(open(&row, RowIdentity { member: MemberIndex(2), ..IDENTITY }).status, elsewhere);
        assert_eq!(open(&row, RowIdentity { position: StripePosition(2), ..IDENTITY }).status, RowStatus::Corrupt);
        assert_eq!(open(&row, RowIdentity { array: 1, ..IDENTITY }).status, RowStatus::Corrupt);
    }

    #[test]
    fn every_changed_bit_is_found_except_in_the_neighbours_copy_and_the_padding() {
        let row = data_row(7, 42);
        let covered = (0..CHUNK).chain(CHUNK + 512 - VERSION..CHUNK + 512);
        for byte in covered {
            for bit in 0..8 {
                let mut changed = row.clone();
                changed[byte] ^= 1 << bit;
                assert_ne!(open(&changed, IDENTITY).status, RowStatus::Sound, "byte {byte} bit {bit}");
            }
        }
        let mut changed = row.clone();
        renew_predecessor_sum(&mut changed[CHUNK..], 9);
        assert_eq!((open(&changed, IDENTITY).status, open(&changed, IDENTITY).predecessor_sum), (RowStatus::Sound, 9));
    }

    #[test]
    fn a_row_is_torn_wherever_its_write_was_cut_short() {
        let (old, new) = (data_row(1, 1), data_row(2, 2));
        for cut in (1..CHUNK + 512 - PREDECESSOR_SUM).step_by(64) {
            let mut torn = new.clone();
            torn[cut..].copy_from_slice(&old[cut..]);
            assert_eq!(open(&torn, IDENTITY).status, RowStatus::Torn, "cut at {cut}");
        }
    }

    #[test]
    fn a_torn_row_is_believed_about_its_version_only_if_its_appendix_is_whole() {
        let row = data_row(1, 70);
        let version = |row: &[u8]| open(row, IDENTITY).entry.version;
        let mut torn = row.clone();
        torn[..64].fill(9);
        assert_eq!((open(&torn, IDENTITY).status, version(&torn)), (RowStatus::Torn, Version(70)));
        for byte in 0..8 {
            let mut spoilt = row.clone();
            spoilt[row.len() - VERSION + byte] ^= 1;
            assert_eq!((open(&spoilt, IDENTITY).status, version(&spoilt)), (RowStatus::Torn, Version(0)), "{byte}");
        }
    }

    #[test]
    fn the_list_of_a_parity_is_believed_although_its_content_is_torn() {
        let entries: Vec<ListEntry> =
            (0..4).map(|position| ListEntry { version: Version(100 + position), sum: 7 * position as u32 }).collect();
        let mut row = vec![9; CHUNK + 512];
        let sum = crc32c(&row[..CHUNK]);
        seal_parity(&mut row, CHUNK, IDENTITY, sum, &entries);

        let mut read = vec![ListEntry::default(); 4];
        assert_eq!(open_parity(&row[CHUNK..], IDENTITY, Some(sum), &mut read), (RowStatus::Sound, true));
        assert_eq!(read, entries);
        assert_eq!(open_parity(&row[CHUNK..], IDENTITY, None, &mut read), (RowStatus::Sound, true));
        assert_eq!(open_parity(&row[CHUNK..], IDENTITY, Some(sum ^ 1), &mut read), (RowStatus::Torn, true));
        let list_at = row.len() - VERSION - 4 * 4;
        row[list_at] ^= 1;
        assert_eq!(open_parity(&row[CHUNK..], IDENTITY, None, &mut read), (RowStatus::Torn, false));
    }

    #[test]
    fn the_lost_bit_does_not_change_a_versions_number() {
        assert!(Version(5).lost().is_lost() && !Version(5).is_lost());
        assert_eq!(Version(5).lost().number(), 5);
    }
}
