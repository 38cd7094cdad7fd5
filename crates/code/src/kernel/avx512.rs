//! The AVX-512 kernel: parity by GF2P8AFFINEQB, sums by VPCLMULQDQ, both from a single load of every byte.
//!
//! The stripe is processed in *bands* of U times 64 bytes. In a band, each source is loaded once. Its U vectors are
//! folded into the source's accumulator; they are also multiplied and added to U vectors of each output, which stay in
//! registers until the band is done. Then the outputs are folded and stored. Accumulators live in the first-level cache
//! between bands, so the number of sources is not limited by the number of registers.
//!
//! An accumulator is 64 bytes that have the same CRC state (see [`crc`]) as the whole message so far. It begins as the
//! four bytes that lead to the state of all ones, and 60 bytes of zero.

use super::crc32::{extend_words, sum_of_xor};
use super::summing::Summing;
use crate::crc::{self, INVERSION};
use crate::matrix::PARITIES_MAX;
use crate::product::Product;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Bytes of a vector.
const VECTOR: usize = 64;

/// Vectors of a source in a band. Chosen for 6+2 on Zen 4, where 1 is slower from cache and 4 from memory with chunks of
/// 4 KiB, each by a few percent; other shapes were not measured on a quiet machine.
const BAND: usize = 2;

/// The number of accumulators: one for each source and each out, at most.
const ACCUMULATORS_MAX: usize = 255 + PARITIES_MAX;

/// What is summed, as const-generic values, so that each choice is compiled into a kernel of its own.
const NOTHING: u8 = 0;
const OUTS: u8 = 1;
const ALL: u8 = 2;

/// From this chunk length on, in bytes, outputs are stored past the caches, which saves reading the lines that they
/// replace. Measured on Zen 4, 6+2, with far more data than cache: 64 KiB chunks gain 10 to 30 %. With 4 KiB chunks,
/// waiting for the last stores to arrive costs more than that, and halves the speed for data that are already in the
/// cache.
const STREAMED_MIN: usize = 16 << 10;

/// `outs` = `product` times `sources`, and the sums that `summing` selects.
///
/// # Safety
/// The machine has this path; there are as many chunks as the product has rows and columns, all of one length.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq,pclmulqdq,sse4.2")]
pub unsafe fn multiply(product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]], mut summing: Summing) {
    let kind = match summing {
        Summing::Nothing => NOTHING,
        Summing::Outs(_) => OUTS,
        Summing::All(_) => ALL,
    };
    let length = sources[0].len();
    let mut places = [std::ptr::null_mut(); PARITIES_MAX];
    places.iter_mut().zip(outs.iter_mut()).for_each(|(place, out)| *place = out.as_mut_ptr());
    let is_aligned = places.iter().all(|place| place.addr() % VECTOR == 0);
    let mut accumulators = [const { MaybeUninit::uninit() }; ACCUMULATORS_MAX];
    let (of_sources, of_outs) = accumulators.split_at_mut(255);
    let mut stripe = Avx512Stripe {
        product,
        sources,
        outs: places,
        length,
        is_streamed: is_aligned && length >= STREAMED_MIN,
        of_sources: of_sources.try_into().expect("that many"),
        of_outs: of_outs.try_into().expect("that many"),
    };
    macro_rules! run {
        ($rows:literal) => {
            match (kind, product.is_first_plain) {
                (NOTHING, false) => stripe.run::<$rows, BAND, false, NOTHING>(),
                (NOTHING, true) => stripe.run::<$rows, BAND, true, NOTHING>(),
                (OUTS, false) => stripe.run::<$rows, BAND, false, OUTS>(),
                (OUTS, true) => stripe.run::<$rows, BAND, true, OUTS>(),
                (_, false) => stripe.run::<$rows, BAND, false, ALL>(),
                (_, true) => stripe.run::<$rows, BAND, true, ALL>(),
            }
        };
    }
    // SAFETY: the chunks are as the caller promises, and there are as many rows as the constant says.
    unsafe {
        match product.rows {
            0 => run!(0),
            1 => run!(1),
            2 => run!(2),
            3 => run!(3),
            4 => run!(4),
            5 => run!(5),
            _ => run!(6),
        }
    }
    let (source_sums, out_sums) = summing.split(sources.len());
    let whole = length / VECTOR * VECTOR;
    // SAFETY: `run` has set the accumulators of all chunks that are summed.
    let sum = |place: &MaybeUninit<__m512i>, chunk: &[u8]| unsafe {
        INVERSION ^ extend_words(state(place.assume_init()), &chunk[whole..])
    };
    for ((place, source), out) in stripe.of_sources.iter().zip(sources).zip(source_sums.iter_mut()) {
        *out = sum(place, source);
    }
    for ((place, chunk), out) in stripe.of_outs.iter().zip(outs).zip(out_sums.iter_mut()) {
        *out = sum(place, chunk);
    }
    if kind == ALL && product.is_first_plain {
        out_sums[0] = sum_of_xor(source_sums, length);
    }
}

