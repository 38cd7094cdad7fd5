//! The recording of a run: all events that a machine received and all operations that it issued, in order, as text.
//!
//! The real-time pump writes it, the simulator reads it: a run on one machine can be replayed, event by event, on
//! another. One line is one entry; empty lines and lines that begin with `#` are ignored:
//!
//! ```text
//! told 2000000 arrived 1950000 1
//! told 2000000 completed 1990000 1
//! told 2000000 drained 1990000
//! told 2000000 counted 1990000
//! told 2000000 done 7 unreadable sense:3/11/0@2048 1000000 1900000
//! told 2000000 tick
//! gave 2000000 verify 8 4096+2048
//! ```
//!
//! The first number is the pump's `now`, in nanoseconds; the others are the fields of [`Event`] and [`Op`] in the order
//! of their declaration.

use crate::scrub::machine::{Event, Op, OpId};
use crate::scrub::verdict::{Cause, VerifyOutcome};
use crate::units::{Nanos, SectorRange};
use std::fmt;
use std::str::{FromStr, SplitAsciiWhitespace};

/// The events that a machine received and the operations that it issued. Their times never run backwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    entries: Vec<RecordingEntry>,
}

/// One entry of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEntry {
    /// The machine handled an event. After an [`Event::Tick`] it was also asked for operations until it had none.
    Handled {
        /// When it handled the event, in the pump's time.
        now: Nanos,
        /// The event.
        event: Event,
    },
    /// The machine issued an operation.
    Issued {
        /// When it was asked for it, in the pump's time.
        now: Nanos,
        /// The operation.
        op: Op,
    },
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Recording {
        Recording::default()
    }

    /// Appends an entry.
    ///
    /// # Panics
    /// When it is earlier than the last entry.
    pub fn push(&mut self, entry: RecordingEntry) {
        assert!(self.entries.last().is_none_or(|last| last.now() <= entry.now()), "a recording runs forwards");
        self.entries.push(entry);
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[RecordingEntry] {
        &self.entries
    }

    /// The operations that the machine issued, with the time of each.
    pub fn ops(&self) -> impl Iterator<Item = (Nanos, Op)> {
        self.entries.iter().filter_map(|entry| match *entry {
            RecordingEntry::Issued { now, op } => Some((now, op)),
            RecordingEntry::Handled { .. } => None,
        })
    }

    /// The index of the first entry in which two recordings differ; `None` when they are the same.
    pub fn difference(&self, other: &Recording) -> Option<usize> {
        let equal = self.entries.iter().zip(&other.entries).take_while(|(one, two)| one == two).count();
        (equal < self.entries.len().max(other.entries.len())).then_some(equal)
    }
}

impl RecordingEntry {
    /// The pump's time of this entry.
    pub fn now(&self) -> Nanos {
        match *self {
            RecordingEntry::Handled { now, .. } | RecordingEntry::Issued { now, .. } => now,
        }
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for RecordingEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            RecordingEntry::Handled { now, event } => {
                write!(f, "told {} ", now.0)?;
                write_event(f, event)
            }
            RecordingEntry::Issued { now, op: Op::Verify { id, range } } => {
                write!(f, "gave {} verify {} {range}", now.0, id.0)
            }
        }
    }
}

fn write_event(f: &mut fmt::Formatter<'_>, event: Event) -> fmt::Result {
    match event {
        Event::ForegroundArrived { at, count } => write!(f, "arrived {} {count}", at.0),
        Event::ForegroundCompleted { at, count } => write!(f, "completed {} {count}", at.0),
        Event::ForegroundDrained { at } => write!(f, "drained {}", at.0),
        Event::ForegroundCounted { at } => write!(f, "counted {}", at.0),
        Event::Completed { id, outcome, started, finished } => {
            write!(f, "done {} ", id.0)?;
            write_outcome(f, outcome)?;
            write!(f, " {} {}", started.0, finished.0)
        }
        Event::Tick => f.write_str("tick"),
    }
}

fn write_outcome(f: &mut fmt::Formatter<'_>, outcome: VerifyOutcome) -> fmt::Result {
    let (word, cause) = match outcome {
        VerifyOutcome::Clean => return f.write_str("clean"),
        VerifyOutcome::Unwritten => return f.write_str("unwritten"),
        VerifyOutcome::Corrected(rows) => return write!(f, "corrected {rows}"),
        VerifyOutcome::Gone => return f.write_str("gone"),
        VerifyOutcome::Unreadable(cause) => ("unreadable", cause),
        VerifyOutcome::Inconclusive(cause) => ("inconclusive", cause),
    };
    write!(f, "{word} {}", cause.code())
}

/// Why a text is not a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: RecordingFault,
}

