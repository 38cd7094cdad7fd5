//! The page: the latent error time by order, region and segment, the published results, and hours on traces.

use super::super::say::{by_trace, count, duration, significant};
use super::driven::Driven;
use super::sample::{EscalationScope, Mlet};
use super::sweep::{MODELS, ScanCase, Sweep};
use scrubjay_chart::{Axis, CurvePoint, Exhibit, Figure, Page, Series, Style, Table};
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::Bytes;
use std::cmp::Ordering;

/// The duration of a tour in hours where no trace determines it: disks in the field are scrubbed once in two weeks or
/// more often (Bairavasundaram et al., SIGMETRICS'07).
const TOUR_HOURS: f64 = 14.0 * 24.0;
/// The number of steps of a curve of the tour's progress.
const POINTS: u32 = 1000;

/// The page of the sample, and of the traces on which the tour was driven, if any.
pub fn page(sweep: &Sweep, driven: &[Driven]) -> Page {
    let mut exhibits = Vec::new();
    if !driven.is_empty() {
        exhibits.push(Exhibit::Table(hours(sweep, driven)));
        exhibits.push(Exhibit::Table(tours(sweep, driven)));
        exhibits.push(Exhibit::Figure(progress(sweep, driven)));
    }
    exhibits.push(Exhibit::Table(orders(sweep)));
    exhibits.push(Exhibit::Figure(regions(sweep)));
    exhibits.push(Exhibit::Figure(segments(sweep)));
    exhibits.push(Exhibit::Table(published(sweep)));
    exhibits.push(Exhibit::Table(sizes(sweep)));
    Page { title: "Mean latent error time".into(), paragraphs: intro(sweep, driven), exhibits }
}

fn intro(sweep: &Sweep, driven: &[Driven]) -> Vec<String> {
    let setup = sweep.setup;
    let all = [&sweep.orders, &sweep.regions, &sweep.segments];
    let error =
        all.into_iter().flatten().flat_map(ScanCase::models).map(|mlet| mlet.standard_error).fold(0.0, f64::max);
    let mut paragraphs = vec![
        "Read in staggered order with regions of 128 MiB, and verify the region around an error at once: the defaults of \
         \"scrubjay scrub\". The tables show how much sooner errors are found than by reading from end to end."
            .into(),
        "The mean latent error time (MLET) is how long a sector stays unreadable before the scrub finds it. Errors come \
         in clusters, all at one moment; the tour over the disk goes round and round. Who finds an error verifies more \
         at once (escalation), and that takes no time here. For each disk the delays of its errors are averaged, then \
         the disks."
            .into(),
        format!(
            "{} disks of {} with one cluster each were drawn for every figure, the same ones everywhere (seed {}), so \
             differences are more certain than the values; the standard error of a value is at most {} of a tour. \
             Nearline and enterprise differ in the size of the clusters (fitted to Bairavasundaram et al., \
             SIGMETRICS'07); where errors of a cluster lie was chosen to reproduce the sensitivities of Schroeder et \
             al. (FAST'10), so these agree by construction.",
            count(f64::from(setup.disks)),
            setup.disk,
            setup.seed,
            significant(error)
        ),
    ];
    if !driven.is_empty() {
        paragraphs.push(
            "With a trace, the tour advances only while the disk is idle: Waiting with the pair of wait and request size \
             that reads most within the slowdown goal is played on it. The trace is repeated without a pause until the \
             tour is done. Reading in another order is taken to be equally fast."
                .into(),
        );
    }
    paragraphs
}

