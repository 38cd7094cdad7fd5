//! The results as a page: figures, tables, and in plain words which of the paper's claims hold, and why not.

use super::findings::ScrubFindings;
use super::goals::{ReachedGoal, megabytes};
use super::predictors::{RATE_MAX, place as place_14, used_within};
use super::ranking::{RATES, Ranking};
use super::sizes::{Adapted, GrowthApproach, place as place_15};
use scrubjay_chart::{Axis, CurvePoint, Exhibit, Figure, Page, Series, Style, Table};
use scrubjay_core::scrub::idle::{Goal, IdleClass, IntervalPolicy};
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact::ScrubFigures;

/// Intervals are called predictable if predictions correlate with actual lengths by more than this.
const CORRELATION_MIN: f64 = 0.3;
/// The coefficient of variation up to which having waited says little (1 if exponential).
const VARIATION_LOW: f64 = 1.25;
/// The throughput aimed at with a mean slowdown of 1 ms, in multiples of the idle class's.
const TIMES_AIMED: f64 = 3.0;

/// The size of a common disk, in bytes.
const DISK_BYTES: f64 = 4e12;

/// The goal that the page recommends, in ms of mean slowdown, if it was studied: the first of Table III.
const GOAL_PROPOSED_MS: f64 = 1.0;

/// The page of these traces.
pub fn page(findings: &[ScrubFindings]) -> Page {
    // Of traces that tell too little nothing is shown from which something could be concluded.
    let conclusive = conclusive(findings);
    let mut exhibits = Vec::new();
    if !conclusive.is_empty() {
        exhibits.extend([times(&conclusive), goals(&conclusive)].map(Exhibit::Table));
        for (index, found) in findings.iter().enumerate().filter(|(_, found)| !found.has_too_few_intervals()) {
            let suffix = if findings.len() > 1 { format!("-{}", index + 1) } else { String::new() };
            exhibits.push(Exhibit::Figure(predictors(found, &suffix)));
            exhibits.push(Exhibit::Figure(sizes(found, &suffix)));
        }
        exhibits.push(Exhibit::Table(ranking(&conclusive)));
    }
    let about = "Every policy is simulated on every idle interval of the trace, on a disk that serves first come, first \
                 served; who is queued behind a delayed request is delayed too, and counts. MB are 10^6 bytes.";
    Page {
        title: "Scrubbing in idle time".into(),
        paragraphs: vec![advice(findings), about.to_owned(), claims(findings)],
        exhibits,
    }
}

/// The findings on traces with enough intervals.
fn conclusive(findings: &[ScrubFindings]) -> Vec<&ScrubFindings> {
    findings.iter().filter(|found| !found.has_too_few_intervals()).collect()
}

/// The recommendation.
fn advice(findings: &[ScrubFindings]) -> String {
    let conclusive = conclusive(findings);
    if let (Some(found), true) = (findings.first(), conclusive.is_empty()) {
        return format!(
            "Use \"scrubjay scrub\" and look at its ETA: the trace tells too little to say how long it takes ({} idle intervals \
             are long enough for a request).",
            found.usable
        );
    }
    let findings = conclusive;
    let goals = findings.first().map_or(&[][..], |found| &found.goals);
    let proposed = goals.iter().position(|reached| millis(reached.goal) == GOAL_PROPOSED_MS).unwrap_or(0);
    let mut hours: Vec<f64> = findings.iter().filter_map(|found| found.goals.get(proposed)).map(pass_hours).collect();
    hours.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (hours.first(), hours.last()) else { return "No goal was studied.".to_owned() };
    let goal = millis(goals[proposed].goal);
    let (loads, time) = match findings.len() {
        1 => ("this load".to_owned(), duration(most)),
        count => (format!("these {count} loads"), format!("{} to {}", duration(least), duration(most))),
    };
    format!("Use \"scrubjay scrub --slowdown {goal}ms\": under {loads} it reads a disk of 4 TB in {time}.")
}

