//! The kernels, one for each path, and the checks of their preconditions.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod crc32;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod summing;

use crate::crc;
use crate::path::Path;
use crate::product::Product;
pub use summing::Summing;

/// `outs` = `product` times `sources`, and the CRC-32C of each chunk that `summing` selects.
///
/// # Panics
/// Unless there are as many sources, outs and sums as `product` and `summing` require, and all chunks have one length.
pub fn multiply(path: Path, product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]], mut summing: Summing) {
    assert!(sources.len() == product.columns && outs.len() == product.rows, "as many chunks as the code has slots");
    let length = sources[0].len();
    let is_even = sources.iter().all(|source| source.len() == length) && outs.iter().all(|out| out.len() == length);
    assert!(is_even, "all chunks have one length");
    summing.check(product.columns, product.rows);
    match path {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a path is used only after it was found available; the numbers and lengths are checked above.
        Path::Avx512 => unsafe { avx512::multiply(product, sources, outs, summing) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Path::Avx2 => unsafe { avx2::multiply(product, sources, outs, summing) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a path is used only after it was found available; the numbers and lengths are checked above.
        Path::Neon => unsafe { neon::multiply(product, sources, outs, summing) },
        _ => {
            scalar::multiply(product, sources, outs);
            let (source_sums, out_sums) = summing.split(product.columns);
            source_sums.iter_mut().zip(sources).for_each(|(sum, source)| *sum = scalar::sum(source));
            out_sums.iter_mut().zip(outs).for_each(|(sum, out)| *sum = scalar::sum(out));
        }
    }
}

/// Adds column `column` of `product` times (`old` + `new`) to `outs`.
///
/// # Panics
/// Unless there are as many outs as `product` has rows, it has that column, and all chunks have one length.
pub fn update(path: Path, product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    assert!(column < product.columns && outs.len() == product.rows, "as many chunks as the code has slots");
    let is_even = new.len() == old.len() && outs.iter().all(|out| out.len() == old.len());
    assert!(is_even, "all chunks have one length");
    match path {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a path is used only after it was found available; the numbers and lengths are checked above.
        Path::Avx512 => unsafe { avx512::update(product, column, old, new, outs) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Path::Avx2 => unsafe { avx2::update(product, column, old, new, outs) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a path is used only after it was found available; the numbers and lengths are checked above.
        Path::Neon => unsafe { neon::update(product, column, old, new, outs) },
        _ => scalar::update(product, column, old, new, outs),
    }
}

/// The state of a CRC-32C (see [`crc`]) after `bytes`.
pub fn extend(path: Path, state: u32, bytes: &[u8]) -> u32 {
    match path {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a path is used only after it was found available.
        Path::Avx512 => unsafe { avx512::extend(state, bytes) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Path::Avx2 => unsafe { avx2::extend(state, bytes) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a path is used only after it was found available.
        Path::Neon => unsafe { neon::extend(state, bytes) },
        _ => crc::extend(state, bytes),
    }
}
