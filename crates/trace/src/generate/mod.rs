//! Generates traces from a model: bursts, idle intervals with a heavy tail, kinds, lengths, places.
//!
//! A model is a trace's numbers: [learnt](DiskFit) from records, [read](Model::from_json) from a file, or [built
//! in](builtin). Generated traces have these numbers for every seed:
//!
//! - **Gaps.** Those above 0.1 s separate bursts, the others lie within; each kind has its quantiles and its
//!   autocorrelation (a Gaussian copula on the logarithms). Tails are so heavy that independent samples differ in mean
//!   and spread between seeds by more than traces differ from each other. So the gaps between bursts are not drawn but
//!   dealt: a run of the original's length has the original's gaps (its quantiles, bent between the measured points so
//!   that the span and the coefficient of variation come out), each once, in a different order for each seed. The
//!   lengths of bursts are dealt the same way.
//! - **Hours.** If the model has two days or more, long gaps are dealt in its quiet hours.
//! - **Length of a run.** A run shorter than the original is a stretch of it, entered at a random moment: it has its
//!   rates but not all of its gaps, and may be quiet or busy. A longer run is the original repeated, reshuffled each
//!   time.
//! - **Not modelled:** response times; hot spots (places are a walk of measured jumps); any dependence of the length of
//!   a burst on the gaps around it (on hplajw and cello the correlation is below 0.15).
//!
//! Of 20 families, a two-phase hyper-exponential fits the gaps of storage traces best (Wajahat et al., Perf. Eval.
//! 2020). Bursts with two kinds of gaps follow that idea, with quantiles in place of the family.

mod arrivals;
mod builtin;
mod content;
mod curve;
mod deck;
mod fit;
mod histogram;
mod json;
mod latent;
mod model;
mod params;
mod profile;
#[cfg(test)]
mod tests;

pub use builtin::{BUILTINS, builtin};
pub use fit::DiskFit;
pub use model::Model;
pub use params::ModelError;

use crate::record::{DeviceId, Record};
use arrivals::Arrivals;
use content::ContentModel;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Bytes;

/// The random streams of one seed, for arrivals and for contents.
const ARRIVALS: u64 = 0;
const CONTENT: u64 = 1;

/// The records of one device, in order of arrival, from time zero on. The same model, hours and seed give the same
/// records.
///
/// Memory is constant: at most 4 MiB, and a few KiB for most models.
#[derive(Clone, Debug)]
pub struct Generator {
    arrivals: Arrivals,
    content: ContentModel,
}

impl Generator {
    /// A generator of `hours` of the modelled load. A run of the original's length or more has its length within the
    /// model's error of some percent; a shorter one ends exactly in time.
    ///
    /// # Panics
    /// If `hours` is not a positive number, or exceeds a century.
    pub fn new(model: &Model, hours: f64, seed: u64) -> Generator {
        assert!(hours > 0.0 && hours < 876_600.0, "a length of time");
        let arrivals = Arrivals::new(model, hours, Rng::stream(seed, ARRIVALS));
        Generator { arrivals, content: ContentModel::new(model, Rng::stream(seed, CONTENT)) }
    }
}

impl Iterator for Generator {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let arrival = self.arrivals.next()?;
        let (kind, offset, length) = self.content.next();
        let (offset, length, device) = (Bytes(offset), Bytes(length), DeviceId(0));
        Some(Record { arrival, response: None, offset, length, device, kind })
    }
}
