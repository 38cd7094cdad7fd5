//! The blocks of a disk, by number; a block that was never written takes no memory.

/// A sparse array of blocks.
#[derive(Clone, Debug)]
pub struct BlockStore {
    block_bytes: usize,
    /// For each block its place in `bytes`, counted from 1; 0: never written.
    places: Vec<u32>,
    bytes: Vec<u8>,
}

impl BlockStore {
    /// A store of `blocks` blocks, none of them written.
    pub fn new(block_bytes: usize, blocks: u64) -> BlockStore {
        BlockStore { block_bytes, places: vec![0; blocks as usize], bytes: Vec::new() }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.places.len() as u64
    }

    /// A block, if it was ever written.
    ///
    /// # Panics
    /// When the block lies beyond the end, as in all functions here.
    pub fn block(&self, block: u64) -> Option<&[u8]> {
        let place = self.places[block as usize].checked_sub(1)? as usize;
        Some(&self.bytes[place * self.block_bytes..][..self.block_bytes])
    }

    /// Writes a block.
    pub fn set(&mut self, block: u64, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.block_bytes);
        match self.places[block as usize] {
            0 => {
                self.bytes.extend_from_slice(bytes);
                self.places[block as usize] = (self.bytes.len() / self.block_bytes) as u32;
            }
            place => self.bytes[(place as usize - 1) * self.block_bytes..][..self.block_bytes].copy_from_slice(bytes),
        }
    }

    /// Makes a block one that was never written. (Its memory is only freed with the store.)
    pub fn forget(&mut self, block: u64) {
        self.places[block as usize] = 0;
    }
}
