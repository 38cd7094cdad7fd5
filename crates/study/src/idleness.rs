//! The study of idle intervals of any traces, as a page with captions that state what the figures show.
//!
//! The figures are 8 to 13 of Amvrosiadis, Oprea & Schroeder (DSN'12, section V-A).

use super::say::{by_trace, count, duration, percent, significant};
use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style, Table};
use scrubjay_core::units::Nanos;
use scrubjay_trace::idleness::{Idleness, Waited};

/// Waits in seconds, as users choose them, whose values the captions and the table give.
const WAITS: [f64; 5] = [0.0, 0.010, 0.1, 1.0, 10.0];
/// With fewer intervals nothing is concluded from their lengths: one more or less decides, as in the study of scrubs.
const INTERVALS_MIN: f64 = 100.0;
/// The hazard is judged from this age on, in seconds: shorter intervals are the host's own pace, and no wait is
/// shorter.
const HAZARD_FROM: f64 = 0.001;
/// Slopes of the hazard flatter than this (in log-log) are called flat.
const SLOPE_MIN: f64 = 0.1;
/// A rise of the hazard above its lowest value so far is mentioned if it is by more than this factor.
const RISE_MIN: f64 = 2.0;
/// Means within a tenth of each other (factor) are called alike.
const ALIKE: f64 = 1.1;

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
    let drawn = figures.iter().map(|figure| figure(studies));
    // A figure of intervals without a point shows nothing. (Those of requests are few, and always there.)
    let has_points = |figure: &Figure| figure.series.iter().any(|series| !series.points.is_empty());
    exhibits
        .extend(drawn.filter(|figure| has_points(figure) || figure.name.starts_with("requests-")).map(Exhibit::Figure));
    Page {
        title: "Idle intervals".into(),
        paragraphs: vec![
            describe(studies, |idleness| match idleness.after(0.1) {
                _ if idleness.moments.count < INTERVALS_MIN => too_few(idleness, "say how a scrub gets on"),
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
        _ if idleness.moments.count < INTERVALS_MIN => too_few(idleness, "say how many are long"),
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
        x: Axis::log("length (s)"),
        y: Axis::log("share of the intervals that are longer"),
        series: waits(studies, |waited| Some(waited.survival)),
    }
}

fn hazard(studies: &[IdleStudy]) -> Figure {
    let points = |idleness: &Idleness| idleness.hazard.iter().map(|bin| (bin.middle(), bin.rate)).collect();
    Figure {
        name: "idle-hazard".into(),
        title: "Hazard rate".into(),
        caption: describe(studies, hazard_text),
        x: Axis::log("idle so far (s)"),
        y: Axis::log("chance to end within the next second (per s)"),
        series: curves(studies, Style::Line, points),
    }
}

/// Whether the hazard falls, from where to where, and where it does not.
fn hazard_text(idleness: &Idleness) -> String {
    if idleness.moments.count < INTERVALS_MIN {
        return too_few(idleness, "estimate the hazard");
    }
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
        x: Axis::log("idle so far (s)"),
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
        x: Axis::log("idle so far (s)"),
        y: Axis::log("1st percentile of the idle time left (s)"),
        series: waits(studies, |waited| waited.residual_p1),
    }
}

/// Whether the remaining idle time grows from one wait to the next, and its values.
fn residual_text(idleness: &Idleness, quantity: &str, value_of: fn(&Waited) -> Option<f64>) -> String {
    if idleness.moments.count < INTERVALS_MIN {
        return too_few(idleness, &format!("tell {quantity}"));
    }
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
        if idleness.moments.count < INTERVALS_MIN {
            return too_few(idleness, "say what waiting costs");
        }
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
        x: Axis::log("wait (s)"),
        y: Axis::linear("share of the idle time left"),
        series: waits(studies, |waited| Some(waited.usable)),
    }
}

fn lorenz(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        if idleness.moments.count < INTERVALS_MIN {
            return too_few(idleness, "say which of them hold the idle time");
        }
        format!("the longest 15 % of the intervals hold {} of the idle time", percent(idleness.held_by_longest(0.15)))
    });
    Figure {
        name: "idle-lorenz".into(),
        title: "Which intervals hold the idle time".into(),
        caption: text,
        x: Axis::linear("share of the intervals, the longest first"),
        y: Axis::linear("share of the idle time they hold"),
        series: curves(studies, Style::Line, |idleness| {
            if idleness.moments.count > 0.0 { idleness.lorenz.clone() } else { Vec::new() }
        }),
    }
}

