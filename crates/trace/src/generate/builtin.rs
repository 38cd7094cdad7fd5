//! Built-in models, for studies without a trace.

use super::model::Model;
use super::params::Params;

/// A built-in model.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The model's name.
    pub name: &'static str,
    /// Its load, in a few words.
    pub about: &'static str,
    make: fn(&'static str) -> Params,
}

/// All built-in models.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "mid-read", about: "a virtual machine's volume, 18 IOPS, 69 % reads", make: mid_read },
    Builtin { name: "mid-write", about: "a virtual machine's volume, 18 IOPS, 95 % writes", make: mid_write },
    Builtin { name: "memoryless", about: "Poisson arrivals, 20 IOPS: having waited says nothing", make: memoryless },
];

/// The built-in model with this name; `None`: there is none.
pub fn builtin(name: &str) -> Option<Model> {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name)?;
    Some(Model::new((builtin.make)(builtin.name)).expect("built-in numbers make sense, a test sees to it"))
}

/// The ranks of the published statistics.
const STATISTICS_PCT: [f64; 23] = [
    0.0, 1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0,
    90.0, 95.0, 99.0, 100.0,
];

/// The autocorrelation of the logarithms of gaps at lags 1, 2 and 5, between bursts and within them. The statistics of
/// CloudPhysics do not have it, so it is that of the HP server cello (2003, all disks, one hour).
const CELLO_LONG_ACF: [f64; 3] = [0.292, 0.228, 0.130];
const CELLO_SHORT_ACF: [f64; 3] = [0.414, 0.340, 0.222];

/// One volume in the block statistics of 106 virtual machines' volumes, a week each, that CloudPhysics collected
/// (Waldspurger et al., FAST'15; requests, percentiles of inter-arrival times, sizes and jumps by volume). The median
/// volume has 19 requests per second. Burst lengths are assumed to be geometric.
struct BuiltinVolume {
    requests: u64,
    /// The mean gap, in microseconds.
    gap_mean_us: f64,
    /// Gaps in microseconds, at `STATISTICS_PCT`.
    gaps_us: [f64; 23],
    read_pct: f64,
    sequential_pct: f64,
    /// Lengths with shares, from percentiles.
    read_sizes: &'static [(u64, f64)],
    write_sizes: &'static [(u64, f64)],
    /// Absolute jumps in bytes, at `STATISTICS_PCT`.
    jumps: [f64; 23],
    capacity_gib: f64,
}

impl BuiltinVolume {
    fn params(self, name: &str) -> Params {
        let hours = self.requests as f64 * self.gap_mean_us / 1e6 / 3600.0;
        let mut params = Params::new(name, self.requests, hours);
        params.points_pct = STATISTICS_PCT.to_vec();
        params.split_gaps(&self.gaps_us.map(|us| us / 1e6));
        params.fill_bursts();
        params.long_acf = CELLO_LONG_ACF;
        params.short_acf = CELLO_SHORT_ACF;
        params.read_pct = self.read_pct;
        params.sequential_pct = self.sequential_pct;
        params.read_sizes = self.read_sizes.to_vec();
        params.write_sizes = self.write_sizes.to_vec();
        params.jumps = self.jumps.to_vec();
        params.capacity_gib = self.capacity_gib;
        params
    }
}

