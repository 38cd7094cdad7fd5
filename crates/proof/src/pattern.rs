//! The bytes that clients write: they encode where they belong and which write put them there.
//!
//! Each aligned word of eight bytes is a hash of its address and of the write's number, so that a single byte exposes
//! most mistakes, and a whole sector all of them; [`explain`] names the origin of a wrong sector.

/// The number of a write within a run, from 1; 0 stands for "never written".
pub type WriteId = u32;

/// 2^64 divided by the golden ratio, as in SplitMix64. It is odd, so that multiplying by it loses nothing.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fills `bytes`, which lie at device offset `offset`, with the pattern of `write`.
pub fn fill(bytes: &mut [u8], offset: u64, write: WriteId) {
    let key = key(write);
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let skip = (at % 8) as usize;
        let len = rest.len().min(8 - skip);
        let (head, tail) = rest.split_at_mut(len);
        head.copy_from_slice(&word(key, at / 8)[skip..skip + len]);
        (at, rest) = (at + len as u64, tail);
    }
}

/// Are these bytes the pattern of `write` at device offset `offset`?
pub fn matches(bytes: &[u8], offset: u64, write: WriteId) -> bool {
    let key = key(write);
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let skip = (at % 8) as usize;
        let len = rest.len().min(8 - skip);
        if rest[..len] != word(key, at / 8)[skip..skip + len] {
            return false;
        }
        (at, rest) = (at + len as u64, &rest[len..]);
    }
    true
}

/// Describes bytes for a failure message: which write they come from, and which place they were for. Searches all
/// writes up to `newest` and all places up to `size` bytes. Slow: only failures ask.
pub fn explain(bytes: &[u8], offset: u64, newest: WriteId, size: u64) -> String {
    if bytes.iter().all(|&byte| byte == 0) {
        return "zeros".to_owned();
    }
    if let Some(write) = (1..=newest).find(|&write| matches(bytes, offset, write)) {
        return format!("write {write}'s bytes");
    }
    let moved = (0..size / 512).map(|sector| sector * 512 + offset % 512);
    for place in moved.filter(|place| place + bytes.len() as u64 <= size) {
        if let Some(write) = (1..=newest).find(|&write| matches(bytes, place, write)) {
            return format!("write {write}'s bytes for {place}");
        }
    }
    format!("nobody's bytes: {:02x?}...", &bytes[..bytes.len().min(16)])
}

fn key(write: WriteId) -> u64 {
    let mixed = (u64::from(write) + 1).wrapping_mul(GOLDEN);
    mixed ^ (mixed >> 29)
}

fn word(key: u64, index: u64) -> [u8; 8] {
    let mixed = (key ^ index).wrapping_mul(GOLDEN);
    (mixed ^ (mixed >> 32)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_equals_the_same_range_of_the_whole_and_of_no_other_write() {
        let mut whole = vec![0; 4096];
        fill(&mut whole, 1000, 7);
        for (start, end) in [(0, 1), (3, 4096), (511, 513), (8, 16), (17, 600)] {
            let mut piece = vec![0; end - start];
            fill(&mut piece, 1000 + start as u64, 7);
            assert_eq!(piece, whole[start..end]);
            assert!(matches(&piece, 1000 + start as u64, 7));
            assert!(piece.len() < 8 || !matches(&piece, 1000 + start as u64, 8));
        }
    }

    #[test]
    fn a_wrong_sector_is_explained() {
        let mut sector = vec![0; 512];
        assert_eq!(explain(&sector, 512, 9, 8192), "zeros");
        fill(&mut sector, 512, 4);
        assert_eq!(explain(&sector, 512, 9, 8192), "write 4's bytes");
        assert_eq!(explain(&sector, 1024, 9, 8192), "write 4's bytes for 512");
        sector.fill(1);
        assert!(explain(&sector, 512, 9, 8192).starts_with("nobody's"));
    }
}
