//! The field GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d) and the generator 2, as Linux RAID-6 has it.
//!
//! (H. P. Anvin, "The mathematics of RAID-6", 2004, section 2.) Addition is XOR. All tables are computed at compile time.

/// The polynomial without its highest term.
const POLYNOMIAL: u8 = 0x1d;

/// The number of powers of the generator: every element except zero is one.
pub const ORDER: usize = 255;

/// `POWERS[i]` is 2^i, for i below 255.
pub const POWERS: [u8; ORDER] = powers();

/// `LOGARITHMS[POWERS[i]]` is i. Zero has no logarithm; its entry is never used.
const LOGARITHMS: [u8; 256] = logarithms();

/// `PRODUCTS[a][b]` is a times b: for the scalar kernel, and for what is left after the vectors of the AVX2 kernel.
pub static PRODUCTS: [[u8; 256]; 256] = products();

/// The product of two elements.
pub const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    POWERS[(LOGARITHMS[a as usize] as usize + LOGARITHMS[b as usize] as usize) % ORDER]
}

/// 1 over `a`.
///
/// # Panics
/// When `a` is zero.
pub const fn inverse(a: u8) -> u8 {
    assert!(a != 0, "zero has no inverse");
    POWERS[(ORDER - LOGARITHMS[a as usize] as usize) % ORDER]
}

/// Two tables of 16 bytes for PSHUFB: `a` times each low half of a byte, then `a` times each high half.
pub fn halves(a: u8) -> [u8; 32] {
    std::array::from_fn(|i| if i < 16 { multiply(a, i as u8) } else { multiply(a, (i as u8 - 16) << 4) })
}

/// Multiplication by `a` as the 8x8 matrix of bits that GF2P8AFFINEQB takes: its byte 7 - i is the row that makes bit i of
/// the product, and bit j of a row says whether bit j of the factor counts (Intel SDM, volume 2, "GF2P8AFFINEQB").
#[cfg(any(test, target_arch = "x86_64"))] // for the kernels of x86-64
pub fn bit_matrix(a: u8) -> u64 {
    let mut rows = [0_u8; 8];
    for j in 0..8 {
        let product = multiply(a, 1 << j);
        for (i, row) in rows.iter_mut().rev().enumerate() {
            *row |= (product >> i & 1) << j;
        }
    }
    u64::from_le_bytes(rows)
}

const fn powers() -> [u8; ORDER] {
    let mut table = [0; ORDER];
    let (mut i, mut power) = (0, 1_u8);
    while i < ORDER {
        table[i] = power;
        power = (power << 1) ^ if power & 0x80 != 0 { POLYNOMIAL } else { 0 };
        i += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < ORDER {
        table[POWERS[i] as usize] = i as u8;
        i += 1;
    }
    table
}

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut a = 0;
    while a < 256 {
        let mut b = 0;
        while b < 256 {
            table[a][b] = multiply(a as u8, b as u8);
            b += 1;
        }
        a += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long multiplication, without tables.
    fn multiplied(a: u8, b: u8) -> u8 {
        let mut product = 0_u16;
        for bit in 0..8 {
            product ^= if b >> bit & 1 == 1 { u16::from(a) << bit } else { 0 };
        }
        for bit in (8..16).rev() {
            product ^= if product >> bit & 1 == 1 { 0x11d << (bit - 8) } else { 0 };
        }
        product as u8
    }

    #[test]
    fn every_product_is_that_of_long_multiplication() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(PRODUCTS[usize::from(a)][usize::from(b)], multiplied(a, b), "{a} * {b}");
            }
        }
    }

    #[test]
    fn a_number_times_its_inverse_is_one() {
        assert!((1..=255).all(|a| multiplied(a, inverse(a)) == 1));
    }

    #[test]
    fn both_forms_of_a_factor_multiply() {
        for a in 0..=255 {
            let (halves, rows) = (halves(a), bit_matrix(a).to_le_bytes());
            for b in 0..=255_u8 {
                assert_eq!(halves[usize::from(b & 15)] ^ halves[16 + usize::from(b >> 4)], multiplied(a, b));
                let bits = (0..8).map(|i| ((rows[7 - i] & b).count_ones() as u8 & 1) << i);
                assert_eq!(bits.sum::<u8>(), multiplied(a, b));
            }
        }
    }
}
