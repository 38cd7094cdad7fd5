//! A served volume as the target of a scrub: what is repaired, what is lost, and what survives the death of either side.

use crate::bench::{RunResult, kill};
use crate::nbd::Nbd;
use crate::served::{NAMES, Served};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::process::Child;

const CHUNK: u64 = 64 << 10;
const CHUNK_SECTORS: u64 = CHUNK / 512;
/// Offset of the first row on each member, and length of a row (the chunk and its appendix, docs/format.md), in bytes.
const DATA_OFFSET: u64 = 1 << 20;
const ROW_BYTES: u64 = CHUNK + 512;
/// Stripes that are written (count); those behind hold nothing.
const WRITTEN: u64 = 100;

/// Stripes that a slow scrub has saved before it, or the server, is killed (count).
const SAVED: u64 = 4;

const FAST: [&str; 5] = ["scrub", "photos", "--policy", "none", "--json"];
/// Slow enough to be stopped in the middle on a busy machine, and in sequential order: two stripes a second, which takes
/// two minutes.
const SLOW: [&str; 11] =
    ["scrub", "photos", "--policy", "delay", "--delay", "1s", "--request", "128KiB", "--order", "sequential", "--json"];

impl Served {
    /// A served volume whose first stripes are written.
    fn written() -> Served {
        let mut served = Served::new();
        served.serve(&NAMES[..6]);
        let mut nbd = Nbd::connect(&served.bench.folder.path().join("nbd.sock")).unwrap();
        let stripe = vec![0x5a; 4 * CHUNK as usize];
        (0..WRITTEN).for_each(|index| nbd.write(index * stripe.len() as u64, &stripe).unwrap());
        nbd.flush().unwrap();
        let mut read_back = vec![0; stripe.len()];
        nbd.read(0, &mut read_back).unwrap();
        assert!(read_back == stripe);
        nbd.disconnect().unwrap();
        served
    }

    /// Overwrites the chunk of a stripe on these members, without the volume.
    fn damage(&self, stripe: u64, members: &[&str]) {
        for name in members {
            let file = OpenOptions::new().write(true).open(self.bench.folder.path().join(name)).unwrap();
            file.write_all_at(&vec![0xee; CHUNK as usize], DATA_OFFSET + stripe * ROW_BYTES).unwrap();
        }
    }

    fn start_slow_scrub(&self) -> Child {
        let child = self.command(&SLOW).spawn().expect("it starts");
        self.bench.until_saved(child, SAVED * CHUNK_SECTORS)
    }
}

fn stripes_of(findings: &Value) -> Vec<u64> {
    findings.as_array().unwrap().iter().map(|finding| finding["stripe"].as_u64().unwrap()).collect()
}

#[test]
fn corrupt_rows_are_repaired_and_reported_once_and_then_the_volume_is_clean() {
    let served = Served::written();
    served.damage(7, &["b"]);
    served.damage(80, &["c", "f"]);
    let ran = served.run(&FAST);
    let found = ran.target();
    assert_eq!(
        (ran.code, &found["complete"], &found["verifier"]),
        (Some(0), &json!(true), &json!("volume")),
        "{ran:?}"
    );
    assert_eq!((&found["rows_repaired"], &found["lost"], &found["unreadable"]), (&json!(3), &json!([]), &json!([])));
    let mut repaired = stripes_of(&found["repaired"]);
    repaired.sort_unstable();
    assert_eq!(repaired, [7, 80, 80]);
    assert!(found["repaired"].as_array().unwrap().iter().all(|finding| finding["end"] == "repaired"), "{found}");
    assert_eq!((&found["detector"], &found["slowdown"]["foreground_requests"]), (&json!("server"), &json!(0)));
    let again = served.run(&FAST);
    assert_eq!((again.code, &again.target()["repaired"]), (Some(0), &json!([])));
}

