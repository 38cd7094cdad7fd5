//! The second-best detector: perf events at the same tracepoints, with one ring of samples for each CPU.
//!
//! For kernels and containers that refuse BPF. It costs more per request and more memory than the BPF detector, and it misses
//! three things: CPUs that are switched on later; pass-through commands (`SG_IO`) of others, because a filter of perf cannot
//! distinguish them from the scrub's; and hits that another tool's BPF program at the same tracepoint withholds from perf
//! by returning 0.

use std::ffi::CString;
use std::io;

use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;

use super::activity::{ForegroundActivity, Sighting, SightingKind};
use super::kernel::{self, InFlightCounts, PerfEvent};
use super::ring::PerfRing;
use super::tracepoint::{Probes, Tracepoint};
use super::{Detector, OwnTraffic, Refusal, RequestSources};
use crate::clock;
use crate::ioprio::IDLE_MIN;
use crate::sysfs::DiskNode;

/// Bytes in the ring of one CPU: 8192 samples, 100 ms of 40000 requests per second on one CPU. Half of what the kernel
/// lets each user lock per CPU (`kernel.perf_event_mlock_kb`). A power of two.
const RING_BYTES: usize = 256 << 10;

/// `PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME`: each sample is the words id, process and thread, time.
const SAMPLE: u64 = 1 << 16 | 1 << 1 | 1 << 2;

/// Reports every foreground request of one disk with its time.
pub(super) struct Perf {
    cpus: Vec<PerfCpu>,
    /// This process, when the scrub's arrivals must be recognised by it.
    process: Option<u32>,
    lost: u64,
    in_flight: InFlightCounts,
    activity: ForegroundActivity,
    sightings: Vec<Sighting>,
}

impl Perf {
    /// Watches `disk` with the best available tracepoints, and returns a description of what is seen.
    ///
    /// # Errors
    /// Without CAP_PERFMON, without a readable tracefs.
    pub(super) fn open(disk: &DiskNode, sources: RequestSources) -> Result<(Box<dyn Detector>, String), Refusal> {
        let probes = Probes::choose(disk, sources)?;
        let perf = Perf::with_probes(disk, &probes)?;
        Ok((Box::new(perf), probes.describe(disk)))
    }

    /// Watches `disk` with these tracepoints.
    pub(super) fn with_probes(disk: &DiskNode, probes: &Probes) -> Result<Perf, Refusal> {
        let in_flight = InFlightCounts::open(disk).map_err(Refusal::failed("finds no inflight file"))?;
        let cpus = kernel::cpus_online().map_err(Refusal::failed("finds no list of CPUs"))?;
        let cpus = cpus.into_iter().map(|cpu| PerfCpu::open(cpu, disk, probes)).collect::<io::Result<Vec<PerfCpu>>>();
        let cpus = cpus.map_err(|error| Refusal::of_call("CAP_PERFMON", "cannot open its events", error))?;
        let process = probes.arrival.ioprio.is_none().then(std::process::id);
        let (activity, sightings) = (ForegroundActivity::default(), Vec::new());
        Ok(Perf { cpus, process, lost: 0, in_flight, activity, sightings })
    }
}

impl Detector for Perf {
    fn drain(&mut self, own: OwnTraffic, events: &mut Vec<Event>) {
        let lost_before = self.lost;
        for cpu in &self.cpus {
            cpu.ring.take(
                |word| PerfRecord::decode(word),
                |record| match record {
                    PerfRecord::Lost(count) => self.lost += count,
                    PerfRecord::Sample { id, at, .. } if id == cpu.completion_id => {
                        self.sightings.push(Sighting { at, kind: SightingKind::Completion });
                    }
                    PerfRecord::Sample { process, at, .. } if Some(process) != self.process => {
                        self.sightings.push(Sighting { at, kind: SightingKind::Arrival });
                    }
                    PerfRecord::Sample { .. } | PerfRecord::Other => {}
                },
            );
        }
        self.activity.report(&mut self.sightings, self.lost != lost_before, events);
        if self.activity.is_open() {
            let now = clock::now();
            self.activity.reconcile(now, self.in_flight.current(), own.in_flight, events);
        }
    }

    fn lost(&self) -> u64 {
        self.lost
    }
}

/// The events of one CPU, which share a ring.
struct PerfCpu {
    ring: PerfRing,
    /// The ID in samples of the completion event; 0, which no sample has, when there is no such event.
    completion_id: u64,
    /// Keeps the events open.
    _events: (PerfEvent, Option<PerfEvent>),
}