/// The chunks of a stripe, and the accumulators of their sums.
struct Avx512Stripe<'a> {
    product: &'a Product,
    sources: &'a [&'a [u8]],
    outs: [*mut u8; PARITIES_MAX],
    length: usize,
    is_streamed: bool,
    of_sources: &'a mut [MaybeUninit<__m512i>; 255],
    of_outs: &'a mut [MaybeUninit<__m512i>; PARITIES_MAX],
}

impl Avx512Stripe<'_> {
    /// Processes the stripe. M outs, U vectors a band; PLAIN: the first out is a plain XOR; SUMS: which chunks are
    /// summed.
    ///
    /// # Safety
    /// Each source has `length` bytes, each of the first M outs has room for them, and the product has M rows.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq,pclmulqdq,sse4.2")]
    unsafe fn run<const M: usize, const U: usize, const PLAIN: bool, const SUMS: u8>(&mut self) {
        let beginning = beginning();
        if SUMS == ALL {
            self.of_sources[..self.sources.len()].fill(MaybeUninit::new(beginning));
        }
        if SUMS != NOTHING {
            self.of_outs[..M].fill(MaybeUninit::new(beginning));
        }
        self.prefetch_start::<M>(U * VECTOR);
        let mut at = 0;
        // SAFETY: each band ends before the chunks do, the last one at their end.
        unsafe {
            while at + U * VECTOR <= self.length {
                self.band::<M, U, PLAIN, SUMS>(at);
                at += U * VECTOR;
            }
            while at + VECTOR <= self.length {
                self.band::<M, 1, PLAIN, SUMS>(at);
                at += VECTOR;
            }
            if at < self.length && M > 0 {
                self.rest::<M>(at);
            }
        }
        if self.is_streamed {
            // Streamed stores are weakly ordered: a thread that is notified after this must see them.
            // SAFETY: every x86_64 has this instruction. (To newer compilers the call is safe by itself.)
            #[allow(unused_unsafe)]
            unsafe {
                _mm_sfence();
            }
        }
    }

    /// Prefetches the first `count` bytes of every source and, unless outputs are streamed, the first line of every
    /// out. Chunks lie on different pages and the hardware prefetcher starts over on each page, so at least their first
    /// misses overlap.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn prefetch_start<const M: usize>(&self, count: usize) {
        for at in (0..count.min(self.length)).step_by(VECTOR) {
            for source in self.sources {
                // SAFETY: the place lies inside the source.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(source.as_ptr().add(at).cast()) };
            }
        }
        for row in 0..if self.is_streamed { 0 } else { M } {
            // SAFETY: there are M outs.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(self.outs.get_unchecked(row).cast()) };
        }
    }

    /// Processes one band, of U vectors from `at` on.
    ///
    /// # Safety
    /// As for `run`, and the band ends before the chunks do.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq,pclmulqdq,sse4.2")]
    unsafe fn band<const M: usize, const U: usize, const PLAIN: bool, const SUMS: u8>(&mut self, at: usize) {
        let mut rows = [[_mm512_setzero_si512(); U]; M];
        let next = if at + 2 * U * VECTOR <= self.length { at + U * VECTOR } else { at };
        for (column, source) in self.sources.iter().enumerate() {
            // SAFETY: this band and the next one lie inside the source, and there is a matrix for each row and column.
            let (vectors, matrices) = unsafe {
                let start = source.as_ptr().add(at);
                let vectors: [__m512i; U] = std::array::from_fn(|u| _mm512_loadu_si512(start.add(u * VECTOR).cast()));
                let matrices: [__m512i; M] = std::array::from_fn(|row| {
                    _mm512_set1_epi64(*self.product.bit_matrices.get_unchecked(column * M + row) as i64)
                });
                for u in 0..U {
                    _mm_prefetch::<_MM_HINT_T0>(source.as_ptr().add(next + u * VECTOR).cast());
                }
                (vectors, matrices)
            };
            if SUMS == ALL {
                // SAFETY: set in `run`; there are as many as sources.
                unsafe {
                    let place = self.of_sources.get_unchecked_mut(column);
                    place.write(vectors.iter().fold(place.assume_init(), |sum, &vector| fold(sum, vector)));
                }
            }
            for (row, sums) in rows.iter_mut().enumerate() {
                for (sum, &vector) in sums.iter_mut().zip(&vectors) {
                    let product = if row == 0 && PLAIN {
                        vector
                    } else {
                        _mm512_gf2p8affine_epi64_epi8::<0>(vector, matrices[row])
                    };
                    *sum = _mm512_xor_si512(*sum, product);
                }
            }
        }
        for (row, vectors) in rows.iter().enumerate() {
            if SUMS == OUTS || SUMS == ALL && !(row == 0 && PLAIN) {
                // SAFETY: set in `run`.
                let sum = unsafe { self.of_outs[row].assume_init() };
                self.of_outs[row].write(vectors.iter().fold(sum, |sum, &vector| fold(sum, vector)));
            }
            for (u, &vector) in vectors.iter().enumerate() {
                // SAFETY: the band lies inside the out; streamed outs are aligned.
                unsafe {
                    let place = self.outs[row].add(at + u * VECTOR).cast();
                    if self.is_streamed {
                        _mm512_stream_si512(place, vector);
                    } else {
                        _mm512_storeu_si512(place, vector);
                    }
                }
            }
        }
    }

    /// Processes the last bytes, fewer than a vector, from `at` on. They are not folded.
    ///
    /// # Safety
    /// As for `run`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq,pclmulqdq,sse4.2")]
    unsafe fn rest<const M: usize>(&mut self, at: usize) {
        let mask = (1_u64 << (self.length - at)) - 1;
        let mut rows = [_mm512_setzero_si512(); M];
        for (column, source) in self.sources.iter().enumerate() {
            // SAFETY: the mask ends where the source does.
            let vector = unsafe { _mm512_maskz_loadu_epi8(mask, source.as_ptr().add(at).cast()) };
            for (row, sum) in rows.iter_mut().enumerate() {
                let matrix = _mm512_set1_epi64(self.product.bit_matrices[column * M + row] as i64);
                *sum = _mm512_xor_si512(*sum, _mm512_gf2p8affine_epi64_epi8::<0>(vector, matrix));
            }
        }
        for (row, &vector) in rows.iter().enumerate() {
            // SAFETY: the mask ends where the out does.
            unsafe { _mm512_mask_storeu_epi8(self.outs[row].add(at).cast(), mask, vector) };
        }
    }
}

