//! `scrubjay simulate integrity`: the I/Os that integrity schemes add to an array, for the requests of a trace.

use crate::args::{SimulateIntegrity, Synthetic};
use crate::costs::percent;
use crate::workload;
use anyhow::{Context, Result};
use scrubjay_cli::columns::{self, TextTable};
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::say::{print_folded, print_prose};
use scrubjay_core::layout::Shape;
use scrubjay_core::quantity::show_count;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::chooser;
use scrubjay_research::trace_hash;
use scrubjay_sim::integrity::table3::WORKLOADS;
use scrubjay_sim::integrity::{Accounting, Counter};
use scrubjay_trace::DeviceId;
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

/// The two schemes between which the paper's rules choose.
const HYBRIDS: [Scheme; 2] = [Scheme::Hybrid1, Scheme::Hybrid2];

/// Counts the I/Os.
pub fn run(args: &SimulateIntegrity) -> Result<Exit> {
    let shape = shape(args)?;
    let counted = match args.synthetic {
        Some(Synthetic::Table3) => table_3(args, shape),
        None => traces(args, shape)?,
    };
    if counted.is_empty() {
        return Err(Usage("the traces have no requests".to_owned()).into());
    }
    let mut out = io::stdout().lock();
    for CountedArray { name, file, counter } in &counted {
        let printed = if args.json {
            let mut document = IntegrityDocument::new(name, args, counter);
            document.sha256 = file.map_or_else(Vec::new, |file| trace_hash::sha256_of_all(&[file]));
            let document = serde_json::to_string(&document).context("the result as JSON")?;
            writeln!(out, "{document}")
        } else {
            print(&mut out, name, args, counter, columns::width())
        };
        printed.context("cannot write the result to standard output")?;
    }
    Ok(Exit::Clean)
}

/// An array with the counts of its requests.
struct CountedArray<'a> {
    name: String,
    /// The trace, if there is one.
    file: Option<&'a Path>,
    counter: Counter,
}

fn shape(args: &SimulateIntegrity) -> Result<Shape> {
    let (disks, parity) = (usize::from(args.disks), usize::from(args.parity));
    match disks.checked_sub(parity) {
        Some(data @ 1..) => Ok(Shape { data, parity }),
        _ => Err(Usage(format!("--parity {parity}: leaves none of {disks} disks to data")).into()),
    }
}

fn counter(args: &SimulateIntegrity, shape: Shape) -> Counter {
    Counter::new(shape, args.chunk, if args.strict { Accounting::Strict } else { Accounting::Paper })
}

/// Counts the twelve workloads.
fn table_3(args: &SimulateIntegrity, shape: Shape) -> Vec<CountedArray<'_>> {
    let count = |workload: &scrubjay_sim::integrity::table3::Workload| {
        let mut counter = counter(args, shape);
        for request in workload.requests(args.seed).take(args.requests as usize) {
            counter.add(request.kind, request.offset, request.length);
        }
        CountedArray { name: workload.name.to_owned(), file: None, counter }
    };
    WORKLOADS.iter().map(count).collect()
}

/// Each file as a trace of its own, each device as an array of its own, the busiest first.
fn traces(args: &SimulateIntegrity, shape: Shape) -> Result<Vec<CountedArray<'_>>> {
    let mut all = Vec::new();
    for file in &args.files {
        let mut counters: Vec<(DeviceId, Counter)> = Vec::new();
        let mut places: HashMap<DeviceId, usize> = HashMap::new();
        let trace = scrubjay_research::workload::open(
            std::slice::from_ref(file),
            workload::format_options(args.format.as_deref())?,
        )?;
        let trace = workload::for_each(trace, &args.device, |record| {
            let place = *places.entry(record.device).or_insert_with(|| {
                counters.push((record.device, counter(args, shape)));
                counters.len() - 1
            });
            counters[place].1.add(record.kind, record.offset, record.length);
        })?;
        let is_single = trace.devices().names().len() == 1;
        counters.sort_by_key(|(_, counter)| std::cmp::Reverse(counter.tally(Scheme::None).ios()));
        all.extend(counters.into_iter().map(|(device, counter)| {
            let shown = file.display();
            let name = if is_single { shown.to_string() } else { format!("{shown}:{}", trace.devices().name(device)) };
            CountedArray { name, file: Some(file), counter }
        }));
    }
    Ok(all)
}

/// The scheme that the rule by the mean size of a write chooses, if there are writes.
fn by_mean_size(args: &SimulateIntegrity, counter: &Counter) -> Option<Scheme> {
    let mean = counter.requests().write_bytes_mean()?;
    Some(chooser::by_mean_size(shape(args).ok()?, args.chunk.0, mean))
}

