//! CRC-32C by the CRC32 instruction: short messages, ends of long ones, and zeros.

use crate::crc::BYTE_POWERS_FOLDED;
use std::arch::x86_64::*;

/// The state after `bytes`, word by word.
#[inline]
#[target_feature(enable = "sse4.2")]
pub fn extend_words(state: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(u64::from(state), |state, word| _mm_crc32_u64(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state as u32, |state, &byte| _mm_crc32_u8(state, byte))
}

/// The state after `count` bytes of zero: as [`crate::crc::extend_by_zeros`], but fast.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub fn extend_zeros(mut state: u32, count: usize) -> u32 {
    let mut left = count;
    while left != 0 {
        state = shift(state, BYTE_POWERS_FOLDED[left.trailing_zeros() as usize]);
        left &= left - 1;
    }
    state
}

/// `state` times what `power` stands for in [`BYTE_POWERS_FOLDED`].
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub fn shift(state: u32, power: u32) -> u32 {
    let factors = (_mm_cvtsi32_si128(state as i32), _mm_cvtsi32_si128(power as i32));
    let product = _mm_clmulepi64_si128::<0x00>(factors.0, factors.1);
    _mm_crc32_u64(0, _mm_cvtsi128_si64(product) as u64) as u32
}
