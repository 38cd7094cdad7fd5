//! The destination of a written trace: a file that appears when it is complete, or a stream; compressed by its extension.

use crate::ResearchError;
use crate::workload::format_named;
use flate2::write::GzEncoder;
use scrubjay_device::output::{self, Existing};
use scrubjay_jobs::JobError;
use scrubjay_trace::formats::{FORMATS, Format, FormatWriter};
use scrubjay_trace::{Devices, Record, Writer};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The level of zstd compression: its default, fast, and a third smaller than gzip.
const ZSTD_LEVEL: i32 = 3;
/// Bytes that are passed to the compressor, or to the kernel, at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// A trace that is being written. Unless it is finished, nothing remains of it.
pub struct TraceOutput {
    format: &'static Format,
    name: String,
    writer: Box<dyn Writer>,
    encoder: Arc<Mutex<Option<Encoder>>>,
    /// The file; `None` for a stream.
    file: Option<output::OutputFile>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenTrace {
    /// Its size in the file, compressed, in bytes.
    pub bytes: u64,
}

impl TraceOutput {
    /// Begins a file at `path`, in the format `to` or the one that its extension names; `to_name` is the name of the
    /// setting that gives `to`.
    ///
    /// # Errors
    /// When the format is not known or cannot be written, the file exists and may not be replaced, or the file cannot
    /// be made.
    pub fn create(
        path: &Path,
        to: Option<&str>,
        existing: Existing,
        to_name: &str,
    ) -> Result<TraceOutput, ResearchError> {
        output::check(path, existing).map_err(JobError::Output)?;
        let (format, compression) = choose(path, to, to_name)?;
        let name = path.display().to_string();
        let writer = writer_of(format)?;
        let file = output::OutputFile::create(path, existing).map_err(JobError::Output)?;
        let sink = file.file().try_clone().map_err(|error| unwritten(&name, error))?;
        TraceOutput::begin(format, writer, compression, Box::new(sink), name, Some(file))
    }

    /// Begins a stream, which errors call `name`, in the format `to` or the one that the extension of `path` names.
    ///
    /// # Errors
    /// When the format is not known or cannot be written.
    pub fn to_stream(
        path: &Path,
        to: Option<&str>,
        sink: Box<dyn Write + Send>,
        name: &str,
        to_name: &str,
    ) -> Result<TraceOutput, ResearchError> {
        let (format, compression) = choose(path, to, to_name)?;
        TraceOutput::begin(format, writer_of(format)?, compression, sink, name.to_owned(), None)
    }

    fn begin(
        format: &'static Format,
        writer: FormatWriter,
        compression: OutputCompression,
        sink: Box<dyn Write + Send>,
        name: String,
        file: Option<output::OutputFile>,
    ) -> Result<TraceOutput, ResearchError> {
        let counting = CountingWriter { sink, bytes: 0 };
        let encoder = Encoder::new(compression, counting).map_err(|error| unwritten(&name, error))?;
        let encoder = Arc::new(Mutex::new(Some(encoder)));
        let handle = BufWriter::with_capacity(BUFFER_BYTES, OutputHandle(Arc::clone(&encoder)));
        Ok(TraceOutput { format, name, writer: (writer.begin)(Box::new(handle)), encoder, file })
    }

    /// Is the output unfit for a terminal?
    pub fn is_binary(&self) -> bool {
        self.format.writer.is_some_and(|writer| writer.is_compressed)
    }

    /// The format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The name of the destination in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes records, in the order of their arrival.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn write(&mut self, records: &[Record], devices: &Devices) -> Result<(), ResearchError> {
        self.writer.write(records, devices).map_err(|error| unwritten(&self.name, error))
    }

