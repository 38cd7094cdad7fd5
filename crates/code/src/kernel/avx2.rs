//! The AVX2 kernel: parity by two PSHUFB a product, sums by the CRC32 instruction.
//!
//! The stripe is worked through in blocks small enough for all their bytes to be in the first-level cache still when, after
//! the parity, the sums are made.

use super::crc32::{extend_several, extend_thirds, extend_words, sum_of_xor};
use super::summing::Summing;
use crate::crc::INVERSION;
use crate::field::PRODUCTS;
use crate::matrix::PARITIES_MAX;
use crate::product::Product;
use std::arch::x86_64::*;

/// Bytes of a vector.
const VECTOR: usize = 32;

/// Bytes of each chunk in a block.
const BLOCK: usize = 512;

/// Most chunks whose sums are made: one for each source and out of a product.
const SUMS_MAX: usize = 255 + PARITIES_MAX;

/// `outs` = `product` times `sources`, and the sums that `summing` names.
///
/// # Safety
/// The machine has the path; the numbers of chunks are the product's, their lengths are one.
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn multiply(product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]], mut summing: Summing) {
    let length = sources[0].len();
    let is_first_known = matches!(summing, Summing::All(_)) && product.is_first_plain;
    let (source_sums, out_sums) = summing.split(sources.len());
    let summed_sources = &sources[..source_sums.len()];
    let summed_outs = if out_sums.is_empty() { outs.len() } else { usize::from(is_first_known) }..outs.len();
    let mut states = [INVERSION; SUMS_MAX];
    for start in (0..length).step_by(BLOCK) {
        let end = length.min(start + BLOCK);
        // SAFETY: the block lies inside the chunks, and there are as many rows as the constant says.
        unsafe {
            match (product.rows, product.is_first_plain) {
                (0, _) => {}
                (1, false) => block::<1, 2, false>(product, sources, outs, start, end),
                (1, true) => block::<1, 2, true>(product, sources, outs, start, end),
                (2, false) => block::<2, 2, false>(product, sources, outs, start, end),
                (2, true) => block::<2, 2, true>(product, sources, outs, start, end),
                (3, false) => block::<3, 2, false>(product, sources, outs, start, end),
                (3, true) => block::<3, 2, true>(product, sources, outs, start, end),
                (4, false) => block::<4, 1, false>(product, sources, outs, start, end),
                (4, true) => block::<4, 1, true>(product, sources, outs, start, end),
                (5, false) => block::<5, 1, false>(product, sources, outs, start, end),
                (5, true) => block::<5, 1, true>(product, sources, outs, start, end),
                (_, false) => block::<6, 1, false>(product, sources, outs, start, end),
                (_, true) => block::<6, 1, true>(product, sources, outs, start, end),
            }
        }
        let count = summed_sources.len() + summed_outs.len();
        let chunk = |i: usize| match summed_sources.get(i) {
            Some(source) => &source[start..end],
            None => &outs[summed_outs.start + i - summed_sources.len()][start..end],
        };
        extend_all(&mut states[..count], chunk);
    }
    let (of_sources, of_outs) = states.split_at(source_sums.len());
    source_sums.iter_mut().zip(of_sources).for_each(|(sum, state)| *sum = state ^ INVERSION);
    if is_first_known {
        out_sums[0] = sum_of_xor(source_sums, length);
    }
    let rest = out_sums.iter_mut().skip(usize::from(is_first_known));
    rest.zip(of_outs).for_each(|(sum, state)| *sum = state ^ INVERSION);
}

/// Adds column `column` of `product` times (`old` + `new`) to `outs`.
///
/// # Safety
/// The machine has the path; the product has that column and as many rows as there are outs, all chunks have one length.
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn update(product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    let whole = old.len() / VECTOR * VECTOR;
    let factors = column * product.rows..(column + 1) * product.rows;
    for ((out, &factor), halves) in outs.iter_mut().zip(&product.factors[factors.clone()]).zip(&product.halves[factors]) {
        for at in (0..whole).step_by(VECTOR) {
            // SAFETY: the vector lies inside the chunks, which have one length.
            unsafe {
                let change = _mm256_xor_si256(load(old, at), load(new, at));
                let sum = _mm256_xor_si256(load(out, at), multiplied(split(change), halves));
                _mm256_storeu_si256(out.as_mut_ptr().add(at).cast(), sum);
            }
        }
        for at in whole..old.len() {
            out[at] ^= PRODUCTS[usize::from(factor)][usize::from(old[at] ^ new[at])];
        }
    }
}

