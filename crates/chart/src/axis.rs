//! Axes: the range shown, the place of a value on it, and its ticks.

use crate::figure::AxisScale;

/// A range of values along one axis. The ends are positions: the value itself, its log10 or its log2, by the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisSpan {
    scale: AxisScale,
    from: f64,
    to: f64,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value at which it stands.
    pub value: f64,
    /// The number beside it; `None` for a short mark between two numbered ones.
    pub label: Option<Number>,
}

/// A number as it is typeset: `text`, or `text` and a raised power of ten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The part on the line.
    pub text: String,
    /// The power of ten: raised and smaller.
    pub exponent: Option<i32>,
}

/// Slack, in steps or positions, so that rounding errors of sums of steps do not lose the tick at the end of an axis.
const SLACK: f64 = 1e-9;

impl AxisSpan {
    /// The range of those values that can be shown; a harmless default if there are none.
    pub fn of(scale: AxisScale, values: impl IntoIterator<Item = f64>) -> AxisSpan {
        let positions = values.into_iter().filter_map(|value| position(scale, value));
        let (from, to) =
            positions.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), at| (from.min(at), to.max(at)));
        let (from, to) = match (from > to, scale) {
            (true, AxisScale::Linear | AxisScale::Whole | AxisScale::Octaves) => (0.0, 1.0),
            (true, AxisScale::Log) => (-1.0, 0.0),
            (false, _) => (from, to),
        };
        let span = AxisSpan { scale, from, to };
        if to - from <= from.abs().max(to.abs()) * SLACK { span.widened() } else { span }
    }

    /// Widens a range that is a single position.
    fn widened(self) -> AxisSpan {
        let half = match self.scale {
            AxisScale::Linear if self.from != 0.0 => self.from.abs() / 2.0,
            AxisScale::Linear | AxisScale::Whole | AxisScale::Octaves => 1.0,
            AxisScale::Log => 2f64.log10(),
        };
        AxisSpan { from: self.from - half, to: self.to + half, ..self }
    }

    /// The range extended to include zero, on a linear axis; otherwise unchanged.
    pub fn zeroed(self) -> AxisSpan {
        match self.scale {
            AxisScale::Linear | AxisScale::Whole => AxisSpan { from: self.from.min(0.0), to: self.to.max(0.0), ..self },
            AxisScale::Log | AxisScale::Octaves => self,
        }
    }

    /// The range extended to include zero, if that takes up at most half of the new range: an axis that starts just
    /// above zero misleads about proportions.
    pub fn zeroed_within_half(self) -> AxisSpan {
        let near = self.from > 0.0 && self.from <= self.to / 2.0 || self.to < 0.0 && self.to >= self.from / 2.0;
        if near { self.zeroed() } else { self }
    }

    /// The range extended to zero, if that takes up at most a tenth of the new range: along x, readers do not compare
    /// lengths.
    pub fn zeroed_within_tenth(self) -> AxisSpan {
        if self.from > 0.0 && self.from <= self.to / 10.0 { self.zeroed() } else { self }
    }

    /// The range, longer at both ends by `by` positions.
    pub fn padded(self, by: f64) -> AxisSpan {
        AxisSpan { from: self.from - by, to: self.to + by, ..self }
    }

    /// The length in positions.
    pub fn length(self) -> f64 {
        self.to - self.from
    }

    /// The range extended to the next tick at both ends, for an axis with room for `ticks` numbers.
    pub fn snapped(self, ticks: usize) -> AxisSpan {
        match self.scale {
            AxisScale::Linear | AxisScale::Whole => {
                let step = self.even_step(ticks);
                let from = (self.from / step + SLACK).floor() * step;
                AxisSpan { from, to: (self.to / step - SLACK).ceil() * step, ..self }
            }
            AxisScale::Log => {
                AxisSpan { from: -half_decade_above(-self.from, true), to: half_decade_above(self.to, false), ..self }
            }
            AxisScale::Octaves => AxisSpan { from: (self.from + SLACK).floor(), to: (self.to - SLACK).ceil(), ..self },
        }
    }

    /// The place of a value along the axis, as a share: 0 at `from`, 1 at `to`; `None` if the axis cannot show it.
    pub fn share(self, value: f64) -> Option<f64> {
        position(self.scale, value).map(|at| (at - self.from) / self.length())
    }

    /// The ticks, in order, of an axis with room for `count_max` numbers.
    pub fn ticks(self, count_max: usize) -> Vec<Tick> {
        match self.scale {
            AxisScale::Linear | AxisScale::Whole => self.ticks_every(self.even_step(count_max)),
            AxisScale::Log => self.ticks_log(count_max),
            AxisScale::Octaves => self.ticks_octaves(count_max),
        }
    }

    /// The distance between the numbers of a linear axis.
    fn even_step(self, count_max: usize) -> f64 {
        let step = step(self.length(), count_max);
        if self.scale == AxisScale::Whole { step.max(1.0) } else { step }
    }

    /// Numbers at the powers of two, or at every n-th one if there is no room for all. They are short, so twice as many
    /// fit.
    fn ticks_octaves(self, count_max: usize) -> Vec<Tick> {
        let (first, last) = ((self.from - SLACK).ceil() as i32, (self.to + SLACK).floor() as i32);
        let every = (f64::from(last - first + 1) / (2 * count_max.max(1)) as f64).ceil().max(1.0) as i32;
        let number = |value: f64| Number { text: grouped(&value.to_string()), exponent: None };
        (first..=last)
            .map(|power| {
                let value = f64::from(power).exp2();
                Tick { value, label: (power % every == 0).then(|| number(value)) }
            })
            .collect()
    }

    /// The ticks at the multiples of `step` on a linear axis.
    pub fn ticks_every(self, step: f64) -> Vec<Tick> {
        let (first, last) = ((self.from / step - SLACK).ceil() as i64, (self.to / step + SLACK).floor() as i64);
        let value_max = self.from.abs().max(self.to.abs());
        let tick = |n: i64| Tick { value: n as f64 * step, label: Some(plain(n as f64 * step, step, value_max)) };
        (first..=last).map(tick).collect()
    }

    /// Numbers at the decades, or at 1, 2 and 5 of each; on an axis of less than 0.7 decades, at linear steps.
    fn ticks_log(self, count_max: usize) -> Vec<Tick> {
        let decades = self.length();
        if decades < 0.7 {
            let (from, to) = (10f64.powf(self.from), 10f64.powf(self.to));
            return AxisSpan { scale: AxisScale::Linear, from, to }.ticks(count_max);
        }
        let every = (decades / count_max as f64).ceil().max(1.0) as i32;
        // Numbers of axes within 0.0001 to 100,000 are read faster in full.
        let full = self.from >= -4.0 - SLACK && self.to <= 5.0;
        let between = decades * 3.0 <= count_max as f64 && (full || decades < 2.0);
        let numbered: &[i32] = if between { &[1, 2, 5] } else { &[1] };
        let mut ticks = Vec::new();
        for exponent in self.from.floor() as i32..=self.to.floor() as i32 {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10f64.powi(exponent);
                let at = value.log10();
                let inside = at >= self.from - SLACK && at <= self.to + SLACK;
                let shown = numbered.contains(&digit) && exponent % every == 0;
                // Short marks help only where no decades are skipped.
                if inside && (shown || every == 1) {
                    ticks.push(Tick { value, label: shown.then(|| power(digit, exponent, full)) });
                }
            }
        }
        ticks
    }
}

