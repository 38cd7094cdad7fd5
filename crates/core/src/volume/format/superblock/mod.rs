//! The superblock: what a member records of its array and of itself. Each member has four copies, two at each end.
//!
//! Copies of even and of odd generations take turns, so that while one is written the other is whole.

mod error;
mod record;

pub use error::{SuperblockError, VERSION};
pub use record::{FailureReason, MemberRecord, MemberState};

use super::fields::{FieldReader, FieldWriter};
use super::geometry::{Geometry, HEAD_BYTES, SUPERBLOCK_BYTES, TAIL_BYTES};
use super::losses::{self, LossRegister};
use super::uuid::Uuid;
use crate::buffer::Buffer;
use crate::index::{MemberIndex, indexed};
use crate::layout::Shape;
use crate::layout::{DISKS_MAX, Layout, LayoutKind};
use crate::units::{MemberOffset, UnixSeconds};
use crate::volume::integrity::scheme::Scheme;
use crate::volume::integrity::tag::{NUMBER_END, NUMBER_WRITABLE_END};
use record::RECORD_BYTES;
use scrubjay_code::{crc32c, crc32c_extend};

/// The first bytes of a superblock.
pub const MAGIC: [u8; 8] = *b"SCRUBJAY";
/// Bytes of a volume's name, at most.
pub const NAME_BYTES_MAX: usize = 64;

/// Starts that a superblock remembers.
pub const STARTS_MAX: usize = 8;
/// Offset of the checksum, which covers all bytes before and behind it.
const SUM_AT: usize = 12;
/// Offset of the array's UUID.
const ARRAY_AT: usize = 16;
/// Offset of the incompatible features.
const INCOMPATIBLE_AT: usize = 280;
/// Bytes of a layout's or a scheme's name, with zeros behind it.
const WORD_BYTES: usize = 16;
/// Offset of the table of members: one record of [`RECORD_BYTES`] each.
const TABLE_AT: usize = 512;
/// Offset of the register of losses, behind the table of the largest array.
const LOSSES_AT: usize = TABLE_AT + DISKS_MAX * RECORD_BYTES;
/// The register fits.
const _: () = assert!(LOSSES_AT + losses::REGISTER_BYTES <= SUPERBLOCK_BYTES);

/// What a member records of its array and of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The array's UUID.
    pub array: Uuid,
    /// The array's name: at most [`NAME_BYTES_MAX`] bytes, no control characters; may be empty.
    pub name: String,
    /// When the array was made.
    pub created: UnixSeconds,
    /// When the array was last started for writing; zero: never.
    pub last_started: UnixSeconds,
    /// Counts the changes of the superblock, from 1; each start skips two numbers.
    pub generation: u64,
    /// All write numbers used so far are less than this.
    pub write_mark: u64,
    /// Whether the array was stopped in order, so that no region is dirty.
    pub is_clean: bool,
    /// The geometry: where everything lies.
    pub geometry: Geometry,
    /// Features that a program must know to use the array.
    pub features: Features,
    /// A random number for each of the last starts for writing, the newest last: two histories have different ones. Zeros
    /// stand for starts that never were.
    pub starts: [u64; STARTS_MAX],
    /// The CRC-32C of all bits of the written map, page by page, after a stop in order; otherwise zero. (A start that must
    /// write pages of the map first keeps it until they are durable.)
    pub map_sum: u32,
    /// Which stripes hold lost chunks.
    pub losses: LossRegister,
    /// The index in `members` of the member that holds this superblock.
    pub member: MemberIndex,
    /// All members, by index.
    pub members: Vec<MemberRecord>,
}

/// What a program must know to use a volume: feature bits. [`losses::FEATURE`] is the only one that has a meaning, and stands in
/// `compatible` on the disk alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// A program that does not know one of these ignores it, and clears it at the next start for writing.
    pub compatible: u64,
    /// A program that does not know one of these reads, and writes nothing.
    pub read_only: u64,
    /// A program that does not know one of these leaves the volume alone.
    pub incompatible: u64,
}

impl Features {
    /// Whether a program that knows none of the bits may write.
    pub const fn may_be_written(self) -> bool {
        self.read_only == 0
    }
}

indexed!(MemberIndex: MemberRecord);

