//! Control sockets: where they lie, by whose word they are trusted, and the messages without a server.

use crate::bench::RunResult;
use crate::served::{NAMES, Served};
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::units::UnixSeconds;
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_device::member::{Access, OpenMember, make, new_uuid};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The sockets in the folder of control sockets.
fn sockets(served: &Served) -> Vec<PathBuf> {
    fs::read_dir(served.bench.folder.path().join("run")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The JSON that was printed, in one line.
fn line(ran: &RunResult) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// Members with names from `prefix`, of a volume with the name `volume`, which may be any text.
fn make_volume(served: &Served, prefix: &str, volume: &str) -> [String; 3] {
    let names = [0, 1, 2].map(|slot| format!("{prefix}{slot}"));
    let members = names.each_ref().map(|name| {
        let path = served.bench.folder.path().join(name);
        File::create(&path).unwrap().set_len(4 << 20).unwrap();
        OpenMember::open(&path, Access::ReadWrite).unwrap()
    });
    let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).unwrap();
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4096, block_bytes: 4096 };
    let geometry = Geometry::fit(&parameters, 4 << 20, None).unwrap();
    let uuids = [(); 3].map(|()| new_uuid().unwrap());
    let superblock = blank::superblock(geometry, new_uuid().unwrap(), volume, UnixSeconds(1), &uuids);
    make(&members, &superblock).unwrap();
    names
}

#[test]
fn the_volume_of_a_killed_server_has_the_status_unknown() {
    let mut served = Served::new();
    let none = served.run(&["volume", "status"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "no volume is running\n"), "{none:?}");
    let none = served.run(&["volume", "status", "--json"]);
    assert_eq!((none.code, &line(&none)["state"]), (Some(0), &"none".into()));

    served.serve(&NAMES[..6]);
    served.kill();
    for arguments in [&["volume", "status"][..], &["volume", "status", "photos"]] {
        served.run(arguments).refused(1, "the server is gone");
    }
    let disks = served.run(&[]);
    assert!(disks.stdout.contains("One volume DOES NOT ANSWER") && !disks.stdout.contains("is served"), "{disks:?}");
    let unknown = served.run(&["volume", "status", "--json"]);
    assert_eq!((unknown.code, &line(&unknown)["state"]), (Some(1), &"unknown".into()));
    assert!(line(&unknown)["socket"].as_str().unwrap().ends_with(".sock"), "{unknown:?}");
}

#[test]
fn the_status_of_a_degraded_volume_begins_with_degraded() {
    let mut served = Served::new();
    served.serve(&NAMES[..5]);
    let degraded = served.run(&["volume", "status"]);
    assert!(degraded.code == Some(3) && degraded.stdout.starts_with("photos: DEGRADED, "), "{degraded:?}");
    let scrubbed = served.run(&["scrub", "photos", "--policy", "none"]);
    assert!(
        scrubbed.code == Some(3) && scrubbed.stdout.starts_with("photos: DEGRADED: member 5 is missing; "),
        "{scrubbed:?}"
    );
    assert!(!(degraded.stdout + &scrubbed.stdout).contains("NO REDUNDANCY LEFT"), "one more may fail");
    let scrubbed = served.run(&["scrub", "photos", "--policy", "none", "--fresh", "--json"]);
    let document: Value = serde_json::from_str(&scrubbed.stdout).unwrap();
    assert_eq!((scrubbed.code, &document["targets"][0]["volume_state"]), (Some(3), &"degraded".into()));
}

#[test]
fn a_volume_without_as_many_members_as_it_has_parities_says_that_no_redundancy_is_left() {
    let mut served = Served::new();
    served.serve(&NAMES[..4]);
    let status = served.run(&["volume", "status"]);
    let scrubbed = served.run(&["scrub", "photos", "--policy", "none"]);
    for ran in [status, scrubbed] {
        assert!(ran.code == Some(3) && ran.stdout.contains("NO REDUNDANCY LEFT: one more fault loses data"), "{ran:?}");
    }
}

