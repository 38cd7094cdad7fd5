//! The NEON kernel of 64-bit Arm: parity by two table look-ups (TBL) per product, sums by the CRC32C instructions.
//!
//! It works in bands of U times 16 bytes, as the AVX2 kernel does: each source is loaded once, multiplied, and added to U
//! vectors of each output, which stay in registers until the band is done (there are 32 of them).

use super::crc32::{extend_thirds, extend_words, sum_of_xor};
use super::summing::Summing;
use crate::crc::INVERSION;
use crate::field::PRODUCTS;
use crate::product::Product;
use std::arch::aarch64::*;

/// Bytes of a vector.
const VECTOR: usize = 16;

/// `outs` = `product` times `sources`, and the sums that `summing` selects.
///
/// # Safety
/// The machine has this path; there are as many chunks as the product has rows and columns, all of one length.
#[target_feature(enable = "neon,crc")]
pub unsafe fn multiply(product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]], mut summing: Summing) {
    let length = sources[0].len();
    let is_first_known = matches!(summing, Summing::All(_)) && product.is_first_plain;
    let (source_sums, out_sums) = summing.split(sources.len());
    // Until the end these hold CRC states, not sums.
    source_sums.fill(INVERSION);
    out_sums.fill(INVERSION);
    let (known_sum, unknown_sums) = out_sums.split_at_mut(usize::from(is_first_known));
    let mut stripe = NeonStripe { product, sources, outs, source_states: source_sums, out_states: unknown_sums };
    // SAFETY: the chunks are as the caller promises, and there are as many rows as the constant says.
    let done = unsafe {
        match (product.rows, product.is_first_plain) {
            (0, _) => stripe.run::<0, 4, false>(),
            (1, false) => stripe.run::<1, 4, false>(),
            (1, true) => stripe.run::<1, 4, true>(),
            (2, false) => stripe.run::<2, 4, false>(),
            (2, true) => stripe.run::<2, 4, true>(),
            (3, false) => stripe.run::<3, 4, false>(),
            (3, true) => stripe.run::<3, 4, true>(),
            (4, false) => stripe.run::<4, 2, false>(),
            (4, true) => stripe.run::<4, 2, true>(),
            (5, false) => stripe.run::<5, 2, false>(),
            (5, true) => stripe.run::<5, 2, true>(),
            (_, false) => stripe.run::<6, 2, false>(),
            (_, true) => stripe.run::<6, 2, true>(),
        }
    };
    stripe.rest(done);
    source_sums.iter_mut().chain(unknown_sums).for_each(|sum| *sum ^= INVERSION);
    known_sum.iter_mut().for_each(|sum| *sum = sum_of_xor(source_sums, length));
}

/// The chunks of a stripe, and the CRC states of those that are summed: all sources or none, the last outs or none.
struct NeonStripe<'a, 'b> {
    product: &'a Product,
    sources: &'a [&'a [u8]],
    outs: &'a mut [&'b mut [u8]],
    source_states: &'a mut [u32],
    out_states: &'a mut [u32],
}

impl NeonStripe<'_, '_> {
    /// Processes all whole bands and returns where they end. M outs, U vectors a band; PLAIN: the first out is a plain
    /// XOR.
    ///
    /// # Safety
    /// All chunks have one length, and there are M outs and rows.
    #[target_feature(enable = "neon,crc")]
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
    #[target_feature(enable = "neon,crc")]
    unsafe fn band<const M: usize, const U: usize, const PLAIN: bool, const SUMMED: bool>(&mut self, at: usize) {
        let mut rows = [[vdupq_n_u8(0); U]; M];
        for (column, source) in self.sources.iter().enumerate() {
            // SAFETY: the band lies inside the source.
            let vectors: [uint8x16_t; U] = std::array::from_fn(|u| unsafe { load(source, at + u * VECTOR) });
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
                    *sum = veorq_u8(*sum, product);
                }
            }
        }
        for (out, vectors) in self.outs.iter_mut().zip(rows) {
            for (u, vector) in vectors.into_iter().enumerate() {
                // SAFETY: the band lies inside the out.
                unsafe { vst1q_u8(out.as_mut_ptr().add(at + u * VECTOR), vector) };
            }
        }
        for (state, out) in self.out_states.iter_mut().rev().zip(self.outs.iter().rev()) {
            *state = extend_words(*state, &out[at..at + U * VECTOR]);
        }
    }

    /// Processes the bytes from `at` on, fewer than a band.
    #[target_feature(enable = "neon,crc")]
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
#[target_feature(enable = "neon,crc")]
pub unsafe fn update(product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    let whole = old.len() / VECTOR * VECTOR;
    let factors = column * product.rows..(column + 1) * product.rows;
    for ((out, &factor), halves) in outs.iter_mut().zip(&product.factors[factors.clone()]).zip(&product.halves[factors])
    {
        for at in (0..whole).step_by(VECTOR) {
            // SAFETY: the vector lies inside the chunks, which have one length.
            unsafe {
                let change = veorq_u8(load(old, at), load(new, at));
                let sum = veorq_u8(load(out, at), multiplied(split(change), halves));
                vst1q_u8(out.as_mut_ptr().add(at), sum);
            }
        }
        for at in whole..old.len() {
            out[at] ^= PRODUCTS[usize::from(factor)][usize::from(old[at] ^ new[at])];
        }
    }
}

/// The CRC state after `bytes`. Its stretches are longer than on x86-64, because joining them takes longer.
///
/// # Safety
/// The machine has this path.
#[target_feature(enable = "neon,crc")]
pub unsafe fn extend(state: u32, bytes: &[u8]) -> u32 {
    let (state, rest) = extend_thirds::<12>(state, bytes);
    let (state, rest) = extend_thirds::<9>(state, rest);
    extend_words(state, rest)
}

/// # Safety
/// The chunk has a vector at `at`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(chunk: &[u8], at: usize) -> uint8x16_t {
    // SAFETY: the caller's promise.
    unsafe { vld1q_u8(chunk.as_ptr().add(at)) }
}

/// The low and the high half of each byte, as indices for TBL.
#[inline]
#[target_feature(enable = "neon")]
fn split(vector: uint8x16_t) -> [uint8x16_t; 2] {
    [vandq_u8(vector, vdupq_n_u8(15)), vshrq_n_u8::<4>(vector)]
}

/// The product of the bytes whose halves are `indices` by the factor whose tables are `tables`.
#[inline]
#[target_feature(enable = "neon")]
fn multiplied(indices: [uint8x16_t; 2], tables: &[u8; 32]) -> uint8x16_t {
    // SAFETY: both tables lie inside the array.
    let [low, high] = [0, 16].map(|at| unsafe { vld1q_u8(tables.as_ptr().add(at)) });
    veorq_u8(vqtbl1q_u8(low, indices[0]), vqtbl1q_u8(high, indices[1]))
}
