//! A member's disk that lies: a volatile cache, and faults that lie over the data that an honest disk would hold.
//!
//! `pristine` is what an honest disk would hold, its cache included. Everything wrong lies over it and can be lifted:
//! *overlays* are shown to reads instead, *latent* ones wait until the cache no longer serves the block (the flush that
//! follows the write), *unreadable* blocks answer with an error. Writing a block lifts all of these from it. A crash
//! that undoes the write lays the overlay back: what reads show after a flush or a crash is not changed by another
//! crash. (The shape is that of TigerBeetle's simulated storage.)

pub mod array;
mod store;

use self::store::BlockStore;
use scrubjay_core::rng::Rng;
use scrubjay_core::volume::member::DiskFault;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Which unflushed data survive a crash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CrashSurvival {
    /// Each block survives with this probability of its own, and so does each earlier version of it.
    Blocks(f64),
    /// Each write survives with this probability, as a whole.
    Writes(f64),
    /// All writes that ended survive, and half of those under way: the program was killed, the disks were not.
    Ended,
}

/// The fate of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteFate {
    /// From this block of the write on, the medium keeps the old data (0: a lost write, else a torn one); `None`: an
    /// honest write.
    pub stale_from: Option<u64>,
    /// Does the cache serve the new bytes until a flush?
    pub is_latent: bool,
}

impl WriteFate {
    /// All of it is written.
    pub const HONEST: WriteFate = WriteFate { stale_from: None, is_latent: false };
}

/// The fate of discarded blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// They keep their data: the discard was only a hint.
    Kept,
    /// They read as zeros.
    Zeroed,
    /// They read as junk.
    Junk,
}

/// One disk. Offsets and lengths are in bytes, multiples of the block.
#[derive(Clone, Debug)]
pub struct MemberDisk {
    /// Is it gone, so that it answers nothing any more?
    pub is_gone: bool,
    /// Counts the disks in this place: one more with each exchange.
    pub incarnation: u64,
    seed: u64,
    block_bytes: usize,
    pristine: BlockStore,
    overlays: BTreeMap<u64, Overlay>,
    latent: Vec<LatentSectors>,
    unreadable: BTreeSet<u64>,
    /// Writes that have ended: their number is the clock of flushes.
    ended: u64,
    /// The old data of blocks whose writes were not flushed, the oldest write first.
    undo: Vec<Undo>,
    /// The bytes that `undo` points into.
    undo_bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Overlay {
    bytes: Box<[u8]>,
    /// Was it a write meant for another place? Then undoing a write to this block does not remove it.
    is_stray: bool,
}

#[derive(Clone, Debug)]
struct Undo {
    write: u64,
    block: u64,
    /// Offset in `undo_bytes`; `None`: the block was never written before.
    place: Option<usize>,
    /// The overlay that lay over it.
    overlay: Option<Overlay>,
}

#[derive(Clone, Debug)]
struct LatentSectors {
    write: u64,
    block: u64,
    bytes: Box<[u8]>,
}

impl MemberDisk {
    /// A disk on which nothing was ever written: every block is junk that depends on `seed`.
    pub fn new(seed: u64, block_bytes: usize, bytes: u64) -> MemberDisk {
        MemberDisk {
            is_gone: false,
            incarnation: 0,
            seed,
            block_bytes,
            pristine: BlockStore::new(block_bytes, bytes / block_bytes as u64),
            overlays: BTreeMap::new(),
            latent: Vec::new(),
            unreadable: BTreeSet::new(),
            ended: 0,
            undo: Vec::new(),
            undo_bytes: Vec::new(),
        }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.pristine.blocks() * self.block_bytes as u64
    }

