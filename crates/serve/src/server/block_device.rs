//! The volume as a block device of this machine (ublk): passes the driver's requests to the volume, and replies back.
//!
//! Each request of the device has a tag. The driver owns a tag until it hands over a request; then the server owns it until it
//! replies. When a server ends while the device is open, the tags that it owns stay with it: the driver gives their requests
//! to the next server, and their users wait.

use super::first_writes::FirstWrites;
use super::task::RingTask;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::VolumeOffset;
use scrubjay_core::volume::block::{BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_device::completion::{IoRing, Outgoing};
use scrubjay_device::ublk::{self, UblkDevice, UblkError, UblkRequest, UblkVerb, lifecycle};
use std::fmt;
use std::io;
use std::ops::Range;

/// Request ids of the device begin here, above those of all clients.
const FIRST_REQUEST_ID: u64 = 1 << 32;

/// Operations of the ring that the device needs at most (count): one per tag, and one for the driver's commands.
pub(super) const DEVICE_OPS_MAX: usize = ublk::DEPTH as usize + 1;

/// What happens to a block device, for the server's user.
#[derive(Debug)]
pub enum DeviceEvent {
    /// It can be used.
    Ready {
        /// Path of the block device.
        path: String,
        /// Did it have another server before?
        is_recovered: bool,
    },
    /// It cannot be started or stopped.
    Failed(UblkError),
    /// It stays without a server, because it is in use.
    Stays {
        /// Path of the block device.
        path: String,
        /// Its user, in words that follow the path.
        user: String,
    },
    /// Another program removed it; its path.
    Removed(String),
}

impl fmt::Display for DeviceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceEvent::Ready { path, is_recovered: false } => write!(f, "{path}"),
            DeviceEvent::Ready { path, is_recovered: true } => write!(f, "{path}, recovered"),
            DeviceEvent::Failed(error) => write!(f, "{error}"),
            DeviceEvent::Stays { path, user } => {
                write!(f, "{path} {user}: it stays, and its users wait until the volume is served with --ublk again")
            }
            DeviceEvent::Removed(path) => write!(f, "{path} was removed by another program"),
        }
    }
}

/// The block device.
pub(super) struct BlockDevice {
    device: UblkDevice,
    tags: Vec<TagState>,
    phase: DevicePhase,
    /// A stop was requested; a device that is still starting is stopped afterwards.
    is_stop_wanted: bool,
    /// The driver's start or stop command that is under way on a thread.
    command: Option<lifecycle::UblkCommand>,
    /// Requests at the volume (count), and the bytes that they hold.
    in_flight: usize,
    held: usize,
    first_writes: FirstWrites,
    /// Empty, kept for its allocation.
    spare: Outgoing,
}

/// The owner of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagState {
    /// The driver.
    Fetching,
    /// The volume, with this request, since this era of the first writes.
    AtVolume(UblkRequest, u64),
    /// Neither: the request is for the next server, or the device is gone.
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DevicePhase {
    /// The driver is starting it.
    Starting,
    Live,
    /// The driver is stopping it, unless it is in use.
    Stopping,
    /// It was not stopped. It takes no more requests.
    Staying,
    /// It is stopped or removed, or was never started.
    Gone,
}

impl BlockDevice {
    /// A device of `size` bytes, of a volume with `stripe_bytes` bytes of data per stripe.
    pub fn new(device: UblkDevice, size: u64, stripe_bytes: u64) -> BlockDevice {
        let tags = vec![TagState::Fetching; usize::from(device.queue().depth())];
        BlockDevice {
            device,
            tags,
            phase: DevicePhase::Starting,
            is_stop_wanted: false,
            command: None,
            in_flight: 0,
            held: 0,
            first_writes: FirstWrites::new(size, stripe_bytes),
            spare: Outgoing::default(),
        }
    }

    /// Fetches the first requests, and has the driver start the device.
    pub fn begin(&mut self, ring: &mut IoRing<RingTask>) -> Option<DeviceEvent> {
        // This needs CAP_SYS_RESOURCE. Without it the device works, but may deadlock with itself when memory is short.
        let _ = ublk::never_wait_for_writes();
        let queue = self.device.queue();
        (0..queue.depth()).for_each(|tag| queue.fetch(ring, RingTask::Fetch(tag), tag));
        let result = lifecycle::start(self.device.number(), self.device.is_recovered());
        self.wait_for(ring, result)
    }

