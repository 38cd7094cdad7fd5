//! Seeded pseudo-random numbers: xoshiro256**, seeded by SplitMix64 as its authors recommend.
//!
//! (Blackman & Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021; Steele, Lea & Flood, OOPSLA'14.)
//! The code is our own so that no release of a library changes what a seed means: a seed in a bug report stays valid.

/// A generator. The same seed gives the same numbers on every machine and in every version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The generator of a seed; any number is a good seed.
    pub fn new(seed: u64) -> Rng {
        let mut seed = seed;
        Rng { state: [(); 4].map(|()| split_mix(&mut seed)) }
    }

    /// The independent generator number `stream` of a seed. Arrivals, errors and each disk have one of their own, so
    /// that drawing more from one never shifts another.
    pub fn stream(seed: u64, stream: u64) -> Rng {
        let (mut seed, mut stream) = (seed, stream);
        Rng::new(split_mix(&mut seed) ^ split_mix(&mut stream).rotate_left(32))
    }

    /// 64 uniformly distributed bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let drawn = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        drawn
    }

    /// A uniform number in `0.0..1.0`: a multiple of 2^-53, never 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A uniform whole number in `0..bound` (Lemire, "Fast random integer generation in an interval", 2019: a wide
    /// product, drawn again in its uneven part).
    ///
    /// # Panics
    /// When `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing lies below zero");
        let uneven = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= uneven {
                return (product >> 64) as u64;
            }
        }
    }

    /// An exponential number with this mean: the gaps of a Poisson process.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// A Pareto number: `P(X > x) = (minimum / x)^shape` for `x >= minimum`. The mean is infinite for `shape <= 1`.
    pub fn pareto(&mut self, minimum: f64, shape: f64) -> f64 {
        minimum * (1.0 - self.uniform()).powf(-1.0 / shape)
    }
}

/// SplitMix64: steps the seed and scrambles it.
fn split_mix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' reference code (xoshiro256starstar.c, splitmix64.c).
    #[test]
    fn the_reference_numbers_come_out() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let drawn = [(); 6].map(|()| rng.bits());
        assert_eq!(drawn, [11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600]);

        let mut seed = 1234567;
        let drawn = [(); 3].map(|()| split_mix(&mut seed));
        assert_eq!(drawn, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn streams_of_a_seed_are_stable_and_differ() {
        assert_eq!(Rng::stream(7, 1), Rng::stream(7, 1));
        let firsts: Vec<_> = (0..100).map(|stream| Rng::stream(7, stream).bits()).collect();
        let mut distinct = firsts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), firsts.len());
    }

    #[test]
    fn means_and_tails_are_those_of_the_theory() {
        let mut rng = Rng::new(1);
        let count = 100_000;
        let mut mean =
            |draw: &dyn Fn(&mut Rng) -> f64| (0..count).map(|_| draw(&mut rng)).sum::<f64>() / f64::from(count);
        assert!((mean(&Rng::uniform) - 0.5).abs() < 0.005);
        assert!((mean(&|rng| rng.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(&|rng| rng.pareto(1.0, 3.0)) - 1.5).abs() < 0.02);
        assert!((mean(&|rng| f64::from(rng.pareto(2.0, 0.9) > 20.0)) - 0.1f64.powf(0.9)).abs() < 0.005);
        assert!((mean(&|rng| rng.below(7) as f64) - 3.0).abs() < 0.03);
    }

    #[test]
    fn below_reaches_every_number_and_no_other() {
        let mut rng = Rng::new(2);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[rng.below(5) as usize] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!(rng.below(1), 0);
    }
}
