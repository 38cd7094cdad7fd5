//! Initial strides: a few large numbers of which nearly every likely pattern is a divisor.
//!
//! Any multiple of the pattern serves to find it by division, so that not every size must be tried.

/// Likely chunks, in bytes. Powers of two up to 1 MiB divide one of the first two; three times a power of two divides the third.
const CHUNKS: [u64; 3] = [128 << 10, 1 << 20, 96 << 10];
/// A chunk smaller than the likely ones is chosen such that this many of its patterns fit in a stride.
const ROOM: u64 = 16;
/// Disks of a likely array, at most; the patterns of larger ones often divide the same numbers.
pub const DISKS_LIKELY: u64 = 16;
/// Disks of an array that is tried if no smaller one fits, at most.
pub const DISKS_MAX: u64 = 64;

/// Strides of at most `stride_max` bytes, such that each likely pattern (at most `pattern_max` bytes, at most `disks_max`
/// disks) divides one of them, as far as there is room. All are whole blocks, because the kernel refuses other reads.
pub fn candidates(stride_max: u64, pattern_max: u64, disks_max: u64, block: u64) -> Vec<u64> {
    let mut wanted = patterns(stride_max.min(pattern_max), disks_max, block);
    let mut strides = common_multiples(&wanted, stride_max);
    for stride in &mut strides {
        // Factors of two cost nothing: they are found by bisection.
        while *stride * 2 <= stride_max && (*stride * 2).trailing_zeros() <= pattern_max.ilog2() {
            *stride *= 2;
        }
    }
    // Greedily: the stride that covers most of the remaining patterns, until all are covered.
    let mut found = Vec::new();
    while !wanted.is_empty() {
        let covers = |stride: &u64| wanted.iter().filter(|&pattern| stride.is_multiple_of(*pattern)).count();
        let Some(&best) = strides.iter().max_by_key(|stride| covers(stride)) else { break };
        wanted.retain(|pattern| !best.is_multiple_of(*pattern));
        found.push(best);
    }
    found
}

/// Multiples of `bytes`, at most `stride_max` bytes, such that each possible pattern of 2 to [`DISKS_LIKELY`] times
/// `bytes` divides one of them, as far as there is room. (A supposed pattern is mostly one stripe or several, and over
/// as many stripes as there are disks each member holds one parity.) `bytes` itself if no multiple has room.
pub fn multiples(bytes: u64, stride_max: u64) -> Vec<u64> {
    let wanted: Vec<u64> = (1..=DISKS_LIKELY).rev().map(|times| times * bytes).filter(|w| *w <= stride_max).collect();
    if wanted.is_empty() { vec![bytes] } else { common_multiples(&wanted, stride_max) }
}

/// Numbers of at most `stride_max` such that each wanted number divides one of them.
fn common_multiples(wanted: &[u64], stride_max: u64) -> Vec<u64> {
    let mut strides: Vec<u64> = Vec::new();
    for pattern in wanted {
        let common_multiple =
            |stride: u64| least_common_multiple(stride, *pattern).filter(|&multiple| multiple <= stride_max);
        match strides.iter_mut().find_map(|stride| common_multiple(*stride).map(|multiple| (stride, multiple))) {
            Some((stride, multiple)) => *stride = multiple,
            None => strides.push(*pattern),
        }
    }
    strides
}

/// The patterns of likely arrays: of striping and mirrors (and ZIGZAG), of one parity, of two. If a likely chunk has no
/// room, a smaller one is chosen that leaves room for several patterns.
fn patterns(bytes_max: u64, disks_max: u64, block: u64) -> Vec<u64> {
    let mut found = Vec::new();
    for largest in CHUNKS {
        for disks in 2..=disks_max {
            for chunks in [2 * disks, disks * (disks - 1), disks * (disks - 2)] {
                let smaller = std::iter::successors(Some(largest / 2), |chunk| Some(chunk / 2));
                let mut smaller = smaller.take_while(|chunk| chunk.is_multiple_of(block));
                let chunk = if chunks * largest <= bytes_max {
                    Some(largest)
                } else {
                    smaller.find(|chunk| chunks * chunk <= bytes_max / ROOM)
                };
                found.extend(chunk.filter(|_| chunks > 0).map(|chunk| chunks * chunk));
            }
        }
    }
    // The largest have the least choice of strides, so they come first.
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.dedup();
    found
}

/// The greatest common divisor.
pub fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    (a / greatest_common_divisor(a, b)).checked_mul(b)
}

/// The prime factors of a number with their exponents, ascending. Fast only if the second largest prime is small.
pub fn factors(number: u64) -> Vec<(u64, u32)> {
    let (mut rest, mut found, mut prime) = (number, Vec::new(), 2);
    while rest > 1 {
        if prime * prime > rest {
            prime = rest;
        }
        let mut exponent = 0;
        while rest.is_multiple_of(prime) {
            rest /= prime;
            exponent += 1;
        }
        if exponent > 0 {
            found.push((prime, exponent));
        }
        prime += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_likely_pattern_divides_a_candidate() {
        for (stride_max, block) in [8 << 20, 34 << 20, 91 << 20, 364 << 20, 25 << 30].map(|stride| (stride, 512)) {
            let candidates = candidates(stride_max, 64 << 20, DISKS_LIKELY, block);
            assert!(candidates.len() <= 28, "{} strides of {stride_max}", candidates.len());
            assert!(candidates.iter().all(|&stride| stride <= stride_max));
            for chunk in (9..=20).map(|exponent| 1u64 << exponent).chain([24 << 9, 24 << 12]) {
                for disks in 2u64..=16 {
                    for chunks in [disks, 2 * disks, disks * (disks - 1), disks * (disks - 2)] {
                        let (pattern, limit) = (chunk * chunks, stride_max.min(64 << 20) / 16);
                        let is_covered = candidates.iter().any(|stride| stride.is_multiple_of(pattern.max(1)));
                        assert!(is_covered || pattern > limit || pattern == 0, "{chunks} x {chunk} of {stride_max}");
                    }
                }
            }
        }
    }

    #[test]
    fn candidates_are_whole_blocks_on_devices_of_any_size() {
        for block in [512, 4096] {
            for stride_max in (20..36).map(|exponent| (1u64 << exponent) / 400) {
                for disks in [DISKS_LIKELY, DISKS_MAX] {
                    let found = candidates(stride_max, 64 << 20, disks, block);
                    assert!(found.iter().all(|stride| stride.is_multiple_of(block)), "{stride_max} {block}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn each_small_multiple_divides_one_of_few() {
        assert_eq!(multiples(10, 1000), [480, 900, 140, 130, 110]);
        for (bytes, stride_max) in [(1, 1 << 20), (1, 100), (7, 700), (1 << 20, 9 << 20), (15, 15), (512, 34 << 20)] {
            let found = multiples(bytes, stride_max);
            assert!(found.len() <= 8 && found.iter().all(|&stride| stride <= stride_max), "{found:?}");
            for times in (1..=DISKS_LIKELY).filter(|times| times * bytes <= stride_max) {
                assert!(found.iter().any(|stride| stride.is_multiple_of(times * bytes)), "{times} of {found:?}");
            }
        }
        assert_eq!(multiples(16, 15), [16]);
    }

    #[test]
    fn numbers_are_split_into_prime_factors() {
        assert_eq!(factors(105 << 18), [(2, 18), (3, 1), (5, 1), (7, 1)]);
        assert_eq!((factors(1), factors(9 * 17)), (vec![], vec![(3, 2), (17, 1)]));
        assert_eq!((greatest_common_divisor(48, 36), greatest_common_divisor(7, 0)), (12, 7));
    }
}
