//! The file that keeps results of `bench disk`: one line of JSON each.
//! It is a plain file, because benchmarks run where no watch does, and the watch's history has one writer. Fields are
//! added, never renamed or taken away; lines of older versions can be read.

use scrubjay_core::bench::compare::{BenchSpan, PastBench, PastSetting};
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::output::{Existing, OutputFile};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Results that are kept, at most; the oldest are dropped.
const KEPT_MAX: usize = 1000;
/// The largest file that is read, in bytes; a larger one is not this file: a thousand results take a tenth of it.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// How long `add` waits for the lock of another process, which holds it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A line of the file.
#[derive(Debug, Deserialize, Serialize)]
struct KeptBench {
    id: String,
    model: String,
    measured: u64,
    iops: f64,
    mean_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// `whole`, `part` or `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depths: Option<Vec<u32>>,
}

impl KeptBench {
    fn new(past: PastBench) -> KeptBench {
        let PastBench { key, model, at, iops, mean, setting } = past;
        let setting_ref = setting.as_ref();
        KeptBench {
            id: key,
            model,
            measured: at.0,
            iops,
            mean_seconds: mean,
            engine: setting_ref.map(|setting| setting.engine.clone()),
            request_bytes: setting_ref.map(|setting| setting.request),
            bytes: setting_ref.map(|setting| setting.bytes),
            span: setting_ref.map(|setting| setting.span.word().to_owned()),
            depths: setting.map(|setting| setting.depths),
        }
    }

    fn into_past(self) -> PastBench {
        let span = self.span.as_deref().and_then(BenchSpan::of_word);
        let setting = match (self.engine, self.request_bytes, self.bytes, span) {
            (Some(engine), Some(request), Some(bytes), Some(span)) => {
                Some(PastSetting { engine, request, bytes, span, depths: self.depths.unwrap_or_default() })
            }
            _ => None,
        };
        let (at, iops, mean) = (UnixSeconds(self.measured), self.iops, self.mean_seconds);
        PastBench { key: self.id, model: self.model, at, iops, mean, setting }
    }
}

/// The file that keeps results.
#[derive(Clone, Debug)]
pub struct BenchLog {
    path: PathBuf,
}

impl BenchLog {
    /// The file in the state folder.
    pub fn new(folder: &Path) -> BenchLog {
        BenchLog { path: folder.join("bench-results.jsonl") }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kept results, in the order of time. A line that makes no sense is skipped; a file that does not exist counts
    /// as empty.
    pub fn read(&self) -> Vec<PastBench> {
        let text = self.text().unwrap_or_default();
        text.lines().filter_map(parse).map(KeptBench::into_past).collect()
    }

    /// The kept results to be displayed, with the number of lines that make no sense.
    ///
    /// # Errors
    /// The file cannot be read, or is longer than [`BenchLog`] ever makes one.
    pub fn look(&self) -> io::Result<(Vec<PastBench>, usize)> {
        match fs::metadata(&self.path) {
            Ok(metadata) if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX => {
                return Err(io::Error::other("no file of results, or longer than any"));
            }
            _ => {}
        }
        let text = self.text()?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let kept: Vec<Option<KeptBench>> = lines.map(parse).collect();
        let malformed = kept.iter().filter(|line| line.is_none()).count();
        Ok((kept.into_iter().flatten().map(KeptBench::into_past).collect(), malformed))
    }

    fn text(&self) -> io::Result<String> {
        match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => Ok(String::from_utf8_lossy(&read?).into_owned()),
        }
    }

    /// Adds a result; beyond a thousand the oldest are dropped. Processes that add at the same time wait for one another.
    ///
    /// # Errors
    /// When the file cannot be read or written, or another process holds the folder's lock for ten seconds.
    pub fn add(&self, result: PastBench) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let _lock = lock(folder)?;
        let text = self.text()?;
        let mut lines: Vec<&str> = text.lines().filter(|line| parse(line).is_some()).collect();
        let new = serde_json::to_string(&KeptBench::new(result)).map_err(io::Error::other)?;
        lines.push(&new);
        let mut file = OutputFile::create(&self.path, Existing::Replaced).map_err(io::Error::other)?;
        for line in &lines[lines.len().saturating_sub(KEPT_MAX)..] {
            writeln!(file, "{line}")?;
        }
        file.commit().map_err(io::Error::other)
    }
}

/// A line, if it makes sense.
fn parse(line: &str) -> Option<KeptBench> {
    let kept = serde_json::from_str::<KeptBench>(line).ok()?;
    (kept.mean_seconds > 0.0 && kept.mean_seconds.is_finite()).then_some(kept)
}

