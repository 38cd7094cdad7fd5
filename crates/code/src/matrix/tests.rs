//! Tests that every square part of the coefficient matrix has an inverse.

use super::*;
use crate::field::{PRODUCTS, inverse, multiply};
use proptest::prelude::*;

/// The data columns of a code of 255 slots with 6 parities.
const COLUMNS: usize = 249;

/// All ways to choose `count` of 0..n, in order.
fn choices(n: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..count {
        let longer = |choice: &Vec<usize>| {
            let next = choice.last().map_or(0, |last| last + 1);
            let choice = choice.clone();
            (next..n).map(move |i| [&choice[..], &[i]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn part(rows: &[usize], columns: &[usize]) -> Vec<u8> {
    rows.iter().flat_map(|&row| columns.iter().map(move |&column| coefficient(row, column))).collect()
}

/// The determinant by its definition, over all permutations, with nothing that the inversion uses. (In this field signs
/// do not matter.)
fn determinant(rows: &[usize], columns: &[usize]) -> u8 {
    let Some((&row, rows)) = rows.split_first() else { return 1 };
    let without = |at| [&columns[..at], &columns[at + 1..]].concat();
    (0..columns.len()).fold(0, |sum, at| sum ^ multiply(coefficient(row, columns[at]), determinant(rows, &without(at))))
}

/// The determinant by the formula in the module's text.
fn determinant_by_formula(rows: &[usize], columns: &[usize]) -> u8 {
    let x: Vec<u8> = columns.iter().map(|&column| POWERS[(ORDER - column) % ORDER]).collect();
    let y: Vec<u8> =
        rows.iter().filter(|&&row| row > 0).map(|&row| if row == 1 { 0 } else { POWERS[row - 1] }).collect();
    let differences = |values: &[u8]| {
        let pairs = (0..values.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.fold(1, |product, (a, b)| multiply(product, values[a] ^ values[b]))
    };
    let below = x.iter().flat_map(|x| y.iter().map(move |y| x ^ y)).fold(1, multiply);
    multiply(multiply(differences(&x), differences(&y)), inverse(below))
}

#[test]
fn rows_are_those_published() {
    // SnapRAID (A. Mazzoleni, 2013) prints the first columns of its matrix: our rows, each divided by its first entry.
    let published: [[u8; 8]; 6] = [
        [0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01],
        [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80],
        [0x01, 0xf5, 0xd2, 0xc4, 0x9a, 0x71, 0xf1, 0x7f],
        [0x01, 0xbb, 0xa6, 0xd7, 0xc7, 0x07, 0xce, 0x82],
        [0x01, 0x97, 0x7f, 0x9c, 0x7c, 0x18, 0xbd, 0xa2],
        [0x01, 0x2b, 0x3f, 0xcf, 0x73, 0x2c, 0xd6, 0xed],
    ];
    for (row, published) in published.iter().enumerate() {
        let divided: Vec<u8> = (0..8).map(|i| multiply(coefficient(row, i), inverse(coefficient(row, 0)))).collect();
        assert_eq!(divided, published);
    }
}

/// The argument of the module's text, for every width that a code may have.
#[test]
fn no_factor_of_the_formula_is_zero() {
    for parities in 1..=PARITIES_MAX {
        let x = (0..255 - parities).map(|column| POWERS[(ORDER - column) % ORDER]);
        let y = (1..parities).map(|row| if row == 1 { 0 } else { POWERS[row - 1] });
        let mut points: Vec<u8> = x.chain(y).collect();
        let count = points.len();
        points.sort_unstable();
        points.dedup();
        assert_eq!(points.len(), count, "all x and y are distinct");
    }
}

#[test]
fn the_formula_is_the_determinant_of_every_part_of_8_columns() {
    for size in 1..=PARITIES_MAX {
        for rows in choices(PARITIES_MAX, size) {
            for columns in choices(8, size) {
                assert_eq!(
                    determinant(&rows, &columns),
                    determinant_by_formula(&rows, &columns),
                    "{rows:?} {columns:?}"
                );
            }
        }
    }
}

#[test]
fn every_part_of_16_columns_has_an_inverse() {
    for size in 1..=PARITIES_MAX {
        for rows in choices(PARITIES_MAX, size) {
            for columns in choices(16, size) {
                assert!(invert(&part(&rows, &columns), size).is_some(), "{rows:?} {columns:?}");
            }
        }
    }
}

/// All parts of at most 3 rows, at full width (an eighth of it without optimization: their number grows with its cube).
#[test]
fn every_part_of_up_to_3_rows_has_a_determinant() {
    let width = if cfg!(debug_assertions) { COLUMNS / 8 } else { COLUMNS };
    let times = |a: u8, b: u8| PRODUCTS[usize::from(a)][usize::from(b)];
    let rows: Vec<Vec<u8>> = (0..PARITIES_MAX).map(|row| (0..width).map(|i| coefficient(row, i)).collect()).collect();
    for (i, first) in rows.iter().enumerate() {
        assert!(first.iter().all(|&a| a != 0));
        for (j, second) in rows.iter().enumerate().skip(i + 1) {
            for a in 0..width {
                for b in 0..a {
                    let minor = |p: usize, q: usize| times(first[p], second[q]) ^ times(first[q], second[p]);
                    let ab = minor(a, b);
                    assert_ne!(ab, 0, "rows {i} {j}, columns {b} {a}");
                    for third in &rows[j + 1..] {
                        let is_zero = |c: usize| {
                            times(third[c], ab) ^ times(third[b], minor(a, c)) ^ times(third[a], minor(b, c)) == 0
                        };
                        assert!(!(0..b).any(is_zero), "rows {i} {j} and another, columns {b} {a} and another");
                    }
                }
            }
        }
    }
}

#[test]
fn a_singular_matrix_has_no_inverse() {
    assert_eq!(invert(&[1, 2, 2, 4], 2), None);
    assert_eq!(invert(&[], 0), Some(vec![]));
    assert_eq!(invert(&[0, 1, 1, 0], 2), Some(vec![0, 1, 1, 0]));
}

proptest! {
    #[test]
    fn parts_at_full_width_have_the_determinant_of_the_formula(
        rows in proptest::sample::subsequence((0..PARITIES_MAX).collect::<Vec<_>>(), 1..=PARITIES_MAX),
        columns in proptest::sample::subsequence((0..COLUMNS).collect::<Vec<_>>(), PARITIES_MAX),
    ) {
        let (size, columns) = (rows.len(), &columns[..rows.len()]);
        prop_assert_eq!(determinant(&rows, columns), determinant_by_formula(&rows, columns));
        let matrix = part(&rows, columns);
        let inverse = invert(&matrix, size).expect("an inverse");
        for i in 0..size {
            for j in 0..size {
                let sum = (0..size).fold(0, |sum, at| sum ^ multiply(matrix[i * size + at], inverse[at * size + j]));
                prop_assert_eq!(sum, u8::from(i == j));
            }
        }
    }
}
