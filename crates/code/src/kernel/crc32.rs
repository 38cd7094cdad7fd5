//! CRC-32C by the CRC32 instruction: short messages, ends of long ones, several at once, and what follows from others.
//!
//! The instruction takes 8 bytes and can begin every cycle, but takes three to end: three independent chains keep it busy.

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

/// The states after `chunks`, which have one length: each from its own state in `states`.
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

/// The state after `bytes`: as long as they last, three stretches of 2^LOG bytes at once, joined.
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

/// The sum of the XOR of chunks of `length` bytes whose sums are `sums`, without looking at it: what each state has of its
/// chunk adds up to what the XOR's has of it, but each began with all ones, which an even number of them takes out.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub fn sum_of_xor(sums: &[u32], length: usize) -> u32 {
    let beginning = if sums.len().is_multiple_of(2) { INVERSION ^ extend_by_zeros(INVERSION, length) } else { 0 };
    sums.iter().fold(beginning, |sum, of_one| sum ^ of_one)
}

/// The state after `count` bytes of zero, in a number of steps that grows with the logarithm of `count`.
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

/// `state` after as many bytes of zero as `power`, one of [`BYTE_POWERS_FOLDED`], stands for.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn shift(state: u32, power: u32) -> u32 {
    let (state, power) = (_mm_cvtsi32_si128(state as i32), _mm_cvtsi32_si128(power as i32));
    _mm_crc32_u64(0, _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0x00>(state, power)) as u64) as u32
}