    /// The size of its blocks in bytes.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Reads into `out`.
    ///
    /// # Errors
    /// When a block is unreadable; `out` is filled all the same.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DiskFault> {
        let blocks = self.blocks(offset, out.len());
        for (block, bytes) in blocks.clone().zip(out.chunks_exact_mut(self.block_bytes)) {
            self.show(block, bytes);
        }
        if self.unreadable.range(blocks).next().is_some() { Err(DiskFault::Medium) } else { Ok(()) }
    }

    /// Ends a write. Writes under way at once never share a block, so it may take effect as a whole at its end.
    pub fn write(&mut self, offset: u64, data: &[u8], is_durable: bool, fate: WriteFate) {
        let blocks = self.blocks(offset, data.len());
        if is_durable {
            self.undo.retain(|undo| !blocks.contains(&undo.block));
        }
        self.latent.retain(|latent| !blocks.contains(&latent.block));
        for (index, bytes) in data.chunks_exact(self.block_bytes).enumerate() {
            let block = blocks.start + index as u64;
            let is_stale = fate.stale_from.is_some_and(|from| index as u64 >= from);
            let old = is_stale.then(|| {
                let mut old = vec![0; self.block_bytes].into_boxed_slice();
                self.show(block, &mut old);
                old
            });
            if !is_durable {
                self.remember(block);
            }
            self.pristine.set(block, bytes);
            self.overlays.remove(&block);
            match old {
                Some(bytes) if fate.is_latent => self.latent.push(LatentSectors { write: self.ended, block, bytes }),
                Some(bytes) => drop(self.overlays.insert(block, Overlay { bytes, is_stray: false })),
                None => drop(self.unreadable.remove(&block)),
            }
        }
        self.ended += 1;
    }

    /// Discards blocks.
    pub fn discard(&mut self, offset: u64, len: u64, outcome: Discarded) {
        let mut bytes = vec![0; len as usize];
        match outcome {
            Discarded::Kept => return,
            Discarded::Zeroed => {}
            Discarded::Junk => fill_junk(&mut bytes, self.seed ^ self.ended),
        }
        self.write(offset, &bytes, false, WriteFate::HONEST);
    }

    /// The mark of a flush that begins now, for [`MemberDisk::flushed`].
    pub fn flush_mark(&self) -> u64 {
        self.ended
    }

    /// Ends a flush: writes that ended before it began are on the medium, and the cache no longer hides what is wrong there.
    pub fn flushed(&mut self, mark: u64) {
        self.undo.retain(|undo| undo.write >= mark);
        if self.undo.is_empty() {
            self.undo_bytes.clear();
        }
        for latent in self.latent.extract_if(.., |latent| latent.write < mark) {
            self.overlays.insert(latent.block, Overlay { bytes: latent.bytes, is_stray: false });
        }
    }

    /// Loses power, or the program, while these writes (offset, data) are under way.
    pub fn crash(&mut self, under_way: &[(u64, &[u8])], survival: CrashSurvival, rng: &mut Rng) {
        let (chance, is_whole) = match survival {
            CrashSurvival::Blocks(chance) => (chance, false),
            CrashSurvival::Writes(chance) => (chance, true),
            CrashSurvival::Ended => (1.0, true),
        };
        let salt = rng.bits();
        let undo = std::mem::take(&mut self.undo);
        let mut decided = BTreeSet::new();
        for Undo { write, block, place, overlay } in undo.into_iter().rev() {
            let draw = if is_whole { Rng::stream(salt, write).uniform() } else { rng.uniform() };
            if decided.contains(&block) || draw < chance {
                decided.insert(block);
                continue;
            }
            match place {
                Some(place) => self.pristine.set(block, &self.undo_bytes[place..place + self.block_bytes]),
                None => self.pristine.forget(block),
            }
            if self.overlays.get(&block).is_none_or(|overlay| !overlay.is_stray) {
                self.overlays.remove(&block);
                self.overlays.extend(overlay.map(|overlay| (block, overlay)));
            }
        }
        self.undo_bytes.clear();
        self.latent.clear();
        let chance = if survival == CrashSurvival::Ended { 0.5 } else { chance };
        for (offset, data) in under_way {
            let whole = rng.uniform() < chance;
            for (block, bytes) in self.blocks(*offset, data.len()).zip(data.chunks_exact(self.block_bytes)) {
                if if is_whole { whole } else { rng.uniform() < chance } {
                    self.pristine.set(block, bytes);
                    self.overlays.remove(&block);
                    self.unreadable.remove(&block);
                }
            }
        }
    }