impl Superblock {
    /// Records one more start. Clears the compatible features: encoding drops what a newer program wrote for them.
    pub fn begin_start(&mut self, number: u64) {
        self.starts.rotate_left(1);
        self.starts[STARTS_MAX - 1] = number;
        self.features.compatible = 0;
    }

    /// Offsets of the copies on a member of this size: even generations at the start, odd ones at the start, even ones at the
    /// end, odd ones at the end. `None` if the member has no room for them.
    pub fn offsets(member_bytes: u64) -> Option<[MemberOffset; 4]> {
        let copy = SUPERBLOCK_BYTES as u64;
        let end = member_bytes / HEAD_BYTES * HEAD_BYTES;
        let tail = end.checked_sub(TAIL_BYTES).filter(|&tail| tail >= HEAD_BYTES + TAIL_BYTES)?;
        Some([HEAD_BYTES, HEAD_BYTES + copy, tail, tail + copy].map(MemberOffset))
    }

    /// Offsets at which this generation is written on a member of this size: at the start first, then at the end.
    ///
    /// # Panics
    /// When the member has no room for it.
    pub fn places(&self, member_bytes: u64) -> [MemberOffset; 2] {
        let offsets = Superblock::offsets(member_bytes).expect("a member has room for its superblocks");
        let turn = (self.generation % 2) as usize;
        [offsets[turn], offsets[2 + turn]]
    }

    /// The record of the member that holds this superblock.
    pub fn own(&self) -> &MemberRecord {
        &self.members[self.member]
    }

    /// This superblock as another member holds it.
    pub fn of_member(&self, member: MemberIndex) -> Superblock {
        Superblock { member, ..self.clone() }
    }