    /// Has the driver stop it, unless it is in use: then it takes no more requests.
    pub fn stop(&mut self, ring: &mut IoRing<RingTask>) -> Option<DeviceEvent> {
        self.is_stop_wanted = true;
        if self.phase != DevicePhase::Live {
            return None;
        }
        self.phase = DevicePhase::Stopping;
        let result = lifecycle::stop(self.device.number());
        self.wait_for(ring, result)
    }

    fn wait_for(
        &mut self,
        ring: &mut IoRing<RingTask>,
        result: io::Result<lifecycle::UblkCommand>,
    ) -> Option<DeviceEvent> {
        match result {
            Ok(command) => {
                ring.receive(RingTask::DeviceEvent, command.woken(), Buffer::zeroed(1), 0..1);
                self.command = Some(command);
                None
            }
            Err(source) => {
                self.phase = if self.is_stop_wanted { DevicePhase::Staying } else { self.without_start() };
                Some(DeviceEvent::Failed(UblkError::Refused { what: self.path(), source }))
            }
        }
    }

    /// The driver's command has ended.
    pub fn command_ended(&mut self, ring: &mut IoRing<RingTask>) -> Option<DeviceEvent> {
        use lifecycle::UblkNews;
        let path = self.path();
        let (phase, news) = match self.command.take().and_then(|command| command.news()) {
            Some(UblkNews::Started) => {
                (DevicePhase::Live, Some(DeviceEvent::Ready { path, is_recovered: self.device.is_recovered() }))
            }
            Some(UblkNews::NotStarted(error)) => (self.without_start(), Some(DeviceEvent::Failed(error))),
            Some(UblkNews::Stopped) => (DevicePhase::Gone, None),
            Some(UblkNews::InUse(user)) => (DevicePhase::Staying, Some(DeviceEvent::Stays { path, user })),
            Some(UblkNews::NotStopped(error)) => (DevicePhase::Staying, Some(DeviceEvent::Failed(error))),
            None => panic!("it wakes us with news"),
        };
        self.phase = phase;
        if phase == DevicePhase::Live && self.is_stop_wanted {
            return news.into_iter().chain(self.stop(ring)).next();
        }
        news
    }

    /// The driver returns a tag: with a request, which is returned, or for the last time. `buffer` makes buffers for the data of
    /// writes.
    pub fn fetched(
        &mut self,
        ring: &mut IoRing<RingTask>,
        tag: u16,
        result: i32,
        buffer: impl FnOnce(usize) -> Buffer,
    ) -> Result<Option<(RequestId, BlockRequest)>, DeviceEvent> {
        let place = usize::from(tag);
        if result != 0 || self.phase == DevicePhase::Staying {
            self.tags[place] = TagState::Left;
            let is_removed = result != 0 && self.phase == DevicePhase::Live;
            if is_removed {
                self.phase = DevicePhase::Gone;
                return Err(DeviceEvent::Removed(self.path()));
            }
            return Ok(None);
        }
        let mut request = self.device.queue().request(tag);
        request.is_durable |= request.verb == UblkVerb::Write && self.first_writes.is_first(range(&request));
        let UblkRequest { len, is_durable, .. } = request;
        let offset = VolumeOffset(request.offset);
        let block_request = match request.verb {
            UblkVerb::Read => Ok(BlockRequest::Read { offset, len }),
            UblkVerb::Write => {
                let mut data = buffer(len as usize);
                match self.device.queue().receive(tag, &mut data) {
                    Ok(()) => Ok(BlockRequest::Write { offset, data, is_durable }),
                    Err(_) => Err(BlockFailure::Io),
                }
            }
            UblkVerb::Flush => Ok(BlockRequest::Flush),
            UblkVerb::Discard => Ok(BlockRequest::Trim { offset, len }),
            UblkVerb::Zero => Ok(BlockRequest::Zero { offset, len, is_durable }),
            UblkVerb::Other(_) => Err(BlockFailure::OutOfRange),
        };
        match block_request {
            Ok(block_request) => {
                if is_trim(&request) {
                    self.first_writes.trim(range(&request));
                }
                self.tags[place] = TagState::AtVolume(request, self.first_writes.era());
                self.in_flight += 1;
                self.held += bytes(&request);
                Ok(Some((RequestId(FIRST_REQUEST_ID + u64::from(tag)), block_request)))
            }
            Err(failure) => {
                self.device.queue().commit(ring, RingTask::Fetch(tag), tag, Err(failure));
                Ok(None)
            }
        }
    }

