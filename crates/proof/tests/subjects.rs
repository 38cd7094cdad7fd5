//! Tests of the simulation itself: a plain disk passes, and disks with one bug each are caught.

use scrubjay_core::buffer::Buffer;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::units::{MemberOffset, Nanos};
use scrubjay_core::volume::block::{BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::finding::VolumeFinding;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::format::superblock::MemberState;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::member::{ArrayMachine, MemberIndex, MemberOp, MemberOpDone, MemberOpId, OpKind};
use scrubjay_proof::config::{ArrayIncident, Narrowed, StormConfig};
use scrubjay_proof::faults::Chances;
use scrubjay_proof::simulation;
use scrubjay_proof::subject::{Health, StormSubject};
use scrubjay_proof::trace::StormLog;
use scrubjay_sim::member_disk::{MemberDisk, WriteFate};
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::catch_unwind;

const RIGHT: u8 = 0;
const FORGETS_TO_FLUSH: u8 = 1;
const ACKS_EARLY: u8 = 2;
const CUTS_WRITES_SHORT: u8 = 3;
const IGNORES_DURABLE: u8 = 4;
const FAILS_READS: u8 = 5;
const LOSES_READS: u8 = 6;

/// One disk behind a queue, serving one request at a time. `BUG` is the bug that it has.
struct Single<const BUG: u8> {
    geometry: Geometry,
    queue: VecDeque<(RequestId, BlockRequest)>,
    /// The request under way. Of a write it holds the data until the blocks around it are read.
    busy: Option<(RequestId, BlockRequest)>,
    out: VecDeque<MemberOp>,
    replies: VecDeque<(RequestId, BlockReply)>,
    is_stopping: bool,
    is_stopped: bool,
}

impl<const BUG: u8> Single<BUG> {
    fn op(&mut self, kind: OpKind) {
        self.out.push_back(MemberOp { id: MemberOpId(0), member: MemberIndex(0), kind });
    }

    /// The blocks that cover some bytes of the volume, as a range of bytes on the disk.
    fn around(&self, offset: u64, len: u64) -> Range<u64> {
        let block = self.geometry.block_bytes;
        let start = self.geometry.data_offset + offset;
        start / block * block..(start + len).next_multiple_of(block)
    }

    fn reply(&mut self, reply: BlockReply) {
        let (id, _) = self.busy.take().expect("a request is under way");
        self.replies.push_back((id, reply));
    }

    fn begin(&mut self, id: RequestId, request: BlockRequest) {
        let read = match &request {
            BlockRequest::Read { offset, len } | BlockRequest::Zero { offset, len, .. } => {
                Some(self.around(offset.get(), *len))
            }
            BlockRequest::Write { offset, data, .. } => Some(self.around(offset.get(), data.len() as u64)),
            _ => None,
        };
        let is_flush = request == BlockRequest::Flush;
        self.busy = Some((id, request));
        match read {
            Some(range) => {
                let buffer = Buffer::zeroed((range.end - range.start) as usize);
                self.op(OpKind::Read { offset: MemberOffset(range.start), buffer });
            }
            None if is_flush && BUG != FORGETS_TO_FLUSH => self.op(OpKind::Flush),
            None => match self.busy.as_ref() {
                Some((_, BlockRequest::Allocation { len, .. })) => {
                    let run = scrubjay_core::volume::block::AllocationRun { len: *len, is_written: true };
                    self.reply(BlockReply::Allocation(vec![run]));
                }
                _ => self.reply(BlockReply::Done),
            },
        }
    }

    /// Sends a write, once the blocks around it were read.
    fn change(&mut self, mut buffer: Buffer) {
        let (_, request) = self.busy.as_ref().expect("a request is under way");
        let (offset, data, is_durable) = match request {
            BlockRequest::Write { offset, data, is_durable } => (*offset, &data[..], *is_durable),
            BlockRequest::Zero { offset, len, is_durable } => (*offset, &[0; 1 << 20][..*len as usize], *is_durable),
            other => unreachable!("{other:?} changes nothing"),
        };
        let around = self.around(offset.get(), data.len() as u64);
        let skip = (self.geometry.data_offset + offset.get() - around.start) as usize;
        let len = if BUG == CUTS_WRITES_SHORT { data.len() - data.len() / 3000 } else { data.len() };
        buffer[skip..skip + len].copy_from_slice(&data[..len]);
        let is_durable = is_durable && BUG != IGNORES_DURABLE;
        self.op(OpKind::Write { offset: MemberOffset(around.start), buffer, is_durable });
        if BUG == ACKS_EARLY {
            let id = self.busy.as_ref().expect("a request is under way").0;
            self.replies.push_back((id, BlockReply::Done));
        }
    }
}

impl<const BUG: u8> ArrayMachine for Single<BUG> {
    fn size(&self) -> u64 {
        self.geometry.size()
    }

    fn submit(&mut self, _now: Nanos, id: RequestId, request: BlockRequest) {
        self.queue.push_back((id, request));
    }

    fn handle(&mut self, _now: Nanos, done: MemberOpDone) {
        let Some((_, request)) = &self.busy else {
            self.is_stopped = true;
            return;
        };
        match (done.buffer, request) {
            (Some(buffer), BlockRequest::Read { offset, len }) => {
                let skip = (self.geometry.data_offset + offset.get() - self.around(offset.get(), *len).start) as usize;
                let range = skip..skip + *len as usize;
                let len = *len;
                let is_picked = offset.get().is_multiple_of(3);
                self.reply(match BUG {
                    LOSES_READS if is_picked => BlockReply::Read(vec![ReadPart::Lost(len)]),
                    FAILS_READS if is_picked => BlockReply::Failed(scrubjay_core::volume::block::BlockFailure::Io),
                    _ => BlockReply::Read(vec![ReadPart::Data(buffer, range)]),
                });
            }
            // Operation 0 read the blocks; operation 1 will write them.
            (Some(buffer), BlockRequest::Write { .. } | BlockRequest::Zero { .. }) if done.id == MemberOpId(0) => {
                self.change(buffer);
                self.out.back_mut().expect("it goes out").id = MemberOpId(1);
            }
            _ if BUG == ACKS_EARLY && done.id == MemberOpId(1) => self.busy = None,
            _ => self.reply(BlockReply::Done),
        }
    }

    fn poll_op(&mut self, _now: Nanos) -> Option<MemberOp> {
        while self.busy.is_none() && self.out.is_empty() {
            let Some((id, request)) = self.queue.pop_front() else { break };
            self.begin(id, request);
        }
        if self.is_stopping && self.busy.is_none() && self.out.is_empty() {
            self.is_stopping = false;
            self.op(OpKind::Flush);
        }
        self.out.pop_front()
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        self.replies.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn recycle(&mut self, _buffer: Buffer) {}

    fn stop(&mut self, _now: Nanos) {
        self.is_stopping = true;
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}

impl<const BUG: u8> StormSubject for Single<BUG> {
    fn create(setting: &StormConfig, disks: &mut [MemberDisk]) {
        let zeros = vec![0; setting.geometry.size() as usize];
        disks[0].write(setting.geometry.data_offset, &zeros, true, WriteFate::HONEST);
    }

    fn open(setting: &StormConfig, _disks: &[MemberDisk]) -> Self {
        let (queue, out, replies) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Single { geometry: setting.geometry, queue, busy: None, out, replies, is_stopping: false, is_stopped: false }
    }

    fn knows_active(_disks: &[MemberDisk], _member: MemberIndex) -> bool {
        true
    }

    fn announced(_setting: &StormConfig, _disks: &[MemberDisk]) -> Vec<u64> {
        Vec::new()
    }

    fn health(&self) -> Health {
        Health { is_open: true, is_resynced: true, members: vec![MemberState::Active] }
    }

    fn poll_finding(&mut self) -> Option<VolumeFinding> {
        None
    }

    fn fail(&mut self, _now: Nanos, _member: MemberIndex) {
        unreachable!("there is but one disk");
    }

    fn replace(&mut self, _now: Nanos, _member: MemberIndex, _disk: &mut MemberDisk, _name: u64) {
        unreachable!("there is but one disk");
    }

    fn readd(&mut self, _now: Nanos, _disk: &MemberDisk, _name: u64) -> bool {
        unreachable!("there is but one disk");
    }

    fn can_take_in(&self, _member: MemberIndex) -> bool {
        false
    }

    fn refusal(_disks: &[MemberDisk]) -> Option<String> {
        None
    }

    fn is_written(&self, _stripe: u64) -> bool {
        true
    }

    fn is_resynced(&self, _stripe: u64) -> bool {
        true
    }

    fn verify(&mut self, _now: Nanos, id: RequestId, _stripes: Range<u64>) {
        self.replies.push_back((id, BlockReply::Done));
    }
}

/// The setting of this seed, with an array of one disk.
fn setting(seed: u64) -> StormConfig {
    let mut setting = StormConfig::new(seed, Narrowed::default());
    let layout = Layout::new(LayoutKind::Raid0, Shape { data: 1, parity: 0 }, 1).expect("one disk is an array");
    let Geometry { chunk_bytes, block_bytes, .. } = setting.geometry;
    let parameters = ArrayParameters { layout, scheme: Scheme::None, chunk_bytes, block_bytes };
    setting.geometry = Geometry::fit(&parameters, 4 << 20, Some(64 << 10)).expect("4 MiB hold 64 KiB");
    setting.is_over_budget = false;
    let is_for_arrays = |act: ArrayIncident| {
        matches!(
            act,
            ArrayIncident::Lose
                | ArrayIncident::LoseDown(_)
                | ArrayIncident::Fail
                | ArrayIncident::Exchange
                | ArrayIncident::Spoil
                | ArrayIncident::Fork(_)
        )
    };
    setting.script.retain(|cue| !is_for_arrays(cue.act));
    setting
}

fn passes<const BUG: u8>(setting: &StormConfig) -> Result<simulation::StormOutcome, String> {
    catch_unwind(|| simulation::run::<Single<BUG>>(setting, StormLog::default()))
        .map_err(|cause| cause.downcast_ref::<String>().cloned().unwrap_or_default())
}

/// The number of seeds, of the first `seeds`, that find the bug.
fn caught<const BUG: u8>(seeds: u64) -> u64 {
    (0..seeds).filter(|&seed| passes::<BUG>(&setting(seed)).is_err()).count() as u64
}

#[test]
fn a_correct_disk_passes_every_storm() {
    for seed in 0..300 {
        passes::<RIGHT>(&setting(seed)).unwrap_or_else(|cause| panic!("seed {seed}: {cause}"));
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..20 {
        assert_eq!(passes::<RIGHT>(&setting(seed)), passes::<RIGHT>(&setting(seed)));
    }
}

#[test]
fn wrong_disks_are_caught() {
    let seeds = 100;
    assert!(caught::<FORGETS_TO_FLUSH>(seeds) > 0);
    assert!(caught::<ACKS_EARLY>(seeds) > 0);
    assert!(caught::<CUTS_WRITES_SHORT>(seeds) > 10);
    assert!(caught::<IGNORES_DURABLE>(seeds) > 0);
    assert!(caught::<FAILS_READS>(seeds) > 50);
    assert!(caught::<LOSES_READS>(seeds) > 50);
}

#[test]
fn no_fault_is_planted_on_a_disk_without_redundancy() {
    let mut found = 0;
    for seed in 0..20 {
        let mut setting = setting(seed);
        // Faults that the budget never allows on a disk without redundancy, however likely they are made.
        setting.chances = Chances { lost: 0.1, torn: 0.1, misdirected: 0.1, ..Chances::default() };
        found += u64::from(passes::<RIGHT>(&setting).is_err());
    }
    assert_eq!(found, 0, "the fault_budget keeps faults away from what cannot bear them");
}
