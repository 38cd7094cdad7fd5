//! The study of idle intervals of any traces, as a page with captions that state what the figures show.
//!
//! The figures are 8 to 13 of Amvrosiadis, Oprea & Schroeder (DSN'12, section V-A).

use super::say::{count, duration, percent, significant};
use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style, Table};
use scrubjay_core::units::Nanos;
use scrubjay_trace::idleness::{Idleness, Waited};

/// Waits in seconds, as users choose them, whose values the captions and the table give.
const WAITS: [f64; 5] = [0.0, 0.010, 0.1, 1.0, 10.0];
/// The hazard is judged from this age on, in seconds: shorter intervals are the host's own pace, and no wait is
/// shorter.
const HAZARD_FROM: f64 = 0.001;
/// Slopes of the hazard flatter than this (in log-log) are called flat.
const SLOPE_MIN: f64 = 0.1;
/// A rise of the hazard above its lowest value so far is mentioned if it is by more than this factor.
const RISE_MIN: f64 = 2.0;
/// Means within a tenth of each other (factor) are called alike.
const ALIKE: f64 = 1.1;
/// The number of traces that a caption describes, at most; the curves show all.
const SHOWN_MAX: usize = 4;

/// A trace under study.
#[derive(Clone, Debug)]
pub struct IdleStudy {
    /// Its name in legends.
    pub name: String,
    /// Its idle intervals.
    pub idleness: Idleness,
}

/// The page of these traces.
pub fn page(studies: &[IdleStudy]) -> Page {
    let figures = [survival, hazard, residual_mean, residual_p1, usable, lorenz, correlation, hours, day, periods];
    let mut exhibits = vec![Exhibit::Table(table(studies))];
    exhibits.extend(figures.iter().map(|figure| Exhibit::Figure(figure(studies))));
    Page {
        title: "Idle intervals".into(),
        paragraphs: vec![
            describe(studies, |idleness| match idleness.after(0.1) {
                Some(tenth) => format!(
                    "a scrub that waits 100 ms before it reads still has {} of the idle time; \"scrubjay tune\" finds the best wait",
                    percent(tenth.usable)
                ),
                None => "no interval is as long as 100 ms: \"scrubjay tune\" says whether a scrub can be had at all"
                    .to_owned(),
            }),
            "An idle interval lasts from the completion of all requests that came so far to the next arrival; only \
             intervals longer than zero count."
                .into(),
            describe(studies, |idleness| {
                let moments = idleness.moments;
                let share = if idleness.span > 0.0 { moments.sum / idleness.span } else { 0.0 };
                format!(
                    "{} idle intervals in {}, {} of that time",
                    count(moments.count),
                    duration(idleness.span),
                    percent(share)
                )
            }),
        ],
        exhibits,
    }
}

fn survival(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| match (idleness.after(0.1), idleness.after(1.0)) {
        (Some(tenth), Some(second)) if second.threshold > 0.5 => {
            let (tenth, second) = (percent(tenth.survival), percent(second.survival));
            format!("{tenth} of the intervals are longer than 100 ms, {second} longer than 1 s")
        }
        _ => format!("the longest interval is {}", duration(idleness.moments.max)),
    });
    Figure {
        name: "idle-survival".into(),
        title: "How many intervals are longer".into(),
        caption: text,
        x: Axis::log("x (s)"),
        y: Axis::log("share of the intervals longer than x"),
        series: waits(studies, |waited| Some(waited.survival)),
    }
}

fn hazard(studies: &[IdleStudy]) -> Figure {
    let points = |idleness: &Idleness| idleness.hazard.iter().map(|bin| (bin.middle(), bin.rate)).collect();
    Figure {
        name: "idle-hazard".into(),
        title: "Hazard rate".into(),
        caption: describe(studies, hazard_text),
        x: Axis::log("idle for x (s)"),
        y: Axis::log("chance to end within the next second (per s)"),
        series: curves(studies, Style::Line, points),
    }
}

