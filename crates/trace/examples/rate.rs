//! How fast a trace is read: `rate FORMAT FILE` prints rows, seconds and million rows a second.

use scrubjay_trace::formats::{self, Format, Open};
use scrubjay_trace::{Intake, Reader, TraceError};
use std::fs::File;
use std::time::Instant;

/// The best of them and the median are printed: the rest of the machine is not still.
const PASSES: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, file] = &arguments[..] else {
        return Err("usage: rate FORMAT FILE".into());
    };
    let format = formats::by_name(format).ok_or(TraceError::UnknownFormat)?;
    let mut rows = 0;
    let mut seconds = Vec::new();
    for _ in 0..PASSES {
        let begin = Instant::now();
        rows = pass(format, File::open(file)?)?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let rate = |seconds: f64| rows as f64 / seconds / 1e6;
    let (best, median) = (seconds[0], seconds[PASSES / 2]);
    println!(
        "{rows} rows; best {best:.3} s, {:.1} M rows/s; median {median:.3} s, {:.1} M rows/s",
        rate(best),
        rate(median)
    );
    Ok(())
}

/// Reads all of it, keeps nothing, and returns how many records there were.
fn pass(format: &Format, file: File) -> Result<u64, TraceError> {
    let mut reader: Box<dyn Reader> = match format.open {
        Open::Stream(open) => open(Box::new(file)),
        Open::Parts(open) => open(vec![Box::new(file)]),
        Open::Seekable(open) => open(Box::new(file))?,
    };
    let mut intake = Intake::default();
    while reader.read(&mut intake)? {
        intake.records.clear();
    }
    Ok(intake.understood)
}
