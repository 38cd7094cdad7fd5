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
fn nobody_keeps_others_from_scrubbing_by_taking_a_name() {
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
    let is_its = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let inode = format!("socket:[{}]", fields[6]);
        fields.get(7).is_some_and(|name| name.starts_with('@')) && open.contains(&inode)
    };
    sockets.lines().filter(is_its).map(str::to_owned).collect()
}

#[test]
fn a_claim_lies_where_only_its_owner_may_look() {
    let bench = Bench::with_image(16);
    let mut child = bench.start_slowly();
    assert_eq!(abstract_sockets(child.id()), Vec::<String>::new());
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let folder = Path::new("/run/scrubjay/claims");
        let about = fs::symlink_metadata(folder).unwrap();
        assert_eq!((about.is_dir(), about.uid(), about.permissions().mode() & 0o777), (true, 0, 0o700));
        let is_ours = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.trim() == child.id().to_string());
        let claims: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let ours: Vec<_> = claims.iter().filter(|path| is_ours(path)).collect();
        assert_eq!(ours.len(), 1, "{claims:?}");
        assert_eq!(fs::metadata(ours[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }
    kill(&child, "-TERM");
    child.wait().unwrap();
}
