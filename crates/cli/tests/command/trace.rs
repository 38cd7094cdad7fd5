//! Traces: inspected, converted there and back, generated, and refused.

use crate::bench::{Bench, RunResult};
use serde_json::Value;
use std::fs;
use std::io::Read;

impl Bench {
    /// A folder with `made.parquet`: some 20,000 requests with exponential inter-arrival times.
    fn with_trace() -> Bench {
        let bench = Bench::with_image(1);
        bench
            .trace(&["generate", "--model", "memoryless", "--hours", "0.3", "--seed", "7", "made.parquet"])
            .succeeded();
        bench
    }

    fn trace(&self, arguments: &[&str]) -> RunResult {
        self.run(&[&["trace"], arguments].concat())
    }

    fn info(&self, arguments: &[&str]) -> Value {
        let ran = self.trace(&[&["info", "--json"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let document: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
        assert_eq!(document["schema"], 1);
        document
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl RunResult {
    fn succeeded(&self) -> &RunResult {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Four requests to two devices: with and without bytes, a discard, a flush, times in nanoseconds.
const BLKPARSE: &str = "\
  8,0    0        1     1.000000123     1  Q   R 2048 + 8 [a]
  8,0    0        2     1.000500123     0  C   R 2048 + 8 [0]
  8,0    0        3     2.000000000     1  Q   W 2056 + 16 [a]
  8,0    0        4     2.001000000     0  C   W 2056 + 16 [0]
  8,16   0        5     3.000000000     1  Q   D 4096 + 1024 [a]
  8,16   0        6     4.000000000     1  Q   F 0 + 0 [a]
";

#[test]
fn every_written_format_holds_the_same_requests() {
    let bench = Bench::with_trace();
    let original = bench.info(&["made.parquet"]);
    assert!(original["requests"].as_u64().unwrap() > 1000, "{original}");
    for out in ["a.csv", "a.csv.gz", "a.parquet", "a.iolog.zst", "a.blkparse"] {
        let ran = bench.trace(&["convert", "made.parquet", out]);
        assert!(ran.succeeded().stderr.contains(" records, "), "{ran:?}");
        let copy = bench.info(&[out]);
        for field in ["requests", "bytes", "reads", "writes", "read_ratio", "sequential_ratio"] {
            assert_eq!(copy[field], original[field], "{field} of {out}");
        }
        let spans = [&copy, &original].map(|info| info["span_seconds"].as_f64().unwrap());
        assert!((spans[0] - spans[1]).abs() < 2e-6, "{out}: {spans:?}");
    }
}

#[test]
fn a_conversion_there_and_back_gives_the_same_file() {
    let bench = Bench::with_trace();
    for (first, second) in
        [("a.csv", "b.csv"), ("a.blkparse", "b.txt"), ("a.iolog", "b.log"), ("a.parquet", "b.parquet")]
    {
        bench.trace(&["convert", "made.parquet", first]).succeeded();
        bench.trace(&["convert", first, "c.parquet", "--force"]).succeeded();
        bench.trace(&["convert", "c.parquet", second]).succeeded();
        assert!(bench.read(first) == bench.read(second), "{first} and {second} are the same");
    }
}

#[test]
fn records_that_a_format_cannot_hold_are_reported() {
    let bench = Bench::with_image(1);
    bench.write("in", BLKPARSE);
    let ran = bench.trace(&["convert", "in", "out.csv"]);
    assert!(ran.succeeded().stderr.contains("msr: 2 records left out: discards and flushes"), "{ran:?}");
    assert!(ran.stderr.contains("out.csv: 2 records, "), "{ran:?}");
    let rows = String::from_utf8(bench.read("out.csv")).unwrap();
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert!(rows.contains(",Read,1048576,4096,5000\n"), "{rows}");

    let ran = bench.trace(&["convert", "in", "out.iolog"]);
    assert!(ran.succeeded().stderr.contains("iolog: 2 records without the response time"), "{ran:?}");
    assert!(
        !bench.trace(&["convert", "in", "out.parquet"]).succeeded().stderr.contains("scrubjay:"),
        "nothing is lost"
    );
    let (before, after) = (bench.info(&["in"]), bench.info(&["out.parquet"]));
    for field in ["requests", "discards", "flushes", "response", "idle", "devices"] {
        assert_eq!(before[field], after[field], "{field}");
    }
}

#[test]
fn the_json_of_info_has_every_promised_field() {
    let bench = Bench::with_image(1);
    bench.write("in", BLKPARSE);
    let info = bench.info(&["in"]);
    assert_eq!(
        (&info["requests"], &info["format"], &info["clock"]),
        (&4.into(), &"blkparse".into(), &"relative".into())
    );
    assert_eq!((&info["reads"]["requests"], &info["writes"]["bytes"]), (&1.into(), &8192.into()));
    assert_eq!((&info["read_ratio"], &info["sequential_ratio"]), (&0.5.into(), &0.5.into()));
    assert_eq!((&info["idle"]["service"], &info["response"]["count"]), (&"recorded".into(), &2.into()));
    assert_eq!(info["devices"], serde_json::json!([{"name": "8,0", "requests": 2}, {"name": "8,16", "requests": 2}]));
    for field in ["first_arrival_seconds", "span_seconds", "requests_per_second", "adjacent_ratio", "malformed"] {
        assert!(info[field].is_number(), "{field}");
    }
    for group in ["interarrival", "response", "idle"] {
        for field in ["count", "mean_seconds", "cv", "p1_seconds", "p50_seconds", "p99_seconds", "max_seconds"] {
            assert!(info[group][field].is_number(), "{group}.{field}");
        }
    }
    let idle = &info["idle"];
    assert_eq!(idle["count"], 3);
    assert!((idle["max_seconds"].as_f64().unwrap() - 0.999_499_877).abs() < 1e-9, "{idle}");
    assert_eq!(idle["beyond"].as_array().unwrap().len(), 5);
    assert_eq!(bench.info(&["in", "--service", "model"])["idle"]["service"], "model");
    assert_eq!(bench.info(&["in", "--device", "8,16"])["requests"], 2);
}

#[test]
fn info_names_the_source_of_the_service_times() {
    let bench = Bench::with_trace();
    let ran = bench.trace(&["info", "made.parquet", "--plot", "page"]);
    for words in ["requests     ", "service times: model (3.7 ms + 11.07 ms a MiB)", "longer than", "devices 1"] {
        assert!(ran.succeeded().stdout.contains(words), "`{words}` in {ran:?}");
    }
    let page = fs::read_to_string(bench.folder.path().join("page/index.html")).unwrap();
    assert!(page.contains("Idle intervals"));
    bench
        .trace(&["info", "made.parquet", "--plot", "page"])
        .refused(2, "--plot page: has a page already; --force replaces it");
    bench.trace(&["info", "made.parquet", "--plot", "page", "--force"]).succeeded();
    bench.write("in", BLKPARSE);
    let ran = bench.trace(&["info", "in"]);
    assert!(ran.succeeded().stdout.contains("service times: recorded (response times;"), "{ran:?}");
}

#[test]
fn units_that_are_not_likely_are_doubted_by_every_verb() {
    let bench = Bench::with_image(1);
    // A copy of a Tencent trace that counts bytes: sizes are multiples of 4096.
    let rows = (0..200).map(|n| format!("{},{},{},0,1283\n", 1_538_323_200 + n * 60, n * 8192, 4096 * (1 + n % 3)));
    bench.write("bytes.csv", rows.collect::<String>());
    let ran = bench.trace(&["info", "bytes.csv"]);
    assert!(ran.succeeded().stderr.contains("if it counts bytes, say --block 1"), "{ran:?}");
    let ran = bench.trace(&["info", "bytes.csv", "--block", "1"]);
    assert!(ran.succeeded().stderr.is_empty() && ran.stdout.contains("8 KiB"), "{ran:?}");
    // Microseconds, read as nanoseconds.
    let rows = (0..200).map(|n| format!("{} 0 {} 8 1\n", n * 2000, n * 8192));
    bench.write("us.txt", rows.collect::<String>());
    for verb in [&["trace", "info", "us.txt"][..], &["tune", "us.txt"], &["study", "idle", "us.txt", "--out", "page"]] {
        let ran = bench.run(verb);
        assert!(ran.stderr.contains("if its times count another unit, say --time-unit us"), "{verb:?}: {ran:?}");
    }
    let ran = bench.run(&["trace", "info", "us.txt", "--time-unit", "us"]);
    assert!(ran.succeeded().stderr.is_empty(), "{ran:?}");
}

#[test]
fn one_seed_is_one_trace() {
    let bench = Bench::with_image(1);
    let make = |seed, out| {
        bench.trace(&["generate", "--model", "memoryless", "--hours", "0.1", "--seed", seed, out]).succeeded().code
    };
    make("1", "a.csv");
    make("1", "b.csv");
    make("2", "c.csv");
    assert!(bench.read("a.csv") == bench.read("b.csv"));
    assert!(bench.read("a.csv") != bench.read("c.csv"));
    assert!(bench.trace(&["generate", "--list"]).succeeded().stdout.contains("mid-write"));
}

#[test]
fn a_learnt_model_can_be_saved_and_used_again() {
    let bench = Bench::with_trace();
    let ran = bench.trace(&["generate", "--like", "made.parquet", "--save", "made.json"]);
    assert!(ran.succeeded().stderr.contains("made: learnt from "), "{ran:?}");
    bench.trace(&["generate", "--like", "made.parquet", "--hours", "0.1", "a.csv"]).succeeded();
    bench.trace(&["generate", "--params", "made.json", "--hours", "0.1", "b.csv"]).succeeded();
    assert!(bench.read("a.csv") == bench.read("b.csv"));
    bench.trace(&["generate", "--params", "made.json", "--name", "x", "c.csv"]).refused(2, "no `x`; it has made");
    bench.trace(&["generate", "--like", "made.parquet", "--save", "made.json"]).refused(2, "--force replaces it");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let bench = Bench::with_image(1);
    bench.write("good", BLKPARSE);
    bench.write("empty", "");
    bench.write("noise", "The quick brown fox\njumps over the lazy dog\n");
    bench.trace(&["convert", "good", "good.csv.gz"]).succeeded();
    let whole = bench.read("good.csv.gz");
    bench.write("cut.csv.gz", &whole[..whole.len() - 6]);
    let refused = |arguments: &[&str], words| bench.trace(arguments).refused(2, words);
    refused(&["info", "nowhere"], "nowhere: no such file");
    refused(&["info", "."], "is a folder, not a trace");
    refused(&["info", "empty"], "empty: is empty");
    refused(&["info", "noise"], "not a trace in any format known");
    refused(&["info", "good", "--format", "nonsense"], "`nonsense` is no trace format; known are parquet, srt");
    refused(&["info", "good", "--device", "8,32"], "the trace has no device `8,32`; it has 8,0, 8,16");
    refused(&["info", "cut.csv.gz"], "the gzip data is cut off");
    refused(&["convert", "cut.csv.gz", "out.csv"], "the gzip data is cut off");
    refused(&["convert", "good", "out.csv", "--device", "x"], "the trace has no device `x`");
    assert!(!bench.names().iter().any(|name| name.contains("out.csv")), "nothing is left: {:?}", bench.names());
}

#[test]
fn bad_outputs_are_refused_in_one_line() {
    let bench = Bench::with_image(1);
    bench.write("good", BLKPARSE);
    bench.write("there.csv", "precious");
    let refused = |arguments: &[&str], words| bench.trace(arguments).refused(2, words);
    refused(&["convert", "good", "there.csv"], "there.csv exists; --force replaces it");
    assert_eq!(bench.read("there.csv"), b"precious");
    bench.trace(&["convert", "good", "there.csv", "--force"]).succeeded();
    assert_ne!(bench.read("there.csv"), b"precious");
    refused(&["convert", "good", "missing/out.csv"], "cannot write missing/out.csv: no such file");
    refused(&["convert", "good", "."], "is a folder: name a file");
    refused(&["convert", "good", "out"], "names no format: add --to; written are parquet, msr, blkparse, iolog");
    refused(&["convert", "good", "out.xz"], ".xz is read but not written");
    refused(&["convert", "good", "out.parquet.gz"], "parquet compresses itself");
    refused(&["convert", "good", "out", "--to", "srt"], "srt can be read but not written");
    refused(&["generate", "--model", "nothing", "out.csv"], "no model `nothing` is built in; there are mid-read");
    refused(&["generate", "out.csv"], "--model, --like or --params");
    refused(&["generate", "--params", "nowhere.json", "out.csv"], "nowhere.json: no such file");
    refused(&["generate", "--like", "good", "out.csv"], "too few to learn from");
    refused(&["capture", "/dev/null", "out.csv"], "/dev/null: it is no block device");
    refused(&["capture", "good", "out.csv"], "is no block device");
}

/// A full disk is reported; a reader that closes the pipe is no failure.
#[test]
fn a_full_disk_fails_and_a_closed_pipe_does_not() {
    let bench = Bench::with_trace();
    bench
        .run_on_full_disk(&["trace", "convert", "made.parquet", "out.csv"])
        .refused(1, "cannot write out.csv: File too large");
    assert!(!bench.folder.path().join("out.csv").exists());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = bench.command(&["trace", "convert", "made.parquet", "-", "--to", "msr"]).stdout(full).output().unwrap();
    RunResult::new(ran).refused(1, "cannot write standard output");
    let mut child = bench.start(&["trace", "convert", "made.parquet", "-", "--to", "msr"]);
    let mut some = [0; 16];
    child.stdout.take().expect("a pipe").read_exact(&mut some).unwrap();
    let ran = RunResult::new(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
}

#[test]
fn standard_input_and_output_are_a_pipe() {
    let bench = Bench::with_image(1);
    bench.write("good", BLKPARSE);
    let input = fs::File::open(bench.folder.path().join("good")).unwrap();
    let ran = bench.command(&["trace", "convert", "-", "-", "--to", "msr"]).stdin(input).output().unwrap();
    let ran = RunResult::new(ran);
    assert_eq!(ran.succeeded().stdout.lines().count(), 2, "{ran:?}");
}

#[test]
fn the_formats_are_listed() {
    let bench = Bench::with_image(1);
    let ran = bench.trace(&["formats"]);
    for words in ["parquet ", "srt ", "read write", "absolute", "disksim"] {
        assert!(ran.succeeded().stdout.contains(words), "`{words}` in {ran:?}");
    }
}

#[test]
fn nested_verbs_have_help_and_man_pages() {
    let bench = Bench::with_image(1);
    for verb in ["info", "convert", "capture", "generate"] {
        let ran = bench.trace(&[verb, "--help"]);
        assert!(ran.succeeded().stdout.contains("Examples:") && ran.stdout.contains("Exit codes:"), "{ran:?}");
    }
    assert_eq!(bench.run(&["generate", "man", "man"]).code, Some(0));
    let page = fs::read_to_string(bench.folder.path().join("man/scrubjay-trace-convert.1")).unwrap();
    assert!(page.contains("force"), "{page}");
    assert!(bench.run(&["generate", "completions", "bash"]).stdout.contains("--like"));
}

#[test]
fn options_without_effect_are_refused() {
    let bench = Bench::with_image(1);
    let refused = |arguments: &[&str], words: &str| {
        let ran = bench.run(arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    };
    let generate = ["trace", "generate", "--model", "mid-read"];
    for option in [["--device", "3"], ["--name", "foo"], ["--format", "msr"]] {
        refused(&[&generate[..], &option, &["x.csv"]].concat(), "cannot be used with");
    }
    refused(&["trace", "generate", "--list", "--hours", "3"], "cannot be used with");
    refused(&["trace", "generate", "--list", "x.csv"], "cannot be used with");
    refused(&["simulate", "integrity", "--synthetic", "table3", "--device", "x"], "cannot be used with");
    for option in
        [["--slowdown", "3ms"], ["--max-slowdown", "30ms"], ["--disk", "8ms,5.5ms"], ["--service", "recorded"]]
    {
        refused(&[&["study", "mlet", "--out", "page"][..], &option].concat(), "<TRACE>");
    }
    // A disjunction of what is required is named as one.
    refused(&["simulate", "integrity"], "<TRACE|--synthetic <NAME>>");
    refused(&["explain"], "<DISK|--smart <FILE>>");
}
