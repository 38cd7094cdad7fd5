//! fio as a client: it reads what it wrote.

use crate::host::Host;
use crate::stranger::{outcome, run};
use scrubjay_serve::memory::MemoryArray;

/// Writes at random places, many requests at a time, then reads and verifies.
pub fn verify(uri: &str, arguments: &[&str]) {
    if outcome("fio", &["--enghelp"]).is_some_and(|(_, engines)| !engines.contains("nbd")) {
        eprintln!("NOT TESTED: this fio knows no NBD");
        return;
    }
    let uri = format!("--uri={uri}");
    let fixed = [
        "--name=verify",
        "--verify_state_save=0",
        "--ioengine=nbd",
        &uri,
        "--rw=randwrite",
        "--iodepth=32",
        "--randseed=9",
        "--size=16m",
    ];
    run("fio", &[&fixed, arguments].concat());
}

#[test]
fn fio_verifies_what_it_wrote() {
    let Some(host) = Host::start(MemoryArray::new(16 << 20).shuffled(11), |_| ()) else { return };
    verify(&host.uri(), &["--verify=crc32c", "--do_verify=1", "--bs=4k"]);
    verify(&host.uri(), &["--verify=crc32c", "--do_verify=1", "--bsrange=512-128k", "--bs_unaligned"]);
    verify(&host.uri(), &["--verify=pattern", "--verify_pattern=%o", "--do_verify=1", "--bs=64k", "--fsync=8"]);
    host.end();
}