fn correlation(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        let Some(&first) = idleness.autocorrelation.first().filter(|_| idleness.moments.count >= INTERVALS_MIN) else {
            return too_few(idleness, "correlate them");
        };
        let chance = chance(idleness);
        let above = idleness.autocorrelation.iter().filter(|&&lag| lag > chance).count();
        let lags = match (above, idleness.autocorrelation.len()) {
            (0, lags) => format!("none of {lags} lags lies"),
            (above, lags) if above == lags => format!("all {lags} lags lie"),
            (above, lags) => format!("{above} of {lags} lags lie"),
        };
        format!("{first:.2} from one interval to the next; {lags} above the band of chance, which ends at {chance:.3}")
    });
    // Of few intervals the band would be so wide that it hid what others show.
    let mut series = curves(studies, Style::Line, |idleness| {
        let lags = idleness.autocorrelation.iter().filter(|_| idleness.moments.count >= INTERVALS_MIN);
        (1..).map(f64::from).zip(lags.copied()).collect()
    });
    series.extend(chance_band(studies));
    Figure {
        name: "idle-autocorrelation".into(),
        title: "Does long follow long?".into(),
        caption: text,
        x: Axis::linear("lag (intervals)"),
        y: Axis::linear("autocorrelation of log idle time"),
        series,
    }
}

/// How far from zero 95 % of all lags lie if the intervals' lengths are independent.
fn chance(idleness: &Idleness) -> f64 {
    1.96 / idleness.moments.count.sqrt()
}

/// The band of chance: that of the trace with the fewest intervals, which is the widest.
fn chance_band(studies: &[IdleStudy]) -> Option<Series> {
    let is_known = |idleness: &Idleness| idleness.autocorrelation.len() > 1 && idleness.moments.count >= INTERVALS_MIN;
    let known = studies.iter().filter(|study| is_known(&study.idleness));
    let lags = known.clone().map(|study| study.idleness.autocorrelation.len()).max()? as f64;
    let fewest = known.min_by(|one, two| one.idleness.moments.count.total_cmp(&two.idleness.moments.count))?;
    let name = if studies.len() > 1 { format!("chance (95 %), {}", fewest.name) } else { "chance (95 %)".to_owned() };
    let end = chance(&fewest.idleness);
    Some(Series::new(name, Style::Band, [(1.0, end), (lags, end), (lags, -end), (1.0, -end)]))
}

fn hours(studies: &[IdleStudy]) -> Figure {
    let text = describe(studies, |idleness| {
        let hours = &idleness.rhythm.hours;
        let (busiest, total) = (hours.iter().max().copied().unwrap_or(0), hours.iter().sum::<u64>().max(1));
        let share = percent(busiest as f64 / total as f64);
        format!("the busiest of {} hours has {} requests, {share} of all", hours.len(), count(busiest as f64))
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
            if idleness.moments.count < INTERVALS_MIN {
                return too_few(idleness, "say how they vary");
            }
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
    let of_many = |text: String| if moments.count < INTERVALS_MIN { "-".to_owned() } else { text };
    vec![
        study.name.clone(),
        count(moments.count),
        percent(share),
        if moments.count > 0.0 { duration(moments.mean()) } else { "-".into() },
        of_many(significant(moments.variation())),
        if moments.count > 0.0 { duration(moments.max) } else { "-".into() },
        at(0.1, &|waited| Some(count(waited.longer as f64))),
        at(1.0, &|waited| Some(count(waited.longer as f64))),
        of_many(percent(idleness.held_by_longest(0.15))),
        of_many(at(0.1, &|waited| waited.residual_mean.map(duration))),
        of_many(at(0.1, &|waited| Some(percent(waited.usable)))),
        of_many(idleness.autocorrelation.first().map_or("-".into(), |first| format!("{first:.2}"))),
        of_many(slope(0.0)),
        of_many(slope(0.1)),
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

/// The statement that the intervals are too few for a conclusion.
fn too_few(idleness: &Idleness, conclusion: &str) -> String {
    if idleness.moments.count > 0.0 {
        format!("{} idle intervals are too few to {conclusion}", count(idleness.moments.count))
    } else {
        format!("there are no idle intervals to {conclusion}")
    }
}

/// A sentence for each trace.
fn describe(studies: &[IdleStudy], text_of: impl Fn(&Idleness) -> String) -> String {
    by_trace(studies.iter().map(|study| (study.name.as_str(), text_of(&study.idleness))))
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
