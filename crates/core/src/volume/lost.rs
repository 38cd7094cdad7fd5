//! What lies in the place of a chunk that was lost: it says so, sector by sector, so that a write over it which a crash
//! tore shows where it did not come to.

/// A crash leaves so much whole.
const SECTOR_BYTES: usize = 512;
/// What a sector says, over and over.
const WORDS: &[u8] = b"What was here is lost: a crash in a degraded array. ";

fn sector() -> [u8; SECTOR_BYTES] {
    std::array::from_fn(|index| WORDS[index % WORDS.len()])
}

/// Makes all of a chunk say that it was lost.
pub(super) fn fill(chunk: &mut [u8]) {
    chunk.chunks_mut(SECTOR_BYTES).for_each(|part| part.copy_from_slice(&sector()));
}

/// Does a sector of this chunk say that it was lost?
pub(super) fn is_in(chunk: &[u8]) -> bool {
    let lost = sector();
    chunk.chunks(SECTOR_BYTES).any(|part| part == lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_lost_chunk_is_found_until_every_sector_is_written_over() {
        let mut chunk = [0; 3 * SECTOR_BYTES];
        assert!(!is_in(&chunk));
        fill(&mut chunk);
        chunk[..2 * SECTOR_BYTES].fill(7);
        assert!(is_in(&chunk));
        chunk[2 * SECTOR_BYTES..].fill(7);
        assert!(!is_in(&chunk));
    }
}