/// The scheme with the fewest I/Os; among equals, the first.
fn cheapest(counter: &Counter, schemes: &[Scheme]) -> Scheme {
    let cheapest = schemes.iter().min_by_key(|&&scheme| counter.tally(scheme).ios());
    *cheapest.expect("there is something to choose from")
}

/// The JSON of `--json`: schema 1, one object an array.
#[derive(Debug, Serialize)]
struct IntegrityDocument<'a> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    trace: &'a str,
    /// The SHA-256 of the trace's file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sha256: Vec<String>,
    /// The seed of the modelled requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    disks: u16,
    parity: u16,
    chunk_bytes: u64,
    is_strict: bool,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    left_out: u64,
    /// The chosen hybrid: by the mean size of a write, by a histogram of chunks touched, and by these counts.
    chosen_by_mean_size: Option<&'static str>,
    chosen_by_histogram: &'static str,
    chosen_by_count: &'static str,
    schemes: Vec<SchemeDocument>,
}

/// The counts of one scheme.
#[derive(Debug, Serialize)]
struct SchemeDocument {
    scheme: &'static str,
    disk_ios: u64,
    increase_ratio: f64,
    read_ios: u64,
    write_ios: u64,
    appendix_ios: u64,
    reads: u64,
    first_reads: u64,
    read_modify_writes: u64,
    reconstruct_writes: u64,
    full_stripe_writes: u64,
}

impl IntegrityDocument<'_> {
    fn new<'a>(name: &'a str, args: &SimulateIntegrity, counter: &Counter) -> IntegrityDocument<'a> {
        let requests = counter.requests();
        IntegrityDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            trace: name,
            sha256: Vec::new(),
            seed: args.synthetic.is_some().then_some(args.seed),
            disks: args.disks,
            parity: args.parity,
            chunk_bytes: args.chunk.0,
            is_strict: args.strict,
            reads: requests.reads,
            read_bytes: requests.read_bytes,
            writes: requests.writes,
            write_bytes: requests.write_bytes,
            left_out: requests.left_out,
            chosen_by_mean_size: by_mean_size(args, counter).map(Scheme::name),
            chosen_by_histogram: counter.histogram().best(&HYBRIDS).name(),
            chosen_by_count: cheapest(counter, &HYBRIDS).name(),
            schemes: Scheme::ALL.map(|scheme| SchemeDocument::new(scheme, counter)).into(),
        }
    }
}

impl SchemeDocument {
    fn new(scheme: Scheme, counter: &Counter) -> SchemeDocument {
        let tally = counter.tally(scheme);
        SchemeDocument {
            scheme: scheme.name(),
            disk_ios: tally.ios(),
            increase_ratio: counter.increase(scheme),
            read_ios: tally.read_ios,
            write_ios: tally.write_ios,
            appendix_ios: tally.appendix_ios,
            reads: tally.reads,
            first_reads: tally.first_reads,
            read_modify_writes: tally.modifies,
            reconstruct_writes: tally.reconstructs,
            full_stripe_writes: tally.full_stripes,
        }
    }
}

