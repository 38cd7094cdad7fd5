//! Scrubjay's erasure code over GF(2^8), and CRC-32C, in one pass over the data.
//!
//! A [`Code`] makes the parity chunks of a stripe, updates them, and rebuilds lost chunks, with their sums on request.
//! The bytes are the same on every [`Path`]; [`self_test`] checks that at every start.
//!
//! Two chunks of a 4+2 stripe are lost and rebuilt from the other four:
//!
//! ```
//! use scrubjay_code::Code;
//!
//! let code = Code::new(4, 2)?;
//! let data: Vec<Vec<u8>> = (0..4).map(|chunk| vec![chunk * 17; 4096]).collect();
//! let chunks: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
//! let (mut p, mut q) = (vec![0; 4096], vec![0; 4096]);
//! code.encode(&chunks, &mut [&mut p, &mut q]);
//!
//! let (mut first, mut third) = (vec![0; 4096], vec![0; 4096]);
//! let decoder = code.decoder(&[0, 2], &[1, 3, 4, 5])?;
//! decoder.decode(&[&data[1], &data[3], &p, &q], &mut [&mut first, &mut third]);
//! assert!(first == data[0] && third == data[2]);
//! # Ok::<(), scrubjay_code::CodeError>(())
//! ```
//!
//! **Never:** allocation, I/O, clocks or threads in the functions that run for each stripe. This crate and `device` are
//! the only ones with `unsafe`, each block with its `SAFETY:` line.

pub mod bench;
mod code;
mod crc;
mod error;
mod field;
pub mod isal;
mod kernel;
mod matrix;
mod path;
mod product;
mod self_test;

pub use code::{Code, Decoder};
pub use error::CodeError;
pub use path::{Path, path, paths};
pub use self_test::{SelfTestError, self_test};

/// The CRC-32C of `bytes`, as in iSCSI: that of `123456789` is `0xe3069283`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_extend(0, bytes)
}

/// The CRC-32C of a message whose CRC-32C is `sum`, followed by `bytes`.
pub fn crc32c_extend(sum: u32, bytes: &[u8]) -> u32 {
    kernel::extend(path(), sum ^ crc::INVERSION, bytes) ^ crc::INVERSION
}
