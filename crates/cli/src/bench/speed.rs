//! Figure 7: how fast parities and appendices are made, bare and under each scheme. The caller measures, this draws.

use scrubjay_chart::{Axis, Figure, Series, Style};
use scrubjay_core::layout::Shape;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;

/// The numbers of disks of a stripe, at chunks of [`CHUNK`]. (The paper's text names only 8.)
pub const DISKS: [usize; 7] = [4, 6, 8, 10, 12, 14, 16];

/// The chunk sizes at [`SLOTS`] disks, in KiB. (The paper's text names only 4.)
pub const CHUNKS_KIB: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The paper's chunk, for the figures over the number of disks.
pub const CHUNK: Bytes = Bytes::kib(4);

/// The paper's n (disks of a stripe), for the figures over the chunk size.
pub const SLOTS: usize = 8;

/// The parities of RAID-5 and RAID-6.
const PARITIES: [usize; 2] = [1, 2];

/// One measured point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// The data and parity chunks of a stripe.
    pub shape: Shape,
    /// The data bytes of a chunk.
    pub chunk: Bytes,
    /// The scheme whose appendices were made.
    pub scheme: Scheme,
    /// How the checksums were made.
    pub sums: ChecksumWay,
    /// Bytes of data per second; parities and appendices do not count.
    pub bytes_per_second: f64,
}

/// How checksums are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumWay {
    /// By the processor's instructions, together with the parities (in the paper: after them).
    Instructions,
    /// By tables, after the parities.
    Tables,
}