/// What is wrong with a line of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingFault {
    /// The line ends too early.
    Missing,
    /// This word is not expected here, or its number is out of range.
    Word(String),
    /// The entry is earlier than the one above.
    Backwards,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

impl std::error::Error for RecordingError {}

impl fmt::Display for RecordingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingFault::Missing => f.write_str("it ends too early"),
            RecordingFault::Word(word) => write!(f, "\"{}\" is not expected here", word.escape_debug()),
            RecordingFault::Backwards => f.write_str("it is earlier than the line above"),
        }
    }
}

impl std::error::Error for RecordingFault {}

impl FromStr for Recording {
    type Err = RecordingError;

    fn from_str(text: &str) -> Result<Recording, RecordingError> {
        let mut recording = Recording::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim_ascii().is_empty() || line.starts_with('#') {
                continue;
            }
            let fail = |fault| RecordingError { line: index + 1, fault };
            let entry: RecordingEntry = line.parse().map_err(fail)?;
            if recording.entries.last().is_some_and(|last| entry.now() < last.now()) {
                return Err(fail(RecordingFault::Backwards));
            }
            recording.entries.push(entry);
        }
        Ok(recording)
    }
}

impl FromStr for RecordingEntry {
    type Err = RecordingFault;

    fn from_str(line: &str) -> Result<RecordingEntry, RecordingFault> {
        let mut words = Words(line.split_ascii_whitespace());
        let entry = match words.word()? {
            "told" => RecordingEntry::Handled { now: words.nanos()?, event: read_event(&mut words)? },
            "gave" => RecordingEntry::Issued { now: words.nanos()?, op: read_op(&mut words)? },
            other => return Err(RecordingFault::Word(other.to_owned())),
        };
        match words.0.next() {
            None => Ok(entry),
            Some(extra) => Err(RecordingFault::Word(extra.to_owned())),
        }
    }
}

fn read_event(words: &mut Words) -> Result<Event, RecordingFault> {
    Ok(match words.word()? {
        "arrived" => Event::ForegroundArrived { at: words.nanos()?, count: words.count()? },
        "completed" => Event::ForegroundCompleted { at: words.nanos()?, count: words.count()? },
        "drained" => Event::ForegroundDrained { at: words.nanos()? },
        "counted" => Event::ForegroundCounted { at: words.nanos()? },
        "done" => {
            let (id, outcome) = (OpId(words.number()?), read_outcome(words)?);
            Event::Completed { id, outcome, started: words.nanos()?, finished: words.nanos()? }
        }
        "tick" => Event::Tick,
        other => return Err(RecordingFault::Word(other.to_owned())),
    })
}

fn read_op(words: &mut Words) -> Result<Op, RecordingFault> {
    match words.word()? {
        "verify" => Ok(Op::Verify { id: OpId(words.number()?), range: words.parsed(range_of)? }),
        other => Err(RecordingFault::Word(other.to_owned())),
    }
}

fn read_outcome(words: &mut Words) -> Result<VerifyOutcome, RecordingFault> {
    Ok(match words.word()? {
        "clean" => VerifyOutcome::Clean,
        "unwritten" => VerifyOutcome::Unwritten,
        "corrected" => VerifyOutcome::Corrected(words.count()?),
        "gone" => VerifyOutcome::Gone,
        "unreadable" => VerifyOutcome::Unreadable(words.parsed(Cause::of_code)?),
        "inconclusive" => VerifyOutcome::Inconclusive(words.parsed(Cause::of_code)?),
        other => return Err(RecordingFault::Word(other.to_owned())),
    })
}

/// `start+count`, not empty and not beyond the last address.
fn range_of(word: &str) -> Option<SectorRange> {
    let (start, count) = word.split_once('+')?;
    let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
    let end = start.checked_add(count)?;
    (count > 0).then(|| SectorRange::new(start, end))
}

