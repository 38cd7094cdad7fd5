//! The controller of a served volume: passes requests on, executes commands, and keeps findings and events.

use super::activity::ActivityLog;
use super::commands::{
    CommandAnswer, MemberStatus, Occupied, Status, Stopped, VolumeCommand, VolumeEvent, condition_of,
};
use super::conditions::VolumeCondition;
use super::events::EventLog;
use super::finding_words::finding_of;
use super::stopped::stopped;
use super::verifications::{FIRST_OWN_ID, STRIPES_MAX, Verifications};
use crate::control::{CommandHandler, CommandId};
use crate::ended::ServerEnded;
use crate::members::MemberTable;
use crate::server::ServerStop;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::finding::Resolution;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_core::volume::Volume;
use scrubjay_core::volume::block::{BlockReply, BlockRequest, RequestId};
use scrubjay_core::volume::format::returns::ReturnRefusal;
use scrubjay_core::volume::format::superblock::{FailureReason, MemberState, Superblock, SuperblockError};
use scrubjay_core::volume::member::{ArrayMachine, MemberIndex, MemberOp, MemberOpDone};
use scrubjay_device::member::{Access, MemberError, MemberHolder, OpenMember, new_uuid};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

/// A volume with its control commands.
pub struct VolumeController {
    volume: Volume,
    /// Stripes of the volume (count).
    stripes: u64,
    paths: Vec<Option<String>>,
    stop: ServerStop,
    /// Stop commands, which are answered at the end.
    stop_commands: Vec<CommandId>,
    /// `Some`: the volume was asked to stop.
    stop_state: Option<StopState>,
    /// Members that were in use at the start, or were put in since.
    used_members: BTreeSet<MemberIndex>,
    events: EventLog,
    /// Findings in which something was lost, and all findings (counts).
    lost_count: u64,
    finding_count: u64,
    verifications: Verifications,
    activity: ActivityLog,
    /// Path of the block device as which the volume is served.
    device: Option<String>,
    /// Time of the last `poll_op` or `tick`.
    now: Nanos,
    answers: VecDeque<(CommandId, String)>,
    replies: VecDeque<(RequestId, BlockReply)>,
}

/// The state of a volume when it was asked to stop.
struct StopState {
    is_broken: bool,
}

impl VolumeController {
    /// A controller of `volume`, whose members have these paths; a stop command ends the server by `stop`.
    pub fn new(volume: Volume, paths: Vec<Option<String>>, stop: ServerStop) -> VolumeController {
        let superblock = volume.superblock();
        let (chunk_bytes, stripes) = (superblock.geometry.chunk_bytes, superblock.geometry.stripes);
        let is_in = |member: &MemberIndex| is_in(superblock.members[*member].state);
        let used_members = MemberIndex::first(superblock.members.len()).filter(is_in).collect();
        VolumeController {
            volume,
            stripes,
            paths,
            stop,
            stop_commands: Vec::new(),
            stop_state: None,
            used_members,
            events: EventLog::default(),
            lost_count: 0,
            finding_count: 0,
            verifications: Verifications::new(chunk_bytes),
            activity: ActivityLog::default(),
            device: None,
            now: Nanos::ZERO,
            answers: VecDeque::new(),
            replies: VecDeque::new(),
        }
    }

