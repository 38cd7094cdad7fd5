//! How fast the code is, beside ISA-L's: `cargo run --release --example speed [DATA PARITY [PATH]]`.

use scrubjay_code::bench::{Contender, Stripes};
use scrubjay_code::{Code, Path, paths};
use std::time::Instant;

/// Passes of each; the median counts.
const ROUNDS: usize = 7;

/// Seconds for which a pass over a set that fits in the cache is repeated.
const SECONDS: f64 = 0.02;

/// What is measured: bytes a chunk, bytes in all.
const SETS: [(usize, usize); 5] =
    [(4 << 10, 512 << 10), (64 << 10, 768 << 10), (4 << 10, 512 << 20), (64 << 10, 512 << 20), (1 << 20, 512 << 20)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other| arguments.get(at).map_or(other, |word| word.parse().expect("a number"));
    let (data, parity) = (number(0, 6), number(1, 2));
    let wanted = arguments.get(2);
    for path in paths().into_iter().rev().filter(|path| *path != Path::Scalar) {
        if wanted.is_some_and(|wanted| !format!("{path:?}").eq_ignore_ascii_case(wanted)) {
            continue;
        }
        let code = Code::new(data, parity).expect("a code").with_path(path);
        println!("{data}+{parity}, {path:?}; GB/s of data, median of {ROUNDS}; relative to own parity");
        for (chunk, bytes) in SETS {
            measure(code.clone(), chunk, bytes);
        }
    }
}

fn measure(code: Code, chunk: usize, bytes: usize) {
    let mut stripes = Stripes::new(code, chunk, bytes);
    let contenders = stripes.contenders();
    let mut speeds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (who, speeds) in contenders.iter().zip(&mut speeds) {
            speeds.push(speed(&mut stripes, *who));
        }
    }
    let isal = if contenders.contains(&Contender::IsalParity) { "" } else { " (no libisal.so.2 here: left out)" };
    println!("chunks of {} KiB, {} KiB in all{isal}", chunk >> 10, bytes >> 10);
    let median = |speeds: &mut Vec<f64>| {
        speeds.sort_by(f64::total_cmp);
        speeds[speeds.len() / 2]
    };
    let medians: Vec<f64> = speeds.iter_mut().map(median).collect();
    for (who, median) in contenders.iter().zip(&medians) {
        println!("  {who:<40} {median:6.1}  {:5.2}", median / medians[0]);
    }
}

fn speed(stripes: &mut Stripes, who: Contender) -> f64 {
    let begun = Instant::now();
    let mut bytes = 0;
    while begun.elapsed().as_secs_f64() < SECONDS {
        bytes += stripes.pass(who);
    }
    bytes as f64 / begun.elapsed().as_secs_f64() / 1e9
}