    /// The tag of a request, if it is one of the device's.
    pub fn tag_of(id: RequestId) -> Option<u16> {
        let tag = id.0.checked_sub(FIRST_REQUEST_ID)?;
        u16::try_from(tag).ok()
    }

    /// Is this request, which the volume has, a read?
    pub fn is_read(&self, tag: u16) -> bool {
        matches!(self.tags[usize::from(tag)], TagState::AtVolume(UblkRequest { verb: UblkVerb::Read, .. }, _))
    }

    /// Passes the volume's reply on, and the tag back to the driver. A request that the volume refuses because it stops is left
    /// for the next server.
    pub fn reply(&mut self, ring: &mut IoRing<RingTask>, tag: u16, reply: BlockReply, recycle: impl FnMut(Buffer)) {
        let TagState::AtVolume(request, era) = self.tags[usize::from(tag)] else { panic!("a request gets one reply") };
        self.in_flight -= 1;
        self.held -= bytes(&request);
        if is_trim(&request) {
            self.first_writes.trimmed();
        } else if request.verb == UblkVerb::Write && request.is_durable && reply == BlockReply::Done {
            self.first_writes.written(range(&request), era);
        }
        let outcome = match reply {
            BlockReply::Failed(BlockFailure::Stopping) => {
                self.tags[usize::from(tag)] = TagState::Left;
                return;
            }
            BlockReply::Failed(failure) => Err(failure),
            BlockReply::Done if request.verb == UblkVerb::Write => Ok(request.len),
            BlockReply::Done => Ok(0),
            BlockReply::Read(parts) => self.send(tag, parts, recycle).map(|()| request.len),
            BlockReply::Allocation(_) => panic!("nobody asked for that"),
        };
        self.tags[usize::from(tag)] = TagState::Fetching;
        self.device.queue().commit(ring, RingTask::Fetch(tag), tag, outcome);
    }

    /// Sends the bytes of a read. A read that lost a part fails: the driver takes no partial replies.
    fn send(&mut self, tag: u16, parts: Vec<ReadPart>, recycle: impl FnMut(Buffer)) -> Result<(), BlockFailure> {
        let is_whole = !parts.iter().any(|part| matches!(part, ReadPart::Lost(_)));
        let mut outgoing = std::mem::take(&mut self.spare);
        for part in parts {
            match part {
                ReadPart::Data(buffer, range) => outgoing.push_buffer(buffer, range),
                ReadPart::Zeros(len) => outgoing.push_zeros(len as usize),
                ReadPart::Lost(_) => (),
            }
        }
        let sent = if is_whole { self.device.queue().send(tag, &outgoing).is_ok() } else { false };
        outgoing.clear(recycle);
        self.spare = outgoing;
        if sent { Ok(()) } else { Err(BlockFailure::Io) }
    }

    /// Requests at the volume (count).
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Bytes that these requests hold.
    pub fn held(&self) -> usize {
        self.held
    }

    /// After a stop: is there nothing more to wait for?
    pub fn is_stop_complete(&self) -> bool {
        matches!(self.phase, DevicePhase::Staying | DevicePhase::Gone) && self.in_flight == 0
    }

    /// The device, if it is stopped, to be removed.
    pub fn into_stopped(self) -> Option<UblkDevice> {
        (self.phase == DevicePhase::Gone).then_some(self.device)
    }

    /// The phase after a failed start: a device that was recovered may be in use.
    fn without_start(&self) -> DevicePhase {
        if self.device.is_recovered() { DevicePhase::Staying } else { DevicePhase::Gone }
    }

    fn path(&self) -> String {
        self.device.path().display().to_string()
    }
}

/// Does it undo writes? (Zeroing trims as far as possible.)
fn is_trim(request: &UblkRequest) -> bool {
    matches!(request.verb, UblkVerb::Discard | UblkVerb::Zero)
}

fn range(request: &UblkRequest) -> Range<u64> {
    request.offset..request.offset + request.len
}

/// Bytes that a request holds in memory.
fn bytes(request: &UblkRequest) -> usize {
    match request.verb {
        UblkVerb::Read | UblkVerb::Write => request.len as usize,
        _ => 0,
    }
}
