//! The table of formats.
//!
//! A new format takes one file here (model: `spc.rs`; of strict comma-separated columns, `systor.rs`), a row in
//! [`FORMATS`], and a seed in `fuzz/seeds/NAME/` (at the root of the repository; any file name, such as `sample`). The
//! test below tries each format's `looks_like` on the seeds of all.

mod alibaba;
mod biotracer;
mod blkparse;
mod blktrace;
mod disksim;
mod etw;
mod iolog;
mod msr;
mod parquet;
mod spc;
mod srt;
mod systor;
mod tencent;
mod vscsi;

pub use crate::writing::{FormatWriter, Loss};

use crate::error::TraceError;
use crate::reader::{Reader, Seekable, Stream};
use scrubjay_core::units::{Bytes, Nanos};

/// The origin of a format's clock, which determines how several files are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockOrigin {
    /// 1970: the reader converts [`crate::Record::arrival`] to the time since then. Files are merged by time.
    Absolute,
    /// The beginning of the trace: the first request may be at zero. Files are read one after another.
    Relative,
}

/// How a format's reader is made.
#[derive(Clone, Copy)]
pub enum FormatOpener {
    /// From one stream.
    Stream(fn(Stream) -> Box<dyn Reader>),
    /// From several streams that are one trace together, such as one for each CPU.
    Shards(fn(Vec<Stream>) -> Box<dyn Reader>),
    /// From a file that can be read at any place.
    Seekable(OpenSeekable),
}

/// Makes a reader from a file that can be read at any place.
pub type OpenSeekable = fn(Seekable) -> Result<Box<dyn Reader>, TraceError>;

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// The origin of its times.
    pub clock: ClockOrigin,
    /// Whether a trace that begins with these bytes (up to 64 KiB, decompressed) is in this format. It must refuse the
    /// seeds of all other formats (a test tries them): where two overlap, one is narrowed, as `disksim` is by
    /// `!looks_like_mqsim`. Seeds never overlap; the order of the table, in which formats are tried, matters for other
    /// files: a format with a magic number or a fixed header line goes before those known by their rows.
    pub looks_like: fn(&[u8]) -> bool,
    /// How it is read.
    pub open: FormatOpener,
    /// How it is written, if it can be.
    pub writer: Option<FormatWriter>,
    /// `None`, the usual case: its units are known. `Some`: programs that write it disagree about units, and these are
    /// what the reader takes its numbers for; [`crate::OpenOptions::time_unit`] and [`crate::OpenOptions::block`] then
    /// rescale the records. In both cases it is the reader that converts to nanoseconds and bytes.
    pub adjustable_units: Option<Units>,
}