    /// Encodes the superblock into [`SUPERBLOCK_BYTES`].
    ///
    /// # Panics
    /// When the superblock contradicts itself: a name too long, more or fewer members than the layout has.
    pub fn encode(&self) -> Buffer {
        assert_eq!(self.check(), Ok(()), "{self:?}");
        let mut block = Buffer::zeroed(SUPERBLOCK_BYTES);
        let mut to = FieldWriter::new(&mut block);
        to.bytes(&MAGIC);
        to.u32(VERSION);
        to.u32(0); // the checksum, below
        to.bytes(&self.array.0);
        to.u64(self.generation);
        to.u64(self.write_mark);
        to.u64(self.created.0);
        to.u64(self.last_started.0);
        to.u32(self.member.get() as u32);
        to.u32(u32::from(self.is_clean));
        to.text(&self.name, NAME_BYTES_MAX);
        encode_geometry(&self.geometry, &mut to);
        let Features { compatible, read_only, incompatible } = self.features;
        let compatible = if self.losses.is_empty() { compatible } else { compatible | losses::FEATURE };
        [compatible, read_only, incompatible].into_iter().chain(self.starts).for_each(|number| to.u64(number));
        to.u32(self.map_sum);
        let mut to = FieldWriter::new(&mut block[TABLE_AT..]);
        self.members.iter().for_each(|member| member.encode(&mut to));
        self.losses.encode(&mut FieldWriter::new(&mut block[LOSSES_AT..]));
        let sum = checksum(&block);
        block[SUM_AT..SUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        block
    }

    /// Decodes a block of [`SUPERBLOCK_BYTES`].
    ///
    /// # Errors
    /// [`SuperblockError`].
    pub fn decode(block: &[u8]) -> Result<Superblock, SuperblockError> {
        if block.len() != SUPERBLOCK_BYTES || !block.starts_with(&MAGIC) {
            return Err(SuperblockError::Foreign);
        }
        let mut from = FieldReader::new(&block[MAGIC.len()..]);
        let (version, sum) = (from.u32(), from.u32());
        if sum != checksum(block) {
            return Err(SuperblockError::Damaged);
        }
        if version != VERSION {
            return Err(SuperblockError::Version(version));
        }
        // Before everything else: a newer program may use names that are unknown here.
        let incompatible = u64::from_le_bytes(block[INCOMPATIBLE_AT..][..8].try_into().expect("eight bytes"));
        if incompatible != 0 {
            return Err(SuperblockError::Feature(incompatible));
        }
        let mut superblock = Superblock {
            array: Uuid(from.array()),
            generation: from.u64(),
            write_mark: from.u64(),
            created: UnixSeconds(from.u64()),
            last_started: UnixSeconds(from.u64()),
            member: MemberIndex(from.u32() as usize),
            is_clean: match from.u32() {
                0 => false,
                1 => true,
                _ => return Err(SuperblockError::Nonsense("the flag of a clean stop is neither 0 nor 1")),
            },
            name: from.text(NAME_BYTES_MAX).ok_or(SuperblockError::Nonsense("the name"))?.to_owned(),
            geometry: decode_geometry(&mut from)?,
            features: Features { compatible: from.u64(), read_only: from.u64(), incompatible: from.u64() },
            starts: std::array::from_fn(|_| from.u64()),
            map_sum: from.u32(),
            losses: LossRegister::default(),
            members: Vec::new(),
        };
        if superblock.features.compatible & losses::FEATURE != 0 {
            superblock.features.compatible &= !losses::FEATURE;
            let stripes = superblock.geometry.stripes;
            superblock.losses = LossRegister::decode(&mut FieldReader::new(&block[LOSSES_AT..]), stripes)
                .map_err(SuperblockError::Nonsense)?;
        }
        let mut from = FieldReader::new(&block[TABLE_AT..]);
        for _ in 0..superblock.geometry.layout.disks() {
            let member = MemberRecord::decode(&mut from).map_err(SuperblockError::Nonsense)?;
            superblock.members.push(member);
        }
        superblock.check().map_err(SuperblockError::Nonsense)?;
        // What is not a field is zero, unless there are features that this program does not know.
        let is_grown = superblock.features != Features::default();
        if !is_grown && superblock.encode()[..] != *block {
            return Err(SuperblockError::Nonsense("something is written where nothing should be"));
        }
        Ok(superblock)
    }

    /// Whether its numbers leave room for later ones. If not, they were made up, and nothing is written after them.
    pub fn leaves_room(&self) -> bool {
        self.generation.max(self.write_mark) < NUMBER_WRITABLE_END
    }

    fn check(&self) -> Result<(), &'static str> {
        let stripes = self.geometry.stripes;
        let is_done = |member: &MemberRecord| match member.state {
            MemberState::Rebuilding { stripes_done } => stripes_done <= stripes,
            _ => true,
        };
        let rules = [
            ((1..NUMBER_END).contains(&self.generation), "the generation"),
            (self.write_mark < NUMBER_END, "the write mark"),
            (self.name.len() <= NAME_BYTES_MAX && !self.name.contains(char::is_control), "the name"),
            (self.members.len() == self.geometry.layout.disks(), "the number of members"),
            (self.member.get() < self.members.len(), "the member's number"),
            (self.members.iter().all(is_done), "more is rebuilt than there is"),
            (self.geometry.check().is_ok(), "the geometry"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |&(_, part)| Err(part))
    }
}

/// The newest of a member's copies, which are given in any order.
///
/// # Errors
/// When a copy of the same array, with a right checksum, is of a newer version, or needs features that this program does not
/// know: a newer program wrote it, whatever older copies there are. Otherwise, when no copy is sound, the error that reveals
/// most.
pub fn newest<'a>(copies: impl IntoIterator<Item = &'a [u8]>) -> Result<Superblock, SuperblockError> {
    let mut best: Option<Superblock> = None;
    let mut worst = SuperblockError::Foreign;
    let mut newer: Vec<(&[u8], SuperblockError)> = Vec::new();
    for copy in copies {
        match Superblock::decode(copy) {
            Ok(found) if best.as_ref().is_none_or(|best| best.generation < found.generation) => best = Some(found),
            Ok(_) => {}
            Err(error) => {
                let is_newer = matches!(error, SuperblockError::Feature(_))
                    || matches!(error, SuperblockError::Version(version) if version > VERSION);
                newer.extend(is_newer.then(|| (&copy[ARRAY_AT..][..16], error)));
                worst = if error.rank() > worst.rank() { error } else { worst };
            }
        }
    }
    let best = best.ok_or(worst)?;
    // A stray copy of another array, at the end of a member that has grown, does not count.
    match newer.into_iter().find(|(array, _)| *array == best.array.0) {
        Some((_, error)) => Err(error),
        None => Ok(best),
    }
}