/// Volume w49; the bounds of its percentiles serve as its sizes.
fn mid_read(name: &'static str) -> Params {
    let volume = BuiltinVolume {
        requests: 11_150_575,
        gap_mean_us: 54_460.305,
        gaps_us: [
            1.0,
            6.0,
            12.0,
            19.0,
            84.0,
            293.0,
            367.0,
            410.0,
            493.0,
            609.0,
            751.0,
            868.0,
            1014.0,
            1306.0,
            1824.0,
            2975.0,
            4449.0,
            6432.0,
            9349.0,
            19_047.0,
            95_650.35,
            1_719_446.1,
            157_139_364.0,
        ],
        read_pct: 69.31,
        sequential_pct: 43.87,
        read_sizes: &[
            (4096, 0.30),
            (65_536, 0.35),
            (8192, 0.10),
            (16_384, 0.05),
            (49_152, 0.05),
            (120_320, 0.05),
            (192_512, 0.05),
            (3072, 0.04),
            (1024, 0.01),
        ],
        write_sizes: &[
            (4096, 0.65),
            (8192, 0.05),
            (13_312, 0.05),
            (28_672, 0.05),
            (61_440, 0.05),
            (66_560, 0.05),
            (860_160, 0.05),
            (1024, 0.04),
            (512, 0.01),
        ],
        jumps: [
            512.0, 922.0, 2580.0, 7100.0, 1.8e4, 4.03e4, 9.69e4, 4.83e5, 8.02e6, 2.38e7, 3.94e7, 1.48e8, 8.73e8, 1.6e9,
            2.38e9, 5.38e9, 9.17e9, 1.3e10, 1.82e10, 2.57e10, 3.33e10, 5.58e10, 6.41e10,
        ],
        capacity_gib: 60.0,
    };
    volume.params(name)
}

/// Volume w56.
fn mid_write(name: &'static str) -> Params {
    let volume = BuiltinVolume {
        requests: 10_899_630,
        gap_mean_us: 52_218.870,
        gaps_us: [
            0.0,
            1.0,
            2.0,
            2.0,
            3.0,
            3.0,
            4.0,
            5.0,
            8.0,
            16.0,
            115.0,
            354.0,
            545.0,
            933.0,
            3029.0,
            8766.0,
            17_585.0,
            40_031.0,
            76_978.8,
            139_178.0,
            277_627.0,
            865_658.16,
            39_758_159.0,
        ],
        read_pct: 4.74,
        sequential_pct: 6.76,
        read_sizes: &[
            (8192, 0.45),
            (4096, 0.25),
            (16_384, 0.05),
            (24_576, 0.05),
            (32_768, 0.05),
            (65_536, 0.05),
            (155_648, 0.05),
            (524_288, 0.05),
        ],
        write_sizes: &[(4096, 0.70), (8192, 0.15), (16_384, 0.05), (24_576, 0.05), (94_208, 0.05)],
        jumps: [
            512.0, 889.0, 2430.0, 4100.0, 4100.0, 4100.0, 4100.0, 1.12e4, 2.89e4, 6.34e4, 1.5e5, 3.91e5, 1.06e6,
            3.78e6, 6.88e7, 2.09e8, 4.74e8, 5.92e9, 2.57e10, 5.26e10, 1.25e11, 2.13e11, 2.55e11,
        ],
        capacity_gib: 242.0,
    };
    volume.params(name)
}

/// A day of exponential gaps with a mean of 50 ms, about the median rate of CloudPhysics; half reads, 4 KiB, random
/// places.
fn memoryless(name: &'static str) -> Params {
    const MEAN_SECONDS: f64 = 0.05;
    const HOURS: f64 = 24.0;
    let requests = (HOURS * 3600.0 / MEAN_SECONDS) as u64;
    let mut params = Params::new(name, requests, HOURS);
    let low = [0.0, 0.001, 0.01, 0.03, 0.1, 0.2, 0.35, 0.6];
    let high = [99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.98, 99.99, 99.999, 99.9999, 100.0];
    params.points_pct = low.into_iter().chain((1..100).map(f64::from)).chain(high).collect();
    let longer_min = 0.5 / requests as f64;
    let gap = |pct: &f64| -MEAN_SECONDS * (1.0 - pct / 100.0).max(longer_min).ln();
    let gaps: Vec<f64> = params.points_pct.iter().map(gap).collect();
    params.split_gaps(&gaps);
    params.fill_bursts();
    params.variation = Some(1.0);
    params
}