/// The words of a line, in order.
struct Words<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self) -> Result<&'a str, RecordingFault> {
        self.0.next().ok_or(RecordingFault::Missing)
    }

    fn parsed<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, RecordingFault> {
        let word = self.word()?;
        parse(word).ok_or_else(|| RecordingFault::Word(word.to_owned()))
    }

    fn number<T: FromStr>(&mut self) -> Result<T, RecordingFault> {
        self.parsed(|word| word.parse().ok())
    }

    fn nanos(&mut self) -> Result<Nanos, RecordingFault> {
        self.number().map(Nanos)
    }

    /// A number of requests, at least 1.
    fn count(&mut self) -> Result<u32, RecordingFault> {
        self.parsed(|word| word.parse().ok().filter(|&count| count > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::verdict::Sense;
    use proptest::prelude::*;

    fn causes() -> impl Strategy<Value = Cause> {
        let sense = (0u8..16, any::<u8>(), any::<u8>(), any::<Option<u64>>());
        prop_oneof![
            any::<i32>().prop_map(Cause::Errno),
            any::<u16>().prop_map(Cause::NvmeStatus),
            Just(Cause::Lost),
            sense.prop_map(|(key, asc, ascq, block)| Cause::Sense(Sense { key, asc, ascq, block })),
        ]
    }

    fn entries() -> impl Strategy<Value = (u64, Result<Event, Op>)> {
        let outcome = prop_oneof![
            Just(VerifyOutcome::Clean),
            Just(VerifyOutcome::Unwritten),
            (1u32..).prop_map(VerifyOutcome::Corrected),
            Just(VerifyOutcome::Gone),
            causes().prop_map(VerifyOutcome::Unreadable),
            causes().prop_map(VerifyOutcome::Inconclusive),
        ];
        let at = || any::<u64>().prop_map(Nanos);
        let event = prop_oneof![
            (at(), 1u32..).prop_map(|(at, count)| Event::ForegroundArrived { at, count }),
            (at(), 1u32..).prop_map(|(at, count)| Event::ForegroundCompleted { at, count }),
            at().prop_map(|at| Event::ForegroundDrained { at }),
            at().prop_map(|at| Event::ForegroundCounted { at }),
            (any::<u64>(), outcome, at(), at()).prop_map(|(id, outcome, started, finished)| Event::Completed {
                id: OpId(id),
                outcome,
                started,
                finished
            }),
            Just(Event::Tick),
        ];
        let verify = (any::<u64>(), 0..u64::MAX / 2, 1..u64::MAX / 2)
            .prop_map(|(id, start, count)| Op::Verify { id: OpId(id), range: SectorRange::at(start, count) });
        (0..u64::MAX >> 20, prop_oneof![event.prop_map(Ok), verify.prop_map(Err)])
    }

    proptest! {
        #[test]
        fn a_printed_recording_is_parsed_to_the_same_recording(steps in prop::collection::vec(entries(), 0..40)) {
            let (mut recording, mut now) = (Recording::new(), Nanos::ZERO);
            for (span, entry) in steps {
                now += Nanos(span);
                recording.push(match entry {
                    Ok(event) => RecordingEntry::Handled { now, event },
                    Err(op) => RecordingEntry::Issued { now, op },
                });
            }
            prop_assert_eq!(recording.to_string().parse::<Recording>(), Ok(recording));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "(told|gave|done|verify|sense|[0-9a-f/@+ \n]|\\PC){0,60}") {
            let _ = text.parse::<Recording>();
        }
    }

    #[test]
    fn the_example_of_the_documentation_is_a_recording() {
        let text = "told 2000000 arrived 1950000 1\n\
                    told 2000000 completed 1990000 1\n\
                    told 2000000 drained 1990000\n\
                    told 2000000 done 7 unreadable sense:3/11/0@2048 1000000 1900000\n\
                    told 2000000 tick\n\
                    gave 2000000 verify 8 4096+2048\n";
        let recording: Recording = text.parse().expect("it is a recording");
        assert_eq!(recording.to_string(), text);
        let op = Op::Verify { id: OpId(8), range: SectorRange::at(4096, 2048) };
        assert_eq!(recording.ops().collect::<Vec<_>>(), [(Nanos::from_millis(2), op)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let fault_of = |line: &str| format!("# a run\n\ntold 9 tick\n{line}\n").parse::<Recording>().map(drop);
        let word = |word: &str| Err(RecordingError { line: 4, fault: RecordingFault::Word(word.to_owned()) });
        assert_eq!(fault_of("told 9 arrived 3"), Err(RecordingError { line: 4, fault: RecordingFault::Missing }));
        assert_eq!(fault_of("told 8 tick"), Err(RecordingError { line: 4, fault: RecordingFault::Backwards }));
        assert_eq!(fault_of("said 9 tick"), word("said"));
        assert_eq!(fault_of("told 9 tick tock"), word("tock"));
        assert_eq!(fault_of("told 9 arrived 3 0"), word("0"));
        assert_eq!(fault_of("gave 9 verify 1 5+0"), word("5+0"));
        assert_eq!(fault_of("gave 9 verify 1 18446744073709551615+1"), word("18446744073709551615+1"));
        assert_eq!(fault_of("told 9 done 1 inconclusive sense:10/0/0 1 2"), word("sense:10/0/0"));
        assert_eq!(word("\n").unwrap_err().to_string(), "line 4: \"\\n\" is not expected here");
    }

    #[test]
    fn the_first_difference_is_found() {
        let short: Recording = "told 1 tick\n".parse().unwrap();
        let long: Recording = "told 1 tick\ntold 2 tick\n".parse().unwrap();
        assert_eq!(short.difference(&short), None);
        assert_eq!(short.difference(&long), Some(1));
        assert_eq!(long.difference(&short), Some(1));
    }
}