    /// The volume's status.
    pub fn status(&mut self) -> Status {
        self.collect();
        let status = self.volume.status();
        let superblock = self.volume.superblock();
        let geometry = superblock.geometry;
        let shape = geometry.layout.shape();
        let state = self.condition();
        let advice = |member: MemberIndex| {
            let hangs = status.hanging.contains(&member);
            let is_unreliable = status.unreliable.contains(&member);
            hangs
                .then_some("it owes an answer for too long, and cannot be spared")
                .or(is_unreliable
                    .then_some("unreliable: many faults were located on it of late, and repaired; replace it"))
                .map(str::to_owned)
        };
        let can_return = |member| {
            let can_take_in = self.volume.can_take_in(member) && !self.volume.is_read_only();
            can_take_in && !self.volume.has_unfinished_operations(member)
        };
        let members = status.members.iter().zip(&self.paths).enumerate().map(|(index, (&(state, faults), path))| {
            let member = MemberIndex(index);
            let (state, detail) = condition_of(state, status.stripes);
            let detail = detail.or_else(|| advice(member));
            let may_return = superblock.members[member].departure_generation > 0 && can_return(member);
            MemberStatus { path: path.clone(), state, detail, faults, may_return }
        });
        Status {
            schema: 1,
            name: superblock.name.clone(),
            array: superblock.array.to_string(),
            state,
            shape,
            layout: geometry.layout.kind().name().to_owned(),
            scheme: geometry.scheme.name().to_owned(),
            device: self.device.clone(),
            chunk_bytes: geometry.chunk_bytes,
            size_bytes: geometry.size(),
            stripes: status.stripes,
            stripes_written: status.stripes_written,
            regions_dirty: status.regions_dirty,
            regions_to_resync: status.regions_to_resync,
            findings: self.finding_count,
            events: self.events.next(),
            lost: self.lost_count,
            lost_stripes: Some(status.stripes_lost),
            is_lost_at_most: status.is_lost_at_most,
            lost_runs: superblock.losses.runs().iter().map(|run| (run.start, run.end)).collect(),
            read_only: self.volume.is_read_only(),
            members: members.collect(),
        }
    }

    /// How the volume is left by a server that ended like this.
    pub fn stopped(&mut self, ended: &ServerEnded) -> Stopped {
        let in_order = self.volume.is_read_only() || self.volume.superblock().is_clean;
        let members = self.volume.status().members;
        let is_lost = |member: &MemberIndex| {
            matches!(
                members[member.get()].0,
                MemberState::Failed(FailureReason::Gone | FailureReason::Refused | FailureReason::Hung)
            )
        };
        let lost: Vec<MemberIndex> = self.used_members.iter().copied().filter(is_lost).collect();
        stopped(&self.status(), ended, in_order, &lost)
    }

    /// The volume's condition.
    fn condition(&self) -> VolumeCondition {
        let ((is_open, is_broken), members) = (self.volume.is_open_or_broken(), self.volume.member_states());
        let is_any = |wanted: fn(&MemberState) -> bool| members.iter().any(wanted);
        if is_broken || self.stop_state.as_ref().is_some_and(|state| state.is_broken) {
            VolumeCondition::Broken
        } else if !is_open && self.stop_state.is_none() {
            VolumeCondition::Opening
        } else if is_any(|state| matches!(state, MemberState::Failed(_) | MemberState::Missing)) {
            VolumeCondition::Degraded
        } else if is_any(|state| matches!(state, MemberState::Rebuilding { .. })) {
            VolumeCondition::Rebuilding
        } else {
            VolumeCondition::Open
        }
    }

    /// Takes the volume's findings and changes, and answers commands that wait for events.
    fn collect(&mut self) {
        let condition = self.condition();
        if condition != VolumeCondition::Opening {
            let stripes = self.stripes;
            let members = self.volume.member_states().into_iter().map(|state| condition_of(state, stripes)).collect();
            let paths = &self.paths;
            self.events.record_changes(scrubjay_device::clock::today(), condition, members, |member| {
                paths.get(member.get()).cloned().flatten()
            });
        }
        let dropped = self.volume.take_findings_dropped();
        self.finding_count += dropped;
        self.events.skip(dropped);
        while let Some(record) = self.volume.poll_finding() {
            let geometry = self.volume.superblock().geometry;
            let path = self.paths.get(record.member.get()).and_then(Option::as_deref);
            self.events
                .push(scrubjay_device::clock::today(), VolumeEvent::Finding(finding_of(&record, path, &geometry)));
            self.verifications.found(&record);
            self.finding_count += 1;
            self.lost_count += u64::from(record.resolution == Resolution::Lost);
        }
        let ready = self.events.take_ready().into_iter();
        self.answers.extend(ready.map(|(id, events)| (id, to_line(&CommandAnswer::Events(events)))));
    }