/// The position of a value: itself, its log10 or its log2; `None` if the scale cannot show it.
pub fn position(scale: AxisScale, value: f64) -> Option<f64> {
    match scale {
        // The length of an axis must be finite too.
        AxisScale::Linear | AxisScale::Whole => (value.abs() < f64::MAX / 4.0).then_some(value),
        AxisScale::Log => (value.is_finite() && value > 0.0).then(|| value.log10()),
        AxisScale::Octaves => (value.is_finite() && value > 0.0).then(|| value.log2()),
    }
}

/// The least of 1, 2 and 5 times a power of ten that divides the length into at most `count_max` steps.
fn step(length: f64, count_max: usize) -> f64 {
    let raw = length / count_max.max(1) as f64;
    let decade = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= raw * (1.0 - SLACK));
    factor.unwrap_or(10.0) * decade
}

/// The next position at or above `at` that is a power of ten, or 2 or 5 times one; if `mirrored`, the mirror image of
/// that.
fn half_decade_above(at: f64, mirrored: bool) -> f64 {
    let (two, five) = (2f64.log10(), 5f64.log10());
    let marks = if mirrored { [0.0, 1.0 - five, 1.0 - two, 1.0] } else { [0.0, two, five, 1.0] };
    let floor = (at + SLACK).floor();
    let mark = marks.into_iter().find(|mark| floor + mark >= at - SLACK);
    floor + mark.unwrap_or(1.0)
}

/// A number of a linear axis, with as many digits as its step needs.
fn plain(value: f64, step: f64, value_max: f64) -> Number {
    let decimals = |step: f64| (-(step * (1.0 + SLACK)).log10().floor()).max(0.0) as usize;
    if value_max < 1e7 && step >= 1e-4 {
        return Number { text: grouped(&format!("{value:.*}", decimals(step))), exponent: None };
    }
    if value == 0.0 {
        return Number { text: "0".to_owned(), exponent: None };
    }
    let exponent = value_max.log10().floor();
    let unit = 10f64.powf(exponent);
    let text = format!("{:.*}×10", decimals(step / unit), value / unit);
    Number { text: text.replace('-', "−"), exponent: Some(exponent as i32) }
}

/// A number of a logarithmic axis.
fn power(digit: i32, exponent: i32, full: bool) -> Number {
    if full {
        let decimals = usize::try_from(-exponent).unwrap_or(0);
        return Number {
            text: grouped(&format!("{:.decimals$}", f64::from(digit) * 10f64.powi(exponent))),
            exponent: None,
        };
    }
    let text = if digit == 1 { "10".to_owned() } else { format!("{digit}×10") };
    Number { text, exponent: Some(exponent) }
}

