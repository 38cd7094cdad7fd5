//! The mechanics of one disk: seeks, rotation, skews.
//!
//! The position of the head and the turn of the platter are part of the state, so the time of a request depends on
//! where the last one ended.
//!
//! Constants: the IBM Ultrastar 9LZX of Denehy et al. 2004, section 3.1, with the seek curve of two functions that they
//! take from Ruemmler & Wilkes 1994. They give its ends; the coefficients follow. One zone, because they give a single
//! number of sectors per track. Their head switch of 0.8 ms is the track skew of 36 sectors (0.794 ms), so crossing to
//! the next track costs its skew.

use scrubjay_core::units::Nanos;

/// A disk's geometry and times. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanics {
    /// The time of one revolution.
    pub rotation_ms: f64,
    /// The time to switch from one surface to another of the same cylinder.
    pub head_switch_ms: f64,
    /// Sectors by which a track begins later than the one on the surface before.
    pub track_skew: u64,
    /// Sectors by which a cylinder begins later than the last track of the cylinder before.
    pub cylinder_skew: u64,
    /// Sectors of 512 bytes on each track.
    pub sectors_per_track: u64,
    /// Surfaces.
    pub heads: u64,
    /// Cylinders.
    pub cylinders: u64,
    /// The times of the arm's moves.
    pub seek: Seek,
    /// The time to settle that a write needs in addition, whenever the arm has moved.
    pub write_settle_ms: f64,
}

/// The time that the arm takes over a distance in cylinders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seek {
    /// Given by two functions.
    Curve(SeekCurve),
    /// Given by measured points (distance, milliseconds), ascending, from a distance of 1 on, with straight lines
    /// between them. All times are multiplied by `factor`.
    Table {
        /// At least one point.
        points: &'static [(u64, f64)],
        /// 1 for the table itself.
        factor: f64,
    },
}

/// A seek curve: `a + b sqrt(d)` below a distance, a straight line from there on. Distances are in cylinders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekCurve {
    /// Seeks of less than this many cylinders are short.
    pub short_below: u64,
    /// `a` and `b` of a short seek, in milliseconds.
    pub short: (f64, f64),
    /// `a` and `b` of a long seek, `a + b d`, in milliseconds.
    pub long: (f64, f64),
}

impl Seek {
    /// The curve through the times, in milliseconds, of a seek of one cylinder, of the shortest long seek, and of the
    /// longest seek.
    pub fn through(one_ms: f64, short_below: u64, middle_ms: f64, longest: u64, longest_ms: f64) -> Seek {
        let root = (middle_ms - one_ms) / ((short_below as f64).sqrt() - 1.0);
        let slope = (longest_ms - middle_ms) / (longest - short_below) as f64;
        let (short, long) = ((one_ms - root, root), (middle_ms - slope * short_below as f64, slope));
        Seek::Curve(SeekCurve { short_below, short, long })
    }

    /// The time, in milliseconds, of a seek over `distance` cylinders.
    pub fn millis(&self, distance: u64) -> f64 {
        match *self {
            _ if distance == 0 => 0.0,
            Seek::Curve(SeekCurve { short_below, short: (a, b), .. }) if distance < short_below => {
                a + b * (distance as f64).sqrt()
            }
            Seek::Curve(SeekCurve { long: (a, b), .. }) => a + b * distance as f64,
            Seek::Table { points, factor } => factor * between(points, distance),
        }
    }

    /// The same seeks, `times` as long.
    fn slower(self, times: f64) -> Seek {
        let scale = |(a, b): (f64, f64)| (a * times, b * times);
        match self {
            Seek::Curve(curve) => {
                Seek::Curve(SeekCurve { short: scale(curve.short), long: scale(curve.long), ..curve })
            }
            Seek::Table { points, factor } => Seek::Table { points, factor: factor * times },
        }
    }
}

/// Interpolates between the points around this distance; beyond the ends, takes the last point's value.
fn between(points: &[(u64, f64)], distance: u64) -> f64 {
    let next = points.partition_point(|&(at, _)| at < distance);
    match (points.get(next.wrapping_sub(1)), points.get(next)) {
        (Some(&(from, low)), Some(&(to, high))) => low + (high - low) * (distance - from) as f64 / (to - from) as f64,
        (Some(&(_, only)), None) | (None, Some(&(_, only))) => only,
        (None, None) => 0.0,
    }
}

