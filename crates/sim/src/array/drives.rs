//! Other disks by name: two that come with DiskSim 4.0, measured (Bucy, Schindler, Schlosser & Ganger 2008).
//!
//! From their parameter files: revolutions, cylinders, surfaces, sectors, head switch, settling and seek table, of
//! which eight points are kept. This model has one zone, so tracks have the mean number of sectors; skews are the time
//! of a head switch and of one cylinder.

use super::mechanics::{Mechanics, Seek};

/// Seagate Cheetah 9LP (ST39102LW): of the size, speed and year of the paper's IBM 9LZX.
pub fn cheetah_9lp() -> Mechanics {
    const SEEKS: [(u64, f64); 8] =
        [(1, 0.83), (10, 1.45), (100, 2.15), (400, 3.05), (1000, 4.12), (2000, 5.28), (4000, 7.42), (6961, 10.63)];
    Mechanics {
        rotation_ms: 60_000.0 / 10_045.0,
        head_switch_ms: 0.030,
        track_skew: 2,
        cylinder_skew: 30,
        sectors_per_track: 213, // 17 783 240 sectors on 12 surfaces of 6962 cylinders
        heads: 12,
        cylinders: 6962,
        seek: Seek::Table { points: &SEEKS, factor: 1.0 },
        write_settle_ms: 0.461,
    }
}

/// Quantum Atlas 10K, 9 GB: half the size of the 18WLS of Denehy et al. 2004, figure 15.
pub fn atlas_10k() -> Mechanics {
    const SEEKS: [(u64, f64); 8] =
        [(1, 1.25), (10, 1.53), (100, 2.01), (400, 3.15), (1000, 3.82), (2000, 4.84), (4000, 6.23), (10_041, 10.83)];
    Mechanics {
        rotation_ms: 60_000.0 / 10_025.0,
        head_switch_ms: 0.176,
        track_skew: 9,
        cylinder_skew: 63,
        sectors_per_track: 298, // 17 938 986 sectors on 6 surfaces of 10 042 cylinders
        heads: 6,
        cylinders: 10_042,
        seek: Seek::Table { points: &SEEKS, factor: 1.0 },
        write_settle_ms: 0.487,
    }
}