/// The number with a true minus sign, and with thin spaces between thousands if it has five digits or more.
fn grouped(number: &str) -> String {
    let number = number.replace('-', "−");
    let end = number.find('.').unwrap_or(number.len());
    let digits = number[..end].chars().filter(char::is_ascii_digit).count();
    if digits < 5 {
        return number;
    }
    let start = end - digits;
    let mut text = number[..start].to_owned();
    for (n, digit) in number[start..end].chars().enumerate() {
        if n > 0 && (digits - n).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text + &number[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<String> {
        let set = |number: &Number| match number.exponent {
            Some(exponent) => format!("{}^{exponent}", number.text),
            None => number.text.clone(),
        };
        ticks.iter().filter_map(|tick| tick.label.as_ref().map(set)).collect()
    }

    #[test]
    fn even_axes_step_by_1_2_or_5() {
        let span = AxisSpan::of(AxisScale::Linear, [0.0, 0.93]).snapped(5);
        assert_eq!(labels(&span.ticks(5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let span = AxisSpan::of(AxisScale::Linear, [-12_000.0, 31_000.0]).snapped(5);
        assert_eq!(labels(&span.ticks(5)), ["−20\u{2009}000", "0", "20\u{2009}000", "40\u{2009}000"]);
        let span = AxisSpan::of(AxisScale::Linear, [0.0, 4e9]).snapped(4);
        assert_eq!(labels(&span.ticks(4)), ["0", "1×10^9", "2×10^9", "3×10^9", "4×10^9"]);
    }

    #[test]
    fn axes_of_whole_numbers_have_no_others() {
        let span = AxisSpan::of(AxisScale::Whole, [0.0, 3.0]).snapped(10);
        assert_eq!(labels(&span.ticks(10)), ["0", "1", "2", "3"]);
        assert_eq!(
            labels(&AxisSpan::of(AxisScale::Whole, [0.0, 63.0]).snapped(5).ticks(5)),
            ["0", "20", "40", "60", "80"]
        );
    }

    #[test]
    fn logarithmic_axes_number_decades() {
        let span = AxisSpan::of(AxisScale::Log, [1e-3, 1.0]).snapped(6);
        assert_eq!(labels(&span.ticks(6)), ["0.001", "0.01", "0.1", "1"]);
        let span = AxisSpan::of(AxisScale::Log, [3e-7, 40.0]).snapped(5);
        assert_eq!(labels(&span.ticks(5)), ["10^-6", "10^-4", "10^-2", "10^0"]);
        let span = AxisSpan::of(AxisScale::Log, [1.1, 47.0]).snapped(8);
        assert_eq!(labels(&span.ticks(8)), ["1", "2", "5", "10", "20", "50"]);
        let span = AxisSpan::of(AxisScale::Log, [20.5, 29.0]);
        assert_eq!(labels(&span.ticks(5)), ["22", "24", "26", "28"]);
    }

    #[test]
    fn axes_of_powers_of_two_number_each_of_them_or_every_other_one() {
        let span = AxisSpan::of(AxisScale::Octaves, [1.0, 64.0]);
        assert_eq!(labels(&span.ticks(5)), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(labels(&span.padded(0.5).ticks(5)), ["1", "2", "4", "8", "16", "32", "64"], "room for bars");
        assert_eq!(labels(&span.ticks(3)), ["1", "4", "16", "64"]);
        let span = AxisSpan::of(AxisScale::Octaves, [3.0, 20.0]).snapped(5);
        assert_eq!(labels(&span.ticks(5)), ["2", "4", "8", "16", "32"]);
        assert_eq!((span.share(2.0), span.share(8.0), span.share(0.0)), (Some(0.0), Some(0.5), None));
        assert_eq!(AxisSpan::of(AxisScale::Octaves, [8.0]).share(8.0), Some(0.5));
        assert_eq!(labels(&AxisSpan::of(AxisScale::Octaves, [f64::NAN]).ticks(5)), ["1", "2"]);
    }

    #[test]
    fn values_that_an_axis_cannot_show_do_not_stretch_it() {
        let values = [0.0, -5.0, f64::NAN, f64::INFINITY, 1.0, 100.0];
        assert_eq!(AxisSpan::of(AxisScale::Log, values), AxisSpan { scale: AxisScale::Log, from: 0.0, to: 2.0 });
        assert_eq!(AxisSpan::of(AxisScale::Log, values).share(0.0), None);
        assert_eq!(AxisSpan::of(AxisScale::Log, values).share(10.0), Some(0.5));
        assert_eq!(
            AxisSpan::of(AxisScale::Linear, [f64::NAN]),
            AxisSpan { scale: AxisScale::Linear, from: 0.0, to: 1.0 }
        );
    }

    #[test]
    fn a_single_value_gets_an_axis_around_it() {
        assert_eq!(AxisSpan::of(AxisScale::Linear, [8.0]).share(8.0), Some(0.5));
        assert_eq!(AxisSpan::of(AxisScale::Linear, [0.0]).share(0.0), Some(0.5));
        assert_eq!(AxisSpan::of(AxisScale::Log, [8.0]).share(8.0), Some(0.5));
    }
}
