//! How slow a disk is, and why that is thought: what the pump computes from the maps of its scrubs (`core::surface`).
//!
//! A slow disk is no failing disk: most fail-slow disks are found to be well, or their cable, controller or firmware not to be. So it is to be
//! watched, whatever its slowness, and never to be replaced for that alone.

use scrubjay_core::surface::daily::SlowDisk;

/// Beside what the whole disk is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum SlowBeside {
    /// Its own first passes.
    Past,
    /// So many disks of its model, at the same places.
    Siblings(usize),
    /// Its own first passes, as are all of so many disks behind one controller.
    Way(usize),
}

/// How slow a disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Slowness {
    /// By how many percent reading takes longer, and beside what; `None`: it does not, as far as is known.
    pub whole: Option<(u32, SlowBeside)>,
    /// Places that are slow pass after pass (count).
    pub places: u32,
}

impl Slowness {
    /// Is nothing slow, as far as is known?
    pub fn is_none(&self) -> bool {
        *self == Slowness::default()
    }

    /// What the estimators say.
    pub fn of(whole: Option<SlowDisk>, places: usize) -> Slowness {
        let percent = |ratio: f64| (100.0 * (ratio - 1.0)).round().clamp(0.0, 100_000.0) as u32;
        let whole = whole.map(|slow| match slow {
            SlowDisk::ThanBefore { ratio } => (percent(ratio), SlowBeside::Past),
            SlowDisk::ThanSiblings { ratio, siblings } => (percent(ratio), SlowBeside::Siblings(siblings)),
            SlowDisk::WithItsWay { ratio, disks } => (percent(ratio), SlowBeside::Way(disks)),
        });
        Slowness { whole, places: places.min(1 << 20) as u32 }
    }
}