/// Every shape and chunk size that the figures show.
pub fn points() -> Vec<(Shape, Bytes)> {
    let shape = |slots: usize, parity: usize| Shape { data: slots - parity, parity };
    let by_disks = |parity| DISKS.into_iter().map(move |slots| (shape(slots, parity), CHUNK));
    let by_chunk = |parity| CHUNKS_KIB.into_iter().map(move |kib| (shape(SLOTS, parity), Bytes::kib(kib)));
    let all = PARITIES.into_iter().flat_map(|parity| by_disks(parity).chain(by_chunk(parity)));
    let mut points: Vec<(Shape, Bytes)> = Vec::new();
    for point in all {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

/// Every curve: the bare array, and each scheme with either way to make checksums.
pub fn curves() -> Vec<(Scheme, ChecksumWay)> {
    let protected = |sums| Scheme::ALL.into_iter().skip(1).map(move |scheme| (scheme, sums));
    let bare = std::iter::once((Scheme::None, ChecksumWay::Instructions));
    bare.chain(protected(ChecksumWay::Instructions)).chain(protected(ChecksumWay::Tables)).collect()
}

/// The curve's name in the legend.
fn curve_name(scheme: Scheme, sums: ChecksumWay) -> String {
    match sums {
        ChecksumWay::Instructions => scheme.name().to_owned(),
        ChecksumWay::Tables => format!("{scheme}, tables"),
    }
}

/// The figures over disks and over chunk size, for RAID-5 and RAID-6, as measured on `machine`.
pub fn figures(speeds: &[Speed], machine: &str) -> Vec<Figure> {
    PARITIES
        .into_iter()
        .flat_map(|parity| [by_disks(speeds, parity, machine), by_chunk(speeds, parity, machine)])
        .collect()
}

fn by_disks(speeds: &[Speed], parity: usize, machine: &str) -> Figure {
    let speeds: Vec<Speed> =
        speeds.iter().filter(|speed| speed.shape.parity == parity && speed.chunk == CHUNK).copied().collect();
    Figure {
        name: format!("integrity-speed-disks-raid{}", parity + 4),
        title: format!("How fast a stripe is encoded, RAID-{}, chunks of {CHUNK}", parity + 4),
        caption: caption(&speeds, parity, machine),
        x: Axis::whole("disks of a stripe"),
        y: Axis::linear("data encoded (GB/s)"),
        series: series(&speeds, |speed| speed.shape.width() as f64),
    }
}

fn by_chunk(speeds: &[Speed], parity: usize, machine: &str) -> Figure {
    let speeds: Vec<Speed> =
        speeds.iter().filter(|speed| speed.shape == Shape { data: SLOTS - parity, parity }).copied().collect();
    Figure {
        name: format!("integrity-speed-chunk-raid{}", parity + 4),
        title: format!("How fast a stripe is encoded, RAID-{} of {SLOTS} disks", parity + 4),
        caption: caption(&speeds, parity, machine),
        x: Axis::log("chunk (KiB)"),
        y: Axis::linear("data encoded (GB/s)"),
        series: series(&speeds, |speed| speed.chunk.0 as f64 / 1024.0),
    }
}

fn series(speeds: &[Speed], x: impl Fn(&Speed) -> f64) -> Vec<Series> {
    let curve = |(scheme, sums)| {
        let mut points: Vec<(f64, f64)> = speeds
            .iter()
            .filter(|speed| (speed.scheme, speed.sums) == (scheme, sums))
            .map(|speed| (x(speed), speed.bytes_per_second / 1e9))
            .collect();
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        let style = if sums == ChecksumWay::Tables { Style::Dashed } else { Style::Line };
        Series::new(curve_name(scheme, sums), style, points)
    };
    curves().into_iter().map(curve).collect()
}

/// The share of the speed that protection takes, compared with the paper.
fn caption(speeds: &[Speed], parity: usize, machine: &str) -> String {
    let paper = ["37.76", "27.05"][parity - 1];
    format!(
        "Measured on {machine}: another machine, or a busier minute, gives another figure. {} (In the paper, on a Xeon \
         of 2009: up to {paper} % less than bare, and two to three times as fast as without the instruction.)",
        summary(speeds).unwrap_or_else(|| "Nothing was measured.".to_owned())
    )
}

fn summary(speeds: &[Speed]) -> Option<String> {
    let speed_of = |speed: &Speed, scheme, sums| {
        let same = |other: &&Speed| (other.shape, other.chunk) == (speed.shape, speed.chunk);
        let found = speeds.iter().filter(same).find(|other| (other.scheme, other.sums) == (scheme, sums))?;
        Some(found.bytes_per_second)
    };
    let protected: Vec<&Speed> =
        speeds.iter().filter(|speed| speed.scheme != Scheme::None && speed.sums == ChecksumWay::Instructions).collect();
    let ratios = |other: fn(Scheme) -> (Scheme, ChecksumWay)| -> Vec<f64> {
        let ratio = |speed: &&Speed| {
            let (scheme, sums) = other(speed.scheme);
            Some(speed.bytes_per_second / speed_of(speed, scheme, sums)?)
        };
        protected.iter().filter_map(ratio).collect()
    };
    let least = |ratios: &[f64]| ratios.iter().copied().reduce(f64::min);
    let most = |ratios: &[f64]| ratios.iter().copied().reduce(f64::max);
    let (to_bare, to_tables) =
        (ratios(|_| (Scheme::None, ChecksumWay::Instructions)), ratios(|scheme| (scheme, ChecksumWay::Tables)));
    let slowest = least(&protected.iter().map(|speed| speed.bytes_per_second).collect::<Vec<f64>>())?;
    Some(format!(
        "With checksums by instructions the schemes take up to {:.1} % of the bare array's speed, and leave {:.1} GB/s at \
         least; they are {:.1} to {:.1} times as fast as with checksums by tables.",
        100.0 * (1.0 - least(&to_bare)?).max(0.0),
        slowest / 1e9,
        least(&to_tables)?,
        most(&to_tables)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invented: bare 10 GB/s, schemes 8 with instructions (7.5 with two parities of 16 disks), and 2 with tables.
    fn speeds() -> Vec<Speed> {
        let speed = |(shape, chunk): (Shape, Bytes), (scheme, sums)| {
            let is_slow = shape == Shape { data: 14, parity: 2 };
            let gb = match (scheme, sums) {
                (Scheme::None, _) => 10.0,
                (_, ChecksumWay::Tables) => 2.0,
                _ => {
                    if is_slow {
                        7.5
                    } else {
                        8.0
                    }
                }
            };
            Speed { shape, chunk, scheme, sums, bytes_per_second: gb * 1e9 }
        };
        points().into_iter().flat_map(|point| curves().into_iter().map(move |curve| speed(point, curve))).collect()
    }

    #[test]
    fn every_point_is_in_its_figure() {
        assert_eq!((points().len(), curves().len()), (2 * 15, 9));
        let figures = figures(&speeds(), "a machine");
        let sizes: Vec<(&str, usize)> =
            figures.iter().map(|figure| (figure.name.as_str(), figure.series[0].points.len())).collect();
        let expected = [
            ("integrity-speed-disks-raid5", 7),
            ("integrity-speed-chunk-raid5", 9),
            ("integrity-speed-disks-raid6", 7),
            ("integrity-speed-chunk-raid6", 9),
        ];
        assert_eq!(sizes, expected);
        for figure in &figures {
            assert_eq!(figure.series.len(), 9);
            let is_rising = |series: &Series| series.points.windows(2).all(|pair| pair[0].x < pair[1].x);
            assert!(figure.series.iter().all(is_rising));
        }
        let last = &figures[2].series[4];
        assert_eq!((last.name.as_str(), last.points[6].x, last.points[6].y), ("stamp", 16.0, 7.5));
    }

    #[test]
    fn captions_state_the_machine_and_the_measured_ranges() {
        let figures = figures(&speeds(), "a machine");
        assert!(figures[0].caption.contains("on a machine") && figures[0].caption.contains("up to 20.0 %"));
        assert!(figures[2].caption.contains("up to 25.0 %") && figures[2].caption.contains("7.5 GB/s at least"));
        assert!(figures[2].caption.contains("3.8 to 4.0 times"), "{}", figures[2].caption);
        assert!(super::figures(&[], "a machine")[0].caption.contains("Nothing was measured"));
    }
}