/// The hours that the shipped policy takes to read a disk of 4 TB.
fn pass_hours(reached: &ReachedGoal) -> f64 {
    DISK_BYTES / reached.budget.bytes_per_second().max(1.0) / 3600.0
}

fn duration(hours: f64) -> String {
    match hours {
        hours if hours > 24.0 * 365.0 => "more than a year".to_owned(),
        hours if hours > 72.0 => format!("{:.0} days", hours / 24.0),
        hours => format!("{hours:.0} h"),
    }
}

/// The duration of a pass at each goal.
fn times(findings: &[&ScrubFindings]) -> Table {
    let goals = findings.first().map_or(&[][..], |found| &found.goals);
    let head = goals.iter().map(|reached| format!("{} ms", millis(reached.goal)));
    let row = |found: &&ScrubFindings| {
        let times = found.goals.iter().map(|reached| duration(pass_hours(reached)));
        [found.name.clone()].into_iter().chain(times).collect()
    };
    Table {
        name: "scrub-times".into(),
        title: "How long a disk of 4 TB takes".into(),
        caption: "At each mean slowdown, by the policy and in the form that \"scrubjay scrub\" ships with (strict: the mean so far is within \
                  the goal all the time); it learns the load as it goes."
            .into(),
        head: ["trace".to_owned()].into_iter().chain(head).collect(),
        rows: findings.iter().map(row).collect(),
    }
}

/// Which of the paper's claims hold: in full for one trace; for several, in how many. The captions have the rest.
fn claims(findings: &[ScrubFindings]) -> String {
    let conclusive = conclusive(findings);
    match (findings, &conclusive[..]) {
        ([found], []) => format!("There is {}", too_little_text(found)),
        ([found], _) => format!("{} {} {}", ranking_text(found), sizes_text(found), times_text(found)),
        _ => {
            let (all, count) = (findings.len(), conclusive.len());
            let ranked = conclusive.iter().filter(|found| found.ranking.iter().all(Ranking::holds)).count();
            let growing = conclusive.iter().filter(|found| found.sizes.adapted.iter().any(Adapted::wins)).count();
            let left_out = findings.iter().filter(|found| found.has_too_few_intervals());
            let left_out: Vec<String> = left_out.map(|found| format!("{} ({})", found.name, found.usable)).collect();
            let left_out = match &left_out[..] {
                [] => String::new(),
                names => format!(" Left out (their usable idle intervals): {}.", names.join(", ")),
            };
            if conclusive.is_empty() {
                return format!("No trace has enough idle intervals to tell policies apart.{left_out}");
            }
            format!(
                "{count} of {all} traces have enough idle intervals to tell policies apart.{left_out} On {ranked} of these the paper's \
                 ranking holds (Oracle, Lossless Waiting, Waiting, AR + Waiting, Auto-Regression); on {growing} a size \
                 that grows while the disk stays idle reads more than one fixed size."
            )
        }
    }
}

fn too_little_text(found: &ScrubFindings) -> String {
    let ScrubFindings { usable, .. } = found;
    format!("too little to tell which policy is better: {usable} idle intervals are long enough for a request.")
}

