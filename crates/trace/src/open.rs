//! Opens a trace: takes one or several inputs and yields one stream of records.
//!
//! Each input is decompressed, its format is recognised by its beginning, and its records are sorted. Several inputs
//! become one trace: merged by time if the format's clock is absolute, one after another if it counts from the
//! beginning of each.

mod error;
mod input_stream;
mod join;
mod scale;

use crate::compressed::{decompressed, head};
use crate::error::TraceError;
use crate::formats::{self, Format, FormatOpener};
use crate::guess;
use crate::reader::{Seekable, Stream};
use crate::record::Record;
use crate::record_sink::{ArrivalSource, Devices, Malformed};
use crate::sorted::WINDOW;
use input_stream::InputStream;
use join::Join;
use scale::TraceScale;
use scrubjay_core::units::{Bytes, Nanos};
use std::io::{Cursor, Read, SeekFrom};

pub use error::InputError;

/// The number of bytes of an input, decompressed, from which its format is recognised.
const HEAD_BYTES: usize = 64 << 10;

/// One input of a trace.
pub struct Input {
    /// The name in error messages: its path.
    pub name: String,
    /// The bytes of the input.
    pub source: TraceSource,
}

/// The bytes of an input; compressed or not.
pub enum TraceSource {
    /// A plain file.
    File(Seekable),
    /// A pipe, or another source that can be read only once.
    Pipe(Stream),
}

/// How inputs are opened.
#[derive(Clone, Copy, Default)]
pub struct OpenOptions {
    /// The format of all inputs; `None`: recognised by their beginnings.
    pub format: Option<&'static Format>,
    /// The unit of times, if it is not the format's usual one.
    pub time_unit: Option<Nanos>,
    /// The unit of offsets and lengths, if it is not the format's usual one.
    pub block: Option<Bytes>,
}

/// A trace: the records of all inputs in order of arrival, the devices, and the malformed records so far.
pub struct Trace {
    format: &'static Format,
    names: Vec<String>,
    inputs: Inputs,
    batch: Vec<Record>,
    /// Whether the batch was read ahead, and is to be given again.
    is_ahead: bool,
}

/// One input, or several.
enum Inputs {
    One(Box<InputStream>),
    Several(Join),
}

impl Trace {
    /// The next few thousand records, in order of arrival; `None`: there are no more.
    ///
    /// # Errors
    /// If an input fails, is not in its supposed format, or is too far out of order; the error names it.
    pub fn next_batch(&mut self) -> Result<Option<&[Record]>, InputError> {
        let is_more = std::mem::take(&mut self.is_ahead) || self.read()?;
        Ok(is_more.then_some(&self.batch))
    }

    /// The batch that [`Trace::next_batch`] will give next; empty: there are no more records.
    ///
    /// # Errors
    /// Those of [`Trace::next_batch`].
    pub fn peek(&mut self) -> Result<&[Record], InputError> {
        if !self.is_ahead {
            self.is_ahead = self.read()?;
        }
        Ok(if self.is_ahead { &self.batch } else { &[] })
    }

    /// Reads the next batch, if there is one.
    fn read(&mut self) -> Result<bool, InputError> {
        match &mut self.inputs {
            Inputs::One(input) => input.next(&mut self.batch),
            Inputs::Several(join) => join.next(&mut self.batch),
        }
    }

    /// The records returned by the last call of [`Trace::next_batch`].
    pub fn records(&self) -> &[Record] {
        &self.batch
    }

    /// The devices met so far; all of them once there are no more records.
    pub fn devices(&self) -> &Devices {
        match &self.inputs {
            Inputs::One(input) => input.devices(),
            Inputs::Several(join) => join.devices(),
        }
    }

    /// The records that could not be understood so far. If there are several inputs, each example begins with its
    /// input's name.
    pub fn malformed(&self) -> &Malformed {
        match &self.inputs {
            Inputs::One(input) => input.malformed(),
            Inputs::Several(join) => join.malformed(),
        }
    }

    /// By what events the requests arrived; known once there are no more records.
    pub fn arrivals(&self) -> ArrivalSource {
        match &self.inputs {
            Inputs::One(input) => input.arrivals(),
            Inputs::Several(join) => join.arrivals(),
        }
    }

    /// The format of all inputs.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The names of the inputs, in the order they were given.
    pub fn input_names(&self) -> &[String] {
        &self.names
    }
}

