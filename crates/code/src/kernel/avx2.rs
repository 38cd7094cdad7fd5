//! The AVX2 kernel: parity by two PSHUFB per product, sums by the CRC32 instruction.
//!
//! The stripe is processed in *bands* of U times 32 bytes. In a band, each source is loaded once, multiplied, and added
//! to U vectors of each output, which stay in registers until the band is done. The source's sum is extended by the
//! same bytes, on execution units that vector instructions do not use.

use super::crc32::{extend_thirds, extend_words, sum_of_xor};
use super::summing::Summing;
use crate::crc::INVERSION;
use crate::field::PRODUCTS;
use crate::product::Product;
use std::arch::x86_64::*;

/// Bytes of a vector.
const VECTOR: usize = 32;

/// `outs` = `product` times `sources`, and the sums that `summing` selects.
///
/// # Safety
/// The machine has this path; there are as many chunks as the product has rows and columns, all of one length.
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn multiply(product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]], mut summing: Summing) {
    let length = sources[0].len();
    let is_first_known = matches!(summing, Summing::All(_)) && product.is_first_plain;
    let (source_sums, out_sums) = summing.split(sources.len());
    // Until the end these hold CRC states, not sums.
    source_sums.fill(INVERSION);
    out_sums.fill(INVERSION);
    let (known_sum, unknown_sums) = out_sums.split_at_mut(usize::from(is_first_known));
    let mut stripe = Avx2Stripe { product, sources, outs, source_states: source_sums, out_states: unknown_sums };
    // SAFETY: the chunks are as the caller promises, and there are as many rows as the constant says.
    let done = unsafe {
        match (product.rows, product.is_first_plain) {
            (0, _) => stripe.run::<0, 2, false>(),
            (1, false) => stripe.run::<1, 2, false>(),
            (1, true) => stripe.run::<1, 2, true>(),
            (2, false) => stripe.run::<2, 2, false>(),
            (2, true) => stripe.run::<2, 2, true>(),
            (3, false) => stripe.run::<3, 2, false>(),
            (3, true) => stripe.run::<3, 2, true>(),
            (4, false) => stripe.run::<4, 1, false>(),
            (4, true) => stripe.run::<4, 1, true>(),
            (5, false) => stripe.run::<5, 1, false>(),
            (5, true) => stripe.run::<5, 1, true>(),
            (_, false) => stripe.run::<6, 1, false>(),
            (_, true) => stripe.run::<6, 1, true>(),
        }
    };
    stripe.rest(done);
    source_sums.iter_mut().chain(unknown_sums).for_each(|sum| *sum ^= INVERSION);
    known_sum.iter_mut().for_each(|sum| *sum = sum_of_xor(source_sums, length));
}

/// The chunks of a stripe, and the CRC states of those that are summed: all sources or none, the last outs or none.
struct Avx2Stripe<'a, 'b> {
    product: &'a Product,
    sources: &'a [&'a [u8]],
    outs: &'a mut [&'b mut [u8]],
    source_states: &'a mut [u32],
    out_states: &'a mut [u32],
}

impl Avx2Stripe<'_, '_> {
    /// Processes all whole bands and returns where they end. M outs, U vectors a band; PLAIN: the first out is a plain
    /// XOR.
    ///
    /// # Safety
    /// All chunks have one length, and there are M outs and rows.
    #[target_feature(enable = "avx2,sse4.2")]
    unsafe fn run<const M: usize, const U: usize, const PLAIN: bool>(&mut self) -> usize {
        let end = self.sources[0].len() / (U * VECTOR) * (U * VECTOR);
        let is_summed = !self.source_states.is_empty();
        for at in (0..end).step_by(U * VECTOR) {
            // SAFETY: the band ends before the chunks do; there are as many states as sources.
            unsafe { if is_summed { self.band::<M, U, PLAIN, true>(at) } else { self.band::<M, U, PLAIN, false>(at) } }
        }
        end
    }

    /// Processes one band, of U vectors from `at` on.
    ///
    /// # Safety
    /// As for `run`; the band ends before the chunks do, and if SUMMED, every source has a state.
    #[inline]
    #[target_feature(enable = "avx2,sse4.2")]
    unsafe fn band<const M: usize, const U: usize, const PLAIN: bool, const SUMMED: bool>(&mut self, at: usize) {
        let mut rows = [[_mm256_setzero_si256(); U]; M];
        for (column, source) in self.sources.iter().enumerate() {
            // SAFETY: the band lies inside the source.
            let vectors: [__m256i; U] = std::array::from_fn(|u| unsafe { load(source, at + u * VECTOR) });
            if SUMMED {
                // SAFETY: there is a state for each source, and the band lies inside it.
                unsafe {
                    let state = self.source_states.get_unchecked_mut(column);
                    *state = extend_words(*state, source.get_unchecked(at..at + U * VECTOR));
                }
            }
            let halves = vectors.map(|vector| split(vector));
            for (row, sums) in rows.iter_mut().enumerate() {
                for (u, sum) in sums.iter_mut().enumerate() {
                    let product = if row == 0 && PLAIN {
                        vectors[u]
                    } else {
                        // SAFETY: there is one for each row and column.
                        multiplied(halves[u], unsafe { self.product.halves.get_unchecked(column * M + row) })
                    };
                    *sum = _mm256_xor_si256(*sum, product);
                }
            }
        }
        for (out, vectors) in self.outs.iter_mut().zip(rows) {
            for (u, vector) in vectors.into_iter().enumerate() {
                // SAFETY: the band lies inside the out.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(at + u * VECTOR).cast(), vector) };
            }
        }
        for (state, out) in self.out_states.iter_mut().rev().zip(self.outs.iter().rev()) {
            *state = extend_words(*state, &out[at..at + U * VECTOR]);
        }
    }

    /// Processes the bytes from `at` on, fewer than a band.
    #[target_feature(enable = "sse4.2")]
    fn rest(&mut self, at: usize) {
        for (row, out) in self.outs.iter_mut().enumerate() {
            for (i, byte) in out.iter_mut().enumerate().skip(at) {
                let product = |(column, source): (usize, &&[u8])| {
                    PRODUCTS[usize::from(self.product.factor(row, column))][usize::from(source[i])]
                };
                *byte = self.sources.iter().enumerate().map(product).fold(0, |sum, product| sum ^ product);
            }
        }
        for (state, source) in self.source_states.iter_mut().zip(self.sources) {
            *state = extend_words(*state, &source[at..]);
        }
        for (state, out) in self.out_states.iter_mut().rev().zip(self.outs.iter().rev()) {
            *state = extend_words(*state, &out[at..]);
        }
    }
}

/// Adds column `column` of `product` times (`old` + `new`) to `outs`.
///
/// # Safety
/// The machine has this path; the product has that column and as many rows as there are outs; all chunks have one
/// length.
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn update(product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    let whole = old.len() / VECTOR * VECTOR;
    let factors = column * product.rows..(column + 1) * product.rows;
    for ((out, &factor), halves) in outs.iter_mut().zip(&product.factors[factors.clone()]).zip(&product.halves[factors])
    {
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

/// The CRC state after `bytes`.
///
/// # Safety
/// The machine has this path.
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn extend(state: u32, bytes: &[u8]) -> u32 {
    let (state, rest) = extend_thirds::<10>(state, bytes);
    let (state, rest) = extend_thirds::<7>(state, rest);
    extend_words(state, rest)
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
