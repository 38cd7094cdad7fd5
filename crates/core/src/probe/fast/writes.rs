//! The step that writes: determines the level by the cost of small writes (Denehy et al. 2004, section 2.3.4, without its chance).
//!
//! A deep queue is served faster than a shallow one, and writes make a deeper queue than as many reads: each takes two
//! or more I/Os. So each possible level is compared with reads that make the queues of its disks as deep as its writes
//! would. And writes of one class take as long as writes of all classes where one disk has every parity.

use super::confidence::{ProbeEvidence, ProbeStatement, stated};
use super::layout::places::Places;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{Trimmed, median, quantile};
use crate::layout::LayoutKind;
use crate::probe::fast::boundary::ChunkResult;
use crate::probe::io::{ProbeAccess, ProbeRequest};
use crate::probe::known::{Claim, KnownArray, LevelRefusal, ProbeFinding, ProbeStage, RedundancyLevel};
use crate::probe::library::{self, LayoutFit};
use crate::probe::paper::level::{costs_of, level_of};

/// Writes of a batch.
const WRITES: usize = 128;
/// Batches of each size and kind.
const BATCHES: usize = 4;
/// Pairs of batches, on one class and on all.
const CLASS_BATCHES: usize = 8;
/// Reads of a batch, by the depth of the queues that they make: as few writes, as writes of RAID-0, of pairs and
/// RAID-5, of RAID-6, of RAID-4.
const READS: [usize; 5] = [CLASS_WRITES, WRITES, 2 * WRITES, 3 * WRITES, 6 * WRITES];
/// Writes of a batch on one class, and of the batch on all classes that it is compared with.
const CLASS_WRITES: usize = 48;
/// The size of a write in bytes, unless the device's block is larger: the disks themselves would read and rewrite a
/// block for a smaller one.
const BLOCK_BYTES: u64 = 4096;
/// A cache takes the writes if a quarter of them is done in less than this share of the time for a quarter of as many
/// reads. Without a cache and without redundancy the ratio is 1.
const CACHED_BELOW: f64 = 0.5;
/// The spread of times around the expected ones, in logarithms: seeks of different lengths, settling, and a revolution
/// between a read and its write. Half of the modelled arrays are off by less than 0.06, one in twenty by 0.25.
const DEVIATION_SPREAD: f64 = 0.1;
/// The spread of the ratio of one class to all, in logarithms: half of the arrays are off by less than 0.09, one in
/// twenty by 0.3.
const CLASS_DEVIATION_SPREAD: f64 = 0.13;
/// The mean deviation of that ratio, in logarithms: one disk has a deeper queue than all disks have.
const CLASS_DEVIATION: f64 = -0.08;
/// The prior of all levels not considered, relative to 1 for each that is. A choice.
const OTHER_PRIOR: f64 = 0.05;
/// The range of the ratios of such levels, in logarithms: anywhere from 1 to 32.
const OTHER_RANGE: f64 = 3.5;
/// The prior of a level at which one disk has all parities, or a mirror is read from its first copies only, relative to
/// 1 for others. A choice.
const RARE_PRIOR: f64 = 0.2;
/// The prior of a mirror of which only the first copies are read and no disk has both kinds: it cannot be distinguished
/// from RAID-0. A choice.
const UNSEEN_PRIOR: f64 = 0.03;
/// Layouts of the level stay possible if they are less likely than the best one by no more than this factor. A choice.
const FITS_SHARE: f64 = 100.0;
/// The least share of the likelihood with which a level is claimed.
const SHARE_MIN: f64 = 0.5;

/// A possible level, and the cost of a write at it.
#[derive(Clone, Debug)]
struct LevelHypothesis {
    level: RedundancyLevel,
    prior: f64,
    /// The number of disks of the array.
    disks: usize,
    copies: usize,
    /// The layouts that this is about.
    fits: Vec<LayoutFit>,
    /// The successive phases of a batch of writes: for each, the number of reads that make the same queues.
    phases: Vec<f64>,
    /// The cost of a write, in reads.
    cost: f64,
    /// Whether one disk has every parity.
    has_bottleneck: bool,
}

