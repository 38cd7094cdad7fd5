//! Latent sector errors as they come on real disks: in clusters.
//!
//! A model to draw from, made from two published field studies:
//!
//! - *Size.* Bairavasundaram, Goodson, Pasupathy & Schindler (SIGMETRICS'07; 1.53 million disks, 32 months): of the disks
//!   with an error, 54.8 % (nearline) and 62.0 % (enterprise) have another within a month, 5 % and 10 % have 50 more. A power
//!   law `P(N >= n) = 0.915 n^-a` is fitted to these points (power laws by Schroeder, Damouras & Gill, FAST'10). Our fit.
//! - *Place.* The same study: another error lies within 10 MB with probability 0.5. That fixes the inner half. The
//!   rest (30 % within 100 MB, 20 % anywhere) is chosen to reproduce the sensitivities of Schroeder et al.: any segment
//!   up to 32 MB detects equally early, 64 MB loses half of the gain. Our choice.
//! - *Time.* All errors of a cluster appear at one instant (Schroeder et al.: nearly all errors of a drive fall in one
//!   two-week period).

use scrubjay_core::rng::Rng;
use scrubjay_core::units::{SECTOR_BYTES, Sector};

/// Decimal megabytes, as the field studies count.
const MB: u64 = 1_000_000;

/// A distribution of clusters of latent errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterModel {
    /// `P(N >= n) = scale * n^-exponent` for a cluster of `N >= 2` errors; the rest are single errors.
    pub scale: f64,
    /// The exponent a of that law.
    pub exponent: f64,
    /// Larger clusters are cut to this size: beyond it the disk is failing, not latent.
    pub size_max: u32,
}

impl ClusterModel {
    /// SATA disks for bulk storage.
    pub const NEARLINE: ClusterModel = ClusterModel { scale: 0.915, exponent: 0.74, size_max: 1000 };
    /// SCSI, FC and SAS disks: fewer of them fail, but those have more errors.
    pub const ENTERPRISE: ClusterModel = ClusterModel { scale: 0.915, exponent: 0.56, size_max: 1000 };

    /// How many errors a cluster has, at least 1.
    pub fn draw_size(&self, rng: &mut Rng) -> u32 {
        // The inverse of the survival function: the greatest n with P(N >= n) > u.
        let size = (self.scale / (1.0 - rng.uniform())).powf(1.0 / self.exponent);
        (size as u32).clamp(1, self.size_max)
    }

    /// The bad sectors of one cluster around a centre that is uniform over the disk: half within 10 MB of it, 30 %
    /// within 100 MB, 20 % anywhere. In no order; two may be the same sector.
    ///
    /// # Panics
    /// When the disk has no sectors.
    pub fn draw(&self, disk_sectors: u64, rng: &mut Rng) -> Vec<Sector> {
        let centre = rng.below(disk_sectors);
        (0..self.draw_size(rng))
            .map(|_| match rng.uniform() {
                share if share < 0.5 => near(centre, 10 * MB / SECTOR_BYTES, disk_sectors, rng),
                share if share < 0.8 => near(centre, 100 * MB / SECTOR_BYTES, disk_sectors, rng),
                _ => Sector(rng.below(disk_sectors)),
            })
            .collect()
    }
}

/// Uniform within `reach` sectors of `centre`, and on the disk: cut at its ends, not heaped up there.
fn near(centre: u64, reach: u64, disk_sectors: u64, rng: &mut Rng) -> Sector {
    let first = centre.saturating_sub(reach);
    let end = (centre + reach + 1).min(disk_sectors);
    Sector(first + rng.below(end - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two points of Bairavasundaram et al. (SIGMETRICS'07) through which each law was laid.
    #[test]
    fn cluster_sizes_follow_the_field_study() {
        for (model, another, fifty_more) in
            [(ClusterModel::NEARLINE, 0.548, 0.05), (ClusterModel::ENTERPRISE, 0.620, 0.10)]
        {
            let mut rng = Rng::new(11);
            let sizes: Vec<_> = (0..100_000).map(|_| model.draw_size(&mut rng)).collect();
            let share = |least| sizes.iter().filter(|&&size| size >= least).count() as f64 / sizes.len() as f64;
            assert!((share(2) - another).abs() < 0.01, "{model:?}: {}", share(2));
            assert!((share(51) - fifty_more).abs() < 0.005, "{model:?}: {}", share(51));
            assert!(sizes.iter().all(|size| (1..=1000).contains(size)));
        }
    }

    #[test]
    fn half_of_a_cluster_lies_within_ten_megabytes_and_all_of_it_on_the_disk() {
        let (disk, mut rng) = (1_953_125_000, Rng::new(12));
        let large = ClusterModel { scale: 1e9, exponent: 0.5, size_max: 1001 };
        let mut cluster = large.draw(disk, &mut rng);
        cluster.sort_unstable();
        let median = cluster[500];
        let within =
            |reach| cluster.iter().filter(|sector| sector.0.abs_diff(median.0) < reach * MB / SECTOR_BYTES).count();
        assert!((480..620).contains(&within(11)), "{}", within(11));
        assert!((760..840).contains(&within(105)), "{}", within(105));

        for disk in [1, 2, 1000, 100_000] {
            assert!(
                (0..200).all(|_| ClusterModel::ENTERPRISE.draw(disk, &mut rng).iter().all(|sector| sector.0 < disk))
            );
        }
    }
}