/// The state after `bytes`.
///
/// # Safety
/// The machine has the path.
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn extend(state: u32, bytes: &[u8]) -> u32 {
    let (state, rest) = extend_thirds::<10>(state, bytes);
    let (state, rest) = extend_thirds::<7>(state, rest);
    extend_words(state, rest)
}

/// The bytes from `start` to `end` of M outs, U vectors at a time; whether the first out is a plain XOR.
///
/// # Safety
/// There are M outs and rows; `end` is not behind the end of any chunk.
#[target_feature(enable = "avx2")]
unsafe fn block<const M: usize, const U: usize, const PLAIN: bool>(
    product: &Product,
    sources: &[&[u8]],
    outs: &mut [&mut [u8]],
    start: usize,
    end: usize,
) {
    let whole = start + (end - start) / (U * VECTOR) * (U * VECTOR);
    for at in (start..whole).step_by(U * VECTOR) {
        let mut rows = [[_mm256_setzero_si256(); U]; M];
        for (column, source) in sources.iter().enumerate() {
            // SAFETY: the vectors lie inside the block.
            let vectors: [__m256i; U] = std::array::from_fn(|u| unsafe { load(source, at + u * VECTOR) });
            let halves = vectors.map(|vector| split(vector));
            for row in 0..M {
                for u in 0..U {
                    let product = if row == 0 && PLAIN {
                        vectors[u]
                    } else {
                        // SAFETY: there is one for each row and column.
                        multiplied(halves[u], unsafe { product.halves.get_unchecked(column * M + row) })
                    };
                    rows[row][u] = _mm256_xor_si256(rows[row][u], product);
                }
            }
        }
        for (row, vectors) in rows.iter().enumerate() {
            for (u, &vector) in vectors.iter().enumerate() {
                // SAFETY: the vectors lie inside the block.
                unsafe { _mm256_storeu_si256(outs[row].as_mut_ptr().add(at + u * VECTOR).cast(), vector) };
            }
        }
    }
    for (row, out) in outs.iter_mut().enumerate() {
        for at in whole..end {
            let byte = |(column, source): (usize, &&[u8])| {
                PRODUCTS[usize::from(product.factor(row, column))][usize::from(source[at])]
            };
            out[at] = sources.iter().enumerate().map(byte).fold(0, |sum, byte| sum ^ byte);
        }
    }
}

/// Extends every state by its chunk, as many at once as keep the instruction busy.
#[inline]
#[target_feature(enable = "sse4.2")]
fn extend_all<'a>(states: &mut [u32], chunk: impl Fn(usize) -> &'a [u8]) {
    let mut at = 0;
    while at < states.len() {
        let at_once = match states.len() - at {
            4 | 7.. => 4,
            left => left.min(3), // 6 as 3 + 3 and 5 as 3 + 2: two are not faster than three
        };
        let states = &mut states[at..];
        match at_once {
            1 => extend_several(states, [chunk(at)]),
            2 => extend_several(states, [chunk(at), chunk(at + 1)]),
            3 => extend_several(states, [chunk(at), chunk(at + 1), chunk(at + 2)]),
            _ => extend_several(states, [chunk(at), chunk(at + 1), chunk(at + 2), chunk(at + 3)]),
        }
        at += at_once;
    }
}

/// # Safety
/// The chunk has a vector at `at`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(chunk: &[u8], at: usize) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu_si256(chunk.as_ptr().add(at).cast()) }
}

/// The low and the high half of each byte, as indices for PSHUFB.
#[inline]
#[target_feature(enable = "avx2")]
fn split(vector: __m256i) -> [__m256i; 2] {
    let mask = _mm256_set1_epi8(15);
    [_mm256_and_si256(vector, mask), _mm256_and_si256(_mm256_srli_epi64::<4>(vector), mask)]
}

/// The product of the bytes whose halves are `indices` by the factor whose tables are `tables`.
#[inline]
#[target_feature(enable = "avx2")]
fn multiplied(indices: [__m256i; 2], tables: &[u8; 32]) -> __m256i {
    // SAFETY: both tables lie inside the array.
    let [low, high] = [0, 16].map(|at| unsafe { _mm_loadu_si128(tables.as_ptr().add(at).cast()) });
    let low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), indices[0]);
    let high = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high), indices[1]);
    _mm256_xor_si256(low, high)
}
