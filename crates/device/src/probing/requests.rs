//! Requests to the device that is probed, each identified by a number.

use crate::completion::{Completion, IoEnd, IoRing, MemberFile};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::member::DiskFault;
use std::io;

/// The number of a request, never reused, so that a late completion is recognised.
pub type Number = u64;

/// A request that has ended.
#[derive(Debug)]
pub struct ProbeCompletion {
    /// The number of the request.
    pub number: Number,
    /// The data that were read or written.
    pub buffer: Option<Buffer>,
    /// Whether it succeeded.
    pub result: Result<(), DiskFault>,
}

/// Sends requests, which end in any order. A request that does not end keeps its buffer.
pub trait ProbeRequests {
    /// Number of further requests that may be started.
    fn room(&self) -> usize;

    /// Whether any request is in flight.
    fn is_busy(&self) -> bool;

    /// Starts a read, which is submitted by the next [`ProbeRequests::start`] or [`ProbeRequests::wait`].
    fn read(&mut self, number: Number, offset: u64, buffer: Buffer);

    /// Starts a write.
    fn write(&mut self, number: Number, offset: u64, buffer: Buffer);

    /// Submits reads.
    fn start(&mut self);

    /// Waits until a request has ended, at most `timeout`.
    ///
    /// # Errors
    /// When no further request will end.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;

    /// The next request that has ended, if any.
    fn poll(&mut self) -> Option<ProbeCompletion>;
}

/// Requests to a real device.
pub struct RingRequests {
    ring: IoRing<Number>,
    file: MemberFile,
}

impl RingRequests {
    /// For `depth` requests at a time.
    ///
    /// # Errors
    /// When io_uring is refused or too old (see [`IoRing::new`]).
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
