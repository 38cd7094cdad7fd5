//! `scrubjay trace capture`: records all requests of a disk into a trace.

use super::output;
use super::progress::RecordProgress;
use crate::args::trace::CaptureArgs as Arguments;
use anyhow::Result;
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::say::say;
use scrubjay_cli::signals;
use scrubjay_core::quantity::{show_count, show_rest, show_time};
use scrubjay_core::units::Nanos;
use scrubjay_device::capture::{self, Capture, CaptureError, CaptureEvent, RequestStep};
use scrubjay_device::clock;
use scrubjay_research::losses::Losses;
use scrubjay_research::trace_output::TraceOutput;
use scrubjay_trace::{DeviceId, Devices, Pairing, Record, RequestKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The interval at which the rings are emptied: they hold ten times that at 100,000 requests a second and CPU.
const DRAIN_EVERY: Duration = Duration::from_millis(10);
/// Batches that may wait to be written, 2.5 s; beyond that the rings must hold the events.
const QUEUE_MAX: usize = 256;

/// Captures until the time is over or a signal comes.
pub fn run(args: &Arguments) -> Result<Exit> {
    let capture = match Capture::open(&args.device) {
        Ok(capture) => capture,
        Err(error @ CaptureError::Permission { .. }) => {
            say(format_args!("scrubjay: {error}"));
            return Ok(Exit::Permission);
        }
        Err(error @ CaptureError::Target { .. }) => return Err(Usage(error.to_string()).into()),
        Err(error) => return Err(error.into()),
    };
    let output = output::create(&args.out, &args.destination)?;
    let stop = signals::flag()?;
    for note in capture.notes() {
        say(format_args!("scrubjay: note: {note}"));
    }
    let disk = capture.disk().name.clone();
    say(format_args!("capturing {disk} for {}; Ctrl-C ends it and keeps what there is", show_time(args.length)));
    let mut recorder = Recorder::new(&disk, output);
    let until = clock::now().saturating_add(args.length);
    let ended = thread::scope(|scope| {
        let (sender, batches) = mpsc::sync_channel(QUEUE_MAX);
        let watcher = scope.spawn(|| watch(capture, until, &stop, sender));
        for events in batches {
            recorder.write(&events)?;
            recorder.progress.set_message(format!("{} to go", show_rest(until.since(clock::now()))));
        }
        anyhow::Ok(watcher.join().expect("a thread that only counts does not panic"))
    })?;
    recorder.finish(&ended)?;
    Ok(Exit::Clean)
}

/// How the capture ended.
struct CaptureEnded {
    /// Events that did not fit into the rings.
    lost: u64,
    /// The length of the capture.
    length: Nanos,
    /// Did a signal end it?
    is_interrupted: bool,
}

/// Empties the rings until the time is over, a signal comes, or the receiver is gone.
fn watch(mut capture: Capture, until: Nanos, stop: &AtomicBool, sender: SyncSender<Vec<CaptureEvent>>) -> CaptureEnded {
    let began = clock::now();
    let is_over = || stop.load(Ordering::Relaxed) || clock::now() >= until;
    let mut is_receiver_alive = true;
    while is_receiver_alive && !is_over() {
        thread::park_timeout(DRAIN_EVERY.min(Duration::from_nanos(until.since(clock::now()).0)));
        let mut events = Vec::new();
        capture.drain(&mut events);
        is_receiver_alive = sender.send(events).is_ok();
    }
    let (length, is_interrupted) = (clock::now().since(began), clock::now() < until);
    let mut events = Vec::new();
    let lost = capture.finish(&mut events);
    // If the receiver is gone it has failed, and reports that.
    let _ = sender.send(events);
    CaptureEnded { lost, length, is_interrupted }
}

/// Converts events to records, and writes them.
struct Recorder {
    output: TraceOutput,
    devices: Devices,
    device: DeviceId,
    /// The difference between a date and `CLOCK_MONOTONIC`.
    epoch: Nanos,
    pairing: Pairing,
    records: Vec<Record>,
    losses: Losses,
    unanswered: u64,
    progress: RecordProgress,
}

impl Recorder {
    fn new(disk: &str, output: TraceOutput) -> Recorder {
        let mut devices = Devices::default();
        let device = devices.id(disk.as_bytes()).expect("room for the first device");
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = Nanos(u64::try_from(since_epoch.as_nanos()).unwrap_or(0)).since(clock::now());
        let losses = Losses::new(output.format());
        Recorder {
            output,
            devices,
            device,
            epoch,
            pairing: Pairing::default(),
            records: Vec::new(),
            losses,
            unanswered: 0,
            progress: RecordProgress::new("captured"),
        }
    }

    fn write(&mut self, events: &[CaptureEvent]) -> Result<()> {
        for event in events {
            let (at, kind) = (event.at.saturating_add(self.epoch), kind(event.kind));
            let (offset, length, device) = (event.offset, event.length, self.device);
            match event.step {
                RequestStep::Arrived => {
                    let record = Record { arrival: at, response: None, offset, length, device, kind };
                    self.pairing.queued(record, &mut self.records);
                }
                RequestStep::Completed => self.pairing.completed(device, kind, offset, length, at, &mut self.records),
            }
        }
        self.flush()
    }

    /// Passes complete records to the writer.
    fn flush(&mut self) -> Result<()> {
        self.losses.add(&self.records);
        self.unanswered += self.records.iter().filter(|record| record.response.is_none()).count() as u64;
        self.progress.add(self.records.len() as u64);
        self.output.write(&self.records, &self.devices)?;
        self.records.clear();
        Ok(())
    }

    /// Writes the requests that are still under way, and prints a summary.
    fn finish(mut self, ended: &CaptureEnded) -> Result<()> {
        self.pairing.drain(&mut self.records);
        self.flush()?;
        let Recorder { output, devices, losses, unanswered, progress, .. } = self;
        let name = output.name().to_owned();
        let written = output.finish()?;
        progress.clear();
        if ended.is_interrupted {
            say(format_args!("scrubjay: note: ended by a signal after {}", show_time(ended.length)));
        }
        if ended.lost > 0 {
            let lost = show_count(ended.lost);
            say(format_args!("scrubjay: note: {lost} events were lost, arrivals and completions: the rings were full"));
        }
        if unanswered > 0 {
            let unanswered = show_count(unanswered);
            say(format_args!(
                "scrubjay: note: completions that were not seen, so that the response times are not known: {unanswered}"
            ));
        }
        for line in losses.lines(&devices) {
            say(format_args!("scrubjay: {line}"));
        }
        progress.finish_without_rate(&name, losses.records() - losses.left_out(), written.bytes);
        Ok(())
    }
}

fn kind(kind: capture::CapturedKind) -> RequestKind {
    match kind {
        capture::CapturedKind::Read => RequestKind::Read,
        capture::CapturedKind::Write => RequestKind::Write,
        capture::CapturedKind::Discard => RequestKind::Discard,
        capture::CapturedKind::Flush => RequestKind::Flush,
    }
}