/// Whether the hazard falls, from where to where, and where it does not.
fn hazard_text(idleness: &Idleness) -> String {
    let bins: Vec<_> = idleness.hazard.iter().filter(|bin| bin.from >= HAZARD_FROM * 0.999).collect();
    let (Some(slope), [first, .., last]) = (idleness.hazard_slope(HAZARD_FROM), &bins[..]) else {
        return "too few intervals are longer than 1 ms to estimate the hazard".into();
    };
    let trend = match slope {
        slope if slope < -SLOPE_MIN => "falls",
        slope if slope > SLOPE_MIN => "rises",
        _ => "is flat",
    };
    let (from, to) = (significant(first.rate), significant(last.rate));
    let (begin, end) = (duration(first.middle()), duration(last.middle()));
    let mut text = format!(
        "from 1 ms on the hazard {trend} (slope {slope:.2}): {from} per second after {begin}, {to} after {end}"
    );
    let (mut lowest, mut rise, mut place) = (f64::INFINITY, 0.0, 0.0);
    for bin in &bins {
        if bin.rate / lowest > rise {
            (rise, place) = (bin.rate / lowest, bin.middle());
        }
        lowest = lowest.min(bin.rate);
    }
    if trend == "falls" && rise > RISE_MIN {
        text += &format!("; but about {} it is {} times as high as before", duration(place), significant(rise));
    }
    text
}

fn residual_mean(studies: &[IdleStudy]) -> Figure {
    Figure {
        name: "idle-residual-mean".into(),
        title: "How much longer it lasts, in the mean".into(),
        caption: describe(studies, |idleness| {
            residual_text(idleness, "the mean rest of an interval", |w| w.residual_mean)
        }),
        x: Axis::log("idle for x (s)"),
        y: Axis::log("mean idle time left (s)"),
        series: waits(studies, |waited| waited.residual_mean),
    }
}

fn residual_p1(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        residual_text(idleness, "what 99 of 100 intervals still last", |waited| waited.residual_p1)
    });
    Figure {
        name: "idle-residual-p1".into(),
        title: "How much longer 99 of 100 last".into(),
        caption: text,
        x: Axis::log("idle for x (s)"),
        y: Axis::log("1st percentile of the idle time left (s)"),
        series: waits(studies, |waited| waited.residual_p1),
    }
}

/// Whether the remaining idle time grows from one wait to the next, and its values.
fn residual_text(idleness: &Idleness, quantity: &str, value_of: fn(&Waited) -> Option<f64>) -> String {
    let values: Vec<(f64, f64)> =
        WAITS.iter().filter_map(|&wait| Some((wait, value_of(exactly(idleness, wait)?)?))).collect();
    let [(_, first), .., (_, last)] = values[..] else {
        return format!("too few intervals to tell {quantity}");
    };
    let falls = values.windows(2).any(|pair| pair[1].1 < pair[0].1 / ALIKE);
    let rises = values.windows(2).any(|pair| pair[1].1 > pair[0].1 * ALIKE);
    let trend = match last / first {
        ratio if ratio > ALIKE && falls => "grows, though not steadily,",
        ratio if ratio < 1.0 / ALIKE && rises => "shrinks, though not steadily,",
        ratio if ratio > ALIKE => "grows",
        ratio if ratio < 1.0 / ALIKE => "shrinks",
        _ if falls => "goes up and down",
        _ => "stays about the same",
    };
    let list: Vec<String> =
        values.iter().map(|&(wait, value)| format!("{} {}", duration(value), after(wait))).collect();
    format!("{quantity} {trend} with the wait: {}", list.join(", "))
}

fn usable(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        let waits = WAITS[1..].iter().filter_map(|&wait| Some((wait, exactly(idleness, wait)?.usable)));
        let list: Vec<_> =
            waits.map(|(wait, usable)| format!("{} after {}", percent(usable), duration(wait))).collect();
        if list.is_empty() {
            return "no interval is longer than 10 ms".into();
        }
        format!("of the idle time is left {}", list.join(", "))
    });
    Figure {
        name: "idle-usable".into(),
        title: "What waiting costs".into(),
        caption: text,
        x: Axis::log("wait x (s)"),
        y: Axis::linear("share of the idle time left"),
        series: waits(studies, |waited| Some(waited.usable)),
    }
}

