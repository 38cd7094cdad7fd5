//! Arrays of modelled disks, to test a prober: a batch of requests in, the time of each completion out.
//!
//! ```text
//! Batch -> split at chunks -> plan (copies, parities, what is lost) -> queue of each disk -> mechanics -> Answers
//!           map                plan                                     queue, noise          mechanics, flash
//! ```
//!
//! After Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage Arrays" (2004), section 3.1.

pub mod drives;
pub mod flash;
pub mod map;
pub mod mechanics;
pub mod noise;
mod plan;
pub mod queue;
pub mod setup;
mod spindle;
pub mod surprises;
#[cfg(test)]
mod tests;
pub mod trials;
pub mod truth;
mod work;
pub mod written;

use plan::{ArrayPlan, DiskStep};
use scrubjay_core::layout::ChunkPlace;
use scrubjay_core::probe::io::{Answers, ProbeAccess, ProbeBatch, ProbeRequest, ProbedDevice, Prober, RequestTiming};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use setup::ArraySetup;
use spindle::Spindle;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use work::{DiskWork, Owner};

/// The time of a request that the write cache takes: a copy over the bus, one at a time; 4 KiB at 160 MB/s (Ultra160 SCSI).
const CACHE_TIME: Nanos = Nanos(25_000);

/// An array at work, in virtual time.
#[derive(Debug)]
pub struct Array {
    setup: ArraySetup,
    spindles: Vec<Spindle>,
    events: BinaryHeap<Reverse<(Nanos, u64, ArrayEvent)>>,
    events_made: u64,
    now: Nanos,
    requests: Vec<Underway>,
    /// Bytes of writes that the cache has taken and not yet passed on.
    cached_bytes: u64,
    /// Requests that wait for room in the cache.
    waiting: VecDeque<usize>,
    /// Writes that the cache passes on.
    destages: Vec<ArrayJob>,
    rng: Rng,
    /// When the host finishes its serial work: copies to the cache, and computing the content of lost chunks.
    host_free: Nanos,
    /// When the limit's token bucket is full again.
    limit_full: Nanos,
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ArrayEvent {
    /// A request of the batch is issued.
    Arrives(usize),
    /// The limit lets a request pass.
    Passes(usize),
    /// A request has an answer.
    Answered(usize),
    /// A disk has finished a piece of work.
    Free(usize),
}

/// A request of the batch.
#[derive(Debug)]
struct Underway {
    job: ArrayJob,
    issued: Nanos,
    done: Nanos,
}

/// The phases of a request that are left, and the steps that the disks work on now.
#[derive(Debug)]
struct ArrayJob {
    plan: ArrayPlan,
    outstanding: usize,
}

impl Array {
    /// Builds an array.
    ///
    /// # Panics
    /// When it cannot be built ([`ArraySetup::refusal`]).
    pub fn new(setup: ArraySetup) -> Array {
        assert_eq!(setup.refusal(), None, "{setup:?}");
        let spindles = (0..setup.map.disks()).map(|disk| Spindle::new(&setup, disk)).collect();
        Array {
            rng: Rng::stream(setup.seed, 1),
            spindles,
            events: BinaryHeap::new(),
            events_made: 0,
            now: Nanos::ZERO,
            requests: Vec::new(),
            cached_bytes: 0,
            waiting: VecDeque::new(),
            destages: Vec::new(),
            host_free: Nanos::ZERO,
            limit_full: Nanos::ZERO,
            left: 0,
            setup,
        }
    }

    /// The device as a prober sees it.
    pub fn device(&self) -> ProbedDevice {
        let block = self.setup.block_bytes;
        ProbedDevice { bytes: self.setup.bytes() / block * block, block, depth: usize::MAX }
    }

    /// The array's setup.
    pub fn setup(&self) -> &ArraySetup {
        &self.setup
    }

    /// Runs all batches that a prober asks for.
    pub fn serve<K: Clone>(&mut self, prober: &mut Prober<K>) {
        while let Some(batch) = prober.poll_batch() {
            prober.handle(self.run(&batch));
        }
    }

    /// Runs a batch; the next one begins where it ends.
    ///
    /// # Panics
    /// When a request lies beyond the end of the device, is empty, or is not whole blocks.
    pub fn run(&mut self, batch: &ProbeBatch) -> Answers {
        let start = self.now;
        self.requests.clear();
        self.left = batch.requests.len();
        for (index, request) in batch.requests.iter().enumerate() {
            let end = request.offset + request.len;
            assert!(request.len > 0 && end <= self.setup.bytes(), "{request:?} of {} bytes", self.setup.bytes());
            let is_whole = |bytes: u64| bytes.is_multiple_of(self.setup.block_bytes);
            assert!(is_whole(request.offset) && is_whole(request.len), "{request:?} is not whole blocks");
            let plan = ArrayPlan::of(&self.setup, request);
            let issued = start.saturating_add(request.at);
            self.requests.push(Underway { job: ArrayJob { plan, outstanding: 0 }, issued, done: issued });
            self.event(issued, ArrayEvent::Arrives(index));
        }
        while self.left > 0 {
            let Reverse((time, _, event)) =
                self.events.pop().expect("requests are under way, so something will happen");
            self.now = self.now.max(time);
            match event {
                ArrayEvent::Arrives(index) => match self.passes_at() {
                    now if now <= self.now => self.arrives(index, &batch.requests[index]),
                    later => self.event(later, ArrayEvent::Passes(index)),
                },
                ArrayEvent::Passes(index) => self.arrives(index, &batch.requests[index]),
                ArrayEvent::Answered(index) => {
                    self.requests[index].done = self.now;
                    self.left -= 1;
                }
                ArrayEvent::Free(spindle) => self.freed(spindle),
            }
        }
        let timing = |request: &Underway| RequestTiming {
            issued: request.issued.since(start),
            done: request.done.since(start),
            is_failed: false,
        };
        Answers { timings: self.requests.iter().map(timing).collect(), is_disturbed: false }
    }

