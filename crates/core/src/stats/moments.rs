//! Count, mean and variation of a stream of durations, without keeping the durations.

/// Count, sum, sum of squares and maximum of a stream of durations, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// The number of durations; not whole when the past has faded.
    pub count: f64,
    /// Their sum, in seconds.
    pub sum: f64,
    /// The sum of their squares, in seconds squared.
    pub squares: f64,
    /// The longest, in seconds.
    pub max: f64,
}

impl Moments {
    /// Adds one duration.
    #[inline]
    pub fn add(&mut self, seconds: f64) {
        self.add_times(seconds, 1.0);
    }

    /// Adds the same duration `times` times (at least once).
    #[inline]
    pub fn add_times(&mut self, seconds: f64, times: f64) {
        self.count += times;
        self.sum += times * seconds;
        self.squares += times * seconds * seconds;
        self.max = self.max.max(seconds);
    }

    /// The mean in seconds; zero when there are none.
    pub fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    /// The coefficient of variation (standard deviation / mean); zero when there are no durations.
    pub fn variation(&self) -> f64 {
        let mean = self.mean();
        if mean <= 0.0 {
            return 0.0;
        }
        (self.squares / self.count - mean * mean).max(0.0).sqrt() / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_known_set() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.variation()), (0.0, 0.0));
        [1.0, 3.0].iter().for_each(|&seconds| moments.add(seconds));
        assert_eq!((moments.mean(), moments.max, moments.variation()), (2.0, 3.0, 0.5));
    }
}
