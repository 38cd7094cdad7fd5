//! A product of a matrix with chunks: what encoding and decoding both are, with its factors in the forms the kernels take.

use crate::field;

/// `rows` outputs from `columns` sources: output r is the sum over c of factor(r, c) times source c.
#[derive(Clone, Debug)]
pub struct Product {
    /// How many chunks come out; at most [`crate::matrix::PARITIES_MAX`].
    pub rows: usize,
    /// How many go in; 1 to 255.
    pub columns: usize,
    /// Whether the factors of the first row are all one: then it is a plain XOR.
    pub is_first_plain: bool,
    /// The factors, column by column: that of (row, column) is at `column * rows + row`, in all of these.
    pub factors: Vec<u8>,
    /// As [`field::bit_matrix`].
    pub bit_matrices: Vec<u64>,
    /// As [`field::halves`].
    pub halves: Vec<[u8; 32]>,
}

impl Product {
    /// With the factors that `factor` gives for (row, column).
    pub fn new(rows: usize, columns: usize, factor: impl Fn(usize, usize) -> u8) -> Product {
        let factors: Vec<u8> = (0..columns * rows).map(|at| factor(at % rows, at / rows)).collect();
        Product {
            rows,
            columns,
            is_first_plain: rows > 0 && factors.chunks(rows).all(|column| column[0] == 1),
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
