//! A clean folder with an image file, a state folder, and the command.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A scrub that does not end while a test acts on it: it pauses for ten seconds after each of 64 requests.
const SLOW_SCRUB: [&str; 9] =
    ["scrub", "disk.img", "--policy", "delay", "--delay", "10s", "--request", "256KiB", "--json"];
/// Bytes of an image of 16 MiB that it has saved before its first pause.
pub const SAVED_BYTES: u64 = 256 << 10;

/// A clean folder.
pub struct Bench {
    pub folder: TempDir,
}

impl Bench {
    /// A folder with `disk.img` of this many MiB, written to the last byte.
    pub fn with_image(mib: usize) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::write(bench.image(), vec![0xa5; mib << 20]).expect("room for an image");
        bench
    }

    pub fn image(&self) -> PathBuf {
        self.folder.path().join("disk.img")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// `scrubjay ARGUMENTS`, in the folder, with a state folder of its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrubjay"));
        command.args(arguments).current_dir(self.folder.path()).env("XDG_STATE_HOME", self.state());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> RunResult {
        RunResult::new(self.command(arguments).output().expect("the command starts"))
    }

    /// Runs where no file may grow beyond 4 KiB, as on a full disk.
    pub fn run_on_full_disk(&self, arguments: &[&str]) -> RunResult {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_scrubjay")]);
        command.args(arguments).current_dir(self.folder.path()).env("XDG_STATE_HOME", self.state());
        RunResult::new(command.stdin(Stdio::null()).output().expect("a shell starts"))
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the command starts")
    }
}

impl Bench {
    /// The state file with this extension, once there is one.
    pub fn state_file(&self, ending: &str) -> Option<PathBuf> {
        let mut files = fs::read_dir(self.state().join("scrubjay")).ok()?.map(|file| file.unwrap().path());
        files.find(|path| path.extension().is_some_and(|found| found == ending))
    }

    /// Starts a slow scrub, and returns when it has saved its first progress.
    pub fn start_slow_scrub(&self) -> Child {
        self.until_saved(self.start(&SLOW_SCRUB), SAVED_BYTES / 512)
    }

    /// Waits until a running scrub has saved the verdicts on this many sectors.
    pub fn until_saved(&self, mut child: Child, sectors: u64) -> Child {
        let progress = child.stderr.take().expect("a pipe");
        BufReader::new(progress).lines().next().expect("it says what it does").unwrap();
        let saved = || self.state_file("hasty").and_then(|path| fs::read_to_string(path).ok());
        while saved().is_none_or(|text| done(&text) < sectors) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it could be stopped");
            std::thread::yield_now();
        }
        child
    }
}

/// Sectors with a verdict in a saved state of a sequence of runs.
fn done(state: &str) -> u64 {
    state
        .parse::<scrubjay_core::scrub::saved::Saved>()
        .ok()
        .and_then(|saved| saved.pass)
        .map_or(0, |pass| pass.done.count())
}

/// Sends a signal.
pub fn kill(child: &Child, signal: &str) {
    // Not by the program `kill`: a minimal Debian has none.
    let signal = match signal {
        "-CONT" => Signal::CONT,
        "-HUP" => Signal::HUP,
        "-INT" => Signal::INT,
        "-KILL" | "-9" => Signal::KILL,
        "-STOP" => Signal::STOP,
        "-TERM" => Signal::TERM,
        other => panic!("no signal {other}"),
    };
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The result of a run.
#[derive(Debug)]
pub struct RunResult {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl RunResult {
    pub fn new(output: Output) -> RunResult {
        let text = |bytes| String::from_utf8(bytes).expect("what is said is text");
        RunResult { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The first target of its JSON.
    pub fn target(&self) -> serde_json::Value {
        let document: serde_json::Value = serde_json::from_str(&self.stdout).expect("JSON and nothing else");
        assert_eq!(document["schema"], 1);
        document["targets"][0].clone()
    }

    /// Checks that it was refused with this exit code, in one line with these words, and without output.
    pub fn refused(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        assert!(self.stderr.contains(words), "`{words}` in {self:?}");
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "one line: {self:?}");
    }
}
