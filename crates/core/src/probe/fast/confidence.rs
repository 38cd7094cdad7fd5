//! How sure the prober is of each statement: one function computes it from the list of all evidence so far.

use super::evidence::probability;
use super::thresholds::DECIDED;
use crate::probe::known::{Claim, KnownArray};

/// The greatest confidence of statements that were not checked before the budget ended, or only when checked again.
pub const UNCHECKED: f64 = 0.9;
/// The greatest confidence that an array has one class: then the only prediction is that all reads wait. Among arrays that
/// were made to surprise, one in fifteen that seemed so was something else (two disks left of four; a limit; a cache).
const ONE_CLASS: f64 = 0.98;
/// The greatest confidence of statements that contradict each other or are not tested.
const UNSUPPORTED: f64 = 0.5;
/// The greatest confidence in a level, because no prediction tests it: an array that serves writes in convoys has the
/// cost of no level (on a disk in the lab, second I/Os delayed the first ones of other writes, so that RAID-5 cost
/// seven reads per write and looked like RAID-6).
const LEVEL_MAX: f64 = 0.98;

/// What a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeStatement {
    /// How the members serve requests.
    DeviceClass,
    /// The size of the pattern.
    Pattern,
    /// The size of a chunk, and where one begins.
    Chunk,
    /// The number of copies.
    Copies,
    /// The class of each chunk.
    Classes,
    /// Whether mirrors share disks. It is not stated itself, but a finding may follow from it.
    SharedDisks,
    /// The number of disks.
    Disks,
    /// Where each of several concatenated disks begins.
    Joined,
    /// The layouts that fit.
    Fits,
    /// The redundancy.
    Level,
}

/// What the prober observed, with the probability that the test behind it gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProbeEvidence {
    /// How response times grow with the depth of the queue.
    QueueDepths,
    /// Reads wait for each other wherever they are: one disk.
    AllWait(f64),
    /// Bursts at multiples of the pattern are as slow as one disk, at parts of it they are not.
    Strides(f64),
    /// Near reads wait for each other no more than far ones: a mirror, not concatenated disks.
    NearReads(f64),
    /// As many reads of one class as there are copies do not wait for each other; one more does.
    Collisions(f64),
    /// The pattern is one block, so there is one class.
    OneClass,
    /// The places where concatenated disks end: reads before and behind them do not wait for each other.
    DiskEnds(f64),
    /// The places where chunks end.
    ChunkEnds(f64),
    /// No place behaves as if a chunk ended there, although several classes have several chunks.
    NoChunkEnds,
    /// Chunks wait for each other as in a known layout.
    KnownClasses(f64),
    /// Chunks wait for each other, but as in no known layout.
    FreeClasses(f64),
    /// The classes repeat within the supposed pattern, so it is a multiple of the true one.
    RepeatedClasses,
    /// Whether mirrors wait for each other.
    MirrorWaits(f64),
    /// Mirrors wait for each other at times.
    UnclearMirrorWaits,
    /// Which other mirrors a mirror waits for.
    MirrorNeighbours(f64),
    /// Fresh reads wait for each other as the classes foretell.
    Foretold(f64),
    /// They did not when they were drawn for the first time.
    ForetoldAgain,
    /// The budget ended before the statements were checked.
    BudgetEnded,
    /// The share of a statement in the likelihood of what writes cost.
    WriteCost(ProbeStatement, f64),
    /// A finding, in the order of [`KnownArray::findings`], the statement that it follows from, and the probability of its own.
    Finding(Option<ProbeStatement>, f64),
}

/// A value whose confidence follows from the evidence: [`weigh`] sets it.
pub fn stated<T>(value: T) -> Option<Claim<T>> {
    Some(Claim::new(value, 0.0))
}

/// Sets the confidence of each statement.
pub fn weigh(known: &mut KnownArray, evidence: &[ProbeEvidence]) {
    fn set<T>(claim: &mut Option<Claim<T>>, confidence: f64) {
        claim.iter_mut().for_each(|claim| claim.confidence = confidence);
    }
    let of = |statement| confidence(statement, evidence);
    set(&mut known.device_class, of(ProbeStatement::DeviceClass));
    set(&mut known.pattern_bytes, of(ProbeStatement::Pattern));
    set(&mut known.chunk_bytes, of(ProbeStatement::Chunk));
    set(&mut known.phase_bytes, of(ProbeStatement::Chunk));
    set(&mut known.copies, of(ProbeStatement::Copies));
    set(&mut known.classes, of(ProbeStatement::Classes));
    set(&mut known.disks, of(ProbeStatement::Disks));
    set(&mut known.joined, of(ProbeStatement::Joined));
    set(&mut known.fits, of(ProbeStatement::Fits));
    set(&mut known.level, of(ProbeStatement::Level));
    let found = evidence.iter().filter_map(|evidence| match *evidence {
        ProbeEvidence::Finding(follows_from, own) => Some(own.min(follows_from.map_or(1.0, of))),
        _ => None,
    });
    known.findings.iter_mut().zip(found).for_each(|(finding, confidence)| finding.confidence = confidence);
}