impl Mechanics {
    /// The disk of Denehy et al. 2004. Its 17.8 million sectors are 6543 cylinders; the seek times given are 0.8, 6.0 and 8.0 ms.
    pub fn ultrastar_9lzx() -> Mechanics {
        Mechanics {
            rotation_ms: 6.0,
            head_switch_ms: 0.8,
            track_skew: 36,
            cylinder_skew: 84,
            sectors_per_track: 272,
            heads: 10,
            cylinders: 6543,
            seek: Seek::through(0.8, 400, 6.0, 6542, 8.0),
            write_settle_ms: 0.0,
        }
    }

    /// The disk's size in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors_per_track * self.heads * self.cylinders
    }

    /// The same disk, with `rotation` times the time of a revolution and `seek` times that of seeks and head switches.
    pub fn slower(self, rotation: f64, seek: f64) -> Mechanics {
        Mechanics {
            rotation_ms: self.rotation_ms * rotation,
            head_switch_ms: self.head_switch_ms * seek,
            seek: self.seek.slower(seek),
            ..self
        }
    }

    /// The track of a sector, numbered over all cylinders, and the sector's place on it.
    fn track(&self, sector: u64) -> (u64, u64) {
        (sector / self.sectors_per_track, sector % self.sectors_per_track)
    }

    /// The cylinder of a sector.
    pub fn cylinder(&self, sector: u64) -> u64 {
        sector / (self.sectors_per_track * self.heads)
    }

    /// Sectors by which a track begins later than track 0.
    fn skew(&self, track: u64) -> u64 {
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let of_cylinder = (self.heads - 1) * self.track_skew + self.cylinder_skew;
        (cylinder % self.sectors_per_track * of_cylinder + head * self.track_skew) % self.sectors_per_track
    }
}

/// A disk at work: its mechanics, and the track below its heads.
#[derive(Clone, Debug)]
pub struct Arm {
    mechanics: Mechanics,
    track: u64,
}

impl Arm {
    /// A disk with its heads above the first track.
    pub fn new(mechanics: Mechanics) -> Arm {
        Arm { mechanics, track: 0 }
    }

    /// The cylinder below its heads.
    pub fn cylinder(&self) -> u64 {
        self.track / self.mechanics.heads
    }

