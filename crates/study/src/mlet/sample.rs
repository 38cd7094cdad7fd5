//! A sample of disks with clusters of errors, and how long these errors stay unknown.

use super::pace::Pace;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::tour::{Grid, OrderKind, ScanOrder};
use scrubjay_core::units::{Sector, UnixSeconds};
use scrubjay_sim::lse::ClusterModel;

/// The random stream from which the ages of regions are drawn: no disk has this number.
const AGES: u64 = u64::MAX;

/// What is verified at once when an error is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscalationScope {
    /// Nothing: the tour continues.
    None,
    /// The region of the error (Oprea & Juels, FAST'10; Amvrosiadis et al., DSN'12, section I).
    Region,
    /// Scrubjay's own: the region, then its two neighbours, and the same around every error found there.
    RegionAndNeighbours,
}

impl EscalationScope {
    /// All of them in ascending order of extent, with their names.
    pub const ALL: [(EscalationScope, &'static str); 3] = [
        (EscalationScope::None, "nothing"),
        (EscalationScope::Region, "the region"),
        (EscalationScope::RegionAndNeighbours, "the region and its neighbours"),
    ];
}

/// Means of the delays of a sample of disks, in units of the tour's period, or in hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mlet {
    /// The mean over disks of the mean delay of the disk's errors: the figure to compare.
    pub disk_mean: f64,
    /// The standard error of that mean.
    pub standard_error: f64,
    /// The mean over all errors of all disks: dominated by the few large clusters.
    pub error_mean: f64,
    /// The mean over disks of the delay of the first error found.
    pub first_mean: f64,
}

impl Mlet {
    /// Draws `disks` disks with one cluster each and averages their delays, in units of the tour's period. The same
    /// seed draws the same disks and phases for every order, grid and escalation, so that differences come from these
    /// and not from chance. The order "oldest first" takes the regions in random order, as after many partial scrubs;
    /// if every tour was complete, it would be the sequential order.
    ///
    /// # Panics
    /// If there are no disks.
    pub fn sample(
        order: OrderKind,
        grid: &Grid,
        model: &ClusterModel,
        escalation: EscalationScope,
        disks: u32,
        seed: u64,
    ) -> Mlet {
        let order = drawn_order(order, grid, seed);
        mean(disks, |disk| {
            let mut rng = Rng::stream(seed, u64::from(disk));
            let errors = model.draw(grid.disk().count(), &mut rng);
            delays(order.as_ref(), grid, escalation, &errors, rng.uniform())
        })
    }

    /// Like [`Mlet::sample`], but in hours, with a tour that advances at `pace`: the errors of a disk appear at a
    /// random moment of the trace, when the tour is at a random place. Escalation takes no time.
    ///
    /// # Panics
    /// If there are no disks.
    pub fn sample_paced(
        order: OrderKind,
        grid: &Grid,
        model: &ClusterModel,
        escalation: EscalationScope,
        disks: u32,
        seed: u64,
        pace: &Pace,
    ) -> Mlet {
        let order = drawn_order(order, grid, seed);
        let bytes = grid.disk().bytes().0 as f64;
        mean(disks, |disk| {
            let mut rng = Rng::stream(seed, u64::from(disk));
            let errors = model.draw(grid.disk().count(), &mut rng);
            let shares = delays(order.as_ref(), grid, escalation, &errors, rng.uniform());
            let moment = rng.uniform() * pace.span();
            shares.into_iter().map(|share| pace.delay(moment, share * bytes) / 3600.0).collect()
        })
    }
}

/// The order, over regions of random age.
fn drawn_order(order: OrderKind, grid: &Grid, seed: u64) -> Box<dyn ScanOrder> {
    let mut rng = Rng::stream(seed, AGES);
    let ages: Vec<_> = (0..grid.region_count()).map(|_| UnixSeconds(rng.bits() >> 1)).collect();
    order.order(&ages)
}