    fn perform(
        &mut self,
        now: Nanos,
        id: CommandId,
        command: VolumeCommand,
        members: &mut MemberTable,
    ) -> Option<CommandAnswer> {
        Some(match command {
            VolumeCommand::Status => CommandAnswer::Status(Box::new(self.status())),
            VolumeCommand::Events { since, wait } => {
                self.collect();
                match wait {
                    true => CommandAnswer::Events(self.events.report_or_wait(id, since)?),
                    false => CommandAnswer::Events(self.events.report(since)),
                }
            }
            VolumeCommand::Fail { member } => match self.fail(now, MemberIndex(member)) {
                Ok(()) => CommandAnswer::Done,
                Err(why) => CommandAnswer::Error(why),
            },
            VolumeCommand::Replace { member, path, force } => {
                match self.replace(now, MemberIndex(member), &path, force, members) {
                    Ok(None) => CommandAnswer::Done,
                    Ok(Some(occupied)) => CommandAnswer::Occupied(occupied),
                    Err(why) => CommandAnswer::Error(why),
                }
            }
            VolumeCommand::Readd { path } => match self.readd(now, &path, members) {
                Ok(()) => CommandAnswer::Done,
                Err(why) => CommandAnswer::Error(why),
            },
            VolumeCommand::Verify { start, end } => {
                let stripes = self.stripes;
                if start > end || end > stripes || end - start > STRIPES_MAX {
                    return Some(CommandAnswer::Error(format!(
                        "stripes {start} to {end}: there are {stripes}, and up to {STRIPES_MAX} are read at once"
                    )));
                }
                self.collect();
                self.verifications.begin(id, start..end);
                return None;
            }
            VolumeCommand::Activity { since } => CommandAnswer::Activity(self.activity.report(now, since)),
            VolumeCommand::Stop => {
                self.stop.request();
                self.stop_commands.push(id);
                return None;
            }
        })
    }

    /// Advances verifications, and answers those that have ended. Returns the next operation, if there is one now.
    fn verify_on(&mut self, now: Nanos) -> Option<MemberOp> {
        loop {
            while let Some((id, reply)) = self.volume.poll_reply() {
                self.take_reply(id, reply);
            }
            if !self.verifications.start(now, &mut self.volume) {
                break;
            }
        }
        self.collect();
        while let Some((id, verified)) = self.verifications.take_ended() {
            // The volume's status takes a walk through its maps: only where something was wrong.
            let is_fine = verified.as_ref().is_some_and(|verified| verified.corrected == 0 && verified.lost.is_empty());
            let is_broken = !is_fine && self.volume.status().is_broken;
            let answer = match verified {
                _ if is_broken => {
                    CommandAnswer::Error("more members are out than the volume can do without".to_owned())
                }
                Some(verified) => CommandAnswer::Verified(verified),
                None => CommandAnswer::Error("the volume is stopping".to_owned()),
            };
            self.answers.push_back((id, to_line(&answer)));
        }
        self.volume.poll_op(now)
    }

    fn take_reply(&mut self, id: RequestId, reply: BlockReply) {
        if id.0 < FIRST_OWN_ID || id == RequestId(u64::MAX) {
            self.replies.push_back((id, reply));
        } else {
            self.verifications.ended(id, &reply);
        }
    }

    fn fail(&mut self, now: Nanos, member: MemberIndex) -> Result<(), String> {
        if self.volume.is_read_only() {
            return Err("the volume is served for reading only: that a member is out could not be recorded".to_owned());
        }
        match self.volume.status().members.get(member.get()) {
            None => Err(format!("there is no member {member}")),
            Some((MemberState::Active | MemberState::Rebuilding { .. }, _)) => {
                if !self.volume.can_spare(member) {
                    return Err(format!(
                        "without member {member} data would be lost: replace those that are out first"
                    ));
                }
                self.volume.fail(now, member);
                Ok(())
            }
            Some(_) => Err(format!("member {member} is out already")),
        }
    }

    /// Puts a disk into the place of a member, unless it is occupied.
    fn replace(
        &mut self,
        now: Nanos,
        member: MemberIndex,
        path: &str,
        force: bool,
        members: &mut MemberTable,
    ) -> Result<Option<Occupied>, String> {
        self.may_take_in(member)?;
        let disk = self.open_for(member, path, members)?;
        let contents = disk.contents().map_err(|error| format!("{path}: {error}"))?;
        if let Some(contents) = contents.filter(|_| !force) {
            return Ok(Some(Occupied { path: path.to_owned(), contents: contents.to_string() }));
        }
        if let Err(error @ (SuperblockError::Version(_) | SuperblockError::Feature(_))) = disk.superblock() {
            return Err(format!("{path} {error}: what it holds is not known here, and is not written over"));
        }
        let array = self.volume.superblock().array;
        if let Some(before) = disk.superblock().ok().filter(|before| before.array == array) {
            // It may be the disk that still hangs, by another path, and its outstanding writes may yet happen.
            if self.volume.has_unfinished_operations(before.member) {
                return Err(refusal(path, before.member, ReturnRefusal::Busy));
            }
            self.volume.skip_write_numbers(before.write_mark);
        }
        let uuid = new_uuid().map_err(|error| error.to_string())?;
        disk.wipe().and_then(|()| disk.sync()).map_err(|error| format!("{path}: {error}"))?;
        let bytes = self.put_in(member, path, disk, members);
        self.volume.replace(now, member, uuid, bytes);
        Ok(None)
    }

