//! The arrivals of requests: bursts, and the gaps within and between them.

use super::curve::QuantileCurve;
use super::deck::Deck;
use super::latent::{Cumulative, LatentSeries};
use super::model::Model;
use super::profile::Profile;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;

/// A run shorter than this share of the original is a stretch of it.
const WHOLE_FROM: f64 = 0.999;
/// The model runs for its longest gap before a stretch begins, but at most this long, in seconds: a day.
const LEAD_SECONDS_MAX: f64 = 86_400.0;

/// Generates times of arrival, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    rng: Rng,
    /// The time of the last request in the model's clock; a stretch begins after zero.
    now: Nanos,
    /// The time in the model's clock that is time zero of the output.
    zero: Nanos,
    end: Nanos,
    /// The requests left in this burst.
    left_in_burst: u64,
    is_begun: bool,
    /// The rounding error carried over from the lengths of bursts so far.
    rounding_error: f64,
    /// The gaps between bursts that are left.
    gaps_left: u64,
    gaps: Option<Gaps>,
    within: Option<Within>,
    bursts: Option<(QuantileCurve, Deck)>,
}

/// Generates gaps between bursts.
#[derive(Clone, Debug)]
struct Gaps {
    curve: QuantileCurve,
    deck: Deck,
    latent: LatentSeries,
    profile: Profile,
    /// The number of gaps since the profile's beginning.
    passed: u64,
    /// The time in the profile at which the run began, in seconds.
    begun_seconds: f64,
}

/// Generates gaps within bursts.
#[derive(Clone, Debug)]
struct Within {
    curve: QuantileCurve,
    latent: LatentSeries,
    normal: Cumulative,
}

impl Arrivals {
    pub(super) fn new(model: &Model, hours: f64, mut rng: Rng) -> Arrivals {
        let (params, counts, curves) = (&model.params, model.counts, &model.curves);
        let gaps = curves.long.as_ref().zip(model.profile.as_ref()).map(|(curve, profile)| {
            let latent = LatentSeries::new(profile.remaining(params.long_acf), &mut rng);
            let (curve, profile) = (curve.clone(), profile.clone());
            Gaps { curve, deck: Deck::new(counts.long), latent, profile, passed: 0, begun_seconds: 0.0 }
        });
        let within = curves.short.as_ref().map(|curve| Within {
            curve: curve.clone(),
            latent: LatentSeries::new(params.short_acf, &mut rng),
            normal: Cumulative::normal(),
        });
        let bursts = curves.bursts.as_ref().map(|curve| (curve.clone(), Deck::new(counts.bursts)));
        let (now, zero) = (Nanos::ZERO, Nanos::ZERO);
        let end = Nanos::from_secs_f64(hours * 3600.0);
        let (left_in_burst, is_begun, rounding_error, gaps_left) = (0, false, 0.0, u64::MAX);
        let mut arrivals =
            Arrivals { rng, now, zero, end, left_in_burst, is_begun, rounding_error, gaps_left, gaps, within, bursts };
        let originals = hours / model.hours();
        if originals >= WHOLE_FROM && counts.long > 0 {
            arrivals.gaps_left = (counts.bursts as f64 * originals).round() as u64 - 1;
            arrivals.end = Nanos::MAX;
        } else if originals < WHOLE_FROM {
            arrivals.enter();
        }
        arrivals
    }

    /// Enters a stretch at a random hour, and at a moment, not at a request. Bursts follow short gaps more often than a
    /// random moment lies in a short gap, so the model first runs for its longest gap.
    fn enter(&mut self) {
        let mut longest = 1.0;
        if let Some(gaps) = &mut self.gaps {
            let hour = self.rng.below(gaps.profile.hours());
            gaps.passed = gaps.profile.gaps_before(hour);
            gaps.begun_seconds = hour as f64 * 3600.0;
            longest = gaps.curve.max().min(LEAD_SECONDS_MAX);
        }
        self.zero = Nanos::from_secs_f64(longest);
        self.end = self.zero.saturating_add(self.end);
        while self.now < self.zero {
            if self.step().is_none() {
                return;
            }
        }
        // The request just passed is the first of the stretch, so it is generated again.
        self.left_in_burst += 1;
        self.is_begun = false;
    }

    /// Advances to the next arrival in the model's clock; `None`: there are no more.
    fn step(&mut self) -> Option<()> {
        if self.left_in_burst == 0 {
            if self.is_begun {
                self.gaps_left = self.gaps_left.checked_sub(1)?;
                let gap = self.gaps.as_mut()?.next(self.now, &mut self.rng);
                self.pass(gap);
            }
            self.left_in_burst = self.burst();
        } else if self.is_begun {
            let gap = self.within.as_mut().map_or(0.0, |within| within.next(&mut self.rng));
            self.pass(gap);
        }
        self.is_begun = true;
        self.left_in_burst -= 1;
        Some(())
    }

    fn pass(&mut self, seconds: f64) {
        self.now = self.now.saturating_add(Nanos::from_secs_f64(seconds));
    }

    /// The number of requests in the next burst.
    fn burst(&mut self) -> u64 {
        let Some((curve, deck)) = &mut self.bursts else {
            return if self.gaps.is_some() { 1 } else { u64::MAX };
        };
        let card = deck.deal(self.rng.uniform());
        let wanted = curve.value(card, deck.cards()) + self.rounding_error;
        let length = wanted.round().max(1.0);
        self.rounding_error = wanted - length;
        length as u64
    }
}

impl Iterator for Arrivals {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.step()?;
        (self.now <= self.end).then(|| self.now.since(self.zero))
    }
}

impl Gaps {
    fn next(&mut self, now: Nanos, rng: &mut Rng) -> f64 {
        let seconds = self.begun_seconds + now.as_secs_f64();
        let card = self.deck.deal(self.profile.rank(self.passed, seconds, self.latent.next(rng)));
        self.passed += 1;
        self.curve.value(card, self.deck.cards())
    }
}

impl Within {
    fn next(&mut self, rng: &mut Rng) -> f64 {
        let rank = if self.latent.is_independent() { rng.uniform() } else { self.normal.below(self.latent.next(rng)) };
        self.curve.at(rank)
    }
}
