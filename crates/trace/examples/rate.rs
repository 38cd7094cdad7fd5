//! Measures how fast a trace is read: `rate FORMAT FILE [PASSES]` prints rows, seconds and million rows per second.
//!
//! The name of a format measures its reader alone; `open` measures [`scrubjay_trace::open`], which also recognises the
//! format and sorts.

use scrubjay_trace::formats::{self, Format, FormatOpener};
use scrubjay_trace::{Input, OpenOptions, Reader, RecordSink, TraceError, TraceSource};
use std::error::Error;
use std::fs::File;
use std::time::Instant;

/// The default number of passes; the best and the median are printed, because other work on the machine disturbs single
/// passes.
const PASSES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, file, passes) = match arguments[..] {
        [name, file] => (name, file, PASSES),
        [name, file, passes] => (name, file, passes.parse::<usize>()?.max(1)),
        _ => return Err("usage: rate FORMAT FILE [PASSES], where FORMAT may be `open`".into()),
    };
    let format = match name {
        "open" => None,
        name => Some(formats::by_name(name).ok_or_else(|| format!("`{name}` is no format"))?),
    };
    let mut rows = 0;
    let mut seconds = Vec::new();
    for _ in 0..passes {
        let begin = Instant::now();
        rows = match format {
            Some(format) => by_reader(format, File::open(file)?)?,
            None => by_open(file)?,
        };
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let rate = |seconds: f64| rows as f64 / seconds / 1e6;
    let (best, median) = (seconds[0], seconds[passes / 2]);
    println!(
        "{rows} rows; best {best:.3} s, {:.1} M rows/s; median {median:.3} s, {:.1} M rows/s",
        rate(best),
        rate(median)
    );
    Ok(())
}

/// Reads everything with the format's reader, and returns the number of records.
fn by_reader(format: &Format, file: File) -> Result<u64, TraceError> {
    let mut reader: Box<dyn Reader> = match format.open {
        FormatOpener::Stream(open) => open(Box::new(file)),
        FormatOpener::Shards(open) => open(vec![Box::new(file)]),
        FormatOpener::Seekable(open) => open(Box::new(file))?,
    };
    let mut sink = RecordSink::default();
    while reader.read(&mut sink)? {
        sink.records.clear();
    }
    Ok(sink.understood)
}

/// Reads everything as the commands do, and returns the number of records.
fn by_open(file: &str) -> Result<u64, Box<dyn Error>> {
    let source = TraceSource::File(Box::new(File::open(file)?));
    let mut trace = scrubjay_trace::open(vec![Input { name: file.to_owned(), source }], OpenOptions::default())?;
    let mut rows = 0;
    while let Some(batch) = trace.next_batch()? {
        rows += batch.len() as u64;
    }
    Ok(rows)
}
