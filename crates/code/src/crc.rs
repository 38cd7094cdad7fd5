//! CRC-32C: its tables and constants, all computed at compile time, and the arithmetic behind them.
//!
//! CRC-32C (G. Castagnoli et al., "Optimization of cyclic redundancy-check codes with 24 and 32 parity bits", 1993; RFC
//! 3720, section 12.1) divides the message, as a polynomial over GF(2), by P. A *state* is the remainder in the form of
//! the CRC32 instruction: bit 31 - i is the coefficient of x^i, without the inversions at the beginning and the end
//! that turn it into a sum. States are linear: if all begin with zero, the state of a XOR b is the state of a XOR the
//! state of b.

/// P without its highest term, in the bit order of a state.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The state before the first byte, and what is XORed to the state after the last one.
pub const INVERSION: u32 = !0;

/// `TABLES[n][b]`: the state after the byte b and n bytes of zero, from the state zero.
static TABLES: [[u32; 256]; 8] = tables();

/// `BYTE_POWERS_FOLDED[i]` is x^(8 * 2^i - 33) mod P. 2^i bytes of zero multiply a state by x^(8 * 2^i). The -33 makes
/// up for the arithmetic: the carry-less product of two 32-bit words in the bit order of a state, read as 64 bits, is
/// the product times x, and the CRC32 instruction, which divides it, multiplies by x^32.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub const BYTE_POWERS_FOLDED: [u32; 64] = byte_powers_folded();

/// The state after `bytes`, eight at a time ("slicing-by-8", M. Kounavis and F. Berry, 2008).
pub fn extend(mut state: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word) ^ u64::from(state);
        state =
            word.to_le_bytes().iter().rev().zip(&TABLES).fold(0, |state, (&b, table)| state ^ table[usize::from(b)]);
    }
    rest.iter().fold(state, |state, &byte| state >> 8 ^ TABLES[0][usize::from(state as u8 ^ byte)])
}

/// The constants that move a 128-bit half-sum `bits` further (V. Gopal et al., "Fast CRC computation for generic
/// polynomials using PCLMULQDQ instruction", 2009), for 32-bit factors in the low half of a 64-bit word: the carry-less
/// product of 64 bits and such a word, read as 128 bits, is the product times x^33. The first constant is for the low
/// 64 bits, which come first in the message and so stand 64 powers higher; the second is for the high ones.
#[cfg(any(test, target_arch = "x86_64"))] // for the kernels of x86-64
pub const fn folding(bits: i64) -> [u64; 2] {
    [power(bits + 64 - 33) as u64, power(bits - 33) as u64]
}

/// The four bytes of a message that lead from the state zero to `state`.
#[cfg(any(test, target_arch = "x86_64"))] // for the kernels of x86-64
pub const fn word_before(state: u32) -> u32 {
    let mut word = state;
    let mut step = 0;
    while step < 32 {
        word = divide_by_x(word);
        step += 1;
    }
    word
}

/// x^exponent mod P.
const fn power(exponent: i64) -> u32 {
    let mut power = 1 << 31;
    let mut step = 0;
    while step < exponent.abs() {
        power = if exponent > 0 { multiply_by_x(power) } else { divide_by_x(power) };
        step += 1;
    }
    power
}

const fn multiply_by_x(a: u32) -> u32 {
    a >> 1 ^ if a & 1 != 0 { POLYNOMIAL } else { 0 }
}

const fn divide_by_x(a: u32) -> u32 {
    if a >> 31 != 0 { (a ^ POLYNOMIAL) << 1 | 1 } else { a << 1 }
}

/// a * b mod P.
const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = 32;
    while bit > 0 {
        bit -= 1;
        product ^= if a >> bit & 1 != 0 { b } else { 0 };
        b = multiply_by_x(b);
    }
    product
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const fn byte_powers_folded() -> [u32; 64] {
    let mut table = [0; 64];
    let (mut square, offset) = (power(8), power(-33));
    let mut i = 0;
    while i < 64 {
        table[i] = multiply(square, offset);
        square = multiply(square, square);
        i += 1;
    }
    table
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut n = 0;
        while n < 8 {
            let mut bit = 0;
            while bit < 8 {
                state = multiply_by_x(state);
                bit += 1;
            }
            tables[n][byte] = state;
            n += 1;
        }
        byte += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The state by the definition, one bit at a time.
    fn divided(state: u32, bytes: &[u8]) -> u32 {
        let step = |state, _| multiply_by_x(state);
        bytes.iter().fold(state, |state, &byte| (0..8).fold(state ^ u32::from(byte), step))
    }

    #[test]
    fn folding_constants_are_the_published_ones() {
        // The values in the Linux kernel (arch/x86/lib/crc32c, "fold across 4 vectors of 128 bits") and in ISA-L.
        assert_eq!(folding(512), [0x740e_ef02, 0x9e4a_ddf8]);
        assert_eq!(folding(128), [0xf20c_0dfe, 0x493c_7d27]);
    }

    #[test]
    fn a_word_leads_to_its_state() {
        for state in [0, 1, 0xffff_ffff, 0x1234_5678] {
            assert_eq!(divided(0, &word_before(state).to_le_bytes()), state);
        }
    }

    proptest! {
        #[test]
        fn the_tables_give_the_remainder_of_the_division(
            state: u32,
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            prop_assert_eq!(extend(state, &bytes), divided(state, &bytes));
        }
    }
}