    /// Writes the end of the format, and puts the file in its place.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(self) -> Result<WrittenTrace, ResearchError> {
        let TraceOutput { name, writer, encoder, file, .. } = self;
        let finish = || -> io::Result<u64> {
            writer.finish()?;
            let encoder = encoder.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut counted = encoder.ok_or(io::ErrorKind::BrokenPipe)?.finish()?;
            counted.flush()?;
            Ok(counted.bytes)
        };
        let bytes = finish().map_err(|error| unwritten(&name, error))?;
        file.map_or(Ok(()), output::OutputFile::commit).map_err(JobError::Output)?;
        Ok(WrittenTrace { bytes })
    }
}

/// The format and the compression that are asked for, or that the extension names.
fn choose(path: &Path, to: Option<&str>, to_name: &str) -> Result<(&'static Format, OutputCompression), ResearchError> {
    let ending = |path: &Path| path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let (compression, inner) = match ending(path).as_deref() {
        Some("gz") => (OutputCompression::Gzip, ending(Path::new(path.file_stem().unwrap_or_default()))),
        Some("zst") => (OutputCompression::Zstd, ending(Path::new(path.file_stem().unwrap_or_default()))),
        Some(other @ ("xz" | "bz2")) => {
            let text = format!("{}: .{other} is read but not written; compress as .gz or .zst", path.display());
            return Err(JobError::Input(text).into());
        }
        _ => (OutputCompression::None, ending(path)),
    };
    let format = match to {
        Some(name) => format_named(name)?,
        None => {
            let has_extension = |format: &&Format| {
                let endings = format.writer.map_or(&[][..], |writer| writer.endings);
                inner.as_deref().is_some_and(|inner| endings.contains(&inner))
            };
            let Some(format) = FORMATS.iter().find(has_extension) else {
                let text = format!("the ending of {} names no format: add {to_name}; {}", path.display(), writable());
                return Err(JobError::Input(text).into());
            };
            format
        }
    };
    if format.writer.is_some_and(|writer| writer.is_compressed) && compression != OutputCompression::None {
        let text = format!("{}: {} compresses itself, and could not be read so", path.display(), format.name);
        return Err(JobError::Input(text).into());
    }
    Ok((format, compression))
}

/// The formats that can be written, in words.
fn writable() -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|format| format.writer.is_some()).map(|format| format.name).collect();
    format!("written are {}", names.join(", "))
}

/// The writer of a format.
fn writer_of(format: &'static Format) -> Result<FormatWriter, ResearchError> {
    let refusal =
        || ResearchError::from(JobError::Input(format!("{} can be read but not written; {}", format.name, writable())));
    format.writer.ok_or_else(refusal)
}

fn unwritten(name: &str, error: io::Error) -> ResearchError {
    JobError::Io { what: format!("cannot write {name}"), error }.into()
}

/// How the bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputCompression {
    None,
    Gzip,
    Zstd,
}

/// Compresses, or passes the bytes on.
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

/// A handle for the format's writer, which owns its destination: so the compressor can be ended after the writer.
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

    /// Does nothing: the compressor is flushed when it is ended, because each flush would cost it a block.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts the bytes that are written.
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
    fn the_file_extension_decides_format_and_compression() {
        let chosen = |path: &str, to| {
            choose(Path::new(path), to, "--to").map(|(format, compression)| (format.name, compression))
        };
        assert_eq!(chosen("a.csv", None).unwrap(), ("msr", OutputCompression::None));
        assert_eq!(chosen("a.TXT.gz", None).unwrap(), ("blkparse", OutputCompression::Gzip));
        assert_eq!(chosen("a.b/c.iolog.zst", None).unwrap(), ("iolog", OutputCompression::Zstd));
        assert_eq!(chosen("a", Some("parquet")).unwrap(), ("parquet", OutputCompression::None));
        assert_eq!(chosen("-", Some("msr")).unwrap(), ("msr", OutputCompression::None));
        for (path, to, expected) in [
            ("a", None, "names no format"),
            ("a.csv.xz", None, ".xz is read but not written"),
            ("a.parquet.gz", None, "compresses itself"),
            ("a.csv", Some("nothing"), "is no trace format"),
        ] {
            let error = chosen(path, to).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
