//! A clean folder with an image file, a state folder, and the command.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A clean folder.
pub struct Bench {
    pub folder: TempDir,
}

impl Bench {
    /// With `disk.img` of this many MiB in it, written to the last byte.
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

    /// `scrubjay ARGUMENTS`, in the folder, with no state of anybody else's.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrubjay"));
        command.args(arguments).current_dir(self.folder.path()).env("XDG_STATE_HOME", self.state());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(self.command(arguments).output().expect("the command starts"))
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the command starts")
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("what is said is text");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The first target of its JSON.
    pub fn target(&self) -> serde_json::Value {
        let document: serde_json::Value = serde_json::from_str(&self.stdout).expect("JSON and nothing else");
        assert_eq!(document["schema"], 1);
        document["targets"][0].clone()
    }

    /// Refused with this exit code, in one line that says `what`; nothing on standard output.
    pub fn refused(&self, code: i32, what: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        assert!(self.stderr.contains(what), "`{what}` in {self:?}");
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "one line: {self:?}");
    }
}