#[test]
fn rows_of_a_read_only_volume_are_not_reported_as_repaired() {
    let mut served = Served::written();
    served.stop();
    served.damage(7, &["b"]);
    let members: Vec<&str> = ["--read-only"].into_iter().chain(NAMES[..6].iter().copied()).collect();
    served.serve(&members);
    for _ in 0..2 {
        let ran = served.run(&FAST);
        let found = ran.target();
        assert_eq!((ran.code, &found["complete"]), (Some(3), &json!(true)), "{ran:?}");
        assert_eq!((&found["rows_repaired"], &found["repaired"]), (&json!(0), &json!([])));
        assert_eq!((&found["rows_unrepaired"], stripes_of(&found["unrepaired"])), (&json!(1), vec![7]));
    }
    let text = served.run(&FAST[..4]);
    assert!(text.stdout.starts_with("photos: one row is WRONG and NOT REPAIRED"), "{text:?}");

    // What a run found that was killed is known in the next one: that nothing was repaired, and where.
    served.damage(3, &["d"]);
    let mut child = served.start_slow_scrub();
    kill(&child, "-KILL");
    child.wait().unwrap();
    let ran = served.run(&FAST);
    let found = ran.target();
    assert_eq!(
        (&found["resumed"], &found["rows_repaired"], &found["rows_unrepaired"]),
        (&json!(true), &json!(0), &json!(2))
    );
    assert_eq!(stripes_of(&found["unrepaired"]), [3, 7]);
}

#[test]
fn only_the_lost_stripe_is_reported_as_lost() {
    let served = Served::written();
    served.damage(41, &["a", "b", "c"]);
    let ran = served.run(&FAST);
    let found = ran.target();
    let run = json!([{"start": 41 * CHUNK_SECTORS, "count": CHUNK_SECTORS,
                      "cause": "lost: what lay there cannot be proven"}]);
    assert_eq!((ran.code, &found["complete"], &found["unreadable"]), (Some(3), &json!(true), &run));
    assert_eq!((&found["rows_repaired"], stripes_of(&found["lost"])), (&json!(0), vec![41, 41, 41]));
    let bytes = |field: &str| found[field].as_u64().unwrap();
    assert_eq!(bytes("bytes") - bytes("bytes_verified"), CHUNK);
    let text = served.run(&FAST[..4]);
    assert!(text.stdout.starts_with("photos: one stripe LOST"), "{text:?}");
}

#[test]
fn what_is_lost_stays_known_over_restarts_and_crashes_until_it_is_written() {
    let mut served = Served::written();
    for stripe in [41, 42] {
        served.damage(stripe, &["a", "b", "c"]);
    }
    assert_eq!(served.run(&FAST).code, Some(3));
    let expect_lost = |served: &Served, stripes: u64| {
        let runs = match stripes {
            0 => json!([]),
            1 => json!([[42, 43]]),
            _ => json!([[41, 43]]),
        };
        let code = Some(if stripes == 0 { 0 } else { 3 });
        let status = served.run(&["volume", "status", "--json"]);
        let document: Value = serde_json::from_str(&status.stdout).unwrap();
        assert_eq!((status.code, &document["lost_stripes"], &document["lost_runs"]), (code, &json!(stripes), &runs));
        let text = served.run(&["volume", "status"]);
        assert_eq!((text.code, text.stdout.contains("LOST")), (code, stripes > 0), "{text:?}");
        let bare = served.run(&[]);
        assert_eq!(bare.stdout.contains("photos is OPEN, and HAS LOST DATA"), stripes > 0, "{bare:?}");
        let findings = served.run(&["volume", "findings"]);
        assert_eq!((findings.code, findings.stdout.contains("lost data")), (code, stripes > 0), "{findings:?}");
    };
    let stop = |served: &mut Served, words: Option<&str>| {
        let code = Some(if words.is_some() { 3 } else { 0 });
        let stopped = served.run(&["volume", "stop"]);
        let ended = RunResult::new(served.server.take().unwrap().wait_with_output().unwrap());
        for ran in [stopped, ended] {
            let is_told = words.is_none_or(|words| ran.stderr.contains(words));
            assert!(ran.code == code && is_told && ran.stderr.contains("stopped photos"), "{ran:?}");
        }
    };
    let stripe = vec![0x77; 4 * CHUNK as usize];
    let write = |served: &Served, index: u64| {
        let mut nbd = Nbd::connect(&served.bench.folder.path().join("nbd.sock")).unwrap();
        nbd.write(index * stripe.len() as u64, &stripe).unwrap();
        nbd.flush().unwrap();
        nbd.disconnect().unwrap();
    };
    expect_lost(&served, 2);
    stop(&mut served, Some("2 stripes hold lost data: reads there fail until it is written"));
    served.serve(&NAMES[..6]);
    expect_lost(&served, 2);
    served.kill();
    served.serve(&NAMES[..6]);
    served.until(|status| status["regions_to_resync"] == 0);
    expect_lost(&served, 2);
    write(&served, 41);
    expect_lost(&served, 1);
    served.kill();
    served.serve(&NAMES[..6]);
    served.until(|status| status["regions_to_resync"] == 0);
    expect_lost(&served, 1);
    stop(&mut served, Some("1 stripe holds lost data"));
    served.serve(&NAMES[..6]);
    write(&served, 42);
    expect_lost(&served, 0);
    stop(&mut served, None);
    served.serve(&NAMES[..6]);
    expect_lost(&served, 0);
    assert_eq!(served.run(&FAST).code, Some(0));

    // A loss of this start that was written since is settled, too.
    served.damage(50, &["a", "b", "c"]);
    assert_eq!(served.run(&FAST).code, Some(3));
    assert_eq!(served.run(&["volume", "findings"]).code, Some(3));
    write(&served, 50);
    assert_eq!(served.run(&["volume", "findings"]).code, Some(0));
    assert_eq!(served.run(&["volume", "status"]).code, Some(0));
}

