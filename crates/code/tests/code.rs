//! The code through the public API: losses in small stripes, paths against the scalar one, updates, sums, Linux's Q.

use proptest::prelude::*;
use scrubjay_code::{Code, CodeError, Path, crc32c, paths};

/// A stripe: chunks of one length in one buffer, the first `shift` bytes behind an address aligned for all
/// instructions.
struct Chunks {
    buffer: Vec<u8>,
    start: usize,
    length: usize,
    count: usize,
}

impl Chunks {
    fn zeros(count: usize, length: usize, shift: usize) -> Chunks {
        let buffer = vec![0_u8; count * length + 64 + shift];
        let start = buffer.as_ptr().align_offset(64) + shift;
        Chunks { buffer, start, length, count }
    }

    /// Pseudo-random bytes, the same for the same seed (SplitMix64: G. Steele et al., 2014).
    fn random(count: usize, length: usize, shift: usize, seed: u64) -> Chunks {
        let mut chunks = Chunks::zeros(count, length, shift);
        let mut state = seed;
        for byte in &mut chunks.buffer {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *byte = ((mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8;
        }
        chunks
    }

    fn slices(&self) -> Vec<&[u8]> {
        (0..self.count).map(|i| &self.buffer[self.start + i * self.length..][..self.length]).collect()
    }

    fn slices_mut(&mut self) -> Vec<&mut [u8]> {
        let mut rest = &mut self.buffer[self.start..][..self.count * self.length];
        let mut slices = Vec::new();
        for _ in 0..self.count {
            let (slice, others) = rest.split_at_mut(self.length);
            slices.push(slice);
            rest = others;
        }
        slices
    }
}

fn encoded(code: &Code, data: &Chunks, shift: usize) -> Chunks {
    let mut parity = Chunks::zeros(code.parity(), data.length, shift);
    code.encode(&data.slices(), &mut parity.slices_mut());
    parity
}

fn sums_of(chunks: &Chunks) -> Vec<u32> {
    chunks.slices().iter().map(|chunk| crc32c(chunk)).collect()
}

/// The subsets of 0..n, as lists.
fn subsets(n: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1_usize << n).map(move |bits| (0..n).filter(|i| bits >> i & 1 == 1).collect())
}

#[test]
fn every_loss_of_up_to_eight_slots_is_rebuilt_from_any_survivors() {
    for (data_count, parity_count) in (1..=8).flat_map(|k| (0..=(8 - k).min(6)).map(move |m| (k, m))) {
        let code = Code::new(data_count, parity_count).unwrap();
        let data = Chunks::random(data_count, 67, 0, 1);
        let parity = encoded(&code, &data, 0);
        let all = [data.slices(), parity.slices()].concat();
        for using in subsets(code.slots()).filter(|using| using.len() == data_count) {
            let others: Vec<usize> = (0..code.slots()).filter(|slot| !using.contains(slot)).collect();
            for missing in subsets(others.len()) {
                // Reversed, so that neither list is in order.
                let missing: Vec<usize> = missing.iter().rev().map(|&i| others[i]).collect();
                let using: Vec<usize> = using.iter().rev().copied().collect();
                let decoder = code.decoder(&missing, &using).unwrap();
                let survivors: Vec<&[u8]> = using.iter().map(|&slot| all[slot]).collect();
                let mut out = Chunks::zeros(missing.len(), 67, 0);
                let mut sums = vec![0; missing.len()];
                decoder.decode(&survivors, &mut out.slices_mut());
                let expected: Vec<&[u8]> = missing.iter().map(|&slot| all[slot]).collect();
                assert_eq!(out.slices(), expected, "{data_count}+{parity_count}: {missing:?} from {using:?}");
                out.buffer.fill(0);
                decoder.decode_summed(&survivors, &mut out.slices_mut(), &mut sums);
                assert_eq!(out.slices(), expected);
                assert_eq!(sums, sums_of(&out));
            }
        }
    }
}

#[test]
fn two_parities_are_those_of_linux() {
    // lib/raid6/int.uc goes from the last disk to the first: P is XORed with the disk; Q is doubled, then XORed with
    // it.
    let data = Chunks::random(253, 130, 0, 2);
    let (mut p, mut q) = ([0_u8; 130], [0_u8; 130]);
    for chunk in data.slices().iter().rev() {
        for at in 0..130 {
            p[at] ^= chunk[at];
            q[at] = q[at] << 1 ^ if q[at] >> 7 == 1 { 0x1d } else { 0 } ^ chunk[at];
        }
    }
    for path in paths() {
        let parity = encoded(&Code::new(253, 2).unwrap().with_path(path), &data, 0);
        assert_eq!(parity.slices(), [p, q], "{path:?}");
    }
}

#[test]
fn the_widest_codes_rebuild_too() {
    for path in paths() {
        for (data_count, parity_count) in [(249, 6), (250, 5), (254, 1), (255, 0)] {
            let code = Code::new(data_count, parity_count).unwrap().with_path(path);
            let data = Chunks::random(data_count, 200, 3, 3);
            let mut parity = Chunks::zeros(parity_count, 200, 5);
            let mut sums = vec![0; code.slots()];
            code.encode_summed(&data.slices(), &mut parity.slices_mut(), &mut sums);
            assert_eq!(sums, [sums_of(&data), sums_of(&parity)].concat(), "{path:?}");
            let missing: Vec<usize> = (0..parity_count).map(|i| i * 41).collect();
            let using: Vec<usize> = (0..code.slots()).filter(|slot| !missing.contains(slot)).collect();
            let all = [data.slices(), parity.slices()].concat();
            let survivors: Vec<&[u8]> = using.iter().map(|&slot| all[slot]).collect();
            let mut out = Chunks::zeros(parity_count, 200, 0);
            code.decoder(&missing, &using).unwrap().decode(&survivors, &mut out.slices_mut());
            assert!(missing.iter().zip(out.slices()).all(|(&slot, out)| all[slot] == out));
        }
    }
}

#[test]
fn shapes_and_slots_out_of_range_are_refused() {
    assert_eq!(Code::new(0, 1).unwrap_err(), CodeError::NoData);
    assert_eq!(Code::new(1, 7).unwrap_err(), CodeError::TooManyParities { parity: 7 });
    assert_eq!(Code::new(250, 6).unwrap_err(), CodeError::TooManySlots { slots: 256 });
    assert_eq!(Code::new(usize::MAX, 6).unwrap_err(), CodeError::TooManySlots { slots: usize::MAX });
    let code = Code::new(3, 2).unwrap();
    assert_eq!(code.decoder(&[5], &[0, 1, 2]).unwrap_err(), CodeError::NoSuchSlot { slot: 5 });
    assert_eq!(code.decoder(&[0], &[1, 2, usize::MAX]).unwrap_err(), CodeError::NoSuchSlot { slot: usize::MAX });
    assert_eq!(code.decoder(&[0], &[0, 1, 2]).unwrap_err(), CodeError::NamedTwice { slot: 0 });
    assert_eq!(code.decoder(&[0, 0], &[1, 2, 3]).unwrap_err(), CodeError::NamedTwice { slot: 0 });
    assert_eq!(code.decoder(&[0], &[1, 2, 2]).unwrap_err(), CodeError::NamedTwice { slot: 2 });
    assert_eq!(code.decoder(&[0], &[1, 2]).unwrap_err(), CodeError::SurvivorCount { given: 2, needed: 3 });
    assert_eq!(code.decoder(&[], &[0, 1, 2, 3]).unwrap_err(), CodeError::SurvivorCount { given: 4, needed: 3 });
}

#[test]
#[should_panic(expected = "one length")]
fn chunks_of_two_lengths_panic() {
    Code::new(2, 1).unwrap().encode(&[&[1, 2], &[3]], &mut [&mut [0, 0]]);
}

#[test]
#[should_panic(expected = "one sum for each chunk")]
fn a_missing_sum_panics() {
    Code::new(2, 1).unwrap().encode_summed(&[&[1], &[3]], &mut [&mut [0]], &mut [0; 2]);
}

/// Every path, every number of parities, every kind of loop: lengths around vectors, bands and blocks, and length 0.
#[test]
fn every_path_gives_the_results_of_the_scalar_one() {
    let lengths =
        [0, 1, 31, 32, 63, 64, 65, 127, 128, 255, 256, 257, 511, 513, 640, 4095, 4096, 4097, 16 << 10, (16 << 10) + 65];
    for path in paths().into_iter().filter(|&path| path != Path::Scalar) {
        for (parity, length) in (0..=6).flat_map(|m| lengths.map(|length| (m, length))) {
            for (data, shift) in [(1, 0), (2, 1), (6, 0), (7, 13)] {
                compare(path, data, parity, length, shift);
            }
        }
    }
}

fn compare(path: Path, data_count: usize, parity_count: usize, length: usize, shift: usize) {
    let case = format!("{path:?}: {data_count}+{parity_count}, {length} bytes, {shift} off");
    let scalar = Code::new(data_count, parity_count).unwrap().with_path(Path::Scalar);
    let code = scalar.clone().with_path(path);
    let data = Chunks::random(data_count, length, shift, length as u64);
    let right = encoded(&scalar, &data, 0);
    let mut encoded_chunks = encoded(&code, &data, shift);
    assert_eq!(encoded_chunks.slices(), right.slices(), "{case}");
    let outside = |chunks: &Chunks| {
        let (before, rest) = chunks.buffer.split_at(chunks.start);
        before.iter().chain(&rest[chunks.count * chunks.length..]).any(|&byte| byte != 0)
    };
    assert!(!outside(&encoded_chunks), "{case}: written outside");
    encoded_chunks.buffer.fill(0);
    let (mut sums, mut right_sums) = (vec![0; code.slots()], vec![0; code.slots()]);
    code.encode_summed(&data.slices(), &mut encoded_chunks.slices_mut(), &mut sums);
    assert_eq!(encoded_chunks.slices(), right.slices(), "{case}");
    scalar.encode_summed(&data.slices(), &mut encoded_chunks.slices_mut(), &mut right_sums);
    assert_eq!(sums, right_sums, "{case}");
    assert_eq!(sums, [sums_of(&data), sums_of(&right)].concat(), "{case}");
    assert_update_equals_encoding_again(&code, &data, encoded_chunks, &case);
}

fn assert_update_equals_encoding_again(code: &Code, data: &Chunks, mut parity: Chunks, case: &str) {
    let column = data.count - 1;
    let new = Chunks::random(1, data.length, 0, 99);
    code.update(column, data.slices()[column], new.slices()[0], &mut parity.slices_mut());
    let mut changed = data.slices();
    changed[column] = new.slices()[0];
    let mut right = Chunks::zeros(code.parity(), data.length, 0);
    code.clone().with_path(Path::Scalar).encode(&changed, &mut right.slices_mut());
    assert_eq!(parity.slices(), right.slices(), "{case}: updated");
}

proptest! {
    #[test]
    fn any_stripe_is_the_same_on_every_path(
        data in 1_usize..30, parity in 0_usize..=6, length in 0_usize..3000, shift in 0_usize..64,
    ) {
        for path in paths() {
            compare(path, data, parity, length, shift);
        }
    }
}
