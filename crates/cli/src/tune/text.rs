//! The result for people: the pair, the cost and rate that it promises, and the influence of the size.

use super::snippet::show_wait;
use crate::costs::{self, percent, rate};
use crate::say::shown;
use scrubjay_core::units::Bytes;
use scrubjay_jobs::quantity::{show_time, write_time};
use scrubjay_jobs::tune::{TuneTask, TuneTimes, Tuned, TunedPair};
use scrubjay_jobs::workload::DeviceLoad;
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
    writeln!(out, "{}: {}", shown(&load.name), costs::foreground(outcome))?;
    writeln!(out, "  wait {}, then requests of {}", show_wait(best.wait), best.size)?;
    writeln!(
        out,
        "  reads      {}, {} of what the disk could alone",
        rate(scrub_rate),
        percent(scrub_rate / tuned.idle_disk_rate)
    )?;
    let (mean, max) = (costs::slowdown_mean(outcome), outcome.slowdown_max);
    let (goal_mean, goal_max) = (write_time(task.goal.mean), write_time(task.goal.max));
    let (mean, max) = (show_time(mean), show_time(max));
    writeln!(out, "  slowdown   {mean} on average (goal {goal_mean}), {max} at most (goal {goal_max})")?;
    let collisions = percent(outcome.collision_rate());
    writeln!(
        out,
        "  collisions in {collisions} of the idle intervals; {} of the idle time used",
        percent(outcome.used_ratio())
    )?;
    if answer.is_lucky {
        let TunedPair { spread, steady, .. } = answer;
        let [least, most] = [spread.least, spread.most].map(show_time);
        writeln!(
            out,
            "  luck       waits up to half a request shorter or longer lose {least} to {most}: this one suits this trace"
        )?;
        match steady {
            Some(Pair { wait, size, outcome }) => {
                let (wait, reads) = (show_wait(*wait), rate(outcome.bytes_per_second()));
                writeln!(
                    out,
                    "             to use: wait {wait}, then requests of {size}, keeps the goal with all of these and reads {reads}"
                )?;
            }
            None => writeln!(out, "             no pair keeps the goal with every wait near it")?,
        }
    }
    let idle = &tuned.idle_class;
    let idle_rate = idle.bytes_per_second();
    let comparison = if idle_rate > 0.0 {
        format!("ours reads {:.1} x that", scrub_rate / idle_rate)
    } else {
        "ours reads more".to_owned()
    };
    let slowdown = show_time(costs::slowdown_mean(idle));
    writeln!(out, "  idle class (10 ms, 64 KiB): {} at a slowdown of {slowdown}; {comparison}\n", rate(idle_rate))?;

    writeln!(out, "      request       wait          reads   mean slowdown   collisions")?;
    for pair in pairs_around(&tuned.candidates, best.size) {
        let mark = if pair.size == best.size { '>' } else { ' ' };
        let mean = costs::slowdown_mean(&pair.outcome);
        writeln!(
            out,
            "    {mark} {:>8} {:>10} {:>14} {:>15} {:>12}",
            show_kib(pair.size),
            show_wait(pair.wait),
            rate(pair.outcome.bytes_per_second()),
            show_time(mean),
            percent(pair.outcome.collision_rate())
        )?;
    }
    writeln!(out)
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