impl PerfCpu {
    fn open(cpu: u32, disk: &DiskNode, probes: &Probes) -> io::Result<PerfCpu> {
        let event = |point: &Tracepoint| {
            let event = PerfEvent::open(point.id, cpu, SAMPLE)?;
            event.filter(&filter(point, disk))?;
            io::Result::Ok(event)
        };
        let arrival = event(&probes.arrival)?;
        let ring = PerfRing::new(&arrival, RING_BYTES)?;
        let completion = probes.completion.as_ref().map(event).transpose()?;
        let mut completion_id = 0;
        // Completions first: a surplus completion does no harm, a missing one would leave a request outstanding.
        if let Some(completion) = &completion {
            completion_id = completion.id()?;
            completion.redirect(&arrival)?;
            completion.enable()?;
        }
        arrival.enable()?;
        Ok(PerfCpu { ring, completion_id, _events: (arrival, completion) })
    }
}

/// The filter that the kernel applies to samples: this disk and, where the class is reported, not the idle class.
fn filter(point: &Tracepoint, disk: &DiskNode) -> CString {
    let dev = disk.major << 20 | disk.minor;
    let filter = match point.ioprio {
        Some(_) => format!("dev == {dev} && ioprio < {IDLE_MIN} && !(rwbs ~ \"N*\")"),
        None => format!("dev == {dev}"),
    };
    CString::new(filter).expect("numbers hold no NUL")
}

/// One record of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PerfRecord {
    /// A hit of the tracepoint whose event is `id`, in the process `process` as numbered in our PID namespace.
    Sample { id: u64, process: u32, at: Nanos },
    /// Number of records that did not fit.
    Lost(u64),
    /// Any other record.
    Other,
}

/// `PERF_RECORD_LOST`: some records did not fit into the ring.
const RECORD_LOST: u32 = 2;
/// `PERF_RECORD_SAMPLE`: a tracepoint was hit.
const RECORD_SAMPLE: u32 = 9;

impl PerfRecord {
    /// Decodes the record whose words `word` returns by index, and returns its length in bytes, too. Its header is a `u32`
    /// with the kind, then two `u16`: flags and length. `None` when the length is impossible.
    fn decode(word: impl Fn(usize) -> u64) -> Option<(PerfRecord, u64)> {
        let [k0, k1, k2, k3, _, _, l0, l1] = word(0).to_ne_bytes();
        let bytes = u64::from(u16::from_ne_bytes([l0, l1]));
        let record = match u32::from_ne_bytes([k0, k1, k2, k3]) {
            RECORD_SAMPLE if bytes >= 32 => {
                let [p0, p1, p2, p3, ..] = word(2).to_ne_bytes();
                PerfRecord::Sample { id: word(1), process: u32::from_ne_bytes([p0, p1, p2, p3]), at: Nanos(word(3)) }
            }
            RECORD_LOST if bytes >= 24 => PerfRecord::Lost(word(2)),
            _ => PerfRecord::Other,
        };
        (bytes >= 8 && bytes.is_multiple_of(8)).then_some((record, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record's header.
    fn header(kind: u32, bytes: u16) -> u64 {
        let ([k0, k1, k2, k3], [l0, l1]) = (kind.to_ne_bytes(), bytes.to_ne_bytes());
        u64::from_ne_bytes([k0, k1, k2, k3, 0, 0, l0, l1])
    }

    fn decode(words: &[u64]) -> Option<(PerfRecord, u64)> {
        PerfRecord::decode(|index| words[index])
    }

    #[test]
    fn samples_lost_records_and_others() {
        let [p0, p1, p2, p3] = 4711_u32.to_ne_bytes();
        let ids = u64::from_ne_bytes([p0, p1, p2, p3, 9, 9, 9, 9]);
        let sample = PerfRecord::Sample { id: 17, process: 4711, at: Nanos(123_456) };
        assert_eq!(decode(&[header(9, 32), 17, ids, 123_456]), Some((sample, 32)));
        assert_eq!(decode(&[header(2, 24), 17, 5]), Some((PerfRecord::Lost(5), 24)));
        assert_eq!(decode(&[header(5, 48)]), Some((PerfRecord::Other, 48)));
    }

    #[test]
    fn an_impossible_length_ends_the_reading() {
        assert_eq!(decode(&[header(9, 0)]), None);
        assert_eq!(decode(&[header(9, 12)]), None);
        assert_eq!(decode(&[header(9, 16)]), Some((PerfRecord::Other, 16)), "too short for a sample of ours");
    }

    #[test]
    fn the_filter_names_the_disk_and_the_class() {
        let disk = DiskNode { name: "loop3".into(), major: 7, minor: 3 };
        let point = Tracepoint { id: 1, dev: 8, ioprio: Some(32), rwbs: 34, sector: None, comm: None };
        assert_eq!(filter(&point, &disk).as_c_str(), c"dev == 7340035 && ioprio < 24576 && !(rwbs ~ \"N*\")");
        assert_eq!(filter(&Tracepoint { ioprio: None, ..point }, &disk).as_c_str(), c"dev == 7340035");
    }
}
