//! The last step: is a member unlike the others? Bursts on each class, more of them where something is odd.

use super::layout::places::Places;
use super::sampler::{End, Sampler};
use super::statistic::{gap_trimmed, median, spread, time_reached};
use super::thresholds::{ODD_ERRORS, ODD_MIN, ODD_SUSPECTED, SPREAD_MIN};
use super::yardstick::Yardstick;
use crate::probe::known::Regime;

/// Bursts on every class, and on one that is suspected.
const BURSTS: (usize, usize) = (3, 15);

/// The times of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTime {
    /// In medians of all classes.
    pub factor: f64,
    /// Log-odds that it is unlike the others; zero where it is not.
    pub odds: f64,
}

/// Measures each class.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn find(
    sampler: &mut Sampler,
    yardstick: &Yardstick,
    places: Places,
    classes: &[usize],
) -> Result<Vec<ClassTime>, End> {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let mut logs = vec![Vec::new(); count];
    for _ in 0..BURSTS.0 {
        for (class, logs) in logs.iter_mut().enumerate() {
            logs.extend(pace(sampler, yardstick, places, classes, class).await?);
        }
    }
    let middle = |all: &[Vec<f64>]| median(&all.iter().map(|logs| median(logs)).collect::<Vec<_>>());
    let first = middle(&logs);
    for (class, logs) in logs.iter_mut().enumerate() {
        if (median(logs) - first).abs() > ODD_SUSPECTED {
            for _ in BURSTS.0..BURSTS.1 {
                logs.extend(pace(sampler, yardstick, places, classes, class).await?);
            }
        }
    }
    let middle = middle(&logs);
    let time = |logs: &Vec<f64>| {
        let off = median(logs) - middle;
        // 1.25 of the spread of a mean is that of a median.
        let error = 1.25 * spread(logs).max(SPREAD_MIN) / (logs.len().max(1) as f64).sqrt();
        let is_odd = off.abs() > ODD_MIN && off.abs() > ODD_ERRORS * error && logs.len() > BURSTS.0;
        ClassTime { factor: off.exp(), odds: if is_odd { (off / error).powi(2) / 2.0 } else { 0.0 } }
    };
    Ok(logs.iter().map(time).collect())
}

/// The logarithm of the pace of one burst on a class.
async fn pace(
    sampler: &mut Sampler,
    yardstick: &Yardstick,
    places: Places,
    classes: &[usize],
    class: usize,
) -> Result<Option<f64>, End> {
    let own: Vec<usize> = (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect();
    let mut reads = Vec::new();
    for start in sampler.places(places.pattern, places.pattern - sampler.device().block, yardstick.burst.count) {
        let chunk = own[sampler.rng.below(own.len() as u64) as usize];
        let pattern = start / places.pattern * places.pattern;
        let place = places.some(sampler, chunk);
        reads.push(sampler.read(pattern + place));
    }
    let done: Vec<f64> = sampler.run(reads).await?.into_iter().flatten().collect();
    let pace = match yardstick.burst.regime {
        Regime::Disks => gap_trimmed(&done),
        Regime::Flash { .. } => time_reached(&done),
    };
    Ok(pace.map(|pace| pace.max(1.0).ln()))
}