/// The measurements; all times are logarithms.
struct MeasuredWrites {
    /// The times of reads.
    curve: Curve,
    /// The time of a batch of writes.
    written: Trimmed,
    /// The excess of writes of one class over as many of all classes, where it was measured.
    one_class: Option<Trimmed>,
    /// The number of classes.
    classes: usize,
}

/// Determines the level and notes it, or why it cannot be determined. It writes only what it has just read.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find_level(sampler: &mut Sampler) -> Result<(), EarlyEnd> {
    sampler.begin(ProbeStage::Redundancy);
    let mut known = KnownArray::default();
    sampler.note(|noted| known = noted.clone());
    let refuse = |sampler: &mut Sampler, why: LevelRefusal| sampler.report(ProbeFinding::NoLevel { why }, None, 1.0);
    // A write to an array that lacks a member is an additional risk, and its cost is of no use.
    let is_member_lost =
        |claim: &Claim<ProbeFinding>| matches!(claim.value, ProbeFinding::Lost { .. } | ProbeFinding::LostCopy { .. });
    let hypotheses = hypotheses(&known);
    if known.findings.iter().any(is_member_lost) {
        refuse(sampler, LevelRefusal::Degraded);
    } else if hypotheses.is_empty() || known.unmeasurable.is_some() {
        refuse(sampler, LevelRefusal::NoLayout);
    } else if let Some(measured) = measure(sampler, &known, &hypotheses).await? {
        note(sampler, &hypotheses, &measured);
    } else {
        refuse(sampler, LevelRefusal::WriteCache);
    }
    Ok(())
}

/// Measures reads and writes; `None` where a cache takes the writes.
async fn measure(
    sampler: &mut Sampler,
    known: &KnownArray,
    hypotheses: &[LevelHypothesis],
) -> Result<Option<MeasuredWrites>, EarlyEnd> {
    let batches = Batches::new(sampler);
    let mut curve = Curve { points: Vec::new() };
    let mut quarters = Vec::new();
    for reads in READS {
        let mut logs = Vec::new();
        for _ in 0..BATCHES {
            let done = batches.run(sampler, ProbeAccess::Read, reads).await?;
            if reads == WRITES {
                quarters.push(quantile(&done, 0.25));
            }
            logs.push(makespan(&done));
        }
        curve.points.push(((reads as f64).ln(), Trimmed::of(&logs).mean));
    }
    let mut logs = Vec::new();
    for _ in 0..BATCHES {
        let done = batches.run(sampler, ProbeAccess::Rewrite, WRITES).await?;
        if quantile(&done, 0.25) < CACHED_BELOW * median(&quarters) {
            return Ok(None);
        }
        logs.push(makespan(&done));
    }
    let one_class = match known_places(known) {
        Some(places) if hypotheses.iter().any(|one| one.has_bottleneck) => {
            Some(batches.one_class(sampler, places, known).await?)
        }
        _ => None,
    };
    let classes = known.classes.as_ref().map_or(1, |claim| claim.value.iter().max().map_or(1, |most| most + 1));
    Ok(Some(MeasuredWrites { curve, written: Trimmed::of(&logs), one_class, classes }))
}

