//! The AVX2 kernel: parity by two PSHUFB a product, sums by the CRC32 instruction while the bytes are in the first-level cache.
use super::scalar;
use super::summing::Summing;
use crate::product::Product;
use super::crc32::extend_words;

#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn multiply(product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]], mut summing: Summing) {
    scalar::multiply(product, sources, outs);
    let (source_sums, out_sums) = summing.split(product.columns);
    source_sums.iter_mut().zip(sources).for_each(|(sum, source)| *sum = scalar::sum(source));
    out_sums.iter_mut().zip(outs).for_each(|(sum, out)| *sum = scalar::sum(out));
}
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn update(product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    scalar::update(product, column, old, new, outs)
}
#[target_feature(enable = "avx2,sse4.2,pclmulqdq")]
pub unsafe fn extend(state: u32, bytes: &[u8]) -> u32 { extend_words(state, bytes) }