/// Writes layout and scheme by name, so that no table of numbers has to be kept in step.
fn encode_geometry(geometry: &Geometry, to: &mut FieldWriter<'_>) {
    let shape = geometry.layout.shape();
    to.text(geometry.layout.kind().name(), WORD_BYTES);
    to.text(geometry.scheme.name(), WORD_BYTES);
    for number in [shape.data, shape.parity, geometry.layout.disks()] {
        to.u32(number as u32);
    }
    for number in [geometry.chunk_bytes, geometry.block_bytes, geometry.appendix_bytes] {
        to.u32(number as u32);
    }
    for number in numbers(geometry) {
        to.u64(number);
    }
}

/// The u64 fields of a geometry, in their order on the disk.
fn numbers(geometry: &Geometry) -> [u64; 9] {
    [
        geometry.rows,
        geometry.stripes,
        geometry.region_stripes,
        geometry.intent_offset,
        geometry.intent_pages,
        geometry.written_offset,
        geometry.written_pages,
        geometry.data_offset,
        geometry.member_bytes,
    ]
}

fn decode_geometry(from: &mut FieldReader<'_>) -> Result<Geometry, SuperblockError> {
    let kind = from.text(WORD_BYTES).and_then(LayoutKind::by_name).ok_or(SuperblockError::Nonsense("the layout"))?;
    let scheme = from.text(WORD_BYTES).and_then(Scheme::by_name).ok_or(SuperblockError::Nonsense("the scheme"))?;
    let [data, parity, disks] = [from.u32(), from.u32(), from.u32()].map(|number| number as usize);
    let is_shape = [data, parity, disks].iter().all(|&count| count <= DISKS_MAX);
    let layout = is_shape.then(|| Layout::new(kind, Shape { data, parity }, disks).ok()).flatten();
    let geometry = Geometry {
        layout: layout.ok_or(SuperblockError::Nonsense("the layout's shape"))?,
        scheme,
        chunk_bytes: u64::from(from.u32()),
        block_bytes: u64::from(from.u32()),
        appendix_bytes: u64::from(from.u32()),
        rows: from.u64(),
        stripes: from.u64(),
        region_stripes: from.u64(),
        intent_offset: from.u64(),
        intent_pages: from.u64(),
        written_offset: from.u64(),
        written_pages: from.u64(),
        data_offset: from.u64(),
        member_bytes: from.u64(),
    };
    Ok(geometry)
}

