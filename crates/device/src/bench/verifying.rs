//! Measures response times of reads and of each VERIFY that a disk accepts, by size; `core` interprets them.

use super::BenchedDisk;
use crate::verify::{self, OpenedVerifier, VerifierKind, VerifierSetup};
use scrubjay_core::bench::permutation::BlockPermutation;
use scrubjay_core::bench::verifying::{ReadCache, ResponseTimes, SIZES};
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests of each size, and (`REREADS`) of places that were just read.
const TIMES: usize = 12;
const REREADS: usize = 24;
/// The longest time for one size.
const SIZE_TIME: Nanos = Nanos::from_millis(1200);
/// The longest wait for a completion.
const TIMEOUT: Nanos = Nanos::from_secs(120);
/// Bytes of a place that was just read, at least.
const REREAD_BYTES: u64 = 4096;

/// A verifier that a disk does not support, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingWay {
    /// `scsi`, `ata` or `nvme`.
    pub way: &'static str,
    /// The reason, for people.
    pub why: String,
}

/// Measures all verifiers that the disk supports, with the read cache as it is now. Calls with different `round` numbers read
/// different places.
///
/// # Errors
/// When the disk cannot be opened a second time, or does not answer.
pub fn measure(
    disk: &BenchedDisk,
    cache: ReadCache,
    round: u64,
    stop: &AtomicBool,
    publish: &mut dyn FnMut(&'static str, u64),
) -> io::Result<(Vec<ResponseTimes>, Vec<MissingWay>)> {
    let (bytes, block) = disk.geometry();
    let open = |kind: VerifierKind| -> io::Result<Result<OpenedVerifier, String>> {
        let file = disk.target.file.try_clone()?;
        let (logical_block, request_max) = (Bytes(block), Bytes(SIZES.1));
        let setup =
            VerifierSetup { file, is_block_device: disk.is_block_device(), logical_block, depth: 1, request_max };
        // No other verifier is advised: each is measured.
        Ok(verify::open(kind, setup).map_err(|error| error.to_string()))
    };
    let (mut measured, mut missing) = (Vec::new(), Vec::new());
    let mut reader = open(VerifierKind::Read)?.map_err(io::Error::other)?;
    let kinds = [VerifierKind::Read, VerifierKind::Scsi, VerifierKind::Ata, VerifierKind::Nvme];
    for (index, kind) in kinds.into_iter().enumerate() {
        let mut verifier = match open(kind)? {
            Ok(verifier) => verifier,
            Err(reason) => {
                missing.push(MissingWay { way: kind.name(), why: reason });
                continue;
            }
        };
        let mut times = ResponseTimes { way: kind.name(), cache, sizes: Vec::new(), again: Vec::new(), faults: 0 };
        let sizes = (0..).map(|power| SIZES.0 << power).take_while(|&size| size <= SIZES.1);
        let sizes: Vec<u64> = sizes.filter(|&size| size >= block && size * 2 <= bytes).collect();
        // Each series of requests has a part of the disk of its own, which no other series has brought into the cache.
        let part_bytes = (SIZES.1 * (TIMES as u64 + 1)).min(bytes);
        let parts = BlockPermutation::new(bytes / part_bytes, round);
        for (place, &size) in sizes.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Ok((measured, missing));
            }
            publish(kind.name(), size);
            let part = parts.at((index * sizes.len() + place) as u64) * part_bytes;
            let mut taken = Vec::new();
            let mut all = Nanos::ZERO;
            // The first request includes the movement to this part, and is left out.
            for nth in 0..=TIMES as u64 {
                let start = part + nth * size;
                if start + size > bytes || all > SIZE_TIME && taken.len() >= 4 {
                    break;
                }
                match time_verification(&mut verifier, start, size)? {
                    Some(time) => {
                        all += time;
                        if nth > 0 {
                            taken.push(time);
                        }
                    }
                    None => times.faults += 1,
                }
            }
            times.sizes.push((size, taken));
        }
        if bytes >= REREAD_BYTES.max(block) {
            let places = BlockPermutation::new(bytes / REREAD_BYTES.max(block), round + 100 + index as u64);
            for nth in 0..REREADS as u64 {
                let (start, len) = (places.at(nth) * REREAD_BYTES.max(block), REREAD_BYTES.max(block));
                if time_verification(&mut reader, start, len)?.is_some() {
                    match time_verification(&mut verifier, start, len)? {
                        Some(time) => times.again.push(time),
                        None => times.faults += 1,
                    }
                }
            }
        }
        measured.push(times);
    }
    Ok((measured, missing))
}

/// The response time; `None` when the verification does not end clean.
///
/// # Errors
/// When there is no completion in time.
fn time_verification(verifier: &mut OpenedVerifier, start: u64, len: u64) -> io::Result<Option<Nanos>> {
    verifier.verifier.submit(OpId(0), SectorRange::at(start / 512, len / 512));
    let answer = verifier.verifier.wait(TIMEOUT).ok_or(io::ErrorKind::TimedOut)?;
    Ok((answer.outcome == VerifyOutcome::Clean).then(|| answer.finished.since(answer.started)))
}
