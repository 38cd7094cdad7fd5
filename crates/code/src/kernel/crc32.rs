//! CRC-32C by the processor's CRC32 instruction: of one message, of several at once, and sums derived from other sums.
//!
//! The instruction takes 8 bytes. One can start every cycle, but takes two or three cycles: three independent chains keep the
//! unit busy. x86-64 (SSE4.2) and 64-bit Arm have it with the same result.

use crate::crc::{BYTE_POWERS_FOLDED, INVERSION};
#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{__crc32cb as of_byte, __crc32cd as of_word};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The state after eight bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
fn of_word(state: u32, word: u64) -> u32 {
    _mm_crc32_u64(u64::from(state), word) as u32
}

/// The state after one byte.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
fn of_byte(state: u32, byte: u8) -> u32 {
    _mm_crc32_u8(state, byte)
}

/// The state after `bytes`, in one chain.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
pub fn extend_words(state: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(state, |state, word| of_word(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state, |state, &byte| of_byte(state, byte))
}

/// Extends each of `states` by its own chunk of `chunks`, which all have one length.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
pub fn extend_several<const N: usize>(states: &mut [u32], chunks: [&[u8]; N]) {
    let count = chunks[0].len() / 8;
    let words = chunks.map(|chunk| &chunk.as_chunks::<8>().0[..count]);
    let mut chains: [u32; N] = std::array::from_fn(|i| states[i]);
    for at in 0..count {
        for (chain, words) in chains.iter_mut().zip(words) {
            *chain = of_word(*chain, u64::from_le_bytes(words[at]));
        }
    }
    for i in 0..N {
        states[i] = extend_words(chains[i], chunks[i].as_chunks::<8>().1);
    }
}

/// The state after all whole groups of three stretches of 2^LOG bytes, and the bytes left over. The three stretches of
/// a group are summed at once, then joined.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2,pclmulqdq"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
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
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2,pclmulqdq"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
pub fn sum_of_xor(sums: &[u32], length: usize) -> u32 {
    let beginning = if sums.len().is_multiple_of(2) { INVERSION ^ extend_by_zeros(INVERSION, length) } else { 0 };
    sums.iter().fold(beginning, |sum, of_one| sum ^ of_one)
}

/// The state after `count` bytes of zero, in a number of steps logarithmic in `count`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2,pclmulqdq"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
fn extend_by_zeros(mut state: u32, count: usize) -> u32 {
    let mut left = count;
    while left != 0 {
        state = shift(state, BYTE_POWERS_FOLDED[left.trailing_zeros() as usize]);
        left &= left - 1;
    }
    state
}

/// `state` after the number of zero bytes that `power` stands for, one of [`BYTE_POWERS_FOLDED`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn shift(state: u32, power: u32) -> u32 {
    let (state, power) = (_mm_cvtsi32_si128(state as i32), _mm_cvtsi32_si128(power as i32));
    _mm_crc32_u64(0, _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0x00>(state, power)) as u64) as u32
}

/// The same. Not all processors of 64-bit Arm with the CRC32 instructions have one for the carry-less product (those of a Raspberry Pi 4
/// have not), so it is computed bit by bit: it is needed once for kilobytes.
#[cfg(target_arch = "aarch64")]
#[inline]
#[target_feature(enable = "crc")]
fn shift(state: u32, power: u32) -> u32 {
    let of_bit = |bit: u32| (u64::from(state) << bit) & u64::from(power >> bit & 1).wrapping_neg();
    of_word(0, (0..32).fold(0, |product, bit| product ^ of_bit(bit)))
}
