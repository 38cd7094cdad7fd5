//! The scalar kernel: one byte at a time, by table. Slow and simple: the reference that the other kernels are tested
//! against.

use crate::crc::{self, INVERSION};
use crate::field::PRODUCTS;
use crate::product::Product;

/// `outs` = `product` times `sources`.
pub fn multiply(product: &Product, sources: &[&[u8]], outs: &mut [&mut [u8]]) {
    for (row, out) in outs.iter_mut().enumerate() {
        out.fill(0);
        for (column, source) in sources.iter().enumerate() {
            add(product.factor(row, column), source, out);
        }
    }
}

/// Adds column `column` of `product` times (`old` + `new`) to `outs`.
pub fn update(product: &Product, column: usize, old: &[u8], new: &[u8], outs: &mut [&mut [u8]]) {
    for (row, out) in outs.iter_mut().enumerate() {
        add(product.factor(row, column), old, out);
        add(product.factor(row, column), new, out);
    }
}

/// The CRC-32C of `bytes`.
pub fn sum(bytes: &[u8]) -> u32 {
    crc::extend(INVERSION, bytes) ^ INVERSION
}

fn add(factor: u8, source: &[u8], out: &mut [u8]) {
    let products = &PRODUCTS[usize::from(factor)];
    for (out, &byte) in out.iter_mut().zip(source) {
        *out ^= products[usize::from(byte)];
    }
}
