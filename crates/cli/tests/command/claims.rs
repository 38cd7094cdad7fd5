//! Claims: only the users who may can keep others from scrubbing.

use crate::bench::{Bench, kill};
use scrubjay_device::store::short_name;
use scrubjay_device::subject::Subject;
use scrubjay_device::target::Target;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

/// Names of abstract sockets that once were claims of this image, without their first byte, which is zero.
fn names(bench: &Bench) -> Vec<String> {
    let target = Target::open(&bench.image()).unwrap();
    let names = [format!("name/{}", short_name(&target.id().key()))].into_iter().chain(target.ways());
    names.map(|name| format!("scrubjay/claim/{name}")).collect()
}

/// Abstract socket names can be taken by any user, so they must mean nothing.
#[test]
fn taking_abstract_socket_names_does_not_prevent_a_scrub() {
    let bench = Bench::with_image(1);
    let bind = |name: &String| UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    let squatters: Vec<UnixListener> = names(&bench).iter().map(bind).collect();
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    drop(squatters);
}

/// The abstract sockets that a process has bound: lines of /proc/net/unix.
fn abstract_sockets(pid: u32) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().map(|file| fs::read_link(file.unwrap().path()));
    let open: Vec<String> = open.filter_map(|link| Some(link.ok()?.to_str()?.to_owned())).collect();
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    let is_of_process = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let inode = format!("socket:[{}]", fields[6]);
        fields.get(7).is_some_and(|name| name.starts_with('@')) && open.contains(&inode)
    };
    sockets.lines().filter(is_of_process).map(str::to_owned).collect()
}

#[test]
fn a_claim_is_a_file_that_only_its_owner_can_read() {
    let bench = Bench::with_image(16);
    let mut child = bench.start_slow_scrub();
    assert_eq!(abstract_sockets(child.id()), Vec::<String>::new());
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let folder = Path::new("/run/scrubjay/claims");
        let metadata = fs::symlink_metadata(folder).unwrap();
        assert_eq!((metadata.is_dir(), metadata.uid(), metadata.permissions().mode() & 0o777), (true, 0, 0o700));
        let is_of_child =
            |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.trim() == child.id().to_string());
        let claims: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let child_claims: Vec<_> = claims.iter().filter(|path| is_of_child(path)).collect();
        assert_eq!(child_claims.len(), 1, "{claims:?}");
        assert_eq!(fs::metadata(child_claims[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }
    kill(&child, "-TERM");
    child.wait().unwrap();
}
