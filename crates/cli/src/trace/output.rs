//! Where a trace is written to: a file that appears when it is complete, or standard output; compressed by its ending.

use crate::args::trace::Destination;
use crate::exit::Usage;
use crate::signals;
use crate::unwritable::unwritable;
use anyhow::{Context, Result, ensure};
use flate2::write::GzEncoder;
use scrubjay_device::output::{self, Existing};
use scrubjay_trace::formats::{FORMATS, Format};
use scrubjay_trace::{Devices, Record, Writer};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// zstd's own default: fast, and a third smaller than gzip.
const ZSTD_LEVEL: i32 = 3;
/// So much is handed to the compressor, or to the kernel, at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Set by a signal, so that half a file is removed before the end. A second signal ends at once.
#[derive(Debug)]
pub struct CleanupSignal(Arc<AtomicBool>);

impl CleanupSignal {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the signals cannot be listened to.
    pub fn on_signals() -> io::Result<CleanupSignal> {
        signals::flag().map(CleanupSignal)
    }

    /// Goes on, unless there was a signal.
    ///
    /// # Errors
    /// When there was one.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.0.load(Ordering::Relaxed),
            "stopped by a signal before the end: what was written is not complete"
        );
        Ok(())
    }
}

/// A trace in the writing. Unless it is finished, nothing remains of it.
pub struct TraceOutput {
    format: &'static Format,
    name: String,
    writer: Box<dyn Writer>,
    encoder: Arc<Mutex<Option<Encoder>>>,
    /// The file; nothing for standard output.
    file: Option<output::OutputFile>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenTrace {
    /// Bytes, as they lie in the file.
    pub bytes: u64,
}

impl TraceOutput {
    /// Begins to write to `path`.
    ///
    /// # Errors
    /// When the format is not known or cannot be written, the file exists and may not be replaced, or cannot be made.
    pub fn create(path: &Path, destination: &Destination) -> Result<TraceOutput> {
        let is_pipe = path == Path::new("-");
        let existing = existing(destination.force);
        if !is_pipe {
            output::check(path, existing).map_err(unwritable)?;
        }
        let (format, compression) = choose(path, destination.to.as_deref())?;
        let Some(format_writer) = format.writer else {
            return Err(Usage(format!("{} can be read but not written; {}", format.name, writable())).into());
        };
        let name = if is_pipe { "standard output".to_owned() } else { path.display().to_string() };
        let (sink, file): (Box<dyn Write + Send>, _) = if is_pipe {
            if format_writer.is_compressed && io::stdout().is_terminal() {
                return Err(Usage(format!("{} is not for a terminal: name a file, or a pipe", format.name)).into());
            }
            (Box::new(io::stdout()), None)
        } else {
            let file = output::OutputFile::create(path, existing).map_err(unwritable)?;
            let sink = file.file().try_clone().with_context(|| format!("cannot write {name}"))?;
            (Box::new(sink), Some(file))
        };
        let encoder =
            Encoder::new(compression, CountingWriter { sink, bytes: 0 }).context("cannot begin to compress")?;
        let encoder = Arc::new(Mutex::new(Some(encoder)));
        let handle = BufWriter::with_capacity(BUFFER_BYTES, OutputHandle(Arc::clone(&encoder)));
        Ok(TraceOutput { format, name, writer: (format_writer.begin)(Box::new(handle)), encoder, file })
    }

    /// The format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes records, in the order of their arrival.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn write(&mut self, records: &[Record], devices: &Devices) -> Result<()> {
        self.writer.write(records, devices).with_context(|| format!("cannot write {}", self.name))
    }

    /// Writes what comes at the end, and puts the file in its place.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(self) -> Result<WrittenTrace> {
        let TraceOutput { name, writer, encoder, file, .. } = self;
        let finish = || -> io::Result<u64> {
            writer.finish()?;
            let encoder = encoder.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut counted = encoder.ok_or(io::ErrorKind::BrokenPipe)?.finish()?;
            counted.flush()?;
            Ok(counted.bytes)
        };
        let bytes = finish().with_context(|| format!("cannot write {name}"))?;
        file.map_or(Ok(()), output::OutputFile::commit).map_err(unwritable)?;
        Ok(WrittenTrace { bytes })
    }
}

