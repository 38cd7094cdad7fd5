//! The array under test: a simulation can start it on its disks, crash it and start it again. Here, the volume as one.

use crate::config::StormConfig;
use scrubjay_core::index::StripeIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::RequestId;
use scrubjay_core::volume::finding::VolumeFinding;
use scrubjay_core::volume::format::assemble::{Assembly, assemble};
use scrubjay_core::volume::format::geometry::{MetadataArea, TAIL_BYTES};
use scrubjay_core::volume::format::intent::{self, IntentBit};
use scrubjay_core::volume::format::losses::LossRegister;
use scrubjay_core::volume::format::superblock::{MemberState, Superblock};
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_core::volume::member::{ArrayMachine, MemberIndex};
use scrubjay_core::volume::{Volume, VolumeOptions};
use scrubjay_sim::member_disk::array;
use scrubjay_sim::member_disk::{MemberDisk, WriteFate};
use std::ops::Range;

/// The state of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Does it serve requests?
    pub is_open: bool,
    /// Does it serve, with nothing of the last crash left to resync?
    pub is_resynced: bool,
    /// The state of each member, by member index.
    pub members: Vec<MemberState>,
}

/// A volume, or something that stands in for one.
pub trait StormSubject: ArrayMachine + Sized {
    /// Formats new disks as the array of this setting.
    fn create(setting: &StormConfig, disks: &mut [MemberDisk]);

    /// Starts on the disks as they are.
    fn open(setting: &StormConfig, disks: &[MemberDisk]) -> Self;

    /// Would a start now find this member active?
    fn knows_active(disks: &[MemberDisk], member: MemberIndex) -> bool;

    /// The stripes whose regions the disks call dirty: all that a bare array knows of what a crash left.
    fn announced(setting: &StormConfig, disks: &[MemberDisk]) -> Vec<u64>;

    /// Its present state.
    fn health(&self) -> Health;

    /// Was this stripe ever written?
    fn is_written(&self, stripe: u64) -> bool;

    /// Has it resynced what the last crash left of this stripe?
    fn is_resynced(&self, stripe: u64) -> bool;

    /// The stripes that it knows to hold lost chunks.
    fn losses(&self) -> LossRegister {
        LossRegister::default()
    }

    /// Those of which the disks have a durable record; `None`: it keeps none.
    fn recorded_losses(_disks: &[MemberDisk]) -> Option<LossRegister> {
        None
    }

    /// The next finding, if there is one.
    fn poll_finding(&mut self) -> Option<VolumeFinding>;

    /// Verifies these stripes; the reply comes like those of requests.
    fn verify(&mut self, now: Nanos, id: RequestId, stripes: Range<u64>);

    /// Takes a member out.
    fn fail(&mut self, now: Nanos, member: MemberIndex);

    /// Is this member out, and may a disk take its place?
    fn can_take_in(&self, member: MemberIndex) -> bool;

    /// Makes the disk in the place of a member that is out a new member, under the never used name `name`. Its
    /// superblocks are wiped first.
    fn replace(&mut self, now: Nanos, member: MemberIndex, disk: &mut MemberDisk, name: u64);

    /// Makes the disk in the place of a member that is out, which was that member before, a member again, under the
    /// never used name `name`; returns whether that was possible.
    fn readd(&mut self, now: Nanos, disk: &MemberDisk, name: u64) -> bool;

    /// Why these disks cannot be started as an array; `None`: they can.
    fn refusal(disks: &[MemberDisk]) -> Option<String>;
}

impl StormSubject for Volume {
    fn create(setting: &StormConfig, disks: &mut [MemberDisk]) {
        array::create(setting.geometry, disks);
    }

    fn open(setting: &StormConfig, disks: &[MemberDisk]) -> Volume {
        let assembly = match assemble(&array::given(disks)) {
            Ok(assembly) => assembly,
            Err(error) => panic!("it cannot be started: {error}"),
        };
        let options = VolumeOptions {
            intent_idle: setting.intent_idle,
            faults_max: setting.faults_max,
            #[cfg(feature = "planted")]
            planted: setting.planted,
            write_numbers: setting.write_numbers,
            start_number: start_number(setting, &assembly),
            member_bytes: disks.iter().map(MemberDisk::bytes).collect(),
            ..VolumeOptions::default()
        };
        Volume::start(assembly, options)
    }

