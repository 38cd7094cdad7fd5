//! The result for people: the pair, the cost and rate that it promises, and the influence of the size.

use super::snippet::show_wait;
use crate::costs::{self, percent, rate};
use scrubjay_cli::columns::{self, TextTable};
use scrubjay_cli::say::print_line;
use scrubjay_core::quantity::{show_time, write_time};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_research::tune::{TuneTask, TuneTimes, Tuned, TunedPair};
use scrubjay_research::workload::DeviceLoad;
use scrubjay_sim::tune::Pair;
use std::io::{self, Write};

/// Prints one paragraph.
pub fn print(
    out: &mut impl Write,
    load: &DeviceLoad,
    task: &TuneTask,
    tuned: &Tuned,
    answer: &TunedPair,
) -> io::Result<()> {
    let best = &answer.pair;
    let outcome = &best.outcome;
    let scrub_rate = outcome.bytes_per_second();
    print_line(out, format_args!("{}: {}", load.name, costs::foreground(load, outcome)))?;
    print_line(out, format_args!("  wait {}, then requests of {}", show_wait(best.wait), best.size))?;
    let share = percent(scrub_rate / tuned.idle_disk_rate);
    print_line(out, format_args!("  reads      {}, {share} of what the disk could alone", rate(scrub_rate)))?;
    let (mean, max) = (costs::slowdown_mean(outcome), outcome.slowdown_max);
    let (goal_mean, goal_max) = (show_goal(task.goal.mean), show_goal(task.goal.max));
    let (mean, max) = (show_time(mean), show_time(max));
    print_line(
        out,
        format_args!("  slowdown   {mean} on average (goal {goal_mean}), {max} at most (goal {goal_max})"),
    )?;
    let collisions = percent(outcome.collision_rate());
    let used = percent(outcome.used_ratio());
    print_line(out, format_args!("  collisions in {collisions} of the idle intervals; {used} of the idle time used"))?;
    if answer.is_lucky {
        let TunedPair { spread, steady, .. } = answer;
        let [least, most] = [spread.least, spread.most].map(show_time);
        print_line(
            out,
            format_args!(
                "  luck       with waits up to half a request shorter or longer requests lose {least} to {most}: this \
                 wait suits this trace only"
            ),
        )?;
        match steady {
            Some(Pair { wait, size, outcome }) => {
                let (wait, reads) = (show_wait(*wait), rate(outcome.bytes_per_second()));
                print_line(
                    out,
                    format_args!(
                        "             to use: wait {wait}, then requests of {size}, keeps the goal with all of these \
                         and reads {reads}"
                    ),
                )?;
            }
            None => print_line(out, format_args!("             no pair keeps the goal with every wait near it"))?,
        }
    }
    let idle = &tuned.idle_class;
    let idle_rate = idle.bytes_per_second();
    let comparison = if idle_rate > 0.0 {
        format!("the wait above reads {} times as much", times(scrub_rate / idle_rate))
    } else {
        "the wait above reads more".to_owned()
    };
    let slowdown = show_time(costs::slowdown_mean(idle));
    let idle_class =
        format!("  idle class (10 ms, 64 KiB): {} at a slowdown of {slowdown}; {comparison}", rate(idle_rate));
    print_line(out, format_args!("{idle_class}"))?;
    writeln!(out)?;
    print_sizes(out, &pairs_around(&tuned.candidates, best.size), best.size, columns::width())?;
    writeln!(out)
}

/// Prints the pairs, with a mark at the best size.
fn print_sizes(out: &mut impl Write, pairs: &[Pair], best: Bytes, width: Option<usize>) -> io::Result<()> {
    let row = |pair: &Pair| {
        let mark = if pair.size == best { "> " } else { "" };
        vec![
            format!("{mark}{}", show_kib(pair.size)),
            show_wait(pair.wait),
            rate(pair.outcome.bytes_per_second()),
            show_time(costs::slowdown_mean(&pair.outcome)),
            percent(pair.outcome.collision_rate()),
        ]
    };
    let rows: Vec<Vec<String>> = pairs.iter().map(row).collect();
    let headings = ["request", "wait", "reads", "mean slowdown", "collisions"];
    TextTable { headings: &headings, least_important: &["collisions", "reads"], figures: 0..5, indent: 4 }
        .print(&rows, width, out)
}

/// A goal as typed, with a blank before its unit, as the times beside it have.
fn show_goal(goal: Nanos) -> String {
    let text = write_time(goal);
    let at = text.find(|char: char| char.is_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..at], &text[at..])
}

/// A ratio: two digits, so that it is not zero.
fn times(ratio: f64) -> String {
    if ratio >= 0.95 { format!("{ratio:.1}") } else { format!("{ratio:.2}") }
}

/// Prints how long it took.
pub fn print_timing(out: &mut impl Write, took: TuneTimes) -> io::Result<()> {
    writeln!(out, "read in {:.2} s, tuned in {:.2} s", took.read.as_secs_f64(), took.tune.as_secs_f64())
}

/// The best size, and sizes from a quarter to four times as large, so that their costs can be compared.
fn pairs_around(candidates: &[Pair], best: Bytes) -> Vec<Pair> {
    let wanted = [best.0 / 4, best.0 / 2, best.0, best.0 * 2, best.0 * 4];
    let nearest = |size: u64| candidates.iter().min_by_key(|pair| pair.size.0.abs_diff(size)).copied();
    let mut shown: Vec<Pair> = wanted.into_iter().filter_map(nearest).collect();
    shown.dedup();
    shown
}

/// A size in KiB, so that sizes can be compared.
fn show_kib(size: Bytes) -> String {
    format!("{} KiB", size.0 >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_exact_and_ratios_are_not_zero() {
        let goals = [1_000_000, 50_400_000, 200_000].map(|nanos| show_goal(Nanos(nanos)));
        assert_eq!(goals, ["1 ms", "50.4 ms", "200 us"]);
        assert_eq!([12.34, 0.04].map(times), ["12.3", "0.04"]);
    }
}