/// Averages the delays of `disks` disks.
fn mean(disks: u32, delays: impl Fn(u32) -> Vec<f64>) -> Mlet {
    assert!(disks > 0, "a mean of something");
    let (mut disk_sum, mut disk_squares, mut error_sum, mut error_count, mut first_sum) = (0.0, 0.0, 0.0, 0, 0.0);
    for delays in (0..disks).map(delays) {
        let sum: f64 = delays.iter().sum();
        let mean = sum / delays.len() as f64;
        disk_sum += mean;
        disk_squares += mean * mean;
        error_sum += sum;
        error_count += delays.len();
        first_sum += delays.iter().copied().fold(f64::INFINITY, f64::min);
    }
    let count = f64::from(disks);
    let disk_mean = disk_sum / count;
    let variance = (disk_squares / count - disk_mean * disk_mean).max(0.0);
    Mlet {
        disk_mean,
        standard_error: (variance / count).sqrt(),
        error_mean: error_sum / error_count as f64,
        first_mean: first_sum / count,
    }
}

/// The delay of each error of a disk until it is found, in units of the tour's period and in the order of `errors`, if
/// all of them appear at `phase` (`0..1`) of the tour.
pub fn delays(
    order: &dyn ScanOrder,
    grid: &Grid,
    escalation: EscalationScope,
    errors: &[Sector],
    phase: f64,
) -> Vec<f64> {
    let own_delays: Vec<f64> =
        errors.iter().map(|&error| (visit(order, grid, error) - phase).rem_euclid(1.0)).collect();
    if escalation == EscalationScope::None {
        return own_delays;
    }
    // A region is verified when the first of its errors is found: one entry for each region with errors, by region.
    let mut found: Vec<(u64, f64)> =
        errors.iter().zip(&own_delays).map(|(&error, &delay)| (grid.region_of(error), delay)).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    found.dedup_by_key(|entry| entry.0);
    if escalation == EscalationScope::RegionAndNeighbours {
        spread(&mut found);
    }
    let region_delay = |error: Sector| {
        let index =
            found.binary_search_by_key(&grid.region_of(error), |entry| entry.0).expect("every error has a region");
        found[index].1
    };
    errors.iter().map(|&error| region_delay(error)).collect()
}

/// The moment of the tour, `0..1`, at which the scan passes `sector`. Every step counts as equally long, which is exact
/// if segments divide regions and regions the disk; otherwise the error is less than the clipped parts.
pub fn visit(order: &dyn ScanOrder, grid: &Grid, sector: Sector) -> f64 {
    let place = grid.place_of(sector);
    let offset = sector.0 - grid.segment(place).start.0;
    (order.step_of(grid, place) as f64 + offset as f64 / grid.segment_sectors() as f64) / grid.step_count() as f64
}