/// Locks the folder, because the file itself is replaced; `None` where the file system cannot lock folders (NFS).
/// However this process ends, the kernel releases the lock.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let opened = File::open(folder)?;
    let begun = Instant::now();
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(Some(opened)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                return Err(io::Error::other("another program has locked the folder"));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn result(n: u64) -> PastBench {
        let setting = PastSetting {
            engine: "own (io_uring)".to_owned(),
            request: 4096,
            bytes: 1 << 40,
            span: BenchSpan::Whole,
            depths: vec![1, 2, 4],
        };
        PastBench {
            key: format!("disk {n}"),
            model: "M".to_owned(),
            at: UnixSeconds(n),
            iops: 80.0,
            mean: 0.0125,
            setting: Some(setting),
        }
    }

    #[test]
    fn reading_for_display_counts_damaged_lines_and_refuses_an_oversized_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = BenchLog::new(folder.path());
        assert_eq!(log.look().unwrap(), (Vec::new(), 0));
        let line = |id: &str| {
            format!("{{\"id\":\"{id}\",\"model\":\"M\",\"measured\":7,\"iops\":80.0,\"mean_seconds\":0.0125}}\n")
        };
        fs::write(log.path(), format!("{}\u{0}\u{0}torn\n{}{{\"id\":", line("a"), line("b"))).unwrap();
        let (all, malformed) = log.look().unwrap();
        let keys: Vec<&str> = all.iter().map(|past| &*past.key).collect();
        assert_eq!((keys, malformed), (vec!["a", "b"], 2));
        fs::OpenOptions::new().write(true).open(log.path()).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        assert!(log.look().unwrap_err().to_string().contains("longer than any"));
        fs::remove_file(log.path()).unwrap();
        fs::create_dir(log.path()).unwrap();
        assert!(log.look().is_err());
    }

    #[test]
    fn results_are_kept_in_order_and_nonsense_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let log = BenchLog::new(folder.path());
        assert_eq!(log.read(), []);
        log.add(result(1)).unwrap();
        let text = fs::read_to_string(log.path()).unwrap();
        fs::write(log.path(), format!("nonsense\n{text}{{\"id\":1}}\n")).unwrap();
        log.add(result(2)).unwrap();
        assert_eq!(log.read(), [result(1), result(2)]);
        for n in 3..KEPT_MAX as u64 + 5 {
            // Written in one go: a thousand replacements of the file would only wear the disk.
            let mut file = fs::OpenOptions::new().append(true).open(log.path()).unwrap();
            writeln!(file, "{}", serde_json::to_string(&KeptBench::new(result(n))).unwrap()).unwrap();
        }
        log.add(result(5000)).unwrap();
        let all = log.read();
        assert_eq!((all.len(), all.last().cloned()), (KEPT_MAX, Some(result(5000))));
        assert!(all[0].at.0 > 1, "the oldest went");
    }

    #[test]
    fn lines_of_an_older_version_are_read_and_kept_and_so_are_fields_of_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let log = BenchLog::new(folder.path());
        let old = r#"{"id":"naa.5 Z","model":"ST16","measured":7,"iops":79.1,"mean_seconds":0.0126}"#;
        let newer =
            r#"{"id":"a","model":"","measured":8,"iops":1.0,"mean_seconds":1.0,"span":"third","colour":"blue"}"#;
        fs::write(log.path(), format!("{old}\n{newer}\n")).unwrap();
        log.add(result(9)).unwrap();
        let text = fs::read_to_string(log.path()).unwrap();
        assert!(text.starts_with(&format!("{old}\n{newer}\n")), "{text}");
        let read = log.read();
        assert_eq!((read[0].key.as_str(), read[0].mean, &read[0].setting), ("naa.5 Z", 0.0126, &None));
        assert_eq!((read.len(), &read[1].setting, &read[2]), (3, &None, &result(9)));
    }

    /// The variable that makes this process one that adds results beside others: a folder, and how many results.
    const FOLDER_VARIABLE: &str = "SCRUBJAY_TEST_BENCH_LOG";
    const WRITERS: u64 = 4;
    const EACH: u64 = 25;

    #[test]
    fn of_several_processes_that_add_at_once_nothing_is_lost() {
        if let Some(folder) = std::env::var_os(FOLDER_VARIABLE) {
            let log = BenchLog::new(Path::new(&folder));
            (0..EACH).for_each(|n| log.add(result(u64::from(std::process::id()) * 100 + n)).unwrap());
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let test_program = std::env::current_exe().unwrap();
        let writer = || {
            let name = "of_several_processes_that_add_at_once_nothing_is_lost";
            Command::new(&test_program)
                .arg(name)
                .env(FOLDER_VARIABLE, folder.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| writer()).collect();
        assert!(writers.into_iter().all(|mut writer| writer.wait().unwrap().success()));
        let mut kept: Vec<u64> = BenchLog::new(folder.path()).read().iter().map(|past| past.at.0).collect();
        kept.sort_unstable();
        kept.dedup();
        assert_eq!(kept.len() as u64, WRITERS * EACH);
    }
}
