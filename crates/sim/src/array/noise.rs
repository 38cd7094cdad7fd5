//! What disturbs a measurement: requests that take much longer for no reason that can be seen, and somebody else's reads.

use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use std::fmt;

/// How disturbed a disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Noise {
    /// Not at all.
    #[default]
    Clean,
    /// One request in a hundred takes longer: by a Pareto time of shape 1.5 from 20 ms on.
    Tail,
    /// One in twenty takes longer, by a Pareto time of shape 1.1 from 10 ms on; before every fifth, a stranger's random
    /// read is served.
    Heavy,
}

/// No request takes longer by more than that: a drive's own time-out is a few seconds.
const DELAY_MAX_MS: f64 = 2000.0;

impl Noise {
    /// All of them.
    pub const ALL: [Noise; 3] = [Noise::Clean, Noise::Tail, Noise::Heavy];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Noise::Clean => "clean",
            Noise::Tail => "tail",
            Noise::Heavy => "heavy",
        }
    }

    /// By how much a request takes longer.
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

    /// Is a stranger's read served first?
    pub fn is_intruded(self, rng: &mut Rng) -> bool {
        self == Noise::Heavy && rng.uniform() < 0.2
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
