//! Shared by the experiments: the arrays, and single steps of the prober on them.

use super::effort::Effort;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::probe::io::{ProbeBudget, ProbeIo, Prober};
use scrubjay_core::probe::known::KnownArray;
use scrubjay_core::probe::paper::layout::{Chunks, Matrix};
use scrubjay_core::probe::paper::redundancy::MeasuredRedundancy;
use scrubjay_core::probe::paper::{
    Halt, ScanPoint, TrialParameters, WriteGrowth, boundary, layout, paper, pattern, redundancy,
};
use scrubjay_core::rng::Rng;
use scrubjay_sim::array::Array;
use scrubjay_sim::array::map::ChunkMap;
use scrubjay_sim::array::queue::Discipline;
use scrubjay_sim::array::setup::ArraySetup;
use std::future::Future;

/// 1 KiB.
pub const KIB: u64 = 1024;

/// A layout of this kind on `disks` disks.
///
/// # Panics
/// If there is none.
pub fn map(kind: LayoutKind, disks: usize) -> ChunkMap {
    let shape = match kind {
        LayoutKind::Raid0 | LayoutKind::ZigZag => Shape { data: disks, parity: 0 },
        LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near => Shape { data: 1, parity: 1 },
        LayoutKind::Raid6Md | LayoutKind::Raid6Pq => Shape { data: disks - 2, parity: 2 },
        _ => Shape { data: disks - 1, parity: 1 },
    };
    ChunkMap::Layout(Layout::new(kind, shape, disks).expect("the experiments' arrays exist"))
}

/// An array of the paper's disks behind an elevator; without one, 500 requests take 4.8 s where the paper has 2.0.
pub fn array(kind: LayoutKind, disks: usize, chunk_kib: u64) -> ArraySetup {
    ArraySetup { discipline: Discipline::CLook, ..ArraySetup::new(map(kind, disks), chunk_kib * KIB) }
}

/// The true pattern size in bytes.
pub fn pattern_bytes(setup: &ArraySetup) -> u64 {
    setup.map.pattern().len() as u64 * setup.chunk_bytes
}

/// Step 1, for patterns of up to `bytes_max`.
pub fn pattern_scan(setup: &ArraySetup, effort: Effort, bytes_max: u64) -> Vec<ScanPoint> {
    let parameters = TrialParameters { pattern_bytes_max: bytes_max, ..effort.parameters() };
    step(setup, |io| async move { pattern::scan(&io, &parameters, &mut Rng::stream(parameters.seed, 1)).await })
}

/// Step 2, on the true pattern.
pub fn boundary_scan(setup: &ArraySetup, effort: Effort) -> Vec<ScanPoint> {
    let (parameters, bytes) = (effort.parameters(), pattern_bytes(setup));
    step(
        setup,
        move |io| async move { boundary::scan(&io, &parameters, bytes, &mut Rng::stream(parameters.seed, 2)).await },
    )
}

/// The time of N reads of one disk (of a mirror: one pair), in seconds: step 1 at the true pattern only.
pub fn one_disk(setup: &ArraySetup, effort: Effort) -> f64 {
    let bytes = pattern_bytes(setup);
    let parameters = TrialParameters { pattern_bytes_max: bytes, step_bytes: bytes, ..effort.parameters() };
    step(setup, |io| async move { pattern::scan(&io, &parameters, &mut Rng::stream(parameters.seed, 1)).await })[0]
        .seconds
}

/// Step 3, on the true pattern and chunk.
pub fn matrix(setup: &ArraySetup, effort: Effort) -> Matrix {
    let parameters = effort.parameters();
    let chunks = Chunks { count: setup.map.pattern().len(), bytes: setup.chunk_bytes, phase_bytes: 0 };
    step(
        setup,
        move |io| async move { layout::scan(&io, &parameters, chunks, &mut Rng::stream(parameters.seed, 3)).await },
    )
}

/// Step 4, in the region that `parameters` give.
pub fn writes(setup: &ArraySetup, parameters: TrialParameters, growth: WriteGrowth) -> MeasuredRedundancy {
    step(setup, move |io| async move {
        redundancy::measure(&io, &parameters, growth, &mut Rng::stream(parameters.seed, 4)).await
    })
}

/// The result of all four steps, the requests they took, and the seconds at the array.
pub fn all_steps(setup: &ArraySetup, parameters: TrialParameters) -> (KnownArray, u64, f64) {
    let mut array = Array::new(setup.clone());
    let mut prober = paper(array.device(), parameters, ProbeBudget::UNLIMITED);
    array.serve(&mut prober);
    (prober.known(), prober.spent().requests, prober.spent().time.as_secs_f64())
}

/// Runs one step to its end.
fn step<T, F>(setup: &ArraySetup, step: impl FnOnce(ProbeIo<Option<T>>) -> F) -> T
where
    T: Clone + 'static,
    F: Future<Output = Result<T, Halt>> + 'static,
{
    let mut array = Array::new(setup.clone());
    let mut prober = Prober::new(array.device(), ProbeBudget::UNLIMITED, None, |io| {
        let steps = step(io.clone());
        async move {
            let found = steps.await.expect("nothing limits it, and no request fails");
            io.note(|known| *known = Some(found));
            Ok(())
        }
    });
    array.serve(&mut prober);
    prober.known().expect("it ran to its end")
}