fn lorenz(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        format!("the longest 15 % of the intervals hold {} of the idle time", percent(idleness.held_by_longest(0.15)))
    });
    Figure {
        name: "idle-lorenz".into(),
        title: "Which intervals hold the idle time".into(),
        caption: text,
        x: Axis::linear("share of the intervals, the longest first"),
        y: Axis::linear("share of the idle time they hold"),
        series: curves(studies, Style::Line, |idleness| idleness.lorenz.clone()),
    }
}

fn correlation(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        let Some(&first) = idleness.autocorrelation.first() else {
            return "too few intervals to correlate".into();
        };
        let noise = 1.96 / idleness.moments.count.sqrt();
        let above = idleness.autocorrelation.iter().filter(|&&lag| lag > noise).count();
        let lags = idleness.autocorrelation.len();
        format!(
            "{first:.2} from one interval to the next; {above} of {lags} lags lie above {noise:.3}, which is chance"
        )
    });
    Figure {
        name: "idle-autocorrelation".into(),
        title: "Does long follow long?".into(),
        caption: text,
        x: Axis::linear("lag (intervals)"),
        y: Axis::linear("autocorrelation of log idle time"),
        series: curves(studies, Style::Line, |idleness| {
            (1..).map(f64::from).zip(idleness.autocorrelation.iter().copied()).collect()
        }),
    }
}

fn hours(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        let hours = &idleness.rhythm.hours;
        let (busiest, total) = (hours.iter().max().copied().unwrap_or(0), hours.iter().sum::<u64>().max(1));
        let share = percent(busiest as f64 / total as f64);
        format!("the busiest of {} hours has {busiest} requests, {share} of all", hours.len())
    });
    Figure {
        name: "requests-by-hour".into(),
        title: "Requests by the hour".into(),
        caption: text,
        x: Axis::linear("hours since the trace began"),
        y: Axis::linear("requests per hour"),
        series: curves(studies, Style::Line, |idleness| {
            (0..).map(f64::from).zip(idleness.rhythm.hours.iter().map(|&count| count as f64)).collect()
        }),
    }
}

fn day(studies: &[IdleStudy]) -> Figure {
    let points = |idleness: &Idleness| -> Vec<(f64, f64)> {
        let known = idleness.rhythm.hours_of_day.iter().enumerate();
        known.filter_map(|(hour, mean)| Some((hour as f64, (*mean)?))).collect()
    };
    let text = describe(studies, |idleness| {
        let busiest = points(idleness).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((hour, mean)) = busiest else {
            return "the trace has no whole hour".into();
        };
        let day = if idleness.rhythm.absolute { "of the day (UTC)" } else { "since the trace began" };
        format!("the busiest hour {day} is the one from {hour}:00, with {} requests in the mean", significant(mean))
    });
    Figure {
        name: "requests-by-hour-of-day".into(),
        title: "Requests by the hour of the day".into(),
        caption: text,
        x: Axis::linear("hour of the day"),
        y: Axis::linear("requests per hour, in the mean"),
        series: curves(studies, Style::Bars, points),
    }
}

fn periods(studies: &[IdleStudy]) -> Figure {
    let hours = |period: Nanos| period.as_secs_f64() / 3600.0;
    Figure {
        name: "requests-periods".into(),
        title: "Which period explains most".into(),
        caption: describe(studies, period_text),
        x: Axis::log("candidate period (h)"),
        y: Axis::linear("F of a one-way analysis of variance"),
        series: curves(studies, Style::Points, |idleness| {
            idleness.rhythm.candidates.iter().map(|tried| (hours(tried.period), tried.variance.f)).collect()
        }),
    }
}

/// The best period, or a statement that none stands out.
fn period_text(idleness: &Idleness) -> String {
    let rhythm = &idleness.rhythm;
    let largest = rhythm.candidates.iter().max_by(|a, b| a.variance.f.total_cmp(&b.variance.f));
    let length = |period: Nanos| duration(period.as_secs_f64());
    match (rhythm.best(), largest) {
        (Some(best), _) => format!(
            "a period of {} stands out: F = {}, {} of the variance explained",
            length(best.period),
            significant(best.variance.f),
            percent(best.variance.explained)
        ),
        (None, Some(largest)) => format!(
            "no period stands out of chance; the largest F is {}, at {}",
            significant(largest.variance.f),
            length(largest.period)
        ),
        (None, None) => "the trace is too short for any period".into(),
    }
}

