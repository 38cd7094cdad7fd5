//! The self-test: known answers, and every path against the scalar one, fast enough for every start.

use crate::code::Code;
use crate::crc::INVERSION;
use crate::kernel;
use crate::path::{Path, paths};
use std::fmt;

/// A wrong result on this machine. With this code nothing may be stored or judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfTestError {
    /// The path that is wrong.
    pub path: Path,
    /// The computation that is wrong.
    pub computation: &'static str,
}

impl fmt::Display for SelfTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the processor or its memory is faulty, or the program is: {} by {:?} is wrong",
            self.computation, self.path
        )
    }
}

impl std::error::Error for SelfTestError {}

/// Shapes (data slots, parities, chunk length) that together reach every loop of every kernel: each number of parities,
/// few and many data, even and odd; lengths with whole bands, single vectors, and a rest.
const SHAPES: [(usize, usize, usize); 8] =
    [(1, 0, 700), (5, 1, 701), (6, 2, 4096), (7, 2, 63), (4, 3, 1000), (9, 4, 831), (3, 5, 515), (40, 6, 450)];

/// Checks every path of this machine against known answers and the scalar path. Takes less than 5 ms.
///
/// # Errors
/// The first failure.
pub fn self_test() -> Result<(), SelfTestError> {
    for path in paths() {
        let check = |is_right, computation| if is_right { Ok(()) } else { Err(SelfTestError { path, computation }) };
        check(sum(path, b"123456789") == 0xe306_9283, "the sum of a known message")?;
        check(is_syndrome_known(path), "the parity of a known stripe")?;
        for (data, parity, length) in SHAPES {
            let stripe = SelfTestStripe::new(data, parity, length);
            let (expected, result) = (stripe.work(Path::Scalar), stripe.work(path));
            check(result.parity == expected.parity, "encoding")?;
            check(result.sums == expected.sums, "encoding with sums")?;
            check(result.updated == expected.updated, "updating")?;
            check(result.decoded == expected.decoded && result.decoded == stripe.lost(), "decoding")?;
            check(result.decoded_sums == expected.decoded_sums, "decoding with sums")?;
            check((0..data).all(|i| result.sums[i] == sum(path, &stripe.data[i])), "summing")?;
        }
    }
    Ok(())
}

fn sum(path: Path, bytes: &[u8]) -> u32 {
    kernel::extend(path, INVERSION, bytes) ^ INVERSION
}

/// P and Q of 1, 0x80 and 0x80 are those of Linux: 2 * 0x80 is 0x1d, 4 * 0x80 is 0x3a.
fn is_syndrome_known(path: Path) -> bool {
    let code = Code::new(3, 2).expect("in range").with_path(path);
    let (mut p, mut q) = ([0; 80], [0; 80]);
    code.encode(&[&[1; 80], &[0x80; 80], &[0x80; 80]], &mut [&mut p, &mut q]);
    p == [1; 80] && q == [1 ^ 0x1d ^ 0x3a; 80]
}

/// A stripe of fixed pseudo-random data.
struct SelfTestStripe {
    data: Vec<Vec<u8>>,
    parity: usize,
}

/// The results of one path on the stripe.
struct SelfTestResult {
    parity: Vec<Vec<u8>>,
    sums: Vec<u32>,
    updated: Vec<Vec<u8>>,
    decoded: Vec<Vec<u8>>,
    decoded_sums: Vec<u32>,
}

impl SelfTestStripe {
    fn new(data: usize, parity: usize, length: usize) -> SelfTestStripe {
        let mut state = (data * 1000 + length) as u64;
        let mut byte = || {
            // A linear congruential generator (D. Knuth, MMIX); its high bits are random enough to tell kernels apart.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        SelfTestStripe { data: (0..data).map(|_| (0..length).map(|_| byte()).collect()).collect(), parity }
    }

    /// The data slots that `work` loses and decodes.
    fn lost(&self) -> &[Vec<u8>] {
        &self.data[..self.parity.min(self.data.len())]
    }

    fn work(&self, path: Path) -> SelfTestResult {
        let (data, length) = (self.data.len(), self.data[0].len());
        let code = Code::new(data, self.parity).expect("in range").with_path(path);
        let blank = |count| vec![vec![0; length]; count];
        let mut work = SelfTestResult {
            parity: blank(self.parity),
            sums: vec![0; code.slots()],
            updated: blank(self.parity),
            decoded: blank(self.lost().len()),
            decoded_sums: vec![0; self.lost().len()],
        };
        let sources: Vec<&[u8]> = self.data.iter().map(Vec::as_slice).collect();
        code.encode(&sources, &mut slices(&mut work.updated));
        code.encode_summed(&sources, &mut slices(&mut work.parity), &mut work.sums);
        if work.parity != work.updated {
            work.parity.clear(); // the two ways to encode differ: make the result unequal to any other
        }
        let lost: Vec<usize> = (0..self.lost().len()).collect();
        let using: Vec<usize> = (lost.len()..lost.len() + data).collect();
        let chunks: Vec<&[u8]> = sources.iter().copied().chain(work.updated.iter().map(Vec::as_slice)).collect();
        let survivors: Vec<&[u8]> = using.iter().map(|&slot| chunks[slot]).collect();
        let decoder = code.decoder(&lost, &using).expect("any k slots will do");
        decoder.decode_summed(&survivors, &mut slices(&mut work.decoded), &mut work.decoded_sums);
        code.update(data - 1, &self.data[data - 1], &self.data[0], &mut slices(&mut work.updated));
        work
    }
}

fn slices(chunks: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    chunks.iter_mut().map(Vec::as_mut_slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_passes() {
        self_test().unwrap();
    }
}
