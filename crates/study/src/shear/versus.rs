//! Shear as published against the fast prober: requests, seconds, and how often each is right, under three noises.

use super::effort::Effort;
use super::rig::{KIB, array};
use super::verdicts::is_layout_right;
use scrubjay_chart::{Exhibit, Table};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::fast::{ProbeOptions, fast};
use scrubjay_core::probe::io::{ProbeBudget, ProbedDevice, Prober};
use scrubjay_core::probe::known::KnownArray;
use scrubjay_core::probe::paper::{TrialParameters, paper};
use scrubjay_sim::array::Array;
use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::setup::ArraySetup;

/// The results of one prober on several arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProberScore {
    /// Runs with a right result: pattern, chunk, phase and classes.
    pub right: usize,
    /// The number of runs.
    pub total: usize,
    /// Requests in all runs.
    pub requests: u64,
    /// Seconds at the arrays in all runs.
    pub seconds: f64,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct ProberComparison {
    /// The name of the array.
    pub name: String,
    /// The noise.
    pub noise: Noise,
    /// The score of the published prober.
    pub paper: ProberScore,
    /// The score of the fast prober, if it was tried.
    pub fast: Option<ProberScore>,
}

/// Runs a prober on each of these arrays; `prober` makes it from the device and the array's seed.
pub fn score(setups: &[ArraySetup], prober: impl Fn(ProbedDevice, u64) -> Prober<KnownArray>) -> ProberScore {
    let mut score = ProberScore::default();
    for setup in setups {
        let mut array = Array::new(setup.clone());
        let mut prober = prober(array.device(), setup.seed);
        array.serve(&mut prober);
        score.total += 1;
        score.right += usize::from(is_layout_right(setup, &prober.known()));
        score.requests += prober.spent().requests;
        score.seconds += prober.spent().time.as_secs_f64();
    }
    score
}

/// The same array under a noise, with `count` seeds.
pub fn arrays(setup: &ArraySetup, noise: Noise, effort: Effort, count: u64) -> Vec<ArraySetup> {
    (0..count).map(|index| ArraySetup { noise, seed: effort.seed.wrapping_add(index), ..setup.clone() }).collect()
}

/// Makes the published prober without step 4, for patterns of up to `pattern_bytes_max`.
pub fn published(effort: Effort, pattern_bytes_max: u64) -> impl Fn(ProbedDevice, u64) -> Prober<KnownArray> {
    move |device, seed| {
        let parameters = TrialParameters { pattern_bytes_max, writes: None, ..Effort { seed, ..effort }.parameters() };
        paper(device, parameters, ProbeBudget::UNLIMITED)
    }
}

/// Runs of each array under each noise.
const RUNS: u64 = 3;

/// The rows: arrays of four disks, chunks of 32 KiB.
pub fn rows(effort: Effort) -> Vec<ProberComparison> {
    let kinds = [LayoutKind::Raid0, LayoutKind::Raid1, LayoutKind::Raid5La];
    let row = |kind: LayoutKind, noise: Noise| {
        let setups = arrays(&array(kind, 4, 32), noise, effort, RUNS);
        let paper = score(&setups, published(effort, 768 * KIB));
        let fast = score(&setups, |device, seed| fast(device, ProbeOptions { seed, ..ProbeOptions::default() }));
        ProberComparison { name: format!("{kind} of 4"), noise, paper, fast: Some(fast) }
    };
    kinds.into_iter().flat_map(|kind| Noise::ALL.map(|noise| row(kind, noise))).collect()
}

/// The table of these rows.
pub fn table(rows: &[ProberComparison]) -> Exhibit {
    let cells = |score: &ProberScore| {
        let runs = score.total.max(1) as f64;
        [
            format!("{:.0}", score.requests as f64 / runs),
            format!("{:.0}", score.seconds / runs),
            format!("{} of {}", score.right, score.total),
        ]
    };
    let row = |row: &ProberComparison| {
        let fast = row.fast.as_ref().map_or(["-", "-", "-"].map(String::from), cells);
        [row.name.clone(), row.noise.name().to_owned()].into_iter().chain(cells(&row.paper)).chain(fast).collect()
    };
    let head = ["array", "noise", "paper: requests", "seconds", "right", "fast: requests", "seconds", "right"];
    Exhibit::Table(Table {
        name: "shear-versus".into(),
        title: "As published, and fast: pattern, chunk and layout under noise".into(),
        caption: caption(rows),
        head: head.map(String::from).into(),
        rows: rows.iter().map(row).collect(),
    })
}

fn caption(rows: &[ProberComparison]) -> String {
    let score_text = |noise: Noise| {
        let of_noise = rows.iter().filter(|row| row.noise == noise);
        let (right, total) =
            of_noise.fold((0, 0), |(right, total), row| (right + row.paper.right, total + row.paper.total));
        format!("{right} of {total} {noise}")
    };
    let mut caption = format!(
        "As published it is right in {}. Its weak point is the divisor of the slowest cluster: one slow outlier, or one multiple \
         that falls out of the cluster, and the pattern collapses.",
        Noise::ALL.map(score_text).join(", ")
    );
    let fewer = rows.iter().filter_map(|row| {
        let fast = row.fast.as_ref().filter(|fast| fast.requests > 0)?;
        Some(row.paper.requests as f64 / row.paper.total.max(1) as f64 * fast.total as f64 / fast.requests as f64)
    });
    let (least, most) =
        fewer.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), ratio| (least.min(ratio), most.max(ratio)));
    if least <= most {
        caption.push_str(&format!(" The fast way takes {least:.0} to {most:.0} times fewer requests."));
    }
    caption
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_place_for_the_fast_way() {
        let paper = ProberScore { right: 2, total: 3, requests: 3_000_000, seconds: 3000.0 };
        let fast = Some(ProberScore { right: 3, total: 3, requests: 9000, seconds: 90.0 });
        let row = |fast| ProberComparison { name: "raid0 of 4".into(), noise: Noise::Clean, paper, fast };
        let Exhibit::Table(table) = table(&[row(None), row(fast)]) else { panic!("a table") };
        assert_eq!(table.rows[0][2..].join("|"), "1000000|1000|2 of 3|-|-|-");
        assert_eq!(table.rows[1][5..].join("|"), "3000|30|3 of 3");
        assert!(table.caption.contains("333 to 333 times fewer"), "{}", table.caption);
    }
}
