//! Processor time of a volume's requests, without disks and clients: members are memory, and answer at once.
//!
//! `cargo run --release -p scrubjay-serve --example volume_speed [CHUNK_KIB]`

use scrubjay_core::buffer::Buffer;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::position_set::MemberSet;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::{Nanos, UnixSeconds, VolumeOffset};
use scrubjay_core::volume::block::{BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::format::assemble::{Assembly, SlotState};
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::format::superblock::Superblock;
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::member::{ArrayMachine, MemberOpDone, OpKind};
use scrubjay_core::volume::{Volume, VolumeOptions};
use std::time::Instant;

const MEMBER_BYTES: u64 = 64 << 20;
const REQUESTS: u64 = 200_000;

fn main() {
    let chunk_kib: u64 = std::env::args().nth(1).map_or(4, |text| text.parse().expect("a chunk size in KiB"));
    for scheme in [Scheme::None, Scheme::Stamp] {
        let mut rig = Rig::new(scheme, chunk_kib << 10);
        let size = rig.volume.size() / 2 / 4096 * 4096;
        for offset in (0..size).step_by(1 << 20) {
            rig.ask(BlockRequest::Write {
                offset: VolumeOffset(offset),
                data: Buffer::zeroed((size - offset).min(1 << 20) as usize),
                is_durable: false,
            });
        }
        rig.ask(BlockRequest::Flush);
        let mut rng = Rng::new(1);
        let mut offset = || rng.below(size / 4096) * 4096;
        for offset in (0..size).step_by(4096) {
            rig.ask(BlockRequest::Read { offset: VolumeOffset(offset), len: 4096 });
        }
        rig.time(&format!("{scheme}: reads of 4 KiB"), || BlockRequest::Read {
            offset: VolumeOffset(offset()),
            len: 4096,
        });
        rig.time(&format!("{scheme}: writes of 4 KiB"), || BlockRequest::Write {
            offset: VolumeOffset(offset()),
            data: Buffer::zeroed(4096),
            is_durable: false,
        });
    }
}

struct Rig {
    volume: Volume,
    members: Vec<Vec<u8>>,
    next: u64,
}

impl Rig {
    fn new(scheme: Scheme, chunk_bytes: u64) -> Rig {
        let shape = Shape { data: 4, parity: 2 };
        let layout = Layout::new(LayoutKind::Rotating, shape, 6).expect("a layout of six");
        let parameters = ArrayParameters { layout, scheme, chunk_bytes, block_bytes: 512 };
        let geometry = Geometry::fit(&parameters, MEMBER_BYTES, None).expect("it fits");
        let (members, superblock) = blank(&geometry);
        let slots = (0..6).map(SlotState::Active).collect();
        let volume = Volume::start(
            Assembly { superblock, members: slots, stale: Vec::new(), in_last_start: MemberSet::range(0, 6) },
            VolumeOptions::default(),
        );
        let mut rig = Rig { volume, members, next: 0 };
        rig.pump();
        rig
    }

    fn pump(&mut self) {
        while let Some(op) = self.volume.poll_op(Nanos(self.next)) {
            let member = &mut self.members[op.member.get()];
            let buffer = match op.kind {
                OpKind::Read { offset, mut buffer } => {
                    let at = offset.get() as usize;
                    let len = buffer.len();
                    buffer.copy_from_slice(&member[at..at + len]);
                    Some(buffer)
                }
                OpKind::Write { offset, buffer, .. } => {
                    member[offset.get() as usize..offset.get() as usize + buffer.len()].copy_from_slice(&buffer);
                    Some(buffer)
                }
                OpKind::Flush | OpKind::Discard { .. } => None,
            };
            self.volume.handle(Nanos(self.next), MemberOpDone { id: op.id, buffer, result: Ok(()) });
        }
    }

    fn ask(&mut self, request: BlockRequest) {
        self.next += 1;
        self.volume.submit(Nanos(self.next), RequestId(self.next), request);
        self.pump();
        match self.volume.poll_reply().expect("an answer").1 {
            BlockReply::Read(parts) => parts.into_iter().for_each(|part| match part {
                ReadPart::Data(buffer, _) => self.volume.recycle(buffer),
                ReadPart::Zeros(_) | ReadPart::Lost(_) => panic!("it was written"),
            }),
            BlockReply::Done => (),
            reply => panic!("{reply:?}"),
        }
    }

    fn time(&mut self, label: &str, mut request: impl FnMut() -> BlockRequest) {
        let start = Instant::now();
        (0..REQUESTS).for_each(|_| self.ask(request()));
        println!("{label}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / REQUESTS as f64);
    }
}

fn blank(geometry: &Geometry) -> (Vec<Vec<u8>>, Superblock) {
    let names = [10, 11, 12, 13, 14, 15].map(|name| Uuid([name; 16]));
    let superblock = blank::superblock(*geometry, Uuid([1; 16]), "", UnixSeconds(1), &names);
    let member = |slot: usize| {
        let mut bytes = vec![0; MEMBER_BYTES as usize];
        for (at, block) in blank::member(&superblock, MemberIndex(slot), MEMBER_BYTES) {
            bytes[at.get() as usize..at.get() as usize + block.len()].copy_from_slice(&block);
        }
        bytes
    };
    ((0..names.len()).map(member).collect(), superblock)
}
