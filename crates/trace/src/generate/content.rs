//! The contents of requests: kind, length and offset.

use super::curve::QuantileCurve;
use super::model::Model;
use crate::record::RequestKind;
use scrubjay_core::rng::Rng;

/// Offsets are aligned to the largest power of two in this range (exponents) that divides all sizes.
const ALIGN_BYTES: std::ops::RangeInclusive<u32> = 9..=12;

/// Draws kinds, lengths and offsets.
#[derive(Clone, Debug)]
pub(super) struct ContentModel {
    rng: Rng,
    read_share: f64,
    write_after: Option<(f64, f64)>,
    reads: LengthShares,
    writes: LengthShares,
    kind: Option<RequestKind>,
    sequential_share: f64,
    jumps: Option<QuantileCurve>,
    align: u64,
    capacity: u64,
    /// The beginning and the end of the previous request, in bytes.
    before: (u64, u64),
}

/// Lengths with their cumulative shares.
#[derive(Clone, Debug)]
struct LengthShares {
    sizes: Vec<u64>,
    cumulative_shares: Vec<f64>,
}

impl ContentModel {
    pub(super) fn new(model: &Model, mut rng: Rng) -> ContentModel {
        let params = &model.params;
        let sizes = || params.read_sizes.iter().chain(&params.write_sizes).map(|&(size, _)| size);
        let power = sizes().map(u64::trailing_zeros).min().unwrap_or(0).clamp(*ALIGN_BYTES.start(), *ALIGN_BYTES.end());
        let align = 1 << power;
        let capacity = params.capacity().max(sizes().max().unwrap_or(0)).max(align);
        let begin = rng.below(capacity) / align * align;
        ContentModel {
            rng,
            read_share: params.read_pct / 100.0,
            write_after: params.write_after,
            reads: LengthShares::new(&params.read_sizes),
            writes: LengthShares::new(&params.write_sizes),
            kind: None,
            sequential_share: params.sequential_pct / 100.0,
            jumps: model.curves.jumps.clone(),
            align,
            capacity,
            before: (begin, begin),
        }
    }

    /// The next request: its kind, and its offset and length in bytes.
    pub(super) fn next(&mut self) -> (RequestKind, u64, u64) {
        let write_share = match (self.write_after, self.kind) {
            (Some((after, _)), Some(RequestKind::Write)) | (Some((_, after)), Some(_)) => after,
            _ => 1.0 - self.read_share,
        };
        let kind = if self.rng.uniform() < write_share { RequestKind::Write } else { RequestKind::Read };
        self.kind = Some(kind);
        let sizes = if kind == RequestKind::Write { &self.writes } else { &self.reads };
        let length = sizes.at(self.rng.uniform());
        let offset = self.place(length);
        self.before = (offset, offset + length);
        (kind, offset, length)
    }

    /// The end of the previous request, or a jump up or down the disk or, if jumps are unknown, a random place.
    fn place(&mut self, length: u64) -> u64 {
        let last = self.capacity - length;
        let (began, ended) = self.before;
        if self.rng.uniform() < self.sequential_share && ended <= last {
            return ended;
        }
        let Some(jumps) = &self.jumps else {
            return self.rng.below(last + 1) / self.align * self.align;
        };
        let rank = self.rng.uniform();
        let distance = (jumps.at(rank) / self.align as f64).round() as u64 * self.align;
        let up = began.checked_add(distance).filter(|&offset| offset <= last);
        let down = began.checked_sub(distance).filter(|&offset| offset <= last);
        match (up, down) {
            // A jump to the end of the previous request would not be a jump.
            (Some(up), Some(down)) if up == ended || self.rng.bits() >> 63 == 0 => down,
            (Some(offset), _) | (None, Some(offset)) => offset,
            // Both ways lead off the disk: use its farther end.
            (None, None) if began > last / 2 => 0,
            (None, None) => last / self.align * self.align,
        }
    }
}

impl LengthShares {
    fn new(sizes: &[(u64, f64)]) -> LengthShares {
        let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let cumulative_shares = sizes.iter().map(|(_, weight)| {
            sum += weight / total;
            sum
        });
        let cumulative_shares = cumulative_shares.collect();
        LengthShares { sizes: sizes.iter().map(|&(size, _)| size).collect(), cumulative_shares }
    }

    fn at(&self, rank: f64) -> u64 {
        let index = self.cumulative_shares.partition_point(|&share| share <= rank);
        self.sizes[index.min(self.sizes.len() - 1)]
    }
}