    /// The disk's mechanics.
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Reads or writes `count` sectors from `sector` on, beginning at `now`; returns when that is done. Sectors beyond
    /// the end of the disk wrap around to its start.
    ///
    /// # Panics
    /// When `count` is zero.
    pub fn work(&mut self, now: Nanos, sector: u64, count: u64, is_write: bool) -> Nanos {
        assert!(count > 0, "something is read or written");
        let Mechanics { rotation_ms, sectors_per_track, heads, .. } = self.mechanics;
        let (mut track, mut place) = self.mechanics.track(sector % self.mechanics.sectors());
        let distance = self.cylinder().abs_diff(track / heads);
        let switch_ms = if self.track == track { 0.0 } else { self.mechanics.head_switch_ms };
        let settle_ms = if is_write && distance > 0 { self.mechanics.write_settle_ms } else { 0.0 };
        let mut at_ms = now.as_millis_f64() + self.mechanics.seek.millis(distance).max(switch_ms) + settle_ms;
        let sector_ms = rotation_ms / sectors_per_track as f64;
        // The turn of the platter, in sectors, and how far it must turn until the first sector comes.
        let turned = at_ms / sector_ms % sectors_per_track as f64;
        let wanted = ((place + self.mechanics.skew(track)) % sectors_per_track) as f64;
        at_ms += (wanted - turned).rem_euclid(sectors_per_track as f64) * sector_ms;
        let mut left = count;
        loop {
            let on_track = left.min(sectors_per_track - place);
            at_ms += on_track as f64 * sector_ms;
            left -= on_track;
            if left == 0 {
                break;
            }
            (track, place) = (track + 1, 0);
            let skew =
                if track.is_multiple_of(heads) { self.mechanics.cylinder_skew } else { self.mechanics.track_skew };
            at_ms += skew as f64 * sector_ms;
        }
        self.track = track % (heads * self.mechanics.cylinders);
        Nanos((at_ms * 1e6) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;

    #[test]
    fn the_seek_curve_has_the_papers_ends_and_the_coefficients_that_follow() {
        let seek = Mechanics::ultrastar_9lzx().seek;
        for (distance, millis) in [(0, 0.0), (1, 0.8), (400, 6.0), (6542, 8.0)] {
            assert!((seek.millis(distance) - millis).abs() < 1e-9, "{distance}: {}", seek.millis(distance));
        }
        let Seek::Curve(SeekCurve { short, long, .. }) = seek else { panic!("two functions") };
        assert!((short.0 - 0.526_32).abs() < 1e-4 && (short.1 - 0.273_68).abs() < 1e-4);
        assert!((long.0 - 5.8697).abs() < 1e-3 && (long.1 - 3.256e-4).abs() < 1e-6);
        assert!(seek.millis(399) < 6.0);
        assert_eq!(Mechanics::ultrastar_9lzx().sectors(), 17_796_960, "9.1 GB: 6543 cylinders");
    }

    #[test]
    fn a_table_is_met_at_its_points_and_straight_between_them() {
        let seek = Seek::Table { points: &[(1, 1.0), (10, 2.0), (110, 4.0)], factor: 1.0 };
        let times_ms = [0, 1, 10, 60, 110, 5000].map(|distance| seek.millis(distance));
        assert_eq!(times_ms, [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(seek.slower(1.5).millis(60), 4.5);
    }

    #[test]
    fn a_write_settles_only_where_the_arm_has_moved() {
        let mechanics = Mechanics { write_settle_ms: 2.0, ..Mechanics::ultrastar_9lzx() };
        let mean_ms = |sectors: u64, is_write: bool| {
            let (mut arm, mut rng, mut now, mut busy) = (Arm::new(mechanics), Rng::new(3), Nanos::ZERO, 0);
            for _ in 0..5000 {
                now = now.saturating_add(Nanos((rng.uniform() * 6e6) as u64));
                let done = arm.work(now, rng.below(sectors), 1, is_write);
                busy += done.since(now).0;
                now = done;
            }
            busy as f64 / 5000.0 / 1e6
        };
        assert_eq!(mean_ms(2720, true), mean_ms(2720, false), "on one cylinder");
        let more = mean_ms(mechanics.sectors(), true) - mean_ms(mechanics.sectors(), false);
        assert!((more - 2.0).abs() < 0.15, "{more}");
    }

    #[test]
    fn single_random_reads_take_what_the_closed_form_says() {
        let mechanics = Mechanics::ultrastar_9lzx();
        let (mut arm, mut rng, mut now) = (Arm::new(mechanics), Rng::new(1), Nanos::ZERO);
        let (count, sectors) = (20_000, 8);
        for _ in 0..count {
            // A random pause, so that the platter's turn is not locked to the request before.
            now = now.saturating_add(Nanos((rng.uniform() * 6e6) as u64));
            let start = rng.below(mechanics.sectors() / 8) * 8;
            let done = arm.work(now, start, sectors, false);
            now = done;
        }
        let thinking_ms = f64::from(count) * 3.0;
        let mean_ms = (now.as_millis_f64() - thinking_ms) / f64::from(count);
        // A mean seek of 6.37 ms, half a revolution, eight sectors of 272.
        let expected = 6.37 + 3.0 + 6.0 * 8.0 / 272.0;
        assert!((mean_ms - expected).abs() < 0.06, "{mean_ms} instead of {expected}");
    }

    #[test]
    fn sequential_reading_costs_the_skews_and_nothing_else() {
        let mechanics = Mechanics::ultrastar_9lzx();
        let mut arm = Arm::new(mechanics);
        let whole = mechanics.sectors_per_track * mechanics.heads;
        let done = arm.work(Nanos::ZERO, 0, whole, false);
        let expected = 10.0 * 6.0 + 9.0 * 36.0 / 272.0 * 6.0;
        assert!((done.as_millis_f64() - expected).abs() < 1e-3, "{done:?}");
        // On to the next cylinder: its first sector comes just when the arm is there.
        let next = arm.work(done, whole, 1, false);
        let step_ms = (next.0 - done.0) as f64 / 1e6;
        assert!((step_ms - 85.0 / 272.0 * 6.0).abs() < 1e-3, "{step_ms}");
    }

    #[test]
    fn a_slow_disk_is_slower_by_its_factors() {
        let slow = Mechanics::ultrastar_9lzx().slower(2.0, 1.5);
        assert!((slow.seek.millis(400) - 9.0).abs() < 1e-9 && (slow.seek.millis(6542) - 12.0).abs() < 1e-9);
        assert_eq!(slow.rotation_ms, 12.0);
    }
}