/// The CRC-32C of all bytes except the four that hold it.
fn checksum(block: &[u8]) -> u32 {
    crc32c_extend(crc32c(&block[..SUM_AT]), &block[SUM_AT + 4..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::format::blank;
    use crate::volume::format::geometry::ArrayParameters;
    use proptest::prelude::*;

    fn superblock() -> Superblock {
        let layout = Layout::new(LayoutKind::Rotating, Shape { data: 4, parity: 2 }, 6).unwrap();
        let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 65_536, block_bytes: 512 };
        let geometry = Geometry::fit(&parameters, 1 << 30, None).unwrap();
        let names = [0, 1, 2, 3, 4, 5].map(|byte| Uuid([byte; 16]));
        blank::superblock(geometry, Uuid([0xaa; 16]), "photos", UnixSeconds(1_763_700_000), &names)
            .of_member(MemberIndex(3))
    }

    /// Decodes a block that first gets a right checksum. The result may be an error; never a panic.
    fn with_right_sum(block: &mut [u8]) -> Result<Superblock, SuperblockError> {
        let sum = checksum(block);
        block[SUM_AT..SUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        Superblock::decode(block)
    }

    #[test]
    fn the_bytes_are_those_of_the_document() {
        let block = superblock().encode();
        let number = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().unwrap());
        let short = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!((&block[..8], short(8), &block[16..32]), (&b"SCRUBJAY"[..], 2, &[0xaa; 16][..]));
        assert_eq!([32, 40, 48, 56].map(number), [1, 0, 1_763_700_000, 0]);
        assert_eq!(([64, 68].map(short), &block[72..79]), ([3, 1], &b"photos\0"[..]));
        assert_eq!((&block[136..145], &block[152..158]), (&b"rotating\0"[..], &b"stamp\0"[..]));
        assert_eq!([168, 172, 176, 180, 184, 188].map(short), [4, 2, 6, 65_536, 512, 512]);
        let geometry = superblock().geometry;
        assert_eq!([192, 200, 208].map(number), [geometry.rows, geometry.stripes, geometry.region_stripes]);
        assert_eq!([216, 224, 232, 240].map(number), [65_536, 1, 131_072, 1]);
        assert_eq!([248, 256].map(number), [1 << 20, 1 << 30]);
        assert_eq!([264, 272, 280, 288, 344].map(number), [0; 5]);
        let started = Superblock { starts: [1, 2, 3, 4, 5, 6, 7, 8], map_sum: 9, ..superblock() }.encode();
        assert_eq!((started[288], started[344], short(352), started[352]), (1, 8, superblock().map_sum, 9));
        assert_eq!((&block[512 + 3 * 32..][..16], &block[512 + 3 * 32 + 28..][..2]), (&[3; 16][..], &[1, 0][..]));
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let mut block = superblock().encode();
        for at in 0..SUPERBLOCK_BYTES {
            for change in [1, 0x80, 0xff] {
                block[at] ^= change;
                assert!(Superblock::decode(&block).is_err(), "byte {at}");
                block[at] ^= change;
            }
        }
        assert_eq!(Superblock::decode(&block), Ok(superblock()));
    }

    #[test]
    fn a_superblock_of_another_version_is_reported_as_such() {
        let mut block = superblock().encode();
        block[8] = 3;
        assert_eq!(Superblock::decode(&block), Err(SuperblockError::Damaged));
        assert_eq!(with_right_sum(&mut block), Err(SuperblockError::Version(3)));
    }

    #[test]
    fn a_volume_of_a_newer_program_is_used_as_far_as_it_may_be() {
        let grown = |at: usize| {
            let mut block = superblock().encode();
            block[at] = 4;
            block[400..410].fill(9);
            with_right_sum(&mut block)
        };
        assert_eq!(grown(400), Err(SuperblockError::Nonsense("something is written where nothing should be")));
        let mut compatible = grown(264).unwrap();
        assert!(compatible.features.may_be_written());
        compatible.begin_start(77);
        assert_eq!((compatible.features, compatible.starts[6..].to_vec()), (Features::default(), vec![0, 77]));
        assert!(!grown(272).unwrap().features.may_be_written());
        assert_eq!(grown(280), Err(SuperblockError::Feature(4)));
    }

    #[test]
    fn the_newest_sound_copy_is_used() {
        let old = superblock().encode();
        let new = Superblock { generation: 2, ..superblock() }.encode();
        let (mut torn, zero) = (new.clone(), Buffer::zeroed(SUPERBLOCK_BYTES));
        torn[9000..].fill(0xee);
        let generation = |copies: &[&Buffer]| newest(copies.iter().map(|copy| &copy[..])).map(|found| found.generation);
        assert_eq!(generation(&[&old, &new, &old]), Ok(2));
        assert_eq!(generation(&[&torn, &zero, &old]), Ok(1));
        assert_eq!(generation(&[&zero, &torn, &zero]), Err(SuperblockError::Damaged));
        assert_eq!(generation(&[&zero, &zero]), Err(SuperblockError::Foreign));
        assert_eq!(newest([&old[..100]]), Err(SuperblockError::Foreign));
    }

    #[test]
    fn a_copy_written_by_a_newer_program_is_an_error_despite_older_copies() {
        let old = superblock().encode();
        let mut newer = Superblock { generation: 2, ..superblock() }.encode();
        newer[280] = 4;
        newer[152..157].copy_from_slice(b"novel"); // a scheme's name
        assert_eq!(with_right_sum(&mut newer), Err(SuperblockError::Feature(4)));
        assert_eq!(newest([&old[..], &newer[..]]), Err(SuperblockError::Feature(4)));
        newer[16] ^= 1;
        assert_eq!(with_right_sum(&mut newer), Err(SuperblockError::Feature(4)));
        assert_eq!(newest([&old[..], &newer[..]]), Ok(superblock()), "another array's");
        let mut older = superblock().encode();
        older[8] = 1;
        assert_eq!(with_right_sum(&mut older), Err(SuperblockError::Version(1)));
        assert_eq!(newest([&older[..], &old[..]]), Ok(superblock()));
    }

    #[test]
    fn the_copies_lie_apart_at_both_ends() {
        assert_eq!(Superblock::offsets(1 << 20), Some([4096, 20_480, 1_015_808, 1_032_192].map(MemberOffset)));
        assert_eq!(Superblock::offsets((1 << 20) + 4095), Superblock::offsets(1 << 20), "whole pages");
        let least = 4096 + 4 * SUPERBLOCK_BYTES as u64;
        assert_eq!(Superblock::offsets(least), Some([4096, 20_480, 36_864, 53_248].map(MemberOffset)));
        assert_eq!(Superblock::offsets(least - 1), None);
        let places = |generation| Superblock { generation, ..superblock() }.places(1 << 20).map(MemberOffset::get);
        assert_eq!([places(1), places(2), places(3)], [[20_480, 1_032_192], [4096, 1_015_808], [20_480, 1_032_192]]);
    }

    fn states() -> impl Strategy<Value = MemberState> {
        prop_oneof![
            Just(MemberState::Active),
            Just(MemberState::Missing),
            Just(MemberState::Failed(FailureReason::Gone)),
            Just(MemberState::Failed(FailureReason::Refused)),
            Just(MemberState::Failed(FailureReason::ByAdministrator)),
            (0u64..1000).prop_map(|stripes_done| MemberState::Rebuilding { stripes_done }),
        ]
    }

    proptest! {
        #[test]
        fn an_encoded_superblock_decodes_to_itself(
            name in "[ -~äé✓]{0,20}", numbers in any::<[u64; 4]>(), generation in 1..NUMBER_END, is_clean in any::<bool>(),
            members in prop::collection::vec((any::<[u8; 16]>(), any::<u16>(), states(), any::<u32>()), 6), member in 0usize..6,
        ) {
            let members = members.into_iter().map(|(uuid, term, state, faults)| MemberRecord { uuid: Uuid(uuid), term, state, faults, departure_generation: 0 });
            let written = Superblock {
                array: Uuid::of_random([numbers[3] as u8; 16]), name, created: UnixSeconds(numbers[0]), last_started: UnixSeconds(numbers[1]),
                generation, write_mark: numbers[2] % NUMBER_END, is_clean, member: MemberIndex(member), starts: [numbers[0]; STARTS_MAX], map_sum: numbers[1] as u32, members: members.collect(), ..superblock()
            };
            prop_assert_eq!(Superblock::decode(&written.encode()), Ok(written));
        }

        /// Whatever is changed and given a right checksum is refused, or is what the bytes say; never a panic.
        #[test]
        fn nonsense_with_a_right_checksum_is_refused_or_decodes_as_written(
            changes in prop::collection::vec((12usize..900, any::<u8>()), 1..6),
        ) {
            let mut block = superblock().encode();
            changes.into_iter().for_each(|(at, byte)| block[at] = byte);
            if let Ok(decoded) = with_right_sum(&mut block) {
                let is_grown = decoded.features != Features::default();
                prop_assert!(is_grown || decoded.encode()[..] == block[..]);
                prop_assert_eq!(decoded.geometry.check(), Ok(()));
            }
        }

        /// Replaces whole numbers of the geometry, mostly by extreme ones.
        #[test]
        fn a_geometry_of_any_numbers_is_refused_or_fits_the_member(
            changes in prop::collection::vec((0usize..9, prop_oneof![any::<u64>(), 0u64..1 << 33, Just(u64::MAX), (1u64..9).prop_map(|down| 0u64.wrapping_sub(down * 4096))]), 1..4),
            words in prop::collection::vec((0usize..6, prop_oneof![any::<u32>(), 0u32..300]), 0..3),
        ) {
            let mut block = superblock().encode();
            changes.into_iter().for_each(|(at, number)| block[192 + 8 * at..][..8].copy_from_slice(&number.to_le_bytes()));
            words.into_iter().for_each(|(at, number)| block[168 + 4 * at..][..4].copy_from_slice(&number.to_le_bytes()));
            if let Ok(decoded) = with_right_sum(&mut block) {
                prop_assert!(
                    decoded.geometry.data_offset + decoded.geometry.rows * decoded.geometry.row_bytes() + TAIL_BYTES
                        <= decoded.geometry.member_bytes
                );
            }
        }
    }
}
