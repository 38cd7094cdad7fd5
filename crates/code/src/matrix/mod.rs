//! The parity coefficients: an extended Cauchy matrix, of which every square part can be inverted.
//!
//! Row 0 is all ones (P), row 1 is 2^i (Q), row j + 1 is 1 / (2^-i + 2^j) for j = 1..=4. SnapRAID uses this
//! construction (A. Mazzoleni, 2013; its rows are these, each times a constant). Why every square part can be inverted:
//! with x_i = 2^-i and y_j = 0, 2, 4, 8, 16, all rows except the first are 1 / (x_i + y_j), a Cauchy matrix. The row of
//! ones is the limit of such a row, scaled by y, as y grows. The determinant of any part of s rows and columns is (R.
//! M. Roth, "Introduction to Coding Theory", 2006, section 5.2, and its limit)
//!
//! ```text
//! product over i < i' of (x_i + x_i')  *  product over j < j' of (y_j + y_j')  /  product over i, j of (x_i + y_j)
//! ```
//!
//! where a row of ones omits its y. No factor is zero if all x and y are distinct. Since x_i is 2^(255 - i), a code
//! with m >= 3 parities may have 257 - m columns, as many as there are before 255 - i reaches the highest j. A code of
//! at most 255 slots stays below that.

use crate::field::{self, ORDER, POWERS};

/// The maximum number of parities of a code.
pub const PARITIES_MAX: usize = 6;

/// The coefficient of data column `column` (below 255) in parity row `row` (below 6).
pub fn coefficient(row: usize, column: usize) -> u8 {
    match row {
        0 => 1,
        1 => POWERS[column],
        _ => field::inverse(POWERS[(ORDER - column) % ORDER] ^ POWERS[row - 1]),
    }
}

/// The inverse of a square matrix of `size` rows (at most 6), row by row; `None` if it has none (every square part of
/// the Cauchy matrix has one).
pub fn invert(matrix: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut left = matrix.to_vec();
    let mut right: Vec<u8> = (0..size * size).map(|at| u8::from(at / size == at % size)).collect();
    for pivot in 0..size {
        let row = (pivot..size).find(|row| left[row * size + pivot] != 0)?;
        for column in 0..size {
            left.swap(pivot * size + column, row * size + column);
            right.swap(pivot * size + column, row * size + column);
        }
        let factor = field::inverse(left[pivot * size + pivot]);
        for column in 0..size {
            left[pivot * size + column] = field::multiply(factor, left[pivot * size + column]);
            right[pivot * size + column] = field::multiply(factor, right[pivot * size + column]);
        }
        for row in (0..size).filter(|&row| row != pivot) {
            let factor = left[row * size + pivot];
            for column in 0..size {
                left[row * size + column] ^= field::multiply(factor, left[pivot * size + column]);
                right[row * size + column] ^= field::multiply(factor, right[pivot * size + column]);
            }
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests;
