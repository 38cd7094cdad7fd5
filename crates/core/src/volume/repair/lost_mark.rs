//! The mark that lies in the place of a lost chunk.
//!
//! Every sector holds it, so that a torn write over it shows which sectors the write did not reach. It names its chunk, so
//! that the mark of another volume, stored in this one as data, is not taken for it.

use crate::index::{StripeIndex, StripePosition};
/// Bytes that a crash writes wholly or not at all: one sector.
const SECTOR_BYTES: usize = 512;
/// The first bytes of every mark.
const HEAD: &[u8] = b"Lost: ";

/// The mark of one data chunk.
#[derive(Clone, Copy, Debug)]
pub struct LostMark {
    /// The first eight bytes of the array's UUID.
    pub array: u64,
    pub stripe: StripeIndex,
    pub position: StripePosition,
}

impl LostMark {
    fn sector(self) -> [u8; SECTOR_BYTES] {
        let LostMark { array, stripe, position } = self;
        let text = format!("Lost: what volume {array:016x} held in stripe {stripe} D{position}. ");
        let text = text.as_bytes();
        std::array::from_fn(|index| text[index % text.len()])
    }

    /// Fills the whole chunk with the mark.
    pub fn fill(self, chunk: &mut [u8]) {
        let sector = self.sector();
        chunk.chunks_mut(SECTOR_BYTES).for_each(|part| part.copy_from_slice(&sector));
    }

    /// Whether any sector of this chunk holds the mark.
    pub fn is_in(self, chunk: &[u8]) -> bool {
        let mut suspects = chunk.chunks(SECTOR_BYTES).filter(|part| part.starts_with(HEAD)).peekable();
        suspects.peek().is_some() && {
            let sector = self.sector();
            suspects.any(|part| part == sector)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: LostMark = LostMark { array: 7, stripe: StripeIndex(1 << 40), position: StripePosition(3) };

    #[test]
    fn a_lost_mark_is_found_until_every_sector_is_overwritten() {
        let mut chunk = [0; 3 * SECTOR_BYTES];
        assert!(!MARK.is_in(&chunk));
        MARK.fill(&mut chunk);
        chunk[..2 * SECTOR_BYTES].fill(7);
        assert!(MARK.is_in(&chunk));
        chunk[2 * SECTOR_BYTES..].fill(7);
        assert!(!MARK.is_in(&chunk));
    }

    #[test]
    fn the_mark_of_another_chunk_stripe_or_volume_is_data() {
        let mut chunk = [0; 2 * SECTOR_BYTES];
        MARK.fill(&mut chunk);
        for other in [
            LostMark { array: 8, ..MARK },
            LostMark { stripe: StripeIndex(1), ..MARK },
            LostMark { position: StripePosition(0), ..MARK },
        ] {
            assert!(!other.is_in(&chunk), "{other:?}");
        }
    }
}