/// Figure 14 of one trace.
fn predictors(found: &ScrubFindings, suffix: &str) -> Figure {
    let mut series: Vec<Series> = found.predictors.all().map(clipped).collect();
    let budgets = found.goals.iter().map(|reached| {
        let (place, goal) = (place_14(&reached.budget), millis(reached.goal));
        // A point beyond the axis is drawn at its end, so that the axis stays the paper's.
        let beyond = if place.x > RATE_MAX { format!(", at {:.2}", place.x) } else { String::new() };
        CurvePoint { x: place.x.min(RATE_MAX), label: format!("{goal} ms{beyond}"), ..place }
    });
    series.push(Series {
        name: "budget, strict (by goal)".into(),
        style: Style::Points,
        colour: None,
        points: budgets.collect(),
    });
    series.retain(|series| !series.points.is_empty());
    Figure {
        name: format!("scrub-predictors{suffix}"),
        title: format!("Which idle intervals to use: {}", found.name),
        caption: [Some(ranking_text(found)), found.predictors.close_together()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n"),
        x: Axis::linear("collisions for each idle interval"),
        y: Axis::linear("share of the idle time used"),
        series,
    }
}

/// The part of a curve that lies on the paper's axis, and one point at the axis's end.
fn clipped(curve: &Series) -> Series {
    let mut points: Vec<CurvePoint> = curve.points.iter().filter(|point| point.x <= RATE_MAX).cloned().collect();
    if points.len() < curve.points.len() {
        points.push(CurvePoint { x: RATE_MAX, y: used_within(curve, RATE_MAX), label: String::new() });
    }
    Series { points, ..curve.clone() }
}

/// Figure 15 of one trace.
fn sizes(found: &ScrubFindings, suffix: &str) -> Figure {
    let sizes = &found.sizes;
    let mut series = sizes.fixed.clone();
    let labelled = |label: String, outcome: &ScrubFigures| CurvePoint { label, ..place_15(outcome) };
    let best = sizes.best.iter().map(|(_, pair)| labelled(format!("{} KiB", pair.size.0 >> 10), &pair.outcome));
    series.push(joined("best size", Style::Line, best));
    for kind in [GrowthApproach::Exponential, GrowthApproach::Linear, GrowthApproach::Swapping] {
        let points =
            sizes.adapted.iter().filter(|adapted| adapted.kind == kind).map(|adapted| place_15(&adapted.outcome));
        series.push(joined(kind.name(), Style::Dashed, points));
    }
    let budgets = found.goals.iter().map(|reached| place_15(&reached.budget));
    series.push(joined("budget, strict", Style::Line, budgets));
    series.retain(|series| !series.points.is_empty());
    Figure {
        name: format!("scrub-sizes{suffix}"),
        title: format!("How large requests should be: {}", found.name),
        caption: sizes_text(found),
        x: Axis::linear("mean slowdown (ms)"),
        y: Axis::linear("scrubbed (MB/s)"),
        series,
    }
}

/// A curve sorted by x, because a policy with a larger goal does not always cause more slowdown.
fn joined(name: &str, style: Style, points: impl Iterator<Item = CurvePoint>) -> Series {
    let mut points: Vec<CurvePoint> = points.collect();
    points.sort_by(|one, two| one.x.total_cmp(&two.x));
    Series { name: name.into(), style, colour: None, points }
}

/// Table III.
fn goals(findings: &[&ScrubFindings]) -> Table {
    let head = [
        "trace",
        "policy",
        "goal (ms)",
        "mean slowdown (ms)",
        "max slowdown (ms)",
        "MB/s",
        "x idle class",
        "wait (s)",
        "request (KiB)",
    ];
    Table {
        name: "scrub-goals".into(),
        title: "Throughput at each slowdown goal".into(),
        caption: match findings {
            [found] => goals_text(found),
            _ => "The idle class, the paper's baseline, sends 64 KiB after 10 ms of idleness. A tuned wait knows the whole trace \
                  beforehand; the budget learns as it goes. It ships as strict: the mean so far is within the goal all the time; average \
                  lets it be 4 % above on the way. The tuned wait has it within at the end."
                .into(),
        } + &exceeded_text(findings),
        head: head.map(String::from).to_vec(),
        rows: findings.iter().flat_map(|found| goal_rows(found)).collect(),
    }
}

fn goal_rows(found: &ScrubFindings) -> Vec<Vec<String>> {
    let row = |policy: &str, goal: Option<Goal>, outcome: &ScrubFigures, wait: String, size: String| {
        vec![
            found.name.clone(),
            policy.to_owned(),
            goal.map_or("-".into(), |goal| millis(goal).to_string()),
            format!("{:.3}", outcome.slowdown_mean_seconds() * 1e3),
            format!("{:.1}", outcome.slowdown_max.as_millis_f64()),
            format!("{:.2}", megabytes(outcome)),
            format!("{:.2}", found.times_idle_class(outcome)),
            wait,
            size,
        ]
    };
    let mut rows = Vec::new();
    for ReachedGoal { goal, tuned, budget, average } in &found.goals {
        if let Some(pair) = tuned {
            let wait = seconds(pair.wait);
            rows.push(row("tuned", Some(*goal), &pair.outcome, wait, (pair.size.0 >> 10).to_string()));
        }
        for (policy, figures) in [("budget, strict", budget), ("budget, average", average)] {
            rows.push(row(policy, Some(*goal), figures, "learnt".into(), "learnt".into()));
        }
    }
    if let Some(pair) = &found.at_par {
        let wait = seconds(pair.wait);
        rows.push(row("tuned, as idle class", None, &pair.outcome, wait, (pair.size.0 >> 10).to_string()));
    }
    rows.push(row("idle class", None, &found.idle_class, seconds(IdleClass.pattern().wait), "64".into()));
    rows
}

/// In how many cases the budget was above its goal when the trace ended, and by how much.
fn exceeded_text(findings: &[&ScrubFindings]) -> String {
    let shares: Vec<f64> = (findings.iter().flat_map(|found| &found.goals))
        .map(|reached| reached.budget.slowdown_mean_seconds() / reached.goal.mean.as_secs_f64())
        .collect();
    let above = shares.iter().filter(|&&share| share > 1.0).count();
    if above == 0 {
        return " The budget kept every goal.".to_owned();
    }
    let most = shares.iter().copied().fold(1.0, f64::max) * 100.0 - 100.0;
    format!(
        " When the trace ended the budget was above its goal in {above} of {} cases, by {most:.1} % at most.",
        shares.len()
    )
}

/// The throughput of a trace at each goal.
fn goals_text(found: &ScrubFindings) -> String {
    let mut text = format!(
        "The idle class reads {:.2} MB/s at a mean slowdown of {:.2} ms.",
        megabytes(&found.idle_class),
        found.idle_class.slowdown_mean_seconds() * 1e3
    );
    for ReachedGoal { goal, tuned, budget, average } in &found.goals {
        let mean = millis(*goal);
        let Some(pair) = tuned else {
            text += &format!(" No wait keeps {mean} ms.");
            continue;
        };
        text += &format!(" At {mean} ms a tuned wait reads {:.2} times as much", found.times_idle_class(&pair.outcome));
        let share =
            |figures: &ScrubFigures| figures.scrub_bytes as f64 / pair.outcome.scrub_bytes.max(1) as f64 * 100.0;
        text += &format!(
            "; budget, which has to learn, reads {:.0} % of that as it ships (strict), {:.0} % if the mean so far may be 4 % \
             above the goal (average).",
            share(budget),
            share(average)
        );
    }
    text
}

/// The throughput at 1 ms relative to the idle class, and at the slowdown of the idle class.
fn times_text(found: &ScrubFindings) -> String {
    let ceiling = found.ceiling();
    let mut text = String::new();
    let at_1_ms = found.goals.iter().find(|reached| millis(reached.goal) == 1.0).and_then(|reached| reached.tuned);
    if let Some(pair) = at_1_ms {
        let times = found.times_idle_class(&pair.outcome);
        let comparison = if times >= TIMES_AIMED { "more" } else { "less" };
        text = format!(
            "At a mean slowdown of 1 ms a tuned wait reads {times:.2} times as much as the idle class, {comparison} \
             than three times; {ceiling:.2} times is what requests of 4 MiB come to in the same idle time."
        );
    }
    if let Some(pair) = found.at_par {
        let (times, cost) = (found.times_idle_class(&pair.outcome), found.idle_class.slowdown_mean_seconds() * 1e3);
        text +=
            &format!(" At the slowdown that the idle class itself causes, {cost:.2} ms, it reads {times:.2} times.");
    }
    text
}

/// Whether a fixed size beats the adaptive ones, and if not, which ones win and by how much.
fn sizes_text(found: &ScrubFindings) -> String {
    let wins = found.sizes.adapted.iter().filter(|adapted| adapted.wins());
    let wins: Vec<String> = wins
        .map(|adapted| {
            format!("{} reads {:.1} % more at {} ms", adapted.kind.name(), adapted.gain() * 100.0, millis(adapted.goal))
        })
        .collect();
    if !wins.is_empty() {
        return format!(
            "Sizes that grow while the disk stays idle beat one fixed size in places: {}.",
            wins.join(", ")
        );
    }
    let most = found.sizes.adapted.iter().max_by(|one, two| one.gain().total_cmp(&two.gain()));
    let exception = most.filter(|most| most.gain() > 0.0).map_or(String::new(), |most| {
        format!(" ({} comes to {:.2} % more at {} ms)", most.kind.name(), most.gain() * 100.0, millis(most.goal))
    });
    format!("No size that grows while the disk stays idle reads more than one fixed size, well chosen{exception}.")
}

/// Whether the ranking holds, and if not, where and why.
fn ranking_text(found: &ScrubFindings) -> String {
    let failing: Vec<&Ranking> = found.ranking.iter().filter(|ranking| !ranking.holds()).collect();
    if failing.is_empty() {
        return "The paper's ranking holds: Oracle, Lossless Waiting, Waiting, AR + Waiting, Auto-Regression.".into();
    }
    let pairs = failing.chunk_by(|one, two| (one.better, one.worse) == (two.better, two.worse)).map(|pair| {
        let places: Vec<String> = pair.iter().map(|ranking| format!("{} %", ranking.rate * 100.0)).collect();
        let most = pair.iter().map(|ranking| ranking.worse_used - ranking.better_used).fold(0.0, f64::max);
        let (worse, better, places) = (pair[0].worse, pair[0].better, places.join(", "));
        format!(
            "{worse} uses more than {better} at {places} collisions, by up to {:.1} % of the idle time",
            most * 100.0
        )
    });
    let places = pairs.collect::<Vec<_>>().join("; ");
    format!("The paper's ranking holds but for this: {places}. {}", explanation(found, &failing))
}

fn explanation(found: &ScrubFindings, failing: &[&Ranking]) -> String {
    let (correlation, variation) = (found.predictors.correlation, found.predictors.variation);
    let waited = failing.iter().map(|ranking| {
        used_within(&found.predictors.lossless, ranking.rate) - used_within(&found.predictors.waiting, ranking.rate)
    });
    let waited = waited.fold(0.0, f64::max) * 100.0;
    let cost = format!("waiting alone costs up to {waited:.0} % of the idle time there");
    if correlation > CORRELATION_MIN {
        return format!(
            "Here an interval can be told from those before (predictions correlate with what comes by \
             {correlation:.2}), and {cost}."
        );
    }
    if variation < VARIATION_LOW {
        return format!(
            "Here intervals hardly differ (coefficient of variation {variation:.2}), so having waited says little, and \
             {cost}."
        );
    }
    format!(
        "Predictions tell little (they correlate with what comes by {correlation:.2}), but {cost}, and a prediction \
         costs nothing."
    )
}

/// The numbers behind the ranking: one row for each trace and policy.
fn ranking(findings: &[&ScrubFindings]) -> Table {
    let rates = RATES.iter().map(|rate| format!("used at {} %", rate * 100.0));
    let rows = findings.iter().flat_map(|found| {
        found.predictors.all().map(|curve| {
            let cells = RATES.iter().map(|&rate| format!("{:.1} %", used_within(curve, rate) * 100.0));
            [found.name.clone(), curve.name.clone()].into_iter().chain(cells).collect()
        })
    });
    Table {
        name: "scrub-ranking".into(),
        title: "Idle time used at equal collision rates".into(),
        caption: "The share of the idle time that each policy uses when so many of a hundred idle intervals end in a \
                  collision."
            .into(),
        head: ["trace".to_owned(), "policy".to_owned()].into_iter().chain(rates).collect(),
        rows: rows.collect(),
    }
}

fn millis(goal: Goal) -> f64 {
    goal.mean.as_millis_f64()
}

/// A wait in seconds, to a tenth of a millisecond.
fn seconds(wait: Nanos) -> String {
    format!("{:.4}", wait.as_secs_f64())
}
