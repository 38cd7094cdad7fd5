//! Response times of the foreground, as they were next to the scrub and, as far as can be computed, without it.

use crate::stats::DurationHistogram;
use crate::units::Nanos;
use std::collections::VecDeque;

/// The first requests, and the last ones, whose medians are compared (count each).
const COMPARED: usize = 300;
/// Response times have stretched when the later median is at least this many times the earlier one.
const STRETCHED: f64 = 1.25;

/// Response times of foreground requests, from the arrival of each to its completion.
#[derive(Clone, Debug, Default)]
pub struct ForegroundLatency {
    /// Response times as measured.
    pub with_scrub: DurationHistogram,
    /// Response times less the slowdown, that of the queue included: computed, not measured.
    pub without_scrub: DurationHistogram,
    first: Vec<Nanos>,
    last: VecDeque<Nanos>,
}

impl ForegroundLatency {
    /// Counts a request with the response time `response`, `lost` of which the scrub caused.
    pub(super) fn add(&mut self, response: Nanos, lost: Nanos) {
        let without_scrub = response.since(lost);
        self.with_scrub.add(response);
        self.without_scrub.add(without_scrub);
        if self.first.len() < COMPARED {
            self.first.push(without_scrub);
            return;
        }
        if self.last.len() == COMPARED {
            self.last.pop_front();
        }
        self.last.push_back(without_scrub);
    }

    /// The median response times without the scrub of the first and the last requests, if the later one is longer by a
    /// quarter or more: the disk or the machine has become slower, or the foreground's requests have become harder to serve.
    pub fn stretched(&self) -> Option<[Nanos; 2]> {
        if self.last.len() < COMPARED {
            return None;
        }
        let median = |times: &mut dyn Iterator<Item = Nanos>| {
            let mut times: Vec<Nanos> = times.collect();
            *times.select_nth_unstable(COMPARED / 2).1
        };
        let [first, last] = [median(&mut self.first.iter().copied()), median(&mut self.last.iter().copied())];
        (last.0 as f64 >= STRETCHED * first.0 as f64).then_some([first, last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_lost_to_the_scrub_does_not_count_as_stretched_response_time() {
        let (mut latency, ms) = (ForegroundLatency::default(), Nanos::from_millis);
        (0..600).for_each(|_| latency.add(ms(8), Nanos::ZERO));
        (0..600).for_each(|_| latency.add(ms(13), ms(5)));
        assert_eq!(latency.stretched(), None);
        let [with_scrub, without_scrub] =
            [&latency.with_scrub, &latency.without_scrub].map(|times| times.moments().mean());
        assert!(
            (with_scrub - 0.0105).abs() < 1e-9 && (without_scrub - 0.008).abs() < 1e-9,
            "{with_scrub} {without_scrub}"
        );
        (0..300).for_each(|_| latency.add(ms(13), ms(1)));
        assert_eq!(latency.stretched(), Some([ms(8), ms(12)]));
    }
}