    fn readd(&mut self, now: Nanos, path: &str, members: &mut MemberTable) -> Result<(), String> {
        // A disk that still hangs would block this thread: it is not touched.
        if let Some(member) = self.member_of(path).filter(|&member| self.volume.has_unfinished_operations(member)) {
            return Err(refusal(path, member, ReturnRefusal::Busy));
        }
        let read_superblock = |disk: &OpenMember| disk.superblock().map_err(|error| format!("{path} {error}"));
        let inspected = OpenMember::open(Path::new(path), Access::Inspect).map_err(|error| error.to_string())?;
        let before = read_superblock(&inspected)?;
        drop(inspected);
        let member = before.member;
        let may_return =
            |volume: &Volume, given: &Superblock| volume.check_return(given).map_err(|why| refusal(path, member, why));
        match self.volume.check_return(&before) {
            // Its member index is one of another volume.
            Err(why @ ReturnRefusal::Foreign) => return Err(refusal(path, member, why)),
            Err(ReturnRefusal::NotOut) if is_in(self.volume.status().members[member.get()].0) => {
                let is_same_disk = self.volume.superblock().members[member].uuid == before.own().uuid;
                let why = if is_same_disk { "it is in use" } else { "another disk has its place" };
                return Err(format!("{path} is not taken back: {why} (member {member})"));
            }
            _ => (),
        }
        self.may_take_in(member)?;
        may_return(&self.volume, &before)?;
        let disk = self.open_for(member, path, members)?;
        // Another program may have written to it before it was opened for writing.
        let superblock = read_superblock(&disk)?;
        if superblock.member != member {
            return Err(format!("{path} was replaced by something else just now"));
        }
        may_return(&self.volume, &superblock)?;
        let uuid = new_uuid().map_err(|error| error.to_string())?;
        let bytes = self.put_in(member, path, disk, members);
        self.volume.readd(now, &superblock, uuid, bytes).map_err(|why| {
            members.set(member, None);
            refusal(path, member, why)
        })
    }

    /// Checks that a disk may be put into this member's place now.
    fn may_take_in(&self, member: MemberIndex) -> Result<(), String> {
        let status = self.volume.status();
        if status.is_broken {
            return Err("too many members are out: what is on them is needed; stop, and serve it with them".to_owned());
        }
        match status.members.get(member.get()) {
            None => return Err(format!("there is no member {member}")),
            Some((MemberState::Active | MemberState::Rebuilding { .. }, _)) => {
                return Err(format!("member {member} is in use: take it out first (`scrubjay volume fail`)"));
            }
            Some(_) => (),
        }
        if self.volume.is_read_only() {
            return Err("the volume is open for reading only".to_owned());
        }
        if !self.volume.can_take_in(member) {
            return Err(
                "the volume is being opened, or stopped, or takes a disk in there already: try again".to_owned()
            );
        }
        Ok(())
    }

    /// Opens a disk for a member that is out, and checks its size and block size. The disk that had this place is closed before:
    /// it may be the same one.
    fn open_for(&self, member: MemberIndex, path: &str, members: &mut MemberTable) -> Result<OpenMember, String> {
        members.set(member, None);
        let geometry = self.volume.superblock().geometry;
        let mut disk = OpenMember::open_now(Path::new(path), Access::ReadWrite).map_err(|error| match error {
            // This process has it: as a member of this volume.
            MemberError::Busy { holder: MemberHolder::Twice, .. } => match self.member_of(path) {
                Some(member) => format!("{path} is member {member} of this volume"),
                None => format!("{path} is a member of this volume, under another name"),
            },
            error => error.to_string(),
        })?;
        disk.use_block(geometry.block_bytes).map_err(|error| error.to_string())?;
        if disk.bytes < geometry.member_bytes {
            let (has, needed) = (Bytes(disk.bytes), Bytes(geometry.member_bytes));
            return Err(format!("{path} is too small: it has {has}, and {needed} are needed"));
        }
        Ok(disk)
    }