fn hours(sweep: &Sweep, driven: &[Driven]) -> Table {
    let head = [
        "trace",
        "clusters",
        "sequential (h)",
        "staggered (h)",
        "earlier",
        "with neighbours (h)",
        "staggered, nothing (h)",
        "if even: sequential (h)",
        "if even: staggered (h)",
    ];
    let rows = driven.iter().flat_map(|run| {
        MODELS.iter().enumerate().map(move |(model, (_, name))| {
            let paced = |order, escalation| find(&run.cases, order, escalation).models()[model];
            let even = |order| {
                let mlet = find(&sweep.orders, order, EscalationScope::Region).models()[model];
                significant(mlet.disk_mean * tour(sweep, run) / 3600.0)
            };
            let sequential = paced(OrderKind::SEQUENTIAL, EscalationScope::Region);
            let staggered = paced(OrderKind::STAGGERED, EscalationScope::Region);
            vec![
                run.name.clone(),
                (*name).into(),
                with_error(sequential),
                with_error(staggered),
                earlier(1.0 - staggered.disk_mean / sequential.disk_mean),
                with_error(paced(OrderKind::STAGGERED, EscalationScope::RegionAndNeighbours)),
                with_error(paced(OrderKind::STAGGERED, EscalationScope::None)),
                even(OrderKind::SEQUENTIAL),
                even(OrderKind::STAGGERED),
            ]
        })
    });
    let text = describe(driven, |run| {
        let mean = |order| find(&run.cases, order, EscalationScope::Region).nearline.disk_mean * 3600.0;
        format!(
            "within {} of mean slowdown a tour over {} takes {}; an error on a nearline disk stays unknown for {} in \
             sequential order, {} in staggered order",
            duration(run.goal.mean.as_secs_f64()),
            sweep.setup.disk,
            duration(tour(sweep, run)),
            duration(mean(OrderKind::SEQUENTIAL)),
            duration(mean(OrderKind::STAGGERED))
        )
    });
    Table {
        name: "mlet-hours".into(),
        title: "Hours until an error is found, in the idle time of the trace".into(),
        caption: format!(
            "{text}{}Segments of 1 MiB, regions of 128 MiB; on an error its region is verified, in sequential order \
             too. \"If even\" is a tour of the same length that never rests.",
            if driven.len() > 1 { "\n" } else { " " }
        ),
        head: head.map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

fn tours(sweep: &Sweep, driven: &[Driven]) -> Table {
    let head = ["trace", "wait", "request", "MB/s", "tour", "shortest", "longest", "passes of the trace"];
    let row = |run: &Driven| {
        let (shortest, longest) =
            (slowest(sweep, run, |a, b| b.total_cmp(&a)).1, slowest(sweep, run, |a, b| a.total_cmp(&b)).1);
        vec![
            run.name.clone(),
            duration(run.pair.wait.as_secs_f64()),
            run.pair.size.to_string(),
            significant(run.pace.bytes() / run.pace.span() / 1e6),
            duration(tour(sweep, run)),
            duration(shortest),
            duration(longest),
            significant(sweep.setup.disk.0 as f64 / run.pace.bytes()),
        ]
    };
    Table {
        name: "mlet-tours".into(),
        title: "The scrub in the idle time of the trace".into(),
        caption:
            "The wait and the request size that read most within the goal, and how long a tour takes with them: in \
                  the mean, and begun at the best and at the worst moment of the trace."
                .into(),
        head: head.map(String::from).to_vec(),
        rows: driven.iter().map(row).collect(),
    }
}

/// The start of the tour, as a moment of the trace, for which the tour is longest by `order`, and how long that tour
/// is; in seconds.
fn slowest(sweep: &Sweep, run: &Driven, order: impl Fn(f64, f64) -> Ordering) -> (f64, f64) {
    let disk = sweep.setup.disk.0 as f64;
    let begun = (0..POINTS).map(|step| f64::from(step) / f64::from(POINTS) * run.pace.span());
    let tours = begun.map(|moment| (moment, run.pace.delay(moment, disk)));
    tours.max_by(|a, b| order(a.1, b.1)).expect("some moments are tried")
}

fn progress(sweep: &Sweep, driven: &[Driven]) -> Figure {
    let disk = sweep.setup.disk.0 as f64;
    let from = |run: &Driven, moment: f64| -> Vec<(f64, f64)> {
        let shares = (0..=POINTS).map(|step| f64::from(step) / f64::from(POINTS));
        shares.map(|share| (run.pace.delay(moment, share * disk) / 3600.0, share * 100.0)).collect()
    };
    let mut series: Vec<Series> =
        driven.iter().map(|run| Series::new(&run.name, Style::Line, from(run, 0.0))).collect();
    if let [run] = driven {
        let (worst, _) = slowest(sweep, run, |a, b| a.total_cmp(&b));
        series[0].name = "begun with the trace".into();
        series.push(Series::new("begun at the worst moment", Style::Line, from(run, worst)));
        series.push(Series::new("evenly", Style::Dashed, [(0.0, 0.0), (tour(sweep, run) / 3600.0, 100.0)]));
    }
    let text = describe(driven, |run| {
        let (rest, from) = longest_rest(run);
        let passes = disk / run.pace.bytes();
        let repeated = if passes > 1.0 {
            format!("the tour takes {} passes of the trace", significant(passes))
        } else {
            format!("one pass of the trace reads the disk {} times", significant(1.0 / passes))
        };
        format!(
            "{repeated}; the longest time in which nothing is read is {}, from {} on",
            duration(rest),
            duration(from)
        )
    });
    Figure {
        name: "mlet-progress".into(),
        title: "How a tour advances".into(),
        caption: text,
        x: Axis::linear("hours since the tour began"),
        y: Axis::linear("share of the tour done (%)"),
        series,
    }
}

/// The longest time in one pass of the trace in which nothing is read: its length and its beginning, in seconds.
fn longest_rest(run: &Driven) -> (f64, f64) {
    let mut longest = (0.0, 0.0);
    let mut since = 0.0;
    for pair in run.pace.steps().windows(2) {
        if pair[1].1 > pair[0].1 {
            since = pair[1].0;
        } else if pair[1].0 - since > longest.0 {
            longest = (pair[1].0 - since, since);
        }
    }
    longest
}

fn orders(sweep: &Sweep) -> Table {
    let head =
        ["order", "verified on an error", "nearline (tours)", "earlier", "h", "enterprise (tours)", "earlier", "h"];
    let base = find(&sweep.orders, OrderKind::SEQUENTIAL, EscalationScope::Region).models();
    let rows = sweep.orders.iter().map(|case| {
        let escalation =
            EscalationScope::ALL.iter().find(|known| known.0 == case.escalation).map_or("", |known| known.1);
        let mut row = vec![case.order.name().to_owned(), escalation.to_owned()];
        for (mlet, base) in case.models().into_iter().zip(base) {
            row.push(with_error(mlet));
            row.push(earlier(1.0 - mlet.disk_mean / base.disk_mean));
            row.push(significant(mlet.disk_mean * TOUR_HOURS));
        }
        row
    });
    let gain = |escalation| -> Vec<String> {
        let models = find(&sweep.orders, OrderKind::STAGGERED, escalation).models();
        models.iter().zip(base).map(|(mlet, base)| earlier(1.0 - mlet.disk_mean / base.disk_mean)).collect()
    };
    let none = find(&sweep.orders, OrderKind::STAGGERED, EscalationScope::None).nearline.disk_mean;
    Table {
        name: "mlet-orders".into(),
        title: "Order and escalation".into(),
        caption: format!(
            "Order alone gains nothing: without escalation staggered takes {} of a tour. With the region verified on the \
             first error, staggered finds errors {} earlier than sequential (nearline, enterprise), with its neighbours \
             {}. Regions of 128 MiB, segments of 1 MiB; hours are those of a tour of two weeks that advances evenly. \
             \"Oldest\" takes regions in random order, as after many partial scrubs.",
            significant(none),
            gain(EscalationScope::Region).join(" and "),
            gain(EscalationScope::RegionAndNeighbours).join(" and ")
        ),
        head: head.map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

fn regions(sweep: &Sweep) -> Figure {
    let region_mib = |case: &ScanCase| mib(case.region);
    let mut series = curves(sweep, &sweep.regions, region_mib);
    let last = sweep.regions.last().map(|case| case.region);
    // Every curve includes the 128th of the disk, whose size may lie between the others.
    for curve in &mut series {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    if let (Some(curve), Some(region)) = (series.first_mut(), last)
        && let Some(point) = curve.points.iter_mut().find(|point| point.x == mib(region))
    {
        point.label = "128 regions".into();
    }
    let gain = |wanted: Bytes| {
        sweep.regions.iter().find(|case| case.region == wanted).map(|case| earlier(gain_of(sweep, case)))
    };
    let small = gain(Bytes::mib(128)).unwrap_or_default();
    let paper = gain(sweep.setup.region_128()).unwrap_or_default();
    Figure {
        name: "mlet-region".into(),
        title: "The size of a region".into(),
        caption: format!(
            "Staggered, segments of 1 MiB. Regions of 128 MiB find errors on nearline disks {small} earlier than \
             sequential; the 128 regions of Amvrosiadis et al. (DSN'12), here of {}, only {paper}: their size counts, \
             not their number.",
            sweep.setup.region_128()
        ),
        x: Axis::log("region (MiB)"),
        y: Axis::linear("MLET (tours)"),
        series,
    }
}

fn segments(sweep: &Sweep) -> Figure {
    let region_only = sweep.segments.iter().filter(|case| case.escalation == EscalationScope::Region);
    let gains: Vec<(Bytes, f64)> = region_only.map(|case| (case.segment, gain_of(sweep, case))).collect();
    let gain_text = |size: Bytes| {
        let gain = gains.iter().find(|known| known.0 == size).map_or(0.0, |known| known.1);
        format!("{size} gain {}", earlier(gain))
    };
    let enough = gains.iter().rev().find(|(_, gain)| *gain >= gains[0].1 * 0.95).map_or(gains[0].0, |known| known.0);
    Figure {
        name: "mlet-segment".into(),
        title: "The size of a segment".into(),
        caption: format!(
            "Staggered, regions of 128 MiB. On nearline disks segments of {}, of {}, of {}; up to {enough}, which a disk \
             reads faster than small ones, no more than a twentieth of the gain is lost.",
            gain_text(Bytes::kib(64)),
            gain_text(Bytes::mib(32)),
            gain_text(Bytes::mib(64))
        ),
        x: Axis::log("segment (MiB)"),
        y: Axis::linear("MLET (tours)"),
        series: curves(sweep, &sweep.segments, |case| mib(case.segment)),
    }
}

/// A curve for each model and escalation, and the sequential order for comparison.
fn curves(sweep: &Sweep, cases: &[ScanCase], x: impl Fn(&ScanCase) -> f64) -> Vec<Series> {
    let mut series = Vec::new();
    for (model, (_, name)) in MODELS.iter().enumerate() {
        for (escalation, verified) in &EscalationScope::ALL[1..] {
            let cases = cases.iter().filter(|case| case.escalation == *escalation);
            let points = cases.map(|case| (x(case), case.models()[model].disk_mean));
            series.push(Series::new(format!("{name}, {verified}"), Style::Line, points));
        }
    }
    let sequential = find(&sweep.orders, OrderKind::SEQUENTIAL, EscalationScope::Region).nearline.disk_mean;
    let ends = [cases.iter().map(&x).fold(f64::INFINITY, f64::min), cases.iter().map(&x).fold(0.0, f64::max)];
    let points = ends.map(|x| CurvePoint { x, y: sequential, label: String::new() });
    series.push(Series {
        name: "sequential, nearline".into(),
        style: Style::Dashed,
        colour: None,
        points: points.to_vec(),
    });
    series
}

fn published(sweep: &Sweep) -> Table {
    let gain = |wanted: Bytes, cases: &[ScanCase], size: fn(&ScanCase) -> Bytes| {
        let case = cases.iter().find(|case| size(case) == wanted && case.escalation == EscalationScope::Region);
        case.map_or([0.0; 2], |case| gains_of(sweep, case))
    };
    let both = |gains: [f64; 2]| format!("{}, {}", earlier(gains[0]), earlier(gains[1]));
    let segment = |mib| gain(Bytes::mib(mib), &sweep.segments, |case| case.segment);
    let smallest = gain(Bytes::kib(64), &sweep.segments, |case| case.segment);
    let (small, middle, large) = (segment(1), segment(32), segment(64));
    let hours = [0, 1].map(|model| small[model] * 0.5 * TOUR_HOURS);
    let share = |gains: [f64; 2]| both([gains[0] / smallest[0], gains[1] / smallest[1]]);
    let rows = [
        ["128 MB, 1 MB: how much earlier", "10 to 20 %, tours of 7 to 14 days", &both(small)],
        [
            "the same in hours, tour of two weeks",
            "30 to 70 h, all tours",
            &format!("{} h, {} h", significant(hours[0]), significant(hours[1])),
        ],
        ["segments of 64 KB", "as those of 1 KB to 32 MB", &both(smallest)],
        ["segments of 32 MB: left of that gain", "all", &share(middle)],
        ["segments of 64 MB: left of that gain", "half", &share(large)],
        [
            "128 regions of any size",
            "not told",
            &both(gain(sweep.setup.region_128(), &sweep.regions, |case| case.region)),
        ],
    ];
    Table {
        name: "mlet-published".into(),
        title: "Beside what was published".into(),
        caption: "Staggered against sequential, as Schroeder, Damouras & Gill (FAST'10) found it on the errors of real \
                  disks; 128 regions are the setting of Amvrosiadis et al. (DSN'12, IV-B). Their gains of up to 40 % at \
                  tours longer than two weeks are not reproduced: here a gain is a share of the tour, however long."
            .into(),
        head: ["what", "published", "ours: nearline, enterprise"].map(String::from).to_vec(),
        rows: rows.map(|row| row.map(String::from).to_vec()).to_vec(),
    }
}

fn sizes(sweep: &Sweep) -> Table {
    let head = ["region", "segment", "nearline", "with neighbours", "enterprise", "with neighbours"];
    // Each size has two cases: with and without the neighbours.
    let pairs = sweep.regions.chunks_exact(2).chain(sweep.segments.chunks_exact(2));
    let rows = pairs.map(|pair| {
        let [region_only, with_neighbours] = [pair[0].models(), pair[1].models()];
        let [region, segment] = [pair[0].region, pair[0].segment].map(|size| size.to_string());
        vec![
            region,
            segment,
            with_error(region_only[0]),
            with_error(with_neighbours[0]),
            with_error(region_only[1]),
            with_error(with_neighbours[1]),
        ]
    });
    Table {
        name: "mlet-sizes".into(),
        title: "The figures' numbers, with their standard errors".into(),
        caption: format!("Staggered, in tours; {} disks each.", count(f64::from(sweep.setup.disks))),
        head: head.map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

/// How much earlier than in sequential order errors are found, on nearline disks, as a share.
fn gain_of(sweep: &Sweep, case: &ScanCase) -> f64 {
    gains_of(sweep, case)[0]
}

fn gains_of(sweep: &Sweep, case: &ScanCase) -> [f64; 2] {
    let base = find(&sweep.orders, OrderKind::SEQUENTIAL, EscalationScope::Region).models();
    [0, 1].map(|model| 1.0 - case.models()[model].disk_mean / base[model].disk_mean)
}

fn find(cases: &[ScanCase], order: OrderKind, escalation: EscalationScope) -> &ScanCase {
    let wanted = |case: &&ScanCase| case.order == order && case.escalation == escalation;
    cases.iter().find(wanted).expect("both orders with every escalation were drawn")
}

/// The mean duration of a tour in seconds.
fn tour(sweep: &Sweep, run: &Driven) -> f64 {
    run.pace.period(sweep.setup.disk.0 as f64)
}

fn with_error(mlet: Mlet) -> String {
    // Two significant digits of the error.
    let error = mlet.standard_error;
    let decimals = if error > 0.0 { (1 - error.log10().floor() as i32).clamp(0, 9) as usize } else { 0 };
    format!("{:.decimals$} ± {error:.decimals$}", mlet.disk_mean)
}

fn mib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1_048_576.0
}

/// A gain to a tenth of a percent; finer digits are noise.
fn earlier(gain: f64) -> String {
    // Adding zero turns -0 into 0.
    format!("{:.1} %", (gain * 1000.0).round() / 10.0 + 0.0)
}

/// A sentence for each trace.
fn describe(driven: &[Driven], text_of: impl Fn(&Driven) -> String) -> String {
    by_trace(driven.iter().map(|run| (run.name.as_str(), text_of(run))))
}

#[cfg(test)]
mod tests;