#[test]
fn a_killed_scrub_resumes_and_still_reports_its_findings() {
    let served = Served::written();
    served.damage(3, &["d"]);
    let mut child = served.start_slow_scrub();
    served.run(&FAST).refused(1, &format!("is being scrubbed already, by process {}", child.id()));
    kill(&child, "-KILL");
    child.wait().unwrap();
    let ran = served.run(&FAST);
    let found = ran.target();
    assert_eq!((ran.code, &found["resumed"], &found["complete"]), (Some(0), &json!(true), &json!(true)), "{ran:?}");
    assert_eq!((&found["rows_repaired"], stripes_of(&found["repaired"])), (&json!(1), vec![3]));
    assert_eq!((&found["repaired"][0]["member"], &found["repaired"][0]["end"]), (&json!(3), &json!("repaired")));
    assert!(found["bytes_requested"].as_u64().unwrap() <= found["bytes"].as_u64().unwrap() - SAVED * CHUNK);
    assert_eq!(served.run(&FAST).code, Some(0), "the next pass is another one");
}

#[test]
fn a_scrub_whose_server_is_killed_fails_and_resumes_when_the_server_is_back() {
    let mut served = Served::written();
    let child = served.start_slow_scrub();
    served.kill();
    let ran = RunResult::new(child.wait_with_output().unwrap());
    let first = ran.target();
    assert_eq!((ran.code, &first["complete"]), (Some(1), &json!(false)), "{ran:?}");
    assert!(first["error"].as_str().unwrap().contains("no longer served"), "{first}");
    served.run(&FAST).refused(2, "no volume of this name is running");
    served.serve(&NAMES[..6]);
    let ran = served.run(&FAST);
    let second = ran.target();
    assert_eq!((ran.code, &second["resumed"], &second["complete"]), (Some(0), &json!(true), &json!(true)), "{ran:?}");
    let requested = |found: &Value| found["bytes_requested"].as_u64().unwrap();
    let whole = second["bytes"].as_u64().unwrap();
    assert!(requested(&first) >= SAVED * CHUNK && requested(&second) <= whole - SAVED * CHUNK, "{second}");
}

#[test]
fn ambiguous_names_and_options_that_do_not_fit_a_volume_are_refused() {
    let served = Served::written();
    served.run(&["scrub", "pictures"]).refused(2, "no volume of this name is running");
    served.run(&["scrub", "photos", "--verify", "scsi"]).refused(1, "this is a volume");
    served.run(&["scrub", "photos", "--range", "0..4096"]).refused(2, "its chunk of 64 KiB");
    let part = served.run(&["scrub", "photos", "--policy", "none", "--range", "64KiB..1MiB", "--json"]);
    assert_eq!((part.code, &part.target()["bytes_verified"]), (Some(0), &json!(15 * CHUNK)));
    std::fs::write(served.bench.folder.path().join("photos"), [0; 4096]).unwrap();
    served.run(&["scrub", "photos"]).refused(2, "photos is a file here, and a volume, too");
    let status = served.run(&["volume", "status", "photos", "--json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let socket = format!("run/{}.sock", status["array"].as_str().unwrap());
    let ran = served.run(&["scrub", "./photos", &socket, "--policy", "none", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let verifiers = [0, 1].map(|index| document["targets"][index]["verifier"].clone());
    assert_eq!((ran.code, verifiers), (Some(0), [json!("read"), json!("volume")]));
}