/// Notes the likeliest level, and its share of the total likelihood.
fn note(sampler: &mut Sampler, hypotheses: &[LevelHypothesis], measured: &MeasuredWrites) {
    let weights: Vec<f64> =
        hypotheses.iter().map(|hypothesis| hypothesis.prior * hypothesis.likelihood(measured)).collect();
    let other = OTHER_PRIOR / OTHER_RANGE * measured.one_class.map_or(1.0, |_| 1.0 / OTHER_RANGE);
    let all = weights.iter().sum::<f64>() + other;
    let share = |agrees: &dyn Fn(&LevelHypothesis) -> bool| {
        hypotheses
            .iter()
            .zip(&weights)
            .filter(|(hypothesis, _)| agrees(hypothesis))
            .map(|(_, weight)| weight)
            .sum::<f64>()
            / all
    };
    let best = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).expect("some are there");
    let (likeliest, least) = (&hypotheses[best], weights[best] / FITS_SHARE);
    let level_share = share(&|hypothesis| hypothesis.level == likeliest.level);
    let ratio = likeliest.cost * (measured.written.mean - likeliest.time(&measured.curve, WRITES as f64)).exp();
    let mut fits: Vec<LayoutFit> = Vec::new();
    for (hypothesis, _) in hypotheses
        .iter()
        .zip(&weights)
        .filter(|(hypothesis, weight)| hypothesis.level == likeliest.level && **weight >= least)
    {
        fits.extend(hypothesis.fits.iter().filter(|fit| !fits.contains(fit)).copied().collect::<Vec<_>>());
    }
    sampler.note(|known| known.write_ratio = Some(Claim::new(ratio, 1.0)));
    if level_share < SHARE_MIN {
        return sampler.report(ProbeFinding::NoLevel { why: LevelRefusal::Unlike }, None, 1.0 - level_share);
    }
    let disks_share = share(&|hypothesis| hypothesis.disks == likeliest.disks);
    let mut shown = vec![ProbeEvidence::WriteCost(ProbeStatement::Level, level_share)];
    let mut show = |about, share, is_new: bool| shown.extend(is_new.then_some(ProbeEvidence::WriteCost(about, share)));
    sampler.note(|known| {
        known.level = stated(likeliest.level);
        show(ProbeStatement::Fits, level_share, learn(&mut known.fits, fits));
        show(ProbeStatement::Disks, disks_share, learn(&mut known.disks, likeliest.disks));
        show(ProbeStatement::Copies, level_share, learn(&mut known.copies, likeliest.copies));
    });
    shown.into_iter().for_each(|evidence| sampler.observe(evidence));
}

/// Whether a value is other than what reads have shown; then it takes its place.
fn learn<T: PartialEq>(claim: &mut Option<Claim<T>>, value: T) -> bool {
    let is_new = claim.as_ref().is_none_or(|known| known.value != value);
    if is_new {
        *claim = stated(value);
    }
    is_new
}

/// The levels that remain possible after the reads.
fn hypotheses(known: &KnownArray) -> Vec<LevelHypothesis> {
    let fits = known.fits.as_ref().map_or(&[][..], |claim| &claim.value);
    let count = |claim: &Option<Claim<usize>>| claim.as_ref().map_or(0, |claim| claim.value);
    let (disks, copies, writes) = (count(&known.disks), count(&known.copies).max(1), WRITES as f64);
    let mut found = Vec::new();
    for fit in fits {
        let shape = fit.layout.shape();
        // Two parities of one chunk are three copies with more work, which is hardly ever used.
        let usual = if shape.data == 1 && shape.parity == 2 { OTHER_PRIOR } else { 1.0 };
        for (prior, cost) in costs_of(fit) {
            let (data, parity) = (shape.data as f64, shape.parity as f64);
            let phases = match library::copies_of(&fit.layout) {
                1 if shape.parity == 0 => vec![writes],
                // Either read old data and parities, then write the new ones; or read all other data, then write the new ones.
                1 if cost == 2.0 + 2.0 * parity => vec![writes * (1.0 + parity); 2],
                1 => vec![writes * (data - 1.0), writes * (1.0 + parity)],
                copies => vec![writes * copies as f64],
            };
            found.push(LevelHypothesis {
                level: level_of(fit),
                prior: usual * prior,
                disks: fit.layout.disks(),
                copies: library::copies_of(&fit.layout),
                fits: vec![*fit],
                phases,
                cost,
                has_bottleneck: false,
            });
        }
    }
    if fits.is_empty() && copies > 1 {
        let (level, cost) = (RedundancyLevel::Mirror(copies), copies as f64);
        let phases = vec![writes * cost];
        found.push(LevelHypothesis {
            level,
            prior: 1.0,
            disks,
            copies,
            fits: vec![],
            phases,
            cost,
            has_bottleneck: false,
        });
    }
    let striped: Vec<LayoutFit> = fits.iter().filter(|fit| fit.layout.kind() == LayoutKind::Raid0).copied().collect();
    if copies == 1 && disks > 1 && !striped.is_empty() {
        let rare = |level, prior, disks, copies, phases, cost| LevelHypothesis {
            level,
            prior,
            disks,
            copies,
            fits: striped.clone(),
            phases,
            cost,
            has_bottleneck: false,
        };
        let all_parities = vec![writes * disks as f64; 2];
        let raid4 = rare(RedundancyLevel::Raid4, RARE_PRIOR, disks + 1, 1, all_parities, 2.0 * disks as f64);
        found.push(LevelHypothesis { has_bottleneck: true, ..raid4 });
        // With far copies each disk holds first and second copies. With near ones some disks hold no data that are read.
        let mirror = RedundancyLevel::Mirror(2);
        found.push(rare(mirror, RARE_PRIOR, disks, 2, vec![2.0 * writes], 2.0));
        found.push(rare(mirror, UNSEEN_PRIOR, 2 * disks, 2, vec![writes], 1.0));
    }
    found
}