/// All errors of a run of neighbouring regions are found when the first of them is.
fn spread(found: &mut [(u64, f64)]) {
    for run in found.chunk_by_mut(|left, right| left.0 + 1 == right.0) {
        let first = run.iter().map(|entry| entry.1).fold(1.0, f64::min);
        run.iter_mut().for_each(|entry| entry.1 = first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Bytes;

    /// One terabyte.
    const DISK_SECTORS: u64 = 1_000_000_000_000 / 512;
    const DISKS: u32 = 20_000;

    fn mlet(order: OrderKind, region: Bytes, segment: Bytes, escalation: EscalationScope) -> f64 {
        let grid = Grid::new(DISK_SECTORS, region.sectors(), segment.sectors());
        Mlet::sample(order, &grid, &ClusterModel::NEARLINE, escalation, DISKS, 2012).disk_mean
    }

    fn staggered(region: Bytes, segment: Bytes) -> f64 {
        mlet(OrderKind::STAGGERED, region, segment, EscalationScope::Region)
    }

    fn sequential() -> f64 {
        mlet(OrderKind::SEQUENTIAL, Bytes::mib(128), Bytes::mib(1), EscalationScope::Region)
    }

    /// The figures of an independent program, within three standard errors of a sample of this size.
    #[test]
    fn the_sensitivities_of_the_field_study_come_out() {
        let close =
            |reached: f64, expected: f64| assert!((reached - expected).abs() < 0.0055, "{reached} for {expected}");
        close(sequential(), 0.502);
        close(staggered(Bytes::mib(128), Bytes::kib(64)), 0.418);
        close(staggered(Bytes::mib(128), Bytes::mib(1)), 0.418);
        close(staggered(Bytes::mib(128), Bytes::mib(32)), 0.429);
        close(staggered(Bytes::mib(128), Bytes::mib(64)), 0.453);
        close(staggered(Bytes::gib(1), Bytes::mib(1)), 0.472);
        // 128 regions of 7.8 GB each: the setting of Amvrosiadis et al. (DSN'12, IV-B) on a larger disk.
        close(staggered(Bytes(DISK_SECTORS.div_ceil(128) * 512), Bytes::kib(64)), 0.491);
    }

    /// Schroeder, Damouras & Gill (FAST'10): staggered scrubbing with regions of 128 MB detects 10-20 % earlier;
    /// segments from 1 KB to 32 MB make no difference, 64 MB lose half of the gain.
    #[test]
    fn staggering_gains_what_was_published() {
        let sequential = sequential();
        let gain = |segment| 1.0 - staggered(Bytes::mib(128), segment) / sequential;
        let gains = [Bytes::kib(64), Bytes::mib(1), Bytes::mib(8), Bytes::mib(32)].map(gain);
        for gain in gains {
            assert!((0.10..0.20).contains(&gain), "{gains:?}");
            assert!((gain - gains[0]).abs() < 0.03, "not flat: {gains:?}");
        }
        let left = gain(Bytes::mib(64)) / gains[0];
        assert!((0.35..0.65).contains(&left), "64 MiB leave {left} of the gain");
    }

    #[test]
    fn order_alone_gains_nothing_and_neighbours_gain_more() {
        let (region, segment) = (Bytes::mib(128), Bytes::mib(8));
        let staggered = |escalation| mlet(OrderKind::STAGGERED, region, segment, escalation);
        assert!((staggered(EscalationScope::None) - 0.5).abs() < 0.0055);
        let (without_neighbours, with_neighbours) =
            (staggered(EscalationScope::Region), staggered(EscalationScope::RegionAndNeighbours));
        assert!(
            (0.02..0.04).contains(&(without_neighbours - with_neighbours)),
            "{without_neighbours} {with_neighbours}"
        );
    }

    /// Four regions of four segments of ten sectors, staggered: sector 23 of region 0 is in round 2, step 8.
    #[test]
    fn delays_of_a_small_disk_by_hand() {
        let (grid, order) = (Grid::new(160, 40, 10), OrderKind::STAGGERED.order(&[]));
        let near = |reached: &[f64], expected: &[f64]| {
            assert!(
                reached.iter().zip(expected).all(|(delay, wanted)| (delay - wanted).abs() < 1e-9),
                "{reached:?} {expected:?}"
            );
        };
        assert_eq!(visit(order.as_ref(), &grid, Sector(23)), 8.3 / 16.0);

        // Regions 0, 0, 1 and 3; visited at steps 8.3, 12.0, 5.0 and 15.9; the phase is step 8.
        let errors = [23, 30, 50, 159].map(Sector);
        let delays_with = |escalation| {
            delays(order.as_ref(), &grid, escalation, &errors, 0.5).iter().map(|delay| delay * 16.0).collect::<Vec<_>>()
        };
        near(&delays_with(EscalationScope::None), &[0.3, 4.0, 13.0, 7.9]);
        near(&delays_with(EscalationScope::Region), &[0.3, 0.3, 13.0, 7.9]);
        near(&delays_with(EscalationScope::RegionAndNeighbours), &[0.3, 0.3, 0.3, 7.9]);
    }
}