/// Opens a trace.
///
/// # Errors
/// If there is no input, or if one is empty, cannot be read, or is in no known format (or in one that cannot be
/// recognised: then name it in [`OpenOptions`]), or if they are in different formats. A trace without records is no
/// error.
pub fn open(inputs: Vec<Input>, options: OpenOptions) -> Result<Trace, InputError> {
    open_with(inputs, options, |head| options.format.or_else(|| formats::by_content(head)))
}

/// Opens a trace like [`open`], with another table of formats.
fn open_with(
    inputs: Vec<Input>,
    options: OpenOptions,
    recognise: impl Fn(&[u8]) -> Option<&'static Format>,
) -> Result<Trace, InputError> {
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let mut opened: Vec<(String, &'static Format, TraceSource)> = Vec::with_capacity(inputs.len());
    for Input { name, source } in inputs {
        let (format, source) = match sniff(source, &recognise) {
            Ok(Some(known)) => known,
            Ok(None) => return Err(InputError::Empty { name }),
            Err(error) => return Err(InputError::Trace { name, error }),
        };
        if let Some((other, format_other, _)) = opened.first()
            && format.name != format_other.name
        {
            let (other, format_other) = (other.clone(), format_other.name);
            return Err(InputError::Mixed { name, format: format.name, other, format_other });
        }
        opened.push((name, format, source));
    }
    let Some(&(_, format, _)) = opened.first() else {
        return Err(InputError::Nothing);
    };
    let scale = match format.adjustable_units {
        Some(units) => TraceScale::between(units, options.time_unit, options.block),
        None if options.time_unit.is_none() && options.block.is_none() => TraceScale::default(),
        None => return Err(InputError::Units { format: format.name }),
    };
    let mut streams = input_streams(format, opened)?;
    streams.iter_mut().for_each(|stream| stream.scale(scale));
    let inputs = match streams.len() {
        1 => Inputs::One(Box::new(streams.remove(0))),
        _ => Inputs::Several(Join::new(format.clock, streams)),
    };
    Ok(Trace { format, names, inputs, batch: Vec::new(), is_ahead: false })
}

/// Recognises the format of a source; returns it with the source, decompressed and at its beginning. `None`: it has no
/// bytes.
fn sniff(
    source: TraceSource,
    recognise: &impl Fn(&[u8]) -> Option<&'static Format>,
) -> Result<Option<(&'static Format, TraceSource)>, TraceError> {
    let (mut stream, file) = match source {
        TraceSource::Pipe(stream) => (decompressed(stream)?.0, None),
        TraceSource::File(mut file) => {
            let head = head(&mut file, HEAD_BYTES)?;
            file.seek(SeekFrom::Start(0))?;
            match crate::compressed::Compression::of(&head) {
                Some(_) => (decompressed(Box::new(file))?.0, None),
                None => (Box::new(Cursor::new(head)) as Stream, Some(file)),
            }
        }
    };
    let head = head(&mut stream, HEAD_BYTES)?;
    if head.is_empty() {
        return Ok(None);
    }
    let format = recognise(&head).ok_or_else(|| TraceError::UnknownFormat(guess::describe(&head)))?;
    let source = match file {
        Some(file) => TraceSource::File(file),
        None => TraceSource::Pipe(Box::new(Cursor::new(head).chain(stream))),
    };
    Ok(Some((format, source)))
}

/// The streams of all inputs, each with a reader and a sorter.
fn input_streams(
    format: &'static Format,
    opened: Vec<(String, &Format, TraceSource)>,
) -> Result<Vec<InputStream>, InputError> {
    let stream = |source| match source {
        TraceSource::File(file) => Box::new(file) as Stream,
        TraceSource::Pipe(stream) => stream,
    };
    match format.open {
        FormatOpener::Stream(open) => Ok(opened
            .into_iter()
            .map(|(name, _, source)| InputStream::new(name, open(stream(source)), WINDOW))
            .collect()),
        FormatOpener::Shards(open) => {
            let (names, streams): (Vec<String>, Vec<Stream>) =
                opened.into_iter().map(|(name, _, source)| (name, stream(source))).unzip();
            Ok(vec![InputStream::new(names.join(", "), open(streams), WINDOW)])
        }
        FormatOpener::Seekable(open) => opened
            .into_iter()
            .map(|(name, _, source)| {
                let reader = match source {
                    TraceSource::File(file) => open(file),
                    TraceSource::Pipe(_) => Err(TraceError::NotSeekable(format.name)),
                };
                match reader {
                    Ok(reader) => Ok(InputStream::new(name, reader, WINDOW)),
                    Err(error) => Err(InputError::Trace { name, error }),
                }
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
