//! Disturbances of a measurement: requests that take much longer for no visible reason, and another client's reads.

use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use std::fmt;

/// How disturbed a disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Noise {
    /// Not disturbed.
    #[default]
    Clean,
    /// One request in a hundred takes longer, by a Pareto time of shape 1.5, 20 ms or more.
    Tail,
    /// One request in twenty takes longer, by a Pareto time of shape 1.1, 10 ms or more; before one in five, another
    /// client's random read is served.
    Heavy,
}

/// The longest delay of a request, in milliseconds: a drive's own time-out is a few seconds.
const DELAY_MAX_MS: f64 = 2000.0;

impl Noise {
    /// All levels of noise.
    pub const ALL: [Noise; 3] = [Noise::Clean, Noise::Tail, Noise::Heavy];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Noise::Clean => "clean",
            Noise::Tail => "tail",
            Noise::Heavy => "heavy",
        }
    }

    /// The delay of a request.
    pub fn delay(self, rng: &mut Rng) -> Nanos {
        let (share, shape, from_ms) = match self {
            Noise::Clean => return Nanos::ZERO,
            Noise::Tail => (0.01, 1.5, 20.0),
            Noise::Heavy => (0.05, 1.1, 10.0),
        };
        if rng.uniform() >= share {
            return Nanos::ZERO;
        }
        Nanos((rng.pareto(from_ms, shape).min(DELAY_MAX_MS) * 1e6) as u64)
    }

    /// Is another client's read served before a request?
    pub fn is_intruded(self, rng: &mut Rng) -> bool {
        self == Noise::Heavy && rng.uniform() < 0.2
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_as_frequent_and_as_long_as_each_level_states() {
        for (noise, share, shape, from_ms) in [(Noise::Tail, 0.01, 1.5, 20.0), (Noise::Heavy, 0.05, 1.1, 10.0)] {
            let (mut rng, count) = (Rng::new(6), 400_000);
            let delays: Vec<f64> = (0..count).map(|_| noise.delay(&mut rng).as_millis_f64()).collect();
            let beyond = |ms: f64| delays.iter().filter(|&&delay| delay >= ms).count() as f64 / f64::from(count);
            // Pareto: every delay is at least the minimum, and a share of times^-shape is that many times longer.
            assert!((beyond(f64::MIN_POSITIVE) / share - 1.0).abs() < 0.05, "{noise}: {}", beyond(f64::MIN_POSITIVE));
            assert_eq!(beyond(from_ms * 0.999), beyond(f64::MIN_POSITIVE), "{noise}");
            let far = beyond(8.0 * from_ms) / beyond(from_ms * 0.999);
            assert!((far / 8f64.powf(-shape) - 1.0).abs() < 0.1, "{noise}: {far}");
            let most = delays.iter().copied().fold(0.0, f64::max);
            assert!((1500.0..=DELAY_MAX_MS).contains(&most), "{noise}: {most}");
        }
        assert_eq!(Noise::Clean.delay(&mut Rng::new(6)), Nanos::ZERO);
    }

    #[test]
    fn heavy_noise_serves_another_clients_read_before_every_fifth_request() {
        let share = |noise: Noise| {
            let mut rng = Rng::new(8);
            (0..100_000).filter(|_| noise.is_intruded(&mut rng)).count() as f64 / 1e5
        };
        assert_eq!((share(Noise::Clean), share(Noise::Tail)), (0.0, 0.0));
        assert!((share(Noise::Heavy) - 0.2).abs() < 0.01);
    }
}