impl LevelHypothesis {
    /// The logarithm of the time of `writes` writes, at most [`WRITES`].
    fn time(&self, curve: &Curve, writes: f64) -> f64 {
        self.phases.iter().map(|reads| curve.at(reads * writes / WRITES as f64).exp()).sum::<f64>().ln()
    }

    /// The likelihood of this level given the measurements: a density over logarithms.
    fn likelihood(&self, measured: &MeasuredWrites) -> f64 {
        let MeasuredWrites { curve, written, one_class, classes } = measured;
        // Student's distribution with four degrees of freedom: now and then an array is far off.
        let student =
            |deviation: f64, spread: f64| 0.375 / spread * (1.0 + (deviation / spread).powi(2) / 4.0).powf(-2.5);
        let deviation = written.mean - self.time(curve, WRITES as f64);
        let mut likelihood = student(deviation, DEVIATION_SPREAD.hypot(written.error));
        if let Some(one_class) = one_class {
            // All I/Os of a class are on its disk, in each phase as many as there are writes.
            let each = curve.at((CLASS_WRITES * classes) as f64).exp() * self.phases.len() as f64;
            let longer = match self.has_bottleneck {
                true => 0.0,
                false => each.ln() - self.time(curve, CLASS_WRITES as f64) + CLASS_DEVIATION,
            };
            likelihood *= student(one_class.mean - longer, CLASS_DEVIATION_SPREAD.hypot(one_class.error));
        }
        likelihood
    }
}

/// The time of batches of random reads as a function of their number; both as logarithms.
struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// The logarithm of the time of `reads` reads: interpolated between the measurements, and extrapolated beyond them.
    fn at(&self, reads: f64) -> f64 {
        let at = reads.max(1.0).ln();
        let next = self.points.iter().position(|(from, _)| *from >= at).unwrap_or(self.points.len() - 1).max(1);
        let ((from, low), (to, high)) = (self.points[next - 1], self.points[next]);
        // Below the smallest batch, each read takes as long as in that batch.
        let slope = if at < from { 1.0 } else { (high - low) / (to - from) };
        low + slope * (at - from)
    }
}

/// The places of the chunks, if they are known and a block of a write lies in one chunk.
fn known_places(known: &KnownArray) -> Option<Places> {
    let (pattern, chunk, phase) =
        (known.pattern_bytes.as_ref()?, known.chunk_bytes.as_ref()?, known.phase_bytes.as_ref()?);
    let is_whole = |bytes: u64| bytes.is_multiple_of(BLOCK_BYTES);
    let chunk = ChunkResult { bytes: chunk.value, phase: phase.value, confidence: chunk.confidence };
    (is_whole(chunk.bytes) && is_whole(chunk.phase)).then_some(Places { chunk, pattern: pattern.value })
}

fn makespan(done: &[f64]) -> f64 {
    done.iter().copied().fold(1.0, f64::max).ln()
}

/// Batches of blocks at random places.
struct Batches {
    block: u64,
    blocks: u64,
}

impl Batches {
    fn new(sampler: &Sampler) -> Batches {
        let block = BLOCK_BYTES.max(sampler.device().block);
        Batches { block, blocks: (sampler.device().bytes / block).max(1) }
    }