    /// Lets time pass without requests; the cache passes on its writes meanwhile.
    pub fn rest(&mut self, time: Nanos) {
        let until = self.now.saturating_add(time);
        while let Some(&Reverse((at, _, ArrayEvent::Free(spindle)))) =
            self.events.peek().filter(|event| event.0.0 <= until)
        {
            self.events.pop();
            self.now = self.now.max(at);
            self.freed(spindle);
        }
        self.now = until;
    }

    fn event(&mut self, time: Nanos, event: ArrayEvent) {
        self.events_made += 1;
        self.events.push(Reverse((time, self.events_made, event)));
    }

    /// When the limit lets the next request pass.
    fn passes_at(&mut self) -> Nanos {
        let Some(limit) = self.setup.limit else { return self.now };
        let each = 1.0 / limit.iops;
        let at = self.limit_full.max(self.now).since(Nanos::from_secs_f64(each * (limit.burst - 1.0).max(0.0)));
        self.limit_full = self.limit_full.max(self.now).saturating_add(Nanos::from_secs_f64(each));
        at.max(self.now)
    }

    fn arrives(&mut self, index: usize, request: &ProbeRequest) {
        if let Some(quick) = self.setup.quick.filter(|quick| quick.holds(request.offset)) {
            let done = self.now.saturating_add(quick.time);
            return self.event(done, ArrayEvent::Answered(index));
        }
        match (request.kind, self.setup.write_cache_bytes) {
            (ProbeAccess::Rewrite, Some(room)) => {
                if self.waiting.is_empty() && self.cached_bytes + request.len <= room.max(request.len) {
                    self.cache(index, request.len);
                } else {
                    self.waiting.push_back(index);
                }
            }
            _ => self.advance(Owner::Request(index)),
        }
    }

    /// Takes a write into the cache, answers it, and begins to pass it on.
    fn cache(&mut self, index: usize, bytes: u64) {
        self.cached_bytes += bytes;
        let plan = std::mem::take(&mut self.requests[index].job.plan);
        self.host_free = self.host_free.max(self.now).saturating_add(CACHE_TIME);
        self.event(self.host_free, ArrayEvent::Answered(index));
        self.destages.push(ArrayJob { plan, outstanding: 0 });
        self.advance(Owner::Destage(self.destages.len() - 1));
    }

    /// Starts the next phase of a job, or ends it.
    fn advance(&mut self, owner: Owner) {
        let job = self.job(owner);
        let (steps, is_rebuilt) = (job.plan.next_phase(), job.plan.is_rebuilt);
        job.outstanding = steps.len();
        if !steps.is_empty() {
            for step in steps {
                self.start(step, owner);
            }
            return;
        }
        match owner {
            Owner::Request(index) if is_rebuilt => {
                self.host_free = self.host_free.max(self.now).saturating_add(self.setup.rebuild_time);
                self.event(self.host_free, ArrayEvent::Answered(index));
            }
            Owner::Request(index) => self.event(self.now, ArrayEvent::Answered(index)),
            Owner::Destage(index) => {
                self.cached_bytes -= self.destages[index].plan.bytes;
                let room = self.setup.write_cache_bytes.unwrap_or_default();
                while let Some(&next) = self.waiting.front() {
                    let bytes = self.requests[next].job.plan.bytes;
                    if self.cached_bytes + bytes > room.max(bytes) {
                        break;
                    }
                    self.waiting.pop_front();
                    self.cache(next, bytes);
                }
                if self.cached_bytes == 0 {
                    self.destages.clear();
                }
            }
        }
    }

    fn job(&mut self, owner: Owner) -> &mut ArrayJob {
        match owner {
            Owner::Request(index) => &mut self.requests[index].job,
            Owner::Destage(index) => &mut self.destages[index],
        }
    }

    fn start(&mut self, step: DiskStep, owner: Owner) {
        let setup = &self.setup;
        let sector =
            |place: &ChunkPlace| (setup.base_of(place.disk) + place.row * setup.chunk_bytes + step.within) / 512;
        let load_and_distance =
            |place: &ChunkPlace| self.spindles[setup.spindle_of(place.disk)].load_and_distance(sector(place));
        let place = step.choose(load_and_distance, setup, &mut self.rng);
        let (spindle, sector) = (setup.spindle_of(place.disk), sector(&place));
        self.spindles[spindle].push(DiskWork { sector, count: step.len.div_ceil(512), is_write: step.is_write, owner });
        self.work(spindle);
    }

    /// Starts the next pieces of work on a disk that is free, in the order of its queue.
    fn work(&mut self, spindle: usize) {
        while let Some(done) = self.spindles[spindle].begin(self.now, self.setup.noise, &mut self.rng) {
            self.event(done, ArrayEvent::Free(spindle));
        }
    }

    fn freed(&mut self, spindle: usize) {
        let owner = self.spindles[spindle].end().owner;
        let job = self.job(owner);
        job.outstanding -= 1;
        if job.outstanding == 0 {
            self.advance(owner);
        }
        self.work(spindle);
    }
}
