//! The product of a matrix with chunks, which encoding and decoding compute, with its factors in the kernels' forms.

use crate::field;

/// `rows` outputs from `columns` sources: output r is the sum over c of factor(r, c) times source c.
#[derive(Clone, Debug)]
pub struct Product {
    /// The number of outputs; at most [`crate::matrix::PARITIES_MAX`].
    pub rows: usize,
    /// The number of sources, 1 to 255.
    pub columns: usize,
    /// Whether all factors of the first row are one, so that output 0 is a plain XOR.
    pub is_first_plain: bool,
    /// The factors, column by column: in all three tables, (row, column) is at `column * rows + row`.
    pub factors: Vec<u8>,
    /// The [`field::bit_matrix`] of each factor, which only GFNI multiplies by.
    #[cfg(target_arch = "x86_64")]
    pub bit_matrices: Vec<u64>,
    /// The [`field::halves`] of each factor.
    pub halves: Vec<[u8; 32]>,
}

impl Product {
    /// The product with the factors that `factor` gives for (row, column).
    pub fn new(rows: usize, columns: usize, factor: impl Fn(usize, usize) -> u8) -> Product {
        let factors: Vec<u8> = (0..columns * rows).map(|at| factor(at % rows, at / rows)).collect();
        Product {
            rows,
            columns,
            is_first_plain: rows > 0 && factors.chunks(rows).all(|column| column[0] == 1),
            #[cfg(target_arch = "x86_64")]
            bit_matrices: factors.iter().map(|&factor| field::bit_matrix(factor)).collect(),
            halves: factors.iter().map(|&factor| field::halves(factor)).collect(),
            factors,
        }
    }

    /// The factor of source `column` in output `row`.
    pub fn factor(&self, row: usize, column: usize) -> u8 {
        self.factors[column * self.rows + row]
    }
}