/// The confidence of a statement: the least bound of the evidence that it depends on. What writes show is chosen from the
/// layouts that fit the reads, so it is as sure as those, times its share.
pub fn confidence(of: ProbeStatement, evidence: &[ProbeEvidence]) -> f64 {
    use ProbeEvidence::*;
    use ProbeStatement::{Chunk, Classes, Copies, DeviceClass, Disks, Fits, Joined, Level, Pattern, SharedDisks};
    let by_writes = evidence.iter().find_map(|evidence| match *evidence {
        WriteCost(about, share) if about == of => Some((Fits, share.min(LEVEL_MAX))),
        _ => None,
    });
    let (of, share) = by_writes.unwrap_or((of, 1.0));
    let has_free_classes = evidence.iter().any(|evidence| matches!(evidence, FreeClasses(_)));
    let has_classes = has_free_classes || evidence.iter().any(|evidence| matches!(evidence, KnownClasses(_)));
    let is_of_classes = matches!(of, Classes | Disks | Fits) || of == Pattern && evidence.contains(&RepeatedClasses);
    // Without classes there are no copies, and chunks that share their reads look like one class.
    let is_of_pattern = matches!(of, Pattern | Copies | Classes | Disks | Fits);
    let is_of_array = !matches!(of, DeviceClass | Joined | Level);
    let bounds = evidence.iter().filter_map(|evidence| {
        let (bound, is_about) = match *evidence {
            QueueDepths => (probability(DECIDED), of == DeviceClass),
            AllWait(own) | Strides(own) | NearReads(own) | Collisions(own) => (own, is_of_pattern),
            OneClass => (ONE_CLASS, is_of_pattern),
            DiskEnds(own) => (own, matches!(of, Disks | Joined)),
            // Chunks are tested only against themselves, until classes are found; and a known layout supports them, too.
            ChunkEnds(own) if of == Chunk && !has_classes => (own.min(UNSUPPORTED), true),
            ChunkEnds(own) => (own, of == Chunk || is_of_classes && has_free_classes),
            KnownClasses(own) | FreeClasses(own) => (own, is_of_classes),
            MirrorWaits(own) | MirrorNeighbours(own) => (own, matches!(of, Fits | Disks | SharedDisks)),
            UnclearMirrorWaits => (UNSUPPORTED, of == Fits),
            NoChunkEnds => (UNSUPPORTED, is_of_array),
            Foretold(own) => (own, is_of_array),
            ForetoldAgain | BudgetEnded => (UNCHECKED, is_of_array),
            RepeatedClasses | WriteCost(..) | Finding(..) => return None,
        };
        is_about.then_some(bound)
    });
    bounds.fold(1.0, f64::min) * share
}

#[cfg(test)]
mod tests {
    use super::ProbeEvidence::*;
    use super::*;
    use crate::probe::known::ProbeFinding;

    #[test]
    fn no_statement_is_surer_than_those_that_it_follows_from() {
        let evidence = [QueueDepths, Strides(0.97), Collisions(0.95), ChunkEnds(0.99), KnownClasses(0.96)];
        let of = |statement| confidence(statement, &evidence);
        assert_eq!((of(ProbeStatement::Pattern), of(ProbeStatement::Copies)), (0.95, 0.95));
        assert_eq!((of(ProbeStatement::Classes), of(ProbeStatement::Fits)), (0.95, 0.95));
        assert_eq!((of(ProbeStatement::Chunk), of(ProbeStatement::DeviceClass)), (0.99, probability(DECIDED)));
        let foretold = [&evidence[..], &[Foretold(0.94)]].concat();
        assert_eq!(
            (confidence(ProbeStatement::Chunk, &foretold), confidence(ProbeStatement::Disks, &foretold)),
            (0.94, 0.94)
        );
    }

    #[test]
    fn chunks_and_classes_support_each_other() {
        let chunk = |evidence: &[ProbeEvidence]| confidence(ProbeStatement::Chunk, evidence);
        assert_eq!((chunk(&[ChunkEnds(0.9)]), chunk(&[ChunkEnds(0.9), FreeClasses(0.99)])), (0.5, 0.9));
        let classes = |found| confidence(ProbeStatement::Classes, &[ChunkEnds(0.9), found]);
        assert_eq!((classes(FreeClasses(0.99)), classes(KnownClasses(0.99))), (0.9, 0.99));
        let pattern = |more: &[ProbeEvidence]| {
            confidence(ProbeStatement::Pattern, &[&[Strides(0.99), KnownClasses(0.98)], more].concat())
        };
        assert_eq!((pattern(&[]), pattern(&[RepeatedClasses])), (0.99, 0.98));
    }

    #[test]
    fn writes_revise_what_they_show_and_nothing_else() {
        let evidence = [Strides(0.8), WriteCost(ProbeStatement::Level, 0.9), WriteCost(ProbeStatement::Disks, 1.0)];
        let of = |statement| confidence(statement, &evidence);
        assert_eq!((of(ProbeStatement::Level), of(ProbeStatement::Disks)), (0.8 * 0.9, 0.8 * LEVEL_MAX));
        assert_eq!((of(ProbeStatement::Copies), of(ProbeStatement::Fits)), (0.8, 0.8));
    }

    #[test]
    fn findings_are_weighed_in_their_order() {
        let finding = |finding| Claim::new(finding, 0.0);
        let slow = ProbeFinding::Slow { class: 1, factor: 1.5 };
        let mut known =
            KnownArray { findings: [ProbeFinding::Unknown, slow].map(finding).to_vec(), ..KnownArray::default() };
        let of_classes = |own| Finding(Some(ProbeStatement::Classes), own);
        weigh(&mut known, &[of_classes(1.0), Strides(0.9), of_classes(0.7)]);
        assert_eq!(known.findings.iter().map(|claim| claim.confidence).collect::<Vec<_>>(), [0.9, 0.7]);
    }
}
