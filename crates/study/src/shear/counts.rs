//! Figure 7: the number of requests that each step takes, by formula and by run.

use super::effort::Effort;
use super::rig::{all_steps, array, one_disk, pattern_bytes};
use crate::say::count;
use scrubjay_chart::{Axis, Exhibit, Figure, Series, Style, Table};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::paper::{StepCost, TrialParameters};
use scrubjay_sim::array::setup::ArraySetup;

/// The arrays of the figure, in its order.
pub const ARRAYS: [(LayoutKind, usize); 9] = [
    (LayoutKind::Raid0, 4),
    (LayoutKind::Raid0, 8),
    (LayoutKind::Raid0, 16),
    (LayoutKind::Raid1, 4),
    (LayoutKind::Raid1, 8),
    (LayoutKind::Raid1, 16),
    (LayoutKind::Raid5La, 4),
    (LayoutKind::Raid5La, 8),
    (LayoutKind::Raid5La, 16),
];

/// The most requests by formula of an array that is also run.
const RUN_MAX: u64 = 5_000_000;

/// The chunk size of all arrays.
const CHUNK_KIB: u64 = 32;

/// A step's name and its number of requests.
type Step = (&'static str, fn(&StepCost) -> u64);

/// One array's requests by formula and, where they are not too many, by run.
#[derive(Clone, Debug)]
pub struct RequestsOfArray {
    /// The array.
    pub array: (LayoutKind, usize),
    /// The requests of each step, by formula.
    pub cost: StepCost,
    /// The requests of a run, and its seconds at the array.
    pub run: Option<(u64, f64)>,
}

/// The prober's parameters: sizes up to twice the pattern, which it must not know; the largest pattern of the table
/// would do.
pub fn parameters(setup: &ArraySetup, effort: Effort) -> TrialParameters {
    TrialParameters { pattern_bytes_max: 2 * pattern_bytes(setup), ..effort.parameters() }
}

/// Computes the requests of all arrays, and runs those with up to `run_max`.
pub fn counted(effort: Effort, run_max: u64) -> Vec<RequestsOfArray> {
    let count = |&(kind, disks): &(LayoutKind, usize)| {
        let setup = array(kind, disks, CHUNK_KIB);
        let parameters = parameters(&setup, effort);
        let cost = StepCost::of(&parameters, pattern_bytes(&setup), setup.chunk_bytes);
        let run = (cost.total() <= run_max).then(|| {
            let (_, requests, seconds) = all_steps(&setup, parameters);
            (requests, seconds)
        });
        RequestsOfArray { array: (kind, disks), cost, run }
    };
    ARRAYS.iter().map(count).collect()
}

/// The duration of step 3 in days: a trial of two chunks on one disk is 2 N reads of it, any other is N reads of each
/// of two.
pub fn layout_days(setup: &ArraySetup, effort: Effort) -> f64 {
    let [apart, together] = [1, 2].map(|times| one_disk(setup, Effort { requests: times * effort.requests, ..effort }));
    let disks = setup.map.pattern();
    let pairs = (0..disks.len()).flat_map(|first| (first..disks.len()).map(move |second| (first, second)));
    let seconds: f64 = pairs.map(|(first, second)| if disks[first] == disks[second] { together } else { apart }).sum();
    seconds * effort.repeats as f64 / 86_400.0
}

/// Figure 7.
pub fn figure_7(effort: Effort) -> Vec<Exhibit> {
    let all = counted(effort, RUN_MAX);
    let steps: [Step; 4] = [
        ("pattern", |cost| cost.pattern),
        ("boundary", |cost| cost.boundary),
        ("layout", |cost| cost.layout),
        ("total", StepCost::total),
    ];
    let series = |(name, count): Step| {
        let points = all.iter().enumerate().map(|(at, entry)| (at as f64 + 1.0, count(&entry.cost) as f64 / 1e6));
        Series::new(name, Style::Bars, points)
    };
    let names: Vec<String> = all
        .iter()
        .enumerate()
        .map(|(at, entry)| format!("{}\u{a0}{} of {}", at + 1, entry.array.0, entry.array.1))
        .collect();
    let last = all.last().expect("nine arrays");
    let days = layout_days(&array(last.array.0, last.array.1, CHUNK_KIB), effort);
    let caption = format!(
        "RAID-0 and RAID-1 take few millions. Sixteen disks left-asymmetric take {:.0} million, nearly all for the layout: about \
         {days:.0} days (there \"a few days\"). N = {}, R = {}, sizes up to twice the pattern, which makes step 1 cost as much as \
         step 2. Arrays: {}.",
        last.cost.total() as f64 / 1e6,
        effort.requests,
        effort.repeats,
        names.join(", ")
    );
    let figure = |name: &str, title: &str, caption: String, y: Axis| {
        let (name, title) = (name.to_owned(), title.to_owned());
        Exhibit::Figure(Figure { name, title, caption, x: Axis::linear("array"), y, series: steps.map(series).into() })
    };
    let (by_powers, evenly) = (Axis::log("requests (millions)"), Axis::linear("requests (millions)"));
    let same = "The same, as the paper has it beside: next to the last array, all others are small.".to_owned();
    vec![
        figure("shear-fig07", "Requests by step, chunks of 32 KiB (its Figure 7)", caption, by_powers),
        figure("shear-fig07-even", "Requests by step, on an even scale (its Figure 7)", same, evenly),
        Exhibit::Table(table(&all)),
    ]
}

fn table(all: &[RequestsOfArray]) -> Table {
    let row = |entry: &RequestsOfArray| {
        let (requests, seconds) = match entry.run {
            Some((requests, seconds)) => (count(requests as f64), format!("{seconds:.0}")),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let cost = &entry.cost;
        let counts = [cost.pattern, cost.boundary, cost.layout, cost.total()].map(|requests| count(requests as f64));
        let name = format!("{} of {}", entry.array.0, entry.array.1);
        [name].into_iter().chain(counts).chain([requests, seconds]).collect()
    };
    let exact = all.iter().filter_map(|entry| entry.run.map(|(run, _)| run == entry.cost.total()));
    let (ran, same) = exact.fold((0, 0), |(ran, same), is_same| (ran + 1, same + usize::from(is_same)));
    Table {
        name: "shear-fig07-counts".into(),
        title: "Requests by formula and by run (its Figure 7)".into(),
        caption: format!(
            "{same} of {ran} runs took just what the formula says; the largest arrays were not run. Seconds are at the array."
        ),
        head: ["array", "pattern", "boundary", "layout", "total", "as run", "seconds"].map(String::from).into(),
        rows: all.iter().map(row).collect(),
    }
}
