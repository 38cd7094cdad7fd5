//! A volume's life by its commands: served, inspected, a member taken out and replaced, scrubbed, stopped, checked.

use crate::bench::{Bench, RunResult};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

pub const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "new"];
/// A wait of this length means a hang, however busy the machine is.
const HANGS: Duration = Duration::from_secs(300);

/// A volume called `photos`, and its server.
pub struct Served {
    pub bench: Bench,
    pub server: Option<Child>,
}

impl Served {
    /// A volume of six empty files, and a seventh file.
    pub fn new() -> Served {
        let bench = Bench { folder: tempfile::tempdir().expect("a temporary folder") };
        for name in NAMES {
            File::create(bench.folder.path().join(name)).unwrap().set_len(16 << 20).unwrap();
        }
        let mut create = vec!["volume", "create", "--data", "4", "--parity", "2", "--name", "photos"];
        create.extend(&NAMES[..6]);
        assert_eq!(bench.run(&create).code, Some(0));
        Served { bench, server: None }
    }

    /// `scrubjay ARGUMENTS`, in a run folder where this volume is the only one.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench.command(arguments);
        command.env("SCRUBJAY_RUN", self.bench.folder.path().join("run"));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> RunResult {
        RunResult::new(self.command(arguments).output().expect("it starts"))
    }

    /// Serves these members, and waits until the volume is open. Returns its status.
    pub fn serve(&mut self, members: &[&str]) -> Value {
        self.serve_as("photos", members)
    }

    /// [`Served::serve`], for a volume with another name.
    pub fn serve_as(&mut self, name: &str, members: &[&str]) -> Value {
        let mut arguments = vec!["volume", "serve", "--listen", "unix:nbd.sock"];
        arguments.extend(members);
        self.server = Some(self.command(&arguments).spawn().expect("it starts"));
        self.until_named(name, |status| status["state"] != "opening")
    }

    /// Polls the volume's status until it satisfies `is_reached`.
    pub fn until(&mut self, is_reached: impl Fn(&Value) -> bool) -> Value {
        self.until_named("photos", is_reached)
    }