/// The format and the compression that are asked for, or that the name says.
fn choose(path: &Path, to: Option<&str>) -> Result<(&'static Format, OutputCompression)> {
    let ending = |path: &Path| path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let (compression, inner) = match ending(path).as_deref() {
        Some("gz") => (OutputCompression::Gzip, ending(Path::new(path.file_stem().unwrap_or_default()))),
        Some("zst") => (OutputCompression::Zstd, ending(Path::new(path.file_stem().unwrap_or_default()))),
        Some(other @ ("xz" | "bz2")) => {
            let text = format!("{}: .{other} is read but not written; compress as .gz or .zst", path.display());
            return Err(Usage(text).into());
        }
        _ => (OutputCompression::None, ending(path)),
    };
    let format = match to {
        Some(name) => scrubjay_jobs::workload::format_named(name)?,
        None => {
            let is_meant = |format: &&Format| {
                let endings = format.writer.map_or(&[][..], |writer| writer.endings);
                inner.as_deref().is_some_and(|inner| endings.contains(&inner))
            };
            let Some(format) = FORMATS.iter().find(is_meant) else {
                let text = format!("the ending of {} tells no format: add --to; {}", path.display(), writable());
                return Err(Usage(text).into());
            };
            format
        }
    };
    if format.writer.is_some_and(|writer| writer.is_compressed) && compression != OutputCompression::None {
        let text = format!("{}: {} compresses itself, and could not be read so", path.display(), format.name);
        return Err(Usage(text).into());
    }
    Ok((format, compression))
}

/// Which formats can be written, in words.
fn writable() -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|format| format.writer.is_some()).map(|format| format.name).collect();
    format!("written are {}", names.join(", "))
}

/// What becomes of a file that is there already.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replaced } else { Existing::Kept }
}

/// How the bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputCompression {
    None,
    Gzip,
    Zstd,
}

/// Compresses, or not.
enum Encoder {
    Plain(CountingWriter),
    Gzip(GzEncoder<CountingWriter>),
    Zstd(zstd::Encoder<'static, CountingWriter>),
}

impl Encoder {
    fn new(compression: OutputCompression, sink: CountingWriter) -> io::Result<Encoder> {
        Ok(match compression {
            OutputCompression::None => Encoder::Plain(sink),
            OutputCompression::Gzip => Encoder::Gzip(GzEncoder::new(sink, flate2::Compression::default())),
            OutputCompression::Zstd => {
                let mut encoder = zstd::Encoder::new(sink, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zstd(encoder)
            }
        })
    }

    fn finish(self) -> io::Result<CountingWriter> {
        match self {
            Encoder::Plain(sink) => Ok(sink),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
        }
    }
}

/// The format's writer owns what it writes to; this is what it owns, so that the compressor can be ended after it.
struct OutputHandle(Arc<Mutex<Option<Encoder>>>);

impl Write for OutputHandle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            None => Err(io::ErrorKind::BrokenPipe.into()),
            Some(Encoder::Plain(sink)) => sink.write(bytes),
            Some(Encoder::Gzip(encoder)) => encoder.write(bytes),
            Some(Encoder::Zstd(encoder)) => encoder.write(bytes),
        }
    }

    /// The compressor is flushed when it is ended, not before: each flush would cost it a block.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts what goes through.
struct CountingWriter {
    sink: Box<dyn Write + Send>,
    bytes: u64,
}

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_format_and_compression() {
        let chosen =
            |path: &str, to| choose(Path::new(path), to).map(|(format, compression)| (format.name, compression));
        assert_eq!(chosen("a.csv", None).unwrap(), ("msr", OutputCompression::None));
        assert_eq!(chosen("a.TXT.gz", None).unwrap(), ("blkparse", OutputCompression::Gzip));
        assert_eq!(chosen("a.b/c.iolog.zst", None).unwrap(), ("iolog", OutputCompression::Zstd));
        assert_eq!(chosen("a", Some("parquet")).unwrap(), ("parquet", OutputCompression::None));
        assert_eq!(chosen("-", Some("msr")).unwrap(), ("msr", OutputCompression::None));
        for (path, to, what) in [
            ("a", None, "tells no format"),
            ("a.csv.xz", None, ".xz is read but not written"),
            ("a.parquet.gz", None, "compresses itself"),
            ("a.csv", Some("nothing"), "is no trace format"),
        ] {
            let error = chosen(path, to).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