    /// Puts a disk into a member's place, before the volume writes to it. Returns its size in bytes.
    fn put_in(&mut self, member: MemberIndex, path: &str, disk: OpenMember, members: &mut MemberTable) -> u64 {
        let bytes = disk.bytes;
        members.set(member, Some(disk.into_file()));
        self.paths[member.get()] = Some(path.to_owned());
        self.used_members.insert(member);
        bytes
    }

    /// The member with this path, by its name only: no disk is accessed.
    fn member_of(&self, path: &str) -> Option<MemberIndex> {
        let wanted = std::path::absolute(path).ok()?;
        let is_same = |known: &str| std::path::absolute(known).is_ok_and(|known| known == wanted);
        self.paths.iter().position(|known| known.as_deref().is_some_and(is_same)).map(MemberIndex)
    }
}

/// Why a disk is not taken back, and what to do.
fn refusal(path: &str, member: MemberIndex, why: ReturnRefusal) -> String {
    let advice = match why {
        ReturnRefusal::Foreign => "the status says which members are failed".to_owned(),
        ReturnRefusal::Busy => "try again when it has answered".to_owned(),
        _ => format!("replace member {member} by it, by force: that rebuilds it as a whole"),
    };
    format!("{path} is not taken back: {why}; {advice}")
}

impl CommandHandler for VolumeController {
    fn device(&mut self, path: Option<&str>) {
        self.device = path.map(str::to_owned);
    }

    fn command(&mut self, now: Nanos, id: CommandId, line: &str, members: &mut MemberTable) -> Option<String> {
        let answer = match serde_json::from_str(line) {
            Ok(command) => self.perform(now, id, command, members)?,
            Err(error) => CommandAnswer::Error(format!("not a command: {error}")),
        };
        Some(to_line(&answer))
    }

    fn ended(&mut self, ended: &ServerEnded) {
        let answer = to_line(&CommandAnswer::Stopped(self.stopped(ended)));
        self.answers.extend(self.stop_commands.drain(..).map(|id| (id, answer.clone())));
        let waiting = self.events.take_waiting().into_iter();
        self.answers.extend(waiting.map(|(id, events)| (id, to_line(&CommandAnswer::Events(events)))));
    }

    fn poll_answer(&mut self) -> Option<(CommandId, String)> {
        self.answers.pop_front()
    }
}

fn is_in(state: MemberState) -> bool {
    matches!(state, MemberState::Active | MemberState::Rebuilding { .. })
}

fn to_line(answer: &CommandAnswer) -> String {
    serde_json::to_string(answer).expect("answers are plain values")
}

impl ArrayMachine for VolumeController {
    fn size(&self) -> u64 {
        self.volume.size()
    }

    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest) {
        if id.0 < FIRST_OWN_ID {
            self.activity.arrived(now);
        }
        self.volume.submit(now, id, request);
    }

    fn handle(&mut self, now: Nanos, done: MemberOpDone) {
        self.volume.handle(now, done);
    }

    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp> {
        self.now = now;
        let op = self.volume.poll_op(now);
        if op.is_some() {
            return op;
        }
        self.collect();
        if self.verifications.is_empty() { None } else { self.verify_on(now) }
    }

    fn tick(&mut self, now: Nanos) {
        self.now = now;
        self.volume.tick(now);
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        while self.replies.is_empty() {
            let (id, reply) = self.volume.poll_reply()?;
            self.take_reply(id, reply);
        }
        let (id, reply) = self.replies.pop_front()?;
        if id.0 < FIRST_OWN_ID {
            self.activity.completed(self.now);
        }
        Some((id, reply))
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.volume.poll_timeout()
    }

    fn buffer(&mut self, len: usize) -> Buffer {
        self.volume.buffer(len)
    }

    fn recycle(&mut self, buffer: Buffer) {
        self.volume.recycle(buffer);
    }

    fn stop(&mut self, now: Nanos) {
        self.stop_state = Some(StopState { is_broken: self.volume.status().is_broken });
        self.volume.stop(now);
    }

    fn is_stopped(&self) -> bool {
        self.volume.is_stopped()
    }
}
