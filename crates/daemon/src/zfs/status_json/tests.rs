//! What the JSON may lack, and what it means.

use super::*;

/// A pool whose scan is this.
fn scanned(stats: &str) -> (PoolScan, LastScrub) {
    let text = format!(r#"{{"pools":{{"tank":{{"state":"ONLINE","error_count":0,"scan_stats":{stats}}}}}}}"#);
    let pool = &pools(&text).unwrap()[0];
    (pool.scan, pool.scrubbed)
}

#[test]
fn a_scrub_of_a_part_is_not_the_last_scrub() {
    let stats = |examined: u64| {
        format!(
            r#"{{"function":"SCRUB","state":"FINISHED","end_time":1800003600,"to_examine":74268672,"examined":{examined},"skipped":159744}}"#
        )
    };
    // What `zpool scrub -C` leaves behind looks like a whole one otherwise.
    assert_eq!(scanned(&stats(221_184)), (PoolScan::Idle, LastScrub::Unknown));
    assert_eq!(scanned(&stats(74_108_928)), (PoolScan::Idle, LastScrub::Ended(UnixSeconds(1_800_003_600))));
    assert_eq!(scanned(r#"{"function":"SCRUB","state":"FINISHED"}"#), (PoolScan::Idle, LastScrub::Unknown));
    assert_eq!(scanned(r#"{"function":"NONE"}"#), (PoolScan::Idle, LastScrub::Never));
}

#[test]
fn data_that_move_are_no_resilver_and_a_rebuild_is_one() {
    let text = r#"{"pools":{"a":{"state":"ONLINE","error_count":0,"removal_stats":{"state":"SCANNING"}},
        "b":{"state":"ONLINE","error_count":0,"vdevs":{"b":{"vdevs":{"mirror-0":{"rebuild_stats":{"state":"ACTIVE"}}}}}},
        "c":{"state":"ONLINE","error_count":0,"removal_stats":{"state":"FINISHED"}}}}"#;
    let scans: Vec<PoolScan> = pools(text).unwrap().iter().map(|pool| pool.scan).collect();
    assert_eq!(scans, [PoolScan::Moving, PoolScan::Resilver(None), PoolScan::Idle]);
}

#[test]
fn no_count_of_errors_is_no_zero() {
    let losses =
        |rest: &str| pools(&format!(r#"{{"pools":{{"a":{{"state":"ONLINE"{rest}}}}}}}"#)).unwrap()[0].losses.clone();
    assert!(matches!(losses(""), PoolLosses::Unknown(_)));
    assert!(matches!(losses(r#","error_count":"many""#), PoolLosses::Unknown(_)));
    assert_eq!(losses(r#","error_count":"0""#), PoolLosses::None);
    assert_eq!(
        losses(r#","error_count":3,"errlist":["/a"]"#),
        PoolLosses::Lost { blocks: 3, files: vec!["/a".into()] }
    );
}

#[test]
fn what_is_no_such_output_is_refused() {
    for text in ["", "{}", "[]", r#"{"pools":[]}"#, r#"{"pools":{"a":{}}}"#, "no pools available"] {
        assert!(pools(text).is_err(), "{text}");
    }
    assert_eq!(pools(r#"{"pools":{}}"#), Ok(vec![]));
    let deep = (0..40).fold("{}".to_owned(), |inner, _| format!(r#"{{"x":{{"state":"ONLINE","vdevs":{inner}}}}}"#));
    let text = format!(r#"{{"pools":{{"a":{{"state":"ONLINE","vdevs":{deep}}}}}}}"#);
    assert!(pools(&text).is_ok());
}
