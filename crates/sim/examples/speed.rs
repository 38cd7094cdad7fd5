//! Measures the speed of simulating traces: `speed [--millions N]` makes N million requests (100) in memory, on one core.
//!
//! It prints one line for each round, of names and numbers: million requests a second for making busy periods of the
//! requests and playing one scrub on them, and for playing another one on the same periods; the seconds that a learning
//! policy takes; and the bytes held for each request.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Budget, Goal};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact;
use scrubjay_trace::Periods;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

/// Rounds; odd, so that the median is one of them.
const ROUNDS: usize = 5;
/// Millions of requests, by default: as many as the largest of the public traces have.
const MILLIONS: u64 = 100;
/// Waits in milliseconds: from "nearly every interval is used" to "only the longest".
const WAITS: [u64; 5] = [1, 8, 32, 128, 1000];
/// Requests that the budget is played on: some days of a busy disk.
const BUDGET_REQUESTS: usize = 13_000_000;
/// The size of a scrub request.
const SIZE: Bytes = Bytes::mib(1);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let millions = match arguments[..] {
        [] => MILLIONS,
        ["--millions", count] => count.parse()?,
        _ => return Err("usage: speed [--millions N]".into()),
    };
    let requests = requests(millions * 1_000_000);
    let service = ServiceModel::ULTRASTAR_15K450.service(SIZE);
    let rate = |begin: Instant| requests.len() as f64 / begin.elapsed().as_secs_f64() / 1e6;
    let play = |periods: &Periods, wait| black_box(exact::waiting(periods, wait, SIZE, service, exact::Limit::None));
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let periods: Periods = requests.iter().copied().collect();
        play(&periods, Nanos::from_millis(WAITS[0]));
        print!("from requests {:.1}", rate(begin));
        for wait in WAITS {
            let begin = Instant::now();
            play(&periods, Nanos::from_millis(wait));
            print!(" | once more, wait {wait} ms {:.1}", rate(begin));
        }
        let week: Periods = requests.iter().copied().take(BUDGET_REQUESTS).collect();
        let begin = Instant::now();
        black_box(exact::learner(&week, ServiceModel::ULTRASTAR_15K450, &mut Budget::new(Goal::default())));
        print!(" | budget, {} million requests {:.2} s", BUDGET_REQUESTS / 1_000_000, begin.elapsed().as_secs_f64());
        // Without the spare capacity of the vectors: those pages are never touched.
        let held = periods.idle_before().len() * (size_of::<Nanos>() + size_of::<u32>());
        println!(" | held {:.2}", held as f64 / requests.len() as f64);
    }
    Ok(())
}

/// Bursts with heavy-tailed gaps between them: about four requests to the burst, each of 0.2 to 2.3 ms. The disk is
/// busy for a twentieth of the time, and one request in five ends an idle interval.
fn requests(count: u64) -> Vec<ForegroundRequest> {
    let mut rng = Rng::new(1);
    let mut at = Nanos::ZERO;
    let requests = (0..count).map(|_| {
        let bits = rng.bits();
        // The gap: 0.1 ms three times in four, else 8 ms to 39 h, half as likely for each doubling.
        at += if bits & 3 == 0 {
            let octave = (bits >> 2).trailing_zeros().min(23);
            Nanos((1 << (23 + octave)) | (bits >> 44))
        } else {
            Nanos(100_000)
        };
        ForegroundRequest { at, service: Nanos(200_000 + (bits >> 32 & 0x1f_ffff)) }
    });
    requests.collect()
}