/// The units of a trace's plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// The unit of times.
    pub time: Nanos,
    /// The unit of offsets and lengths.
    pub block: Bytes,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "parquet",
        about: "Parquet: what to convert a trace to once and to read often",
        clock: ClockOrigin::Absolute,
        looks_like: parquet::looks_like,
        open: FormatOpener::Seekable(parquet::open),
        writer: Some(parquet::WRITER),
        adjustable_units: None,
    },
    Format {
        name: "srt",
        about: "HP SRT (hplajw, snake, cello), versions 1-4 and 7",
        clock: ClockOrigin::Absolute,
        looks_like: srt::looks_like,
        open: FormatOpener::Stream(srt::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "blktrace",
        about: "Linux blktrace, binary, one file for each CPU",
        clock: ClockOrigin::Relative,
        looks_like: blktrace::looks_like,
        open: FormatOpener::Shards(blktrace::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "vscsi",
        about: "CloudPhysics vscsi, versions 1 and 2",
        clock: ClockOrigin::Absolute,
        looks_like: vscsi::looks_like,
        open: FormatOpener::Stream(vscsi::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "msr",
        about: "MSR Cambridge CSV, 2007: the trace most studies use",
        clock: ClockOrigin::Absolute,
        looks_like: msr::looks_like,
        open: FormatOpener::Stream(msr::open),
        writer: Some(msr::WRITER),
        adjustable_units: None,
    },
    Format {
        name: "systor",
        about: "Systor'17: virtual desktops, with responses",
        clock: ClockOrigin::Absolute,
        looks_like: systor::looks_like,
        open: FormatOpener::Stream(systor::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "alibaba",
        about: "Alibaba cloud volumes, 2020",
        clock: ClockOrigin::Absolute,
        looks_like: alibaba::looks_like,
        open: FormatOpener::Stream(alibaba::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "tencent",
        about: "Tencent cloud volumes, 2018: a clock of whole seconds",
        clock: ClockOrigin::Absolute,
        looks_like: tencent::looks_like,
        open: FormatOpener::Stream(tencent::open),
        writer: None,
        adjustable_units: Some(Units { time: Nanos(1_000_000_000), block: Bytes(512) }),
    },
    Format {
        name: "blkparse",
        about: "text of blkparse, from blktrace",
        clock: ClockOrigin::Relative,
        looks_like: blkparse::looks_like,
        open: FormatOpener::Stream(blkparse::open),
        writer: Some(blkparse::WRITER),
        adjustable_units: None,
    },
    Format {
        name: "iolog",
        about: "fio's iologs, versions 2 and 3",
        clock: ClockOrigin::Relative,
        looks_like: iolog::looks_like,
        open: FormatOpener::Stream(iolog::open),
        writer: Some(iolog::WRITER),
        adjustable_units: None,
    },
    Format {
        name: "etw",
        about: "ETW text of Microsoft's servers (MSPS), TPC-C, TPC-E and Exchange, with responses",
        clock: ClockOrigin::Relative,
        looks_like: etw::looks_like,
        open: FormatOpener::Stream(etw::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "spc",
        about: "SPC: Financial and WebSearch of the UMass repository",
        clock: ClockOrigin::Relative,
        looks_like: spc::looks_like,
        open: FormatOpener::Stream(spc::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "biotracer",
        about: "BIOtracer: a telephone's requests (Nexus 5), with responses",
        clock: ClockOrigin::Absolute,
        looks_like: biotracer::looks_like,
        open: FormatOpener::Stream(biotracer::open),
        writer: None,
        adjustable_units: None,
    },
    Format {
        name: "mqsim",
        about: "MQSim and SSDSim: whole ns",
        clock: ClockOrigin::Relative,
        looks_like: disksim::looks_like_mqsim,
        open: FormatOpener::Stream(disksim::open_mqsim),
        writer: None,
        adjustable_units: Some(Units { time: Nanos(1), block: Bytes(512) }),
    },
    Format {
        name: "disksim",
        about: "DiskSim's ASCII traces: ms",
        clock: ClockOrigin::Relative,
        looks_like: disksim::looks_like_disksim,
        open: FormatOpener::Stream(disksim::open_disksim),
        writer: None,
        adjustable_units: Some(Units { time: Nanos::from_millis(1), block: Bytes(512) }),
    },
];

/// The format with this name; `None`: there is none.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The first format of the table that recognises this beginning; `None`: none does.
pub fn by_content(head: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.looks_like)(head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{FOREIGN_TEXTS, samples};
    use std::collections::BTreeSet;

    #[test]
    fn format_names_are_distinct_and_samples_find_their_format() {
        let names: BTreeSet<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names.len(), FORMATS.len());
        let found = |bytes: &[u8]| by_content(bytes).map(|format| format.name);
        for name in names {
            let samples = samples(name);
            assert!(!samples.is_empty(), "{name}");
            assert!(samples.iter().all(|sample| found(sample) == Some(name)), "{name}");
        }
        assert!(FOREIGN_TEXTS.iter().all(|text| found(text.as_bytes()).is_none()));
    }

    /// So the order of the table decides nothing here: if another format accepts a seed of yours, narrow that one.
    #[test]
    fn each_format_recognises_its_own_samples_and_no_other_ones() {
        for sampled in FORMATS {
            for sample in samples(sampled.name) {
                for format in FORMATS {
                    let is_accepted = (format.looks_like)(&sample);
                    assert_eq!(is_accepted, format.name == sampled.name, "{} on {}", format.name, sampled.name);
                }
            }
        }
    }

    /// Writers are chosen by file name extension, so no two may share one.
    #[test]
    fn each_file_extension_belongs_to_one_writer() {
        let endings: Vec<&str> =
            FORMATS.iter().filter_map(|format| format.writer).flat_map(|writer| writer.endings.to_vec()).collect();
        let distinct: BTreeSet<&&str> = endings.iter().collect();
        assert_eq!(distinct.len(), endings.len(), "{endings:?}");
    }
}