fn table(studies: &[IdleStudy]) -> Table {
    let head = [
        "trace",
        "intervals",
        "idle",
        "mean",
        "CV",
        "longest",
        "> 100 ms",
        "> 1 s",
        "in longest 15 %",
        "mean rest after 100 ms",
        "left after 100 ms",
        "autocorrelation",
        "hazard slope, all",
        "hazard slope from 100 ms",
        "period",
    ];
    Table {
        name: "idle-numbers".into(),
        title: "Idle intervals in numbers".into(),
        caption: describe(studies, |idleness| {
            let variation = idleness.moments.variation();
            let conclusion = match variation {
                v if v > 1.5 => "they vary more than by chance alone (CV 1), so having waited tells something",
                v if v < 0.7 => "they vary less than chance alone would have them (CV 1)",
                _ => "they vary as by chance alone (CV 1), so having waited tells little",
            };
            format!("the intervals' CV is {}: {conclusion}", significant(variation))
        }),
        head: head.map(String::from).to_vec(),
        rows: studies.iter().map(row).collect(),
    }
}

fn row(study: &IdleStudy) -> Vec<String> {
    let (idleness, moments) = (&study.idleness, study.idleness.moments);
    let at = |wait: f64, value_of: &dyn Fn(&Waited) -> Option<String>| {
        exactly(idleness, wait).and_then(value_of).unwrap_or_else(|| "-".into())
    };
    let slope = |from| idleness.hazard_slope(from).map_or("-".into(), |slope| format!("{slope:.2}"));
    let share = if idleness.span > 0.0 { moments.sum / idleness.span } else { 0.0 };
    vec![
        study.name.clone(),
        moments.count.to_string(),
        percent(share),
        duration(moments.mean()),
        significant(moments.variation()),
        duration(moments.max),
        at(0.1, &|waited| Some(waited.longer.to_string())),
        at(1.0, &|waited| Some(waited.longer.to_string())),
        percent(idleness.held_by_longest(0.15)),
        at(0.1, &|waited| waited.residual_mean.map(duration)),
        at(0.1, &|waited| Some(percent(waited.usable))),
        idleness.autocorrelation.first().map_or("-".into(), |first| format!("{first:.2}")),
        slope(0.0),
        slope(0.1),
        idleness.rhythm.best().map_or("none".into(), |best| duration(best.period.as_secs_f64())),
    ]
}

/// The values after exactly this wait; `None` if no interval lasts that long.
fn exactly(idleness: &Idleness, wait: f64) -> Option<&Waited> {
    idleness.after(wait).filter(|waited| waited.threshold >= wait * 0.999)
}

fn after(wait: f64) -> String {
    if wait > 0.0 { format!("after {}", duration(wait)) } else { "at once".into() }
}

/// A sentence for each trace, with its name if there are several.
fn describe(studies: &[IdleStudy], text_of: impl Fn(&Idleness) -> String) -> String {
    let sentence = |study: &IdleStudy| {
        let text = text_of(&study.idleness);
        if studies.len() > 1 {
            return format!("{}: {text}.", study.name);
        }
        let mut letters = text.chars();
        letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    };
    let mut sentences: Vec<String> = studies.iter().take(SHOWN_MAX).map(sentence).collect();
    if studies.len() > SHOWN_MAX {
        sentences.push(format!("({} more are shown.)", studies.len() - SHOWN_MAX));
    }
    sentences.join(" ")
}

/// A curve for each trace.
fn curves(studies: &[IdleStudy], style: Style, points: impl Fn(&Idleness) -> Vec<(f64, f64)>) -> Vec<Series> {
    studies.iter().map(|study| Series::new(&study.name, style, points(&study.idleness))).collect()
}

/// A curve over the wait for each trace, without zero waits and zero values, which a logarithmic axis cannot show.
fn waits(studies: &[IdleStudy], value_of: fn(&Waited) -> Option<f64>) -> Vec<Series> {
    curves(studies, Style::Line, |idleness| {
        let points = idleness.waited.iter().filter_map(|waited| Some((waited.threshold, value_of(waited)?)));
        points.filter(|&(x, y)| x > 0.0 && y > 0.0).collect()
    })
}

#[cfg(test)]
mod tests;