    /// Lays a write that was meant for another place over these blocks.
    pub fn strike(&mut self, offset: u64, data: &[u8]) {
        let blocks = self.blocks(offset, data.len());
        self.latent.retain(|latent| !blocks.contains(&latent.block));
        for (block, bytes) in blocks.zip(data.chunks_exact(self.block_bytes)) {
            self.overlays.insert(block, Overlay { bytes: bytes.into(), is_stray: true });
            self.unreadable.remove(&block);
        }
    }

    /// Makes these blocks unreadable until they are written.
    pub fn spoil(&mut self, offset: u64, len: u64) {
        self.unreadable.extend(self.blocks(offset, len as usize));
    }

    /// Do reads without an error show, now or after a flush, anything else than an honest disk's data?
    pub fn is_corrupt(&self, offset: u64, len: u64) -> bool {
        let blocks = self.blocks(offset, len as usize);
        let differs = |block: u64, bytes: &[u8]| self.pristine.block(block).is_some_and(|right| right != bytes);
        self.overlays.range(blocks.clone()).any(|(&block, overlay)| differs(block, &overlay.bytes))
            || self.latent.iter().any(|latent| blocks.contains(&latent.block) && differs(latent.block, &latent.bytes))
    }

    /// Does any overlay lie over these blocks, now or after a flush, even where nothing was ever written?
    pub fn is_covered(&self, offset: u64, len: u64) -> bool {
        let blocks = self.blocks(offset, len as usize);
        self.overlays.range(blocks.clone()).next().is_some()
            || self.latent.iter().any(|latent| blocks.contains(&latent.block))
    }

    /// Is any of these blocks unreadable?
    pub fn is_unreadable(&self, offset: u64, len: u64) -> bool {
        self.unreadable.range(self.blocks(offset, len as usize)).next().is_some()
    }

    /// Was anything but zeros ever written to any of these blocks?
    pub fn is_filled(&self, offset: u64, len: u64) -> bool {
        let is_filled = |bytes: &[u8]| bytes.iter().any(|&byte| byte != 0);
        self.blocks(offset, len as usize).any(|block| self.pristine.block(block).is_some_and(is_filled))
    }

    /// The offsets of all blocks that a crash might change back now, by the order of their writes, with repetitions.
    pub fn unflushed(&self) -> impl Iterator<Item = u64> {
        self.undo.iter().map(|undo| undo.block * self.block_bytes as u64)
    }

    fn blocks(&self, offset: u64, len: usize) -> Range<u64> {
        let block = self.block_bytes as u64;
        assert!(offset.is_multiple_of(block) && (len as u64).is_multiple_of(block), "{len} bytes at {offset}");
        offset / block..offset / block + len as u64 / block
    }

    fn show(&self, block: u64, out: &mut [u8]) {
        match self.overlays.get(&block).map(|overlay| &*overlay.bytes).or_else(|| self.pristine.block(block)) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => fill_junk(out, self.seed ^ block.rotate_left(32)),
        }
    }

    fn remember(&mut self, block: u64) {
        let place = self.pristine.block(block).map(|bytes| {
            self.undo_bytes.extend_from_slice(bytes);
            self.undo_bytes.len() - self.block_bytes
        });
        let overlay = self.overlays.get(&block).cloned();
        self.undo.push(Undo { write: self.ended, block, place, overlay });
    }
}

