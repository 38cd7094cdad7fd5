//! Forms of lines of the text.

use super::*;

/// The text of a pool with these lines in the place of `scan`.
fn scanned(scan: &str) -> (PoolScan, LastScrub) {
    let text =
        format!("  pool: tank\n state: ONLINE\n{scan}config:\n\n\tNAME  STATE\n\nerrors: No known data errors\n");
    let pool = &pools(&text).unwrap()[0];
    (pool.scan, pool.scrubbed)
}

#[test]
fn dates_are_those_of_the_calendar() {
    let date = |text: &str| date_of(text).map(|date| date.0);
    assert_eq!(date("Thu Jan  1 00:00:00 1970"), Some(0));
    assert_eq!(date("Thu Feb 29 12:34:56 2024"), Some(1_709_210_096));
    assert_eq!(date("Sat Nov 28 00:17:18 2026"), Some(1_795_825_038));
    for text in ["", "today", "Sat Nov 28 2026", "Sat Nov 99 00:17:18 2026", "Sat Nev 28 00:17:18 2026"] {
        assert_eq!(date(text), None, "{text}");
    }
}

#[test]
fn forms_of_the_scan_line() {
    let ended = LastScrub::Ended(UnixSeconds(1_795_825_038));
    for (scan, expected) in [
        ("", (PoolScan::Idle, LastScrub::Never)),
        ("  scan: none requested\n", (PoolScan::Idle, LastScrub::Never)),
        (
            "  scan: scrub repaired 0B in 0 days 00:00:02 with 0 errors on Sat Nov 28 00:17:18 2026\n",
            (PoolScan::Idle, ended),
        ),
        // A scrub of known errors stands in the place of the last scan.
        (
            " scrub: error scrub in progress since Sat Nov 28 00:22:34 2026\n\t104.00% done, issued I/O\n",
            (PoolScan::Idle, LastScrub::Unknown),
        ),
        (
            "  scan: resilver (mirror-0) in progress since Sat Nov 28 00:22:34 2026\n\t1G scanned, 50.00% done\n",
            (PoolScan::Resilver(Some(50)), LastScrub::Unknown),
        ),
        (
            "remove: Evacuation of vdb in progress since Sat Nov 28 00:22:34 2026\n",
            (PoolScan::Moving, LastScrub::Never),
        ),
        (
            "remove: Removal of vdev 1 copied 48K in 0h0m, completed on Sat Nov 28 00:22:34 2026\n",
            (PoolScan::Idle, LastScrub::Never),
        ),
    ] {
        assert_eq!(scanned(scan), expected, "{scan}");
    }
}

#[test]
fn errors_of_which_nothing_is_said_are_not_none() {
    let losses = |errors: &str| pools(&format!("  pool: tank\n state: ONLINE\n{errors}")).unwrap()[0].losses.clone();
    assert!(matches!(losses(""), PoolLosses::Unknown(_)));
    assert!(matches!(losses("errors: List of errors unavailable: permission denied\n"), PoolLosses::Unknown(_)));
    assert_eq!(
        losses("errors: 194 data errors, use '-v' for a list\n"),
        PoolLosses::Lost { blocks: 194, files: vec![] }
    );
    assert_eq!(losses("errors: No known data errors\n"), PoolLosses::None);
}

#[test]
fn what_is_no_such_text_is_refused() {
    assert_eq!(pools("no pools available\n"), Ok(vec![]));
    for text in ["", "zpool: command failed\n", "  pool: tank\n", "  pool:\n state: ONLINE\n"] {
        assert!(pools(text).is_err(), "{text}");
    }
}
