//! CRC-32C by the CRC32 instruction: of one message, of several at once, and sums derived from other sums.
//!
//! The instruction takes 8 bytes. One can start every cycle, but takes three cycles: three independent chains keep the
//! unit busy.

use crate::crc::{BYTE_POWERS_FOLDED, INVERSION};
use std::arch::x86_64::*;

/// The state after `bytes`, in one chain.
#[inline]
#[target_feature(enable = "sse4.2")]
pub fn extend_words(state: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(u64::from(state), |state, word| _mm_crc32_u64(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state as u32, |state, &byte| _mm_crc32_u8(state, byte))
}

/// Extends each of `states` by its own chunk of `chunks`, which all have one length.
#[inline]
#[target_feature(enable = "sse4.2")]
pub fn extend_several<const N: usize>(states: &mut [u32], chunks: [&[u8]; N]) {
    let count = chunks[0].len() / 8;
    let words = chunks.map(|chunk| &chunk.as_chunks::<8>().0[..count]);
    let mut chains: [u64; N] = std::array::from_fn(|i| u64::from(states[i]));
    for at in 0..count {
        for (chain, words) in chains.iter_mut().zip(words) {
            *chain = _mm_crc32_u64(*chain, u64::from_le_bytes(words[at]));
        }
    }
    for i in 0..N {
        states[i] = extend_words(chains[i] as u32, chunks[i].as_chunks::<8>().1);
    }
}

/// The state after all whole groups of three stretches of 2^LOG bytes, and the bytes left over. The three stretches of
/// a group are summed at once, then joined.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub fn extend_thirds<const LOG: usize>(mut state: u32, bytes: &[u8]) -> (u32, &[u8]) {
    let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % (3 << LOG));
    for stretches in whole.chunks_exact(3 << LOG) {
        let (first, others) = stretches.split_at(1 << LOG);
        let (second, third) = others.split_at(1 << LOG);
        let mut states = [state, 0, 0];
        extend_several(&mut states, [first, second, third]);
        state = shift(states[0], BYTE_POWERS_FOLDED[LOG + 1]) ^ shift(states[1], BYTE_POWERS_FOLDED[LOG]) ^ states[2];
    }
    (state, rest)
}

/// The sum of the XOR of chunks of `length` bytes whose sums are `sums`, without reading the XOR. States without an
/// initial value are linear, so they add up to that of the XOR. But each began with all ones, and an even number of
/// these cancels out.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub fn sum_of_xor(sums: &[u32], length: usize) -> u32 {
    let beginning = if sums.len().is_multiple_of(2) { INVERSION ^ extend_by_zeros(INVERSION, length) } else { 0 };
    sums.iter().fold(beginning, |sum, of_one| sum ^ of_one)
}

/// The state after `count` bytes of zero, in a number of steps logarithmic in `count`.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn extend_by_zeros(mut state: u32, count: usize) -> u32 {
    let mut left = count;
    while left != 0 {
        state = shift(state, BYTE_POWERS_FOLDED[left.trailing_zeros() as usize]);
        left &= left - 1;
    }
    state
}

/// `state` after the number of zero bytes that `power` stands for, one of [`BYTE_POWERS_FOLDED`].
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn shift(state: u32, power: u32) -> u32 {
    let (state, power) = (_mm_cvtsi32_si128(state as i32), _mm_cvtsi32_si128(power as i32));
    _mm_crc32_u64(0, _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0x00>(state, power)) as u64) as u32
}