/// Fills `out` with junk, the same for the same seed.
fn fill_junk(out: &mut [u8], seed: u64) {
    let mut rng = Rng::new(seed);
    out.chunks_mut(8).for_each(|word| word.copy_from_slice(&rng.bits().to_le_bytes()[..word.len()]));
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 512;

    fn disk() -> MemberDisk {
        MemberDisk::new(7, BLOCK, 16 * BLOCK as u64)
    }

    fn bytes(value: u8, blocks: usize) -> Vec<u8> {
        vec![value; blocks * BLOCK]
    }

    /// The first byte of each of the first `count` blocks, as reads show it.
    fn shown(disk: &MemberDisk, count: usize) -> Vec<u8> {
        let mut out = bytes(0, count);
        let _ = disk.read(0, &mut out);
        out.chunks(BLOCK).map(|block| block[0]).collect()
    }

    fn written(fate: WriteFate) -> MemberDisk {
        let mut disk = disk();
        disk.write(0, &bytes(1, 4), false, WriteFate::HONEST);
        disk.flushed(disk.flush_mark());
        disk.write(0, &bytes(2, 4), false, fate);
        disk
    }

    #[test]
    fn a_block_never_written_is_junk_and_always_the_same() {
        let (first, second) = (disk(), disk());
        let (mut a, mut b) = (bytes(0, 2), bytes(0, 2));
        assert_eq!((first.read(512, &mut a), second.read(512, &mut b)), (Ok(()), Ok(())));
        assert!(a == b && a[..BLOCK] != a[BLOCK..] && a[..16] != [0; 16]);
    }

    #[test]
    fn lost_and_torn_writes_show_the_old_data_until_they_are_written_again() {
        for (from, expected) in [(0, [1, 1, 1, 1]), (1, [2, 1, 1, 1]), (3, [2, 2, 2, 1])] {
            let mut disk = written(WriteFate { stale_from: Some(from), is_latent: false });
            assert_eq!(shown(&disk, 4), expected);
            assert!(disk.is_corrupt(0, 4 * 512) && !disk.is_corrupt(4 * 512, 12 * 512));
            disk.write(0, &bytes(3, 4), false, WriteFate::HONEST);
            assert_eq!(shown(&disk, 4), [3, 3, 3, 3]);
            assert!(!disk.is_corrupt(0, 4 * 512));
        }
    }

    #[test]
    fn a_latent_loss_shows_after_the_flush_that_was_asked_for_after_it() {
        let mut disk = disk();
        disk.write(0, &bytes(1, 1), true, WriteFate::HONEST);
        let early = disk.flush_mark();
        disk.write(0, &bytes(2, 1), false, WriteFate { stale_from: Some(0), is_latent: true });
        disk.flushed(early);
        assert_eq!(shown(&disk, 1), [2]);
        assert!(disk.is_corrupt(0, 512));
        disk.flushed(disk.flush_mark());
        assert_eq!(shown(&disk, 1), [1]);
    }

    #[test]
    fn a_crash_leaves_each_unflushed_block_in_any_of_its_versions_and_no_flushed_one_changed() {
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let mut disk = disk();
            disk.write(0, &bytes(1, 2), false, WriteFate::HONEST);
            disk.flushed(disk.flush_mark());
            disk.write(0, &bytes(2, 1), false, WriteFate::HONEST);
            disk.write(0, &bytes(3, 1), false, WriteFate::HONEST);
            disk.write(1024, &bytes(5, 1), true, WriteFate::HONEST);
            let under_way = bytes(4, 1);
            disk.crash(&[(0, &under_way)], CrashSurvival::Blocks(0.5), &mut Rng::new(seed));
            assert_eq!(shown(&disk, 3)[1..], [1, 5]);
            seen.insert(shown(&disk, 1)[0]);
            assert!(disk.unflushed().next().is_none());
        }
        assert_eq!(seen, [1, 2, 3, 4].into());
    }

    /// Once, a lost write followed one that was not flushed: a crash undid both, but the overlay stayed, and the next
    /// crash that undid a write showed the data beneath it, flushed or not.
    #[test]
    fn undoing_all_writes_since_a_crash_restores_the_state_that_the_crash_left() {
        let lost = |is_latent| WriteFate { stale_from: Some(0), is_latent };
        let fates = [WriteFate::HONEST, lost(false), lost(true)];
        for (code, chance) in (0..81).flat_map(|code| [0.0, 0.5, 1.0].map(|chance| (code, chance))) {
            let fate = |index: u32| fates[code / 3usize.pow(index) % 3];
            let (mut disk, mut rng) = (disk(), Rng::new(code as u64));
            disk.write(0, &bytes(1, 4), false, fate(0));
            disk.write(0, &bytes(2, 4), false, fate(1));
            disk.crash(&[], CrashSurvival::Blocks(chance), &mut rng);
            let after_crash = shown(&disk, 4);
            disk.flushed(disk.flush_mark());
            assert_eq!(shown(&disk, 4), after_crash, "{code} {chance}");
            disk.write(0, &bytes(3, 4), false, fate(2));
            disk.write(0, &bytes(4, 4), false, fate(3));
            disk.crash(&[], CrashSurvival::Blocks(0.0), &mut rng);
            assert_eq!(shown(&disk, 4), after_crash, "{code} {chance}");
        }
    }

    #[test]
    fn a_stray_write_stays_when_a_crash_undoes_the_write_beneath_it() {
        let mut disk = written(WriteFate { stale_from: Some(0), is_latent: false });
        disk.strike(512, &bytes(9, 1));
        disk.crash(&[], CrashSurvival::Blocks(0.0), &mut Rng::new(1));
        assert_eq!(shown(&disk, 4), [1, 9, 1, 1]);
        disk.write(0, &bytes(3, 4), false, WriteFate::HONEST);
        assert_eq!(shown(&disk, 4), [3, 3, 3, 3]);
        disk.crash(&[], CrashSurvival::Blocks(0.0), &mut Rng::new(2));
        assert_eq!(shown(&disk, 4), [1, 9, 1, 1]);
    }

    #[test]
    fn whole_writes_survive_or_do_not() {
        for seed in 0..50 {
            let mut disk = written(WriteFate::HONEST);
            disk.crash(&[], CrashSurvival::Writes(0.5), &mut Rng::new(seed));
            assert!([[1; 4], [2; 4]].contains(&shown(&disk, 4).try_into().unwrap()));
            let mut disk = written(WriteFate::HONEST);
            disk.crash(&[], CrashSurvival::Ended, &mut Rng::new(seed));
            assert_eq!(shown(&disk, 4), [2; 4]);
        }
    }

    #[test]
    fn a_durable_write_makes_earlier_writes_to_its_blocks_durable() {
        let mut disk = written(WriteFate::HONEST);
        disk.write(512, &bytes(3, 1), true, WriteFate::HONEST);
        disk.crash(&[], CrashSurvival::Blocks(0.0), &mut Rng::new(1));
        assert_eq!(shown(&disk, 4), [1, 3, 1, 1]);
    }

    #[test]
    fn struck_and_spoilt_blocks_heal_when_written() {
        let mut disk = written(WriteFate::HONEST);
        disk.strike(512, &bytes(9, 1));
        assert_eq!(shown(&disk, 3), [2, 9, 2]);
        assert!(disk.is_corrupt(512, 512));
        disk.spoil(1024, 512);
        assert_eq!(disk.read(0, &mut bytes(0, 4)), Err(DiskFault::Medium));
        assert_eq!(disk.read(1536, &mut bytes(0, 1)), Ok(()));
        disk.write(512, &bytes(3, 2), false, WriteFate::HONEST);
        assert_eq!(disk.read(0, &mut bytes(0, 4)), Ok(()));
        assert_eq!(shown(&disk, 4), [2, 3, 3, 2]);
    }
}
