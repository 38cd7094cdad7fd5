//! Requests to the device that is probed, each by its number.

use crate::completion::{Completion, IoEnd, IoRing, MemberFile};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::member::DiskFault;
use std::io;

/// What a request is called, once and never again: a late answer is known as one.
pub type Number = u64;

/// A request that has ended.
#[derive(Debug)]
pub struct ProbeCompletion {
    /// Which.
    pub number: Number,
    /// What was read or written.
    pub buffer: Option<Buffer>,
    /// How it went.
    pub result: Result<(), DiskFault>,
}

/// Takes requests and says how they went, in any order. What does not come back keeps its buffer.
pub trait ProbeRequests {
    /// How many more may be under way.
    fn room(&self) -> usize;

    /// Is any under way?
    fn is_busy(&self) -> bool;

    /// Reads, as soon as the next [`ProbeRequests::start`] or [`ProbeRequests::wait`].
    fn read(&mut self, number: Number, offset: u64, buffer: Buffer);

    /// Writes.
    fn write(&mut self, number: Number, offset: u64, buffer: Buffer);

    /// Sends reads on.
    fn start(&mut self);

    /// Waits until one has ended, but no longer than this.
    ///
    /// # Errors
    /// When no more will end.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;

    /// One that has ended.
    fn poll(&mut self) -> Option<ProbeCompletion>;
}

/// Those of a real device.
pub struct RingRequests {
    ring: IoRing<Number>,
    file: MemberFile,
}

impl RingRequests {
    /// For so many at a time.
    ///
    /// # Errors
    /// As [`IoRing::new`].
    pub fn new(depth: u32, file: MemberFile) -> io::Result<RingRequests> {
        Ok(RingRequests { ring: IoRing::new(depth)?, file })
    }
}

impl ProbeRequests for RingRequests {
    fn room(&self) -> usize {
        self.ring.room()
    }

    fn is_busy(&self) -> bool {
        self.ring.in_flight() > 0
    }

    fn read(&mut self, number: Number, offset: u64, buffer: Buffer) {
        self.ring.read(number, &self.file, offset, buffer);
    }

    fn write(&mut self, number: Number, offset: u64, buffer: Buffer) {
        self.ring.write(number, &self.file, offset, buffer, false);
    }

    fn start(&mut self) {
        self.ring.start_reads();
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        self.ring.wait(Some(timeout))
    }

    fn poll(&mut self) -> Option<ProbeCompletion> {
        let Completion { name: number, end } = self.ring.poll()?;
        let IoEnd::Disk { buffer, result } = end else { panic!("only disks are asked") };
        Some(ProbeCompletion { number, buffer, result })
    }
}
