//! `bench code`: all codes are measured, whatever the figures, and what is refused.

use crate::bench::{Bench, RunResult};
use serde_json::Value;

fn document(ran: &RunResult) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    assert_eq!(document["schema"], 1);
    assert!(document["machine"]["processor"].is_string() && document["machine"]["cores"].is_number());
    document
}

fn is_rate(rate: &Value) -> bool {
    let number = |field: &str| rate[field].as_f64().unwrap();
    let (low, middle, high) =
        (number("bytes_per_second_low"), number("bytes_per_second"), number("bytes_per_second_high"));
    0.0 < low && low <= middle && middle <= high
}

#[test]
fn every_code_is_measured_in_the_cache_and_outside_of_it() {
    let bench = Bench::with_image(1);
    let arguments = ["bench", "code", "--data", "3", "--parity", "2", "--chunk", "4KiB", "--quick"];
    let document = document(&bench.run(&[&arguments[..], &["--json"]].concat()));
    // The sets are whole stripes of five chunks: 12, and the 3276 that fit into 64 MiB.
    assert_eq!(document["set_bytes"], serde_json::json!([12 * 5 * 4096, 3276 * 5 * 4096]));
    let rows = document["results"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    for name in ["memcpy", "parity", "parity and sums, fused", "full stripe, scheme none", "full stripe, scheme stamp"]
    {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert_eq!(names.contains(&"ec_encode_data"), document["has_isal"].as_bool().unwrap());
    for row in rows {
        let rates = row["rates"].as_array().unwrap();
        assert!(rates.len() == 2 && rates.iter().all(is_rate), "{row}");
    }

    let ran = bench.run(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in ["3 + 2, chunks of 4 KiB", "GB/s of data, median of 3 rounds", "memcpy", "scalar"] {
        assert!(ran.stdout.contains(words), "`{words}` in {ran:?}");
    }
}

#[test]
fn figure_7_has_every_curve_of_every_shape() {
    let bench = Bench::with_image(1);
    let document = document(&bench.run(&["bench", "code", "--figure7", "--quick", "--json"]));
    let rows = document["results"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 15 * 9);
    assert!(rows.iter().all(is_rate));
    let has_row = |data: u64, parity: u64, chunk_bytes: u64, scheme: &str, by_tables: bool| {
        rows.iter().any(|row| {
            row["data"] == data
                && row["parity"] == parity
                && row["chunk_bytes"] == chunk_bytes
                && row["scheme"] == scheme
                && row["sums_by_tables"] == by_tables
        })
    };
    assert!(has_row(7, 1, 4096, "none", false) && has_row(6, 2, 256 << 10, "hybrid2", true));
}

#[test]
fn nonsense_is_refused() {
    let bench = Bench::with_image(1);
    bench.run(&["bench", "code", "--memory", "1MiB", "--chunk", "1MiB"]).refused(2, "--memory: a stripe takes 8 MiB");
    for (arguments, words) in [
        (&["bench"][..], "code"),
        (&["bench", "code", "--data", "33"], "33 is not in 1..=32"),
        (&["bench", "code", "--parity", "0"], "0 is not in 1..=6"),
        (&["bench", "code", "--chunk", "3KiB"], "is no chunk"),
        (&["bench", "code", "--quick", "--rounds", "9"], "cannot be used with"),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "`{words}` in {ran:?}");
    }
}