    /// The times at which `count` requests are done, in nanoseconds.
    async fn run(&self, sampler: &mut Sampler, kind: ProbeAccess, count: usize) -> Result<Vec<f64>, EarlyEnd> {
        let any = |sampler: &mut Sampler| sampler.rng.below(self.blocks) * self.block;
        self.done(sampler, kind, |sampler| (0..count).map(|_| any(sampler)).collect()).await
    }

    async fn done(
        &self,
        sampler: &mut Sampler,
        kind: ProbeAccess,
        mut places: impl FnMut(&mut Sampler) -> Vec<u64>,
    ) -> Result<Vec<f64>, EarlyEnd> {
        let request = |at: u64| ProbeRequest { kind, ..ProbeRequest::read(at, self.block) };
        let draw = |sampler: &mut Sampler| places(sampler).into_iter().map(request).collect();
        Ok(sampler.run(draw).await?.into_iter().flatten().collect())
    }

    /// The excess of writes of one class over as many of all classes, in logarithms.
    async fn one_class(&self, sampler: &mut Sampler, places: Places, known: &KnownArray) -> Result<Trimmed, EarlyEnd> {
        let classes = known.classes.as_ref().map_or(&[][..], |claim| &claim.value);
        let count = classes.iter().max().map_or(0, |most| most + 1) as u64;
        let mut longer = Vec::new();
        for _ in 0..CLASS_BATCHES {
            let class = sampler.rng.below(count.max(1)) as usize;
            let class_chunks: Vec<usize> = (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect();
            let mut times = Vec::new();
            for chunks in [class_chunks, (0..classes.len()).collect()] {
                let any = |sampler: &mut Sampler| {
                    let chunk = chunks[sampler.rng.below(chunks.len() as u64) as usize];
                    places.random_block(sampler, chunk) / self.block * self.block
                };
                let draw = |sampler: &mut Sampler| (0..CLASS_WRITES).map(|_| any(sampler)).collect();
                times.push(makespan(&self.done(sampler, ProbeAccess::Rewrite, draw).await?));
            }
            longer.push(times[0] - times[1]);
        }
        Ok(Trimmed::of(&longer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_reads_is_interpolated_and_extrapolated() {
        let curve = Curve {
            points: [(10.0, 100.0), (20.0, 200.0), (40.0, 300.0)].map(|(n, t): (f64, f64)| (n.ln(), t.ln())).to_vec(),
        };
        let at = |reads| curve.at(reads).exp().round();
        assert_eq!((at(10.0), at(20.0), at(5.0)), (100.0, 200.0, 50.0));
        assert!((240.0..260.0).contains(&at(30.0)) && at(80.0) == 450.0, "{} {}", at(30.0), at(80.0));
    }

    #[test]
    fn reads_of_striping_leave_six_possible_levels() {
        let classes = vec![0, 1, 2, 3];
        let known = KnownArray {
            fits: Some(Claim::new(library::fits(&classes, Some(1)), 1.0)),
            classes: Some(Claim::new(classes, 1.0)),
            disks: Some(Claim::new(4, 1.0)),
            copies: Some(Claim::new(1, 1.0)),
            ..KnownArray::default()
        };
        let mut found: Vec<(RedundancyLevel, usize)> =
            hypotheses(&known).iter().map(|one| (one.level, one.disks)).collect();
        found.dedup();
        let mirror = RedundancyLevel::Mirror(2);
        assert_eq!(
            found,
            [
                (RedundancyLevel::Raid0, 4),
                (RedundancyLevel::Raid5, 4),
                (RedundancyLevel::Raid6, 4),
                (RedundancyLevel::Raid4, 5),
                (mirror, 4),
                (mirror, 8)
            ]
        );
    }

    #[test]
    fn three_copies_are_a_level_although_no_layout_has_them() {
        let count = |value| Some(Claim::new(value, 1.0));
        let known = KnownArray {
            fits: Some(Claim::new(vec![], 1.0)),
            disks: count(6),
            copies: count(3),
            ..KnownArray::default()
        };
        let found = hypotheses(&known);
        assert_eq!((found.len(), found[0].level, found[0].cost), (1, RedundancyLevel::Mirror(3), 3.0));
    }
}