/// Adds column `column` of `product` times (`old` + `new`) to `outs`.
///
/// # Safety
/// The machine has this path; the product has that column and as many rows as there are outs; all chunks have one
/// length.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq,pclmulqdq,sse4.2")]
pub unsafe fn update(product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    let matrices = &product.bit_matrices[column * product.rows..][..product.rows];
    for at in (0..old.len()).step_by(VECTOR) {
        let mask = u64::MAX >> (VECTOR - (old.len() - at).min(VECTOR));
        // SAFETY: the mask ends where the chunks do.
        unsafe {
            let before = _mm512_maskz_loadu_epi8(mask, old.as_ptr().add(at).cast());
            let after = _mm512_maskz_loadu_epi8(mask, new.as_ptr().add(at).cast());
            let change = _mm512_xor_si512(before, after);
            for (out, &matrix) in outs.iter_mut().zip(matrices) {
                let place = out.as_mut_ptr().add(at).cast();
                let product = _mm512_gf2p8affine_epi64_epi8::<0>(change, _mm512_set1_epi64(matrix as i64));
                let sum = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, place), product);
                _mm512_mask_storeu_epi8(place, mask, sum);
            }
        }
    }
}

/// The CRC state after `bytes`: four accumulators, each for every fourth vector, are merged at the end.
///
/// # Safety
/// The machine has this path.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq,pclmulqdq,sse4.2")]
pub unsafe fn extend(before: u32, bytes: &[u8]) -> u32 {
    let (bands, rest) = bytes.as_chunks::<{ 4 * VECTOR }>();
    let Some((first, bands)) = bands.split_first() else { return extend_words(before, bytes) };
    let load = |band: &[u8; 4 * VECTOR]| -> [__m512i; 4] {
        // SAFETY: each vector lies inside the band.
        std::array::from_fn(|u| unsafe { _mm512_loadu_si512(band.as_ptr().add(u * VECTOR).cast()) })
    };
    let mut sums = load(first);
    sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(before as i32)));
    let far = constants(const { crc::folding(4 * 512) });
    for band in bands {
        let vectors = load(band);
        for u in 0..4 {
            sums[u] = fold_by(far, sums[u], vectors[u]);
        }
    }
    let [first, others @ ..] = sums;
    extend_words(state(others.into_iter().fold(first, |sum, next| fold(sum, next))), rest)
}

/// The accumulator of an empty message.
#[inline]
#[target_feature(enable = "avx512f")]
fn beginning() -> __m512i {
    const WORD: i32 = crc::word_before(INVERSION) as i32;
    _mm512_set_epi32(WORD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

/// The CRC state that an accumulator stands for.
#[inline]
#[target_feature(enable = "avx512f,sse4.2")]
fn state(accumulator: __m512i) -> u32 {
    let mut words = [0_u64; 8];
    // SAFETY: the array has the size of the vector.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), accumulator) };
    words.into_iter().fold(0, |state, word| _mm_crc32_u64(state, word)) as u32
}

/// The accumulator after one more vector.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(accumulator: __m512i, vector: __m512i) -> __m512i {
    fold_by(constants(const { crc::folding(512) }), accumulator, vector)
}

/// `accumulator`, moved ahead by the distance that `constants` stand for, plus `vector`.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold_by(constants: __m512i, accumulator: __m512i, vector: __m512i) -> __m512i {
    let low = _mm512_clmulepi64_epi128::<0x00>(accumulator, constants);
    let high = _mm512_clmulepi64_epi128::<0x11>(accumulator, constants);
    _mm512_ternarylogic_epi64::<0x96>(low, high, vector) // the XOR of all three
}

#[inline]
#[target_feature(enable = "avx512f")]
fn constants(pair: [u64; 2]) -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi64x(pair[1] as i64, pair[0] as i64))
}