#[test]
fn a_volume_is_stopped_in_order_when_its_terminal_closes() {
    let mut served = Served::new();
    // The tests may run with that signal ignored (nohup).
    let plain = served.command(&[&["volume", "serve", "--listen", "unix:nbd.sock"][..], &NAMES[..6]].concat());
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    served.server = Some(command.spawn().unwrap());
    served.until(|status| status["state"] == "open");
    crate::bench::kill(served.server.as_ref().unwrap(), "-HUP");
    let ended = RunResult::new(served.server.take().unwrap().wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(served.run(&[&["volume", "check"], &NAMES[..6]].concat()).code, Some(0));
}

#[test]
fn no_member_of_a_read_only_volume_can_be_failed() {
    let mut served = Served::new();
    let serve = ["volume", "serve", "--read-only", "--listen", "unix:nbd.sock"];
    served.server = Some(served.command(&[&serve[..], &NAMES[..6]].concat()).spawn().unwrap());
    served.until(|status| status["state"] == "open");
    served.run(&["volume", "fail", "1"]).refused(2, "for reading only");
}

#[test]
fn the_control_socket_lies_in_its_folder_whatever_the_volume_is_called() {
    let mut served = Served::new();
    served
        .run(&["volume", "create", "--data", "1", "--parity", "0", "--name", "a/b", "new"])
        .refused(2, "without a slash");
    let members = make_volume(&served, "m", "../escaped");
    let array = served.serve_as("../escaped", &members.each_ref().map(String::as_str))["array"].clone();
    let [socket] = &sockets(&served)[..] else { panic!("one socket") };
    assert_eq!(socket.file_stem().unwrap().to_str(), array.as_str());
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(served.run(&["volume", "status", array.as_str().unwrap()]).stdout.starts_with("../escaped: open"));
}

#[test]
fn two_volumes_may_have_one_name() {
    let mut served = Served::new();
    let other_members = make_volume(&served, "m", "photos");
    served.serve(&NAMES[..6]);
    let mut arguments = vec!["volume", "serve", "--listen", "unix:other.sock"];
    arguments.extend(other_members.iter().map(String::as_str));
    let other = served.command(&arguments).spawn().unwrap();
    while sockets(&served).len() < 2 || served.run(&["volume", "status"]).stdout.matches("photos: open").count() < 2 {}
    served.run(&["volume", "status", "photos"]).refused(2, "several volumes are called photos: name one of ");
    served.run(&["volume", "stop"]).refused(2, "several volumes are running");
    served.run(&["scrub", "photos"]).refused(2, "several volumes are called photos: name one of ");
    for socket in sockets(&served) {
        let stopped = served.run(&["volume", "stop", socket.file_stem().unwrap().to_str().unwrap()]);
        assert!(stopped.code == Some(0) && stopped.stderr.contains("stopped photos"), "{stopped:?}");
    }
    assert_eq!(RunResult::new(other.wait_with_output().unwrap()).code, Some(0));
}

#[test]
fn a_socket_folder_that_others_may_write_to_is_not_trusted() {
    let served = Served::new();
    let run = served.bench.folder.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, Permissions::from_mode(0o777)).unwrap();
    let mut serve = vec!["volume", "serve", "--listen", "unix:nbd.sock"];
    serve.extend(&NAMES[..6]);
    for arguments in [&serve[..], &["volume", "status"], &["volume", "stop", "photos"]] {
        served.run(arguments).refused(2, "others can put control sockets there");
    }
}

#[test]
fn another_user_cannot_give_commands_even_through_a_socket_open_to_all() {
    let mut served = Served::new();
    served.serve(&NAMES[..6]);
    let folder = served.bench.folder.path().to_owned();
    let [socket] = &sockets(&served)[..] else { panic!("one socket") };
    for (path, mode) in [(folder.as_path(), 0o755), (&folder.join("run"), 0o755), (socket, 0o666)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let command = folder.join("scrubjay");
    fs::copy(env!("CARGO_BIN_EXE_scrubjay"), &command).unwrap();
    let mut status = std::process::Command::new(command);
    status.args(["volume", "status"]).arg(socket).uid(65534).gid(65534).current_dir("/");
    let Ok(output) = status.output() else { return eprintln!("NOT TESTED: only root can be somebody else") };
    RunResult::new(output).refused(1, "only root and user 0 may give commands to it");
    assert_eq!(served.run(&["volume", "status"]).code, Some(0));
}

#[test]
fn an_nbd_socket_has_the_mode_that_was_asked_for() {
    let mut served = Served::new();
    let ran = served.run(&["volume", "serve", "a", "--listen", "unix:x", "--socket-mode", "9"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("`9` is no mode"), "{ran:?}");
    served.serve(&NAMES[..6]);
    let nbd = served.bench.folder.path().join("nbd.sock");
    assert_eq!(fs::metadata(&nbd).unwrap().permissions().mode() & 0o777, 0o600);
    served.stop();
    let mut arguments = vec!["volume", "serve", "--socket-mode", "666", "--listen", "unix:nbd.sock"];
    arguments.extend(["--listen", "127.0.0.1:0"]);
    arguments.extend(&NAMES[..6]);
    served.server = Some(served.command(&arguments).spawn().unwrap());
    served.until(|status| status["state"] == "open");
    assert_eq!(fs::metadata(&nbd).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(served.run(&["volume", "stop"]).code, Some(0));
    let ended = RunResult::new(served.server.take().unwrap().wait_with_output().unwrap());
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    assert_eq!(ended.stderr.contains("every user of this machine can read and write"), is_root, "{ended:?}");
}

/// A client that follows a volume's events gets those of members and of the volume, in order, until it is stopped.
#[test]
fn events_are_followed_to_the_end() {
    let mut served = Served::new();
    served.serve(&NAMES[..6]);
    let none = served.run(&["volume", "events"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "nothing has happened since the server was started\n"));
    let mut follow = served.command(&["volume", "events", "photos", "--follow", "--json"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().expect("an event").unwrap()).unwrap();
    assert_eq!(served.run(&["volume", "fail", "2"]).code, Some(0));
    let failed = next();
    assert_eq!((&failed["member"]["member"], &failed["member"]["state"]), (&2.into(), &"failed".into()), "{failed}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(failed["time"].as_u64().is_some_and(|time| time > now - 86_400 && time <= now), "{failed}");
    assert_eq!(next()["volume"], "degraded");
    assert_eq!(served.run(&["volume", "readd", NAMES[2]]).code, Some(0));
    let mut last = next();
    while last["volume"] != "open" {
        last = next();
    }
    let listed = served.run(&["volume", "events"]);
    assert!(
        listed.code == Some(0) && listed.stdout.contains("is out of use: taken out by the administrator"),
        "{listed:?}"
    );
    let is_dated = |line: &str| line.split_whitespace().nth(3).is_some_and(|time| time.contains(':')); // 12 Mar 2026 03:41
    assert!(listed.stdout.lines().all(is_dated), "{listed:?}");
    assert_eq!(served.run(&["volume", "stop"]).code, Some(0));
    assert_eq!(follow.wait().unwrap().code(), Some(0));
}