    fn losses(&self) -> LossRegister {
        self.superblock().losses
    }

    fn recorded_losses(disks: &[MemberDisk]) -> Option<LossRegister> {
        let newest = disks.iter().filter_map(array::superblock).max_by_key(|superblock| superblock.generation);
        newest.map(|superblock| superblock.losses)
    }

    fn knows_active(disks: &[MemberDisk], member: MemberIndex) -> bool {
        let newest = disks.iter().filter_map(array::superblock).max_by_key(|superblock| superblock.generation);
        newest.is_some_and(|superblock| superblock.members[member].state == MemberState::Active)
    }

    fn announced(setting: &StormConfig, disks: &[MemberDisk]) -> Vec<u64> {
        let geometry = setting.geometry;
        let mut union = intent::Union::new(&geometry);
        let mut block = vec![0; geometry.block_bytes as usize];
        for disk in disks.iter().filter(|disk| !disk.is_gone) {
            for index in 0..geometry.intent_pages {
                let is_read =
                    disk.read(geometry.page_offset(MetadataArea::Intents, index, 0).get(), &mut block).is_ok();
                let page =
                    intent::IntentPage::decode(&block, array::ARRAY, IntentBit::Dirty, index).ok().filter(|_| is_read);
                page.iter().for_each(|page| union.add(page));
            }
        }
        let dirty = union.dirty();
        (0..geometry.stripes).filter(|&stripe| dirty.get(geometry.region_of(StripeIndex(stripe)))).collect()
    }

    fn refusal(disks: &[MemberDisk]) -> Option<String> {
        assemble(&array::given(disks)).err().map(|error| error.to_string())
    }

    fn health(&self) -> Health {
        let status = self.status();
        let members = status.members.into_iter().map(|(state, _)| state).collect();
        let is_resynced = status.is_open && status.regions_to_resync == 0;
        Health { is_open: status.is_open, is_resynced, members }
    }

    fn is_written(&self, stripe: u64) -> bool {
        Volume::is_written(self, StripeIndex(stripe))
    }

    fn is_resynced(&self, stripe: u64) -> bool {
        Volume::is_resynced(self, StripeIndex(stripe))
    }

    fn poll_finding(&mut self) -> Option<VolumeFinding> {
        Volume::poll_finding(self)
    }

    fn verify(&mut self, now: Nanos, id: RequestId, stripes: Range<u64>) {
        Volume::verify(self, now, id, StripeIndex(stripes.start)..StripeIndex(stripes.end));
    }

    fn fail(&mut self, now: Nanos, member: MemberIndex) {
        Volume::fail(self, now, member);
    }

    fn can_take_in(&self, member: MemberIndex) -> bool {
        Volume::can_take_in(self, member)
    }

    fn replace(&mut self, now: Nanos, member: MemberIndex, disk: &mut MemberDisk, name: u64) {
        if let Some(before) = array::superblock(disk) {
            self.skip_write_numbers(before.write_mark);
        }
        let zeros = vec![0; TAIL_BYTES as usize];
        for offset in Superblock::offsets(disk.bytes()).into_iter().flatten().step_by(2) {
            disk.write(offset.get(), &zeros, true, WriteFate::HONEST);
        }
        Volume::replace(self, now, member, uuid(name), disk.bytes());
    }

    fn readd(&mut self, now: Nanos, disk: &MemberDisk, name: u64) -> bool {
        let theirs = array::superblock(disk);
        theirs.is_some_and(|theirs| Volume::readd(self, now, &theirs, uuid(name), disk.bytes()).is_ok())
    }
}

fn uuid(name: u64) -> Uuid {
    Uuid::of_random((u128::from(name) << 64 | u128::from(!name)).to_le_bytes())
}

/// A start number that differs from start to start of a simulation.
fn start_number(setting: &StormConfig, assembly: &Assembly) -> u64 {
    let Superblock { generation, write_mark, .. } = assembly.superblock;
    Rng::stream(setting.seed ^ write_mark.rotate_left(40), generation).bits().max(1)
}