fn print(
    out: &mut impl Write,
    name: &str,
    args: &SimulateIntegrity,
    counter: &Counter,
    width: Option<usize>,
) -> io::Result<()> {
    let requests = counter.requests();
    let (reads, writes) = (show_count(requests.reads), show_count(requests.writes));
    let mean_words = |count: u64, bytes: u64| {
        bytes.checked_div(count).map_or(String::new(), |mean| format!(" of {} on average", Bytes(mean)))
    };
    let (read_size, write_size) =
        (mean_words(requests.reads, requests.read_bytes), mean_words(requests.writes, requests.write_bytes));
    print_folded(out, &format!("{name}: {reads} reads{read_size}, {writes} writes{write_size}"), width)?;
    if requests.left_out > 0 {
        let left_out =
            format!("{}: neither reads nor writes, of nothing, or beyond 1 PiB", show_count(requests.left_out));
        print_prose(out, "  left out   ", &left_out, width)?;
    }
    let strict = if args.strict { ", strictly counted" } else { "" };
    let disks = if args.disks == 1 { "disk" } else { "disks" };
    let array = format!("{} {disks}, {} of them for parity, chunks of {}{strict}", args.disks, args.parity, args.chunk);
    print_prose(out, "  array      ", &array, width)?;
    let mut rows = Vec::new();
    for scheme in Scheme::ALL {
        let tally = counter.tally(scheme);
        let more = if scheme == Scheme::None { "-".to_owned() } else { percent(counter.increase(scheme)) };
        let first = match tally.first_reads {
            0 => "-".to_owned(),
            first => percent(first as f64 / tally.reads as f64),
        };
        let writes = [tally.modifies, tally.reconstructs, tally.full_stripes].map(show_count).join(" / ");
        let ios = show_count(tally.ios());
        rows.push(vec![scheme.to_string(), ios, more, first, writes]);
    }
    let headings = ["scheme", "disk I/Os", "more than bare", "first reads", "rmw/reconstruct/full writes"];
    let least_important = ["rmw/reconstruct/full writes", "first reads"];
    let table = TextTable { headings: &headings, least_important: &least_important, figures: 1..4, indent: 2 };
    table.print(&rows, width, out)?;
    let rule = by_mean_size(args, counter).map_or("no writes".to_owned(), |scheme| scheme.to_string());
    let [histogram, count] = [counter.histogram().best(&HYBRIDS), cheapest(counter, &HYBRIDS)];
    let of_all = cheapest(counter, &Scheme::ALL[1..]);
    let choice = format!(
        "{rule} by the mean size of writes, {histogram} by the chunks touched, {count} by these counts; of all schemes \
         {of_all}"
    );
    print_prose(out, "  choose     ", &choice, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{LabCommand, ResearchVerb, Simulated};
    use clap::Parser;

    fn args(words: &[&str]) -> SimulateIntegrity {
        let line = ["scrubjay", "simulate", "integrity"].iter().chain(words);
        match LabCommand::try_parse_from(line).unwrap().verb {
            ResearchVerb::Simulate(crate::args::Simulate { what: Simulated::Integrity(args) }) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_twelve_workloads_in_words_and_as_json() {
        let args = args(&["--synthetic", "table3", "--chunk", "8KiB", "--requests", "20000"]);
        let counted = table_3(&args, shape(&args).unwrap());
        assert_eq!((counted.len(), counted[1].name.as_str()), (12, "TPC-E"));
        let counter = &counted[1].counter;
        let mut text = Vec::new();
        print(&mut text, "TPC-E", &args, counter, None).unwrap();
        let text = String::from_utf8(text).unwrap();
        for width in [40, 60, 80] {
            let mut narrow = Vec::new();
            print(&mut narrow, "TPC-E", &args, counter, Some(width)).unwrap();
            let narrow = String::from_utf8(narrow).unwrap();
            assert!(narrow.lines().all(|line| line.chars().count() <= width), "{width}: {narrow}");
        }
        assert!(
            text.contains("8 disks, 2 of them for parity, chunks of 8 KiB") && !text.contains("left out"),
            "{text}"
        );
        assert_eq!(text.lines().filter(|line| Scheme::ALL.iter().any(|s| line[2..].starts_with(s.name()))).count(), 5);
        let json = serde_json::to_value(IntegrityDocument::new("TPC-E", &args, counter)).unwrap();
        assert_eq!((&json["schema"], &json["chosen_by_mean_size"]), (&1.into(), &"hybrid1".into()));
        assert_eq!(json["reads"].as_u64().unwrap() + json["writes"].as_u64().unwrap(), 20_000);
        let pure = json["schemes"][1]["increase_ratio"].as_f64().unwrap();
        assert!((pure - 0.4374).abs() < 0.03, "the paper has 43.74 %: {pure}");
    }

    #[test]
    fn strict_counts_more_and_shapes_have_bounds() {
        let counts = |words: &[&str]| {
            let args = args(&[&["--synthetic", "table3", "--requests", "2000"], words].concat());
            table_3(&args, shape(&args).unwrap())[1].counter.tally(Scheme::None).ios()
        };
        assert!(counts(&["--strict", "--chunk", "8KiB"]) > counts(&["--chunk", "8KiB"]));
        let shape_of = |words: &[&str]| shape(&args(&[&["--synthetic", "table3"], words].concat()));
        assert_eq!(shape_of(&["--disks", "6", "--parity", "1"]).unwrap(), Shape { data: 5, parity: 1 });
        assert!(shape_of(&["--disks", "2", "--parity", "2"]).is_err() && shape_of(&["--parity", "9"]).is_err());
        for words in
            [&["a.csv", "--synthetic", "table3"][..], &[], &["a.csv", "--requests", "5"], &["a.csv", "--disks", "0"]]
        {
            let line = ["scrubjay", "simulate", "integrity"].iter().chain(words);
            assert!(LabCommand::try_parse_from(line).is_err(), "{words:?}");
        }
    }
}
