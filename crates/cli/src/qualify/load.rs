//! What the client sends: small reads at random places, and the pauses between.

use clap::ValueEnum;
use scrubjay_core::rng::Rng;
use serde::Serialize;
use std::time::Duration;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum QualifyLoad {
    /// A read every 50 ms
    Even,
    /// A read after a random pause of 50 ms on average, exponentially distributed
    Random,
    /// Ten reads one after the other, then a pause of 500 ms
    Bursty,
}

impl QualifyLoad {
    /// All loads.
    pub const ALL: [QualifyLoad; 3] = [QualifyLoad::Even, QualifyLoad::Random, QualifyLoad::Bursty];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            QualifyLoad::Even => "even",
            QualifyLoad::Random => "random",
            QualifyLoad::Bursty => "bursty",
        }
    }

    /// Reads that follow each other without a pause.
    pub const fn burst(self) -> u32 {
        match self {
            QualifyLoad::Even | QualifyLoad::Random => 1,
            QualifyLoad::Bursty => 10,
        }
    }

    /// The pause before the next burst, which begins `since` the client's start.
    pub fn pause(self, since: Duration, random: &mut Rng) -> Duration {
        const MEAN: Duration = Duration::from_millis(50);
        match self {
            QualifyLoad::Even => {
                let beats = (since.as_secs_f64() / MEAN.as_secs_f64()).floor() + 1.0;
                MEAN.mul_f64(beats).saturating_sub(since)
            }
            QualifyLoad::Random => Duration::from_secs_f64(random.exponential(MEAN.as_secs_f64())),
            QualifyLoad::Bursty => Duration::from_millis(500),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_as_described() {
        let mut random = Rng::new(7);
        let even = QualifyLoad::Even.pause(Duration::from_millis(120), &mut random);
        assert!((even.as_secs_f64() - 0.03).abs() < 1e-9, "to the next beat");
        let pauses: f64 =
            (0..10_000).map(|_| QualifyLoad::Random.pause(Duration::ZERO, &mut random).as_secs_f64()).sum();
        assert!((pauses / 10_000.0 - 0.05).abs() < 0.002, "{pauses}");
    }
}
