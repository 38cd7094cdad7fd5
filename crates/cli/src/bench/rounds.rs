//! Measuring in rounds: in each round all entrants take a turn; the median of the rounds counts.

use super::machine::available_memory;
use crate::args::BenchCode;
use crate::exit::Usage;
use anyhow::Result;
use scrubjay_code::Code;
use scrubjay_code::bench::{BenchStripe, Memory};
use scrubjay_core::units::Bytes;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Bytes of data between two readings of the clock, so that these cost little.
const STEP_BYTES: usize = 256 << 10;

/// The noise limit: the spread between the quartiles of the rounds as a share of the median.
const SPREAD_MAX: f64 = 0.1;

/// The length, number and memory of turns.
#[derive(Clone, Copy, Debug)]
pub struct BenchSetting {
    /// Memory for stripes that are not to be found in the cache.
    pub memory: Bytes,
    /// Turns of each entrant.
    pub rounds: u32,
    /// The shortest length of a turn.
    pub turn: Duration,
}

impl BenchSetting {
    /// A short run to see that it works.
    pub const QUICK: BenchSetting = BenchSetting { memory: Bytes::mib(64), rounds: 3, turn: Duration::from_millis(1) };

    /// A setting for a page of figures, in a quarter of a minute.
    pub const PAGE: BenchSetting = BenchSetting { memory: Bytes::mib(256), rounds: 5, turn: Duration::from_millis(10) };

    /// The setting of the arguments.
    pub fn of(args: &BenchCode, turn: Duration) -> BenchSetting {
        let BenchCode { memory, rounds, quick, .. } = *args;
        if quick { BenchSetting::QUICK } else { BenchSetting { memory, rounds, turn } }
    }

    /// Allocates the memory.
    ///
    /// # Errors
    /// When the machine does not have that much to spare.
    pub fn take_memory(&self) -> Result<Memory> {
        match available_memory() {
            Some(available) if self.memory.0 > available => {
                Err(Usage(format!("--memory: of {} only {} are free", self.memory, Bytes(available))).into())
            }
            _ => Ok(Memory::new(usize::try_from(self.memory.0)?)),
        }
    }
}

/// Code that is measured.
pub struct Entrant<'w> {
    /// Its shape and code path.
    pub code: Code,
    /// Bytes of the appendix after each chunk.
    pub appendix: usize,
    /// Bytes of a stripe that count for the rate.
    pub stripe_bytes: usize,
    /// The work on each stripe.
    pub work: Box<dyn FnMut(&mut BenchStripe) + 'w>,
}

/// A rate over all rounds, in bytes a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rate {
    /// The median of the rounds.
    #[serde(rename = "bytes_per_second")]
    pub median: f64,
    /// A quarter of the rounds were slower.
    #[serde(rename = "bytes_per_second_low")]
    low: f64,
    /// A quarter of the rounds were faster.
    #[serde(rename = "bytes_per_second_high")]
    high: f64,
}

impl Rate {
    fn of(mut rounds: Vec<f64>) -> Rate {
        rounds.sort_by(f64::total_cmp);
        let quarter = rounds.len() / 4;
        Rate { median: rounds[rounds.len() / 2], low: rounds[quarter], high: rounds[rounds.len() - 1 - quarter] }
    }

    /// Do the rounds differ so much that the figure is not reliable?
    pub fn is_noisy(&self) -> bool {
        self.high - self.low > SPREAD_MAX * self.median
    }
}

/// Measures all entrants on stripes with chunks of `chunk` bytes, for each number of touched bytes in `sets`; returns
/// the rates of each entrant, set by set.
///
/// # Errors
/// When there is no room for a single stripe.
pub fn measure(
    memory: &mut Memory,
    setting: &BenchSetting,
    chunk: usize,
    sets: &[usize],
    entrants: &mut [Entrant],
) -> Result<Vec<Vec<Rate>>> {
    let mut rounds = vec![vec![Vec::new(); sets.len()]; entrants.len()];
    for _ in 0..setting.rounds {
        for (index, &touched) in sets.iter().enumerate() {
            for (entrant, rounds) in entrants.iter_mut().zip(&mut rounds) {
                rounds[index].push(turn(memory, setting.turn, chunk, touched, entrant)?);
            }
        }
    }
    Ok(rounds.into_iter().map(|sets| sets.into_iter().map(Rate::of).collect()).collect())
}

/// Runs one turn; returns the rate in bytes a second.
fn turn(memory: &mut Memory, least: Duration, chunk: usize, touched: usize, entrant: &mut Entrant) -> Result<f64> {
    let Entrant { code, appendix, stripe_bytes, work } = entrant;
    let room = memory.stripes(code.clone(), chunk, *appendix, touched);
    let mut stripes = room.map_err(|least| Usage(format!("--memory: a stripe takes {}", Bytes(least as u64))))?;
    let step = STEP_BYTES.div_ceil(*stripe_bytes);
    // Warms up the cache.
    stripes.run(step.min(stripes.count()), &mut *work);
    let mut done = 0;
    let begun = Instant::now();
    loop {
        stripes.run(step, &mut *work);
        done += step * *stripe_bytes;
        let elapsed = begun.elapsed();
        if elapsed >= least {
            return Ok(done as f64 / elapsed.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_counts_and_a_stray_round_does_not() {
        let rate = Rate::of(vec![10.0, 9.9, 10.1, 3.0, 10.2, 10.0, 9.8]);
        assert_eq!((rate.median, rate.low, rate.high, rate.is_noisy()), (10.0, 9.8, 10.1, false));
        assert!(Rate::of(vec![10.0, 9.0, 11.0, 3.0, 12.0, 8.0, 9.8]).is_noisy());
        assert_eq!(Rate::of(vec![7.0]).median, 7.0);
    }

    #[test]
    fn every_entrant_has_its_turns() {
        let setting = BenchSetting { memory: Bytes::mib(1), rounds: 2, turn: Duration::ZERO };
        let (mut first, mut second) = (0, 0);
        let code = Code::new(2, 1).unwrap();
        let mut entrants = [
            Entrant { code: code.clone(), appendix: 0, stripe_bytes: 8192, work: Box::new(|_| first += 1) },
            Entrant { code, appendix: 512, stripe_bytes: 8192, work: Box::new(|_| second += 1) },
        ];
        let mut memory = setting.take_memory().unwrap();
        let rates = measure(&mut memory, &setting, 4096, &[64 << 10, 1 << 20], &mut entrants).unwrap();
        assert!(rates.len() == 2 && rates.iter().flatten().all(|rate| rate.median > 0.0));
        assert!(measure(&mut memory, &setting, 1 << 20, &[0], &mut entrants).is_err(), "no room");
        drop(entrants);
        // 32 stripes of 8 KiB are 256 KiB; the warm-up before is one step: of 64 KiB 5 and 4 stripes, of 1 MiB 32 and
        // 32 stripes.
        assert_eq!((first, second), (2 * (32 + 5 + 32 + 32), 2 * (32 + 4 + 32 + 32)));
    }
}