    fn until_named(&mut self, name: &str, is_reached: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let ran = self.run(&["volume", "status", name, "--json"]);
            match serde_json::from_str(&ran.stdout) {
                Ok(status) if is_reached(&status) => return status,
                _ => {
                    let is_running = self.server.as_mut().is_some_and(|server| server.try_wait().unwrap().is_none());
                    assert!(is_running && begun.elapsed() < HANGS, "{ran:?}");
                }
            }
        }
    }

    /// Kills the server, and waits until the kernel has released its files and sockets, which may be after its end.
    pub fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        let folder = self.bench.folder.path();
        for name in NAMES {
            File::open(folder.join(name)).unwrap().lock().unwrap();
        }
        let commands = fs::read_dir(folder.join("run")).unwrap().map(|socket| socket.unwrap().path());
        for socket in commands.chain([folder.join("nbd.sock")]) {
            let begun = Instant::now();
            while UnixStream::connect(&socket).is_ok() {
                assert!(begun.elapsed() < HANGS, "{} is still served", socket.display());
            }
        }
    }

    pub fn stop(&mut self) {
        assert_eq!(self.run(&["volume", "stop"]).code, Some(0));
        let ended = self.server.take().unwrap().wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.success() && stderr.contains("stopped photos: nothing was found wrong"), "{stderr}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

#[test]
fn a_member_is_taken_out_and_replaced_while_the_volume_is_served() {
    let mut served = Served::new();
    let status = served.serve(&["f", "b", "a", "d", "c", "e"]);
    assert_eq!((&status["schema"], &status["state"], &status["shape"]), (&1.into(), &"open".into(), &"4+2".into()));
    assert_eq!(status["members"][5]["path"], "f");
    served.run(&["volume", "serve", "a", "b", "c", "d", "e", "--listen", "unix:other.sock"]).refused(2, "is in use by");

    assert_eq!(served.run(&["volume", "fail", "c"]).code, Some(0));
    let degraded = served.until(|status| status["state"] == "degraded");
    assert_eq!(degraded["members"][2]["state"], "failed");
    assert_eq!(served.run(&["volume", "status"]).code, Some(3));
    let bare = served.run(&[]);
    let words = bare.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("One volume is served; photos is DEGRADED: see `scrubjay volume status`."), "{bare:?}");
    served.run(&["volume", "fail", "2"]).refused(2, "member 2 is out already");
    served.run(&["volume", "fail", "9"]).refused(2, "there is no member 9");
    served.run(&["volume", "replace", "1", "new"]).refused(2, "member 1 is in use");
    served.run(&["volume", "replace", "2", "c"]).refused(2, "of volume photos: to overwrite it, add --force c");
    served.run(&["volume", "replace", "2", "b"]).refused(2, "/b is member 1 of this volume");
    let inspected = served.run(&["volume", "inspect", "a"]);
    assert!(inspected.stdout.contains("being served, or not stopped in order"), "{inspected:?}");

    assert_eq!(served.run(&["volume", "replace", "2", "new"]).code, Some(0));
    let whole = served.until(|status| status["state"] == "open");
    assert!(whole["members"][2]["path"].as_str().unwrap().ends_with("/new"), "{whole}");
    let scrubbed = served.run(&["scrub", "photos", "--policy", "none"]);
    assert!(
        scrubbed.code == Some(0) && scrubbed.stdout.starts_with("photos: clean: nothing was ever written to its"),
        "{scrubbed:?}"
    );
    assert_eq!(served.run(&["volume", "findings"]).stdout.trim_end(), "nothing was found wrong");
    served.stop();

    let checked = served.run(&["volume", "check", "a", "b", "new", "d", "e", "f", "--json"]);
    let document: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.code, &document["schema"], &document["complete"]), (Some(0), &1.into(), &true.into()));
    assert_eq!((&document["repaired"], &document["lost"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    served.run(&["volume", "status", "photos"]).refused(2, "no volume called photos is running");
}

#[test]
fn a_server_that_is_gone_is_reported_and_its_socket_can_be_removed() {
    let mut served = Served::new();
    served.serve(&["a", "b", "c", "d", "e", "f"]);
    let gone = served.bench.folder.path().join("run/00000000-0000-4000-8000-000000000000.sock");
    drop(std::os::unix::net::UnixListener::bind(&gone).unwrap());
    let all = served.run(&["volume", "status"]);
    assert!(all.code == Some(1) && all.stderr.contains("the server is gone") && all.stdout.contains("open"), "{all:?}");
    assert_eq!(served.run(&["volume", "findings"]).code, Some(0), "there is but one");
    let path = "run/00000000-0000-4000-8000-000000000000.sock";
    // Only control sockets are removed: no file, and no socket of another program that is gone.
    for other in ["photo.jpg", "other.sock", "run/photo.sock"].map(|name| served.bench.folder.path().join(name)) {
        let stop = ["volume", "stop", other.to_str().unwrap()];
        served.run(&stop).refused(2, "there is no control socket");
        let (code, words) = match other.ends_with("other.sock") {
            true => (1, "the server is gone"),
            false => (2, "is no control socket: name a running volume"),
        };
        match code {
            1 => drop(std::os::unix::net::UnixListener::bind(&other).unwrap()),
            _ => std::fs::write(&other, "precious").unwrap(),
        }
        let stopped = served.run(&stop);
        assert!(!stopped.stderr.contains("removed") && other.exists(), "{stopped:?}");
        stopped.refused(code, words);
        std::fs::remove_file(&other).unwrap();
    }
    served.run(&["volume", "stop", path]).refused(1, "its socket is removed");
    assert_eq!(served.run(&["volume", "status"]).code, Some(0));
    served.stop();
}

#[test]
fn a_failed_member_can_be_readded_under_any_path() {
    let mut served = Served::new();
    served.serve(&NAMES[..6]);
    served.run(&["volume", "readd", "c"]).refused(2, "it is in use (member 2)");
    assert_eq!(served.run(&["volume", "fail", "c"]).code, Some(0));
    let degraded = served.until(|status| status["state"] == "degraded");
    assert_eq!(
        (&degraded["members"][2]["may_return"], &degraded["members"][1]["may_return"]),
        (&true.into(), &false.into())
    );
    let status = served.run(&["volume", "status"]).stdout;
    assert!(status.contains("when member 2 is back: `scrubjay volume readd c`"), "{status}");
    served.run(&["volume", "readd", "new"]).refused(2, "is no member of a volume");
    served.run(&["volume", "readd", "absent"]).refused(2, "no such file");
    assert_eq!(served.run(&["volume", "readd", "c", "--volume", "photos"]).code, Some(0));
    let whole = served.until(|status| status["state"] == "open");
    assert_eq!(whole["members"][2]["state"], "active");

    // The member can come back after another start, too, and under another name.
    assert_eq!(served.run(&["volume", "fail", "2"]).code, Some(0));
    served.until(|status| status["state"] == "degraded");
    assert_eq!(served.run(&["volume", "stop"]).code, Some(0));
    assert!(served.server.take().unwrap().wait().unwrap().success());
    let path = |name: &str| served.bench.folder.path().join(name);
    std::fs::rename(path("c"), path("moved")).unwrap();
    assert_eq!(served.serve(&["a", "b", "d", "e", "f", "moved"])["state"], "degraded");
    let status = served.run(&["volume", "status"]).stdout;
    assert!(status.contains("`scrubjay volume readd PATH`"), "{status}");
    assert_eq!(served.run(&["volume", "readd", "moved"]).code, Some(0));
    served.until(|status| status["state"] == "open");
    served.stop();
    assert_eq!(served.run(&["volume", "check", "a", "b", "moved", "d", "e", "f"]).code, Some(0));
}

#[test]
fn stopping_a_degraded_volume_reports_the_failed_member() {
    let mut served = Served::new();
    served.serve(&NAMES[..6]);
    assert_eq!(served.run(&["volume", "fail", "c"]).code, Some(0));
    served.until(|status| status["state"] == "degraded");
    let stopped = served.run(&["volume", "stop"]);
    let ended = RunResult::new(served.server.take().unwrap().wait_with_output().unwrap());
    let words = "stopped photos: member 2 is out of use (taken out by the administrator)";
    assert!(stopped.code == Some(0) && stopped.stderr.contains(words), "{stopped:?}");
    assert!(ended.code == Some(0) && ended.stderr.contains(words), "{ended:?}");
}

#[test]
fn a_volume_whose_server_was_killed_is_not_checked_before_it_is_repaired() {
    let mut served = Served::new();
    served.serve(&NAMES[..6]);
    served.kill();
    let check = ["volume", "check", "a", "b", "c", "d", "e", "f"];
    served.run(&check).refused(2, "was not stopped in order");
    assert_eq!(served.run(&[&check[..], &["--repair"]].concat()).code, Some(0));
    assert_eq!(served.run(&check).code, Some(0));
}

#[test]
fn a_dead_disk_does_not_keep_a_volume_from_being_served() {
    let mut served = Served::new();
    let path = |name: &str| served.bench.folder.path().join(name);
    std::fs::remove_file(path("b")).unwrap();
    let damaged = File::create(path("d")).unwrap(); // its contents are gone
    damaged.set_len(16 << 20).unwrap();
    let mut serve = vec!["volume", "serve", "--listen", "unix:nbd.sock"];
    serve.extend(&NAMES[..6]);
    let ran = served.run(&[&serve[..], &["--degraded", "no"]].concat());
    ran.refused(2, "the volume is not whole: left out: b: no such file or device, left out: d is no member");
    let without = ["volume", "serve", "--degraded", "no", "--listen", "unix:nbd.sock", "a", "c", "e", "f"];
    served.run(&without).refused(2, "the volume is not whole: member 1 is not here");

    assert_eq!(served.serve(&NAMES[..6])["state"], "degraded");
    assert_eq!(served.run(&["volume", "stop"]).code, Some(0));
    let stderr = RunResult::new(served.server.take().unwrap().wait_with_output().unwrap()).stderr;
    assert!(stderr.contains("scrubjay: left out: b: no such file or device\n"), "{stderr}");
    assert!(stderr.contains("scrubjay: left out: d is no member of a volume"), "{stderr}");

    File::create(served.bench.folder.path().join("f")).unwrap();
    served.run(&serve).refused(2, "too few members");
    served.run(&serve).refused(2, "left out: b: no such file or device, d is no member of a volume, f is no member");
    served.run(&["volume", "serve", "x", "y", "--listen", "unix:s"]).refused(2, "no member can be used: x: no such");
}

#[test]
fn too_few_members_and_addresses_that_others_reach_are_refused() {
    let served = Served::new();
    served.run(&["volume", "serve", "a", "c", "e", "--listen", "unix:nbd.sock"]).refused(2, "too few members");
    let open = ["volume", "serve", "a", "b", "c", "d", "e", "f", "--listen", "0.0.0.0:0"];
    served.run(&open).refused(2, "other machines reach it");
    served.run(&["volume", "stop"]).refused(2, "no volume is running");
    // A refusal of clap's has several lines.
    let ran = served.run(&["volume", "serve", "a", "b"]);
    let words = "<--listen <unix:PATH|HOST:PORT>|--ublk[=<N>]>";
    assert!(ran.code == Some(2) && ran.stderr.contains(words), "both ways are named: {ran:?}");
}
