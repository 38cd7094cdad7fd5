//! Fuzzes what is read of pools of ZFS: labels, and the output of `zpool status`. Lost data of which nothing is said are not known, and no
//! name commands a terminal.

#![no_main]

use scrubjay_daemon::zfs::facts::array_facts;
use scrubjay_daemon::zfs::{nvlist, status_json, status_text};
use scrubjay_watch::pool::PoolLosses;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = nvlist::decode(data);
    let text = String::from_utf8_lossy(data);
    for pools in [status_text::pools(&text), status_json::pools(&text)] {
        for pool in pools.unwrap_or_default() {
            let facts = array_facts(&pool, |_, path| path.map(str::to_owned));
            let said = facts.pool.as_ref().expect("it is a pool");
            let is_said = text.contains("No known data errors") || text.contains("error_count");
            assert!(said.losses != PoolLosses::None || is_said, "who says that none are lost?");
            let files = match &said.losses {
                PoolLosses::Lost { files, .. } => files.clone(),
                _ => Vec::new(),
            };
            let names = files.iter().chain(said.errors.iter().map(|(name, _)| name)).chain([&facts.name, &facts.level]);
            assert!(names.into_iter().all(|name| !name.contains(char::is_control)));
            assert!(facts.members.len() <= data.len());
        }
    }
});
