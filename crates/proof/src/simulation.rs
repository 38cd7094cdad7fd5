//! Runs one storm: an array, its disks, its client, and the incidents, in virtual time, in one thread.
//!
//! At the end the faults stop: members that are out are replaced and rebuilt, every stripe is verified, everything is read
//! and must be right, and a second verification must find nothing: one scrub repairs everything that can be repaired.

mod fork;

use crate::client::StormClient;
use crate::config::{ArrayIncident, ScheduledIncident, StormConfig, Stream};
use crate::disk_set::DiskSet;
use crate::fault_budget::{FaultBudget, Row};
use crate::faults::{FaultInjector, InjectedFault};
use crate::member_metadata;
use crate::subject::StormSubject;
use crate::trace::StormLog;
use scrubjay_core::finding::{FindingKind, Resolution};
use scrubjay_core::index::{MemberIndex, RowIndex, StripeIndex, StripePosition};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::finding::{FindingPlace, VolumeFinding};
use scrubjay_core::volume::format::losses::LossRegister;
use scrubjay_core::volume::format::superblock::{MemberState, Superblock};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::integrity::tag::{self, RowIdentity, RowStatus};
use scrubjay_sim::member_disk::array;
use scrubjay_sim::member_disk::{CrashSurvival, MemberDisk};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Steps of one run, at most (count): more than any storm takes. A run that reaches this would never end.
const STEPS_MAX: u64 = 2_000_000;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StormOutcome {
    /// Counts of the client's requests and replies.
    pub client: crate::client::ClientTally,
    /// Counts of the disks' operations and faults.
    pub disk_set: crate::disk_set::DiskTally,
    /// Starts of the volume (count).
    pub runs: u64,
    /// Findings of the volume that did not end as lost (count).
    pub records: u64,
    /// The virtual time at the end of the run.
    pub now: Nanos,
}

/// Runs a storm to its end.
///
/// # Panics
/// When anything is wrong; the message says what.
pub fn run<S: StormSubject>(setting: &StormConfig, trace: StormLog) -> StormOutcome {
    let mut world = Simulation::<S>::new(setting, trace);
    world.play();
    world.finish();
    world.outcome()
}

struct Simulation<'a, S> {
    setting: &'a StormConfig,
    now: Nanos,
    subject: S,
    runs: u64,
    client: StormClient,
    disk_set: DiskSet,
    script: VecDeque<ScheduledIncident>,
    crash_amid_marks: Option<CrashSurvival>,
    /// The number of operations that had ended when the requests of the script's first incident were sent; `None`: they are not yet.
    cued_at: Option<u64>,
    /// The earliest time of the client's next request; `None`: it sends none.
    next_send: Option<Nanos>,
    /// Stripes of the regions that the disks called dirty at the last crash.
    announced: Vec<u64>,
    /// Rows of which any content is accepted since that crash.
    given_up: BTreeSet<Row>,
    records: u64,
    /// Data chunks that findings called lost, by stripe and position.
    lost: BTreeSet<(u64, usize)>,
    steps: u64,
    rng: Rng,
    trace: StormLog,
}

impl<'a, S: StormSubject> Simulation<'a, S> {
    fn new(setting: &'a StormConfig, trace: StormLog) -> Simulation<'a, S> {
        let geometry = setting.geometry;
        let mut rng = setting.rng(Stream::World);
        // Some disks are larger than they need to be.
        let disk = |_| {
            let bytes = geometry.member_bytes + [0, 0, 4096, 65_536][rng.below(4) as usize];
            MemberDisk::new(rng.bits(), geometry.block_bytes as usize, bytes)
        };
        let mut disks: Vec<MemberDisk> = (0..geometry.layout.disks()).map(disk).collect();
        S::create(setting, &mut disks);
        trace.log(Nanos::ZERO, || setting.to_string());
        let subject = S::open(setting, &disks);
        let fault_budget = FaultBudget::new(geometry, setting.is_over_budget);
        let injector = FaultInjector::new(geometry, setting.chances, setting.rng(Stream::Faults));
        let disks_rng = setting.rng(Stream::Disks);
        let disk_set = DiskSet::new(geometry, disks, fault_budget, injector, setting.latency, disks_rng, trace.clone());
        let client = StormClient::new(setting.habits, geometry.size(), setting.rng(Stream::Client), trace.clone());
        Simulation {
            setting,
            now: Nanos::ZERO,
            subject,
            runs: 1,
            client,
            disk_set,
            script: setting.script.iter().copied().collect(),
            crash_amid_marks: setting.crash_amid_marks,
            cued_at: None,
            next_send: Some(Nanos::ZERO),
            announced: Vec::new(),
            given_up: BTreeSet::new(),
            records: 0,
            lost: BTreeSet::new(),
            steps: 0,
            rng,
            trace,
        }
    }

    /// Runs until the client has sent all its requests and the script is over.
    fn play(&mut self) {
        loop {
            self.drain();
            if let Some(act) = self.due_amid_marks().or_else(|| self.due()) {
                self.act(act);
                continue;
            }
            if self.client.has_sent_all() && !self.client.is_waiting() {
                match self.script.pop_front() {
                    // Incidents scheduled for later happen now.
                    Some(cue) => self.act(cue.act),
                    None => return,
                }
                continue;
            }
            self.step();
        }
    }

    /// Takes the next incident from the script, if its time has come.
    fn due(&mut self) -> Option<ArrayIncident> {
        let cue = *self.script.front()?;
        if self.client.sent() < cue.requests {
            return None;
        }
        let ended = self.disk_set.tally.ops;
        let since = *self.cued_at.get_or_insert(ended);
        (ended >= since + cue.ops).then(|| {
            self.cued_at = None;
            self.script.pop_front();
            cue.act
        })
    }

    /// The crash that waits for the volume to mark a lost chunk, if it does that now. (Marks are written in a moment that other
    /// crashes almost never hit.)
    fn due_amid_marks(&mut self) -> Option<ArrayIncident> {
        let survival = self.crash_amid_marks.take_if(|_| self.disk_set.is_marking())?;
        Some(ArrayIncident::Crash(survival))
    }

    fn act(&mut self, act: ArrayIncident) {
        self.trace.log(self.now, || format!("{act:?}"));
        match act {
            ArrayIncident::Crash(survival) => {
                self.crash(survival);
                self.open();
            }
            ArrayIncident::LoseDown(survival) => {
                self.crash(survival);
                self.lose(|disk_set, now, slot| disk_set.lose(now, slot));
                self.open();
            }
            ArrayIncident::Restart => {
                self.stop();
                self.open();
            }
            ArrayIncident::Lose => drop(self.lose(|disk_set, now, slot| disk_set.lose(now, slot))),
            ArrayIncident::Fail => {
                if let Some(slot) = self.lose(|disk_set, _, slot| disk_set.lacks(slot)) {
                    self.subject.fail(self.now, MemberIndex(slot));
                }
            }
            ArrayIncident::Exchange => self.exchange(),
            ArrayIncident::Spoil => drop(self.disk_set.spoil(self.now)),
            ArrayIncident::Forget => self.disk_set.forget(self.now),
            ArrayIncident::Blight => self.disk_set.blight(self.now),
            ArrayIncident::Hang => drop(self.lose(|disk_set, now, slot| disk_set.hang(now, slot))),
            ArrayIncident::Return(survival) => {
                self.crash(survival);
                self.disk_set.bring_back(self.now, survival);
                self.open();
            }
            ArrayIncident::Fork(survival) => {
                self.crash(survival);
                self.fork();
                self.open();
            }
            ArrayIncident::ReadAll => self.copy(),
            ArrayIncident::Plague(step) => self.disk_set.plague(self.now, step),
            ArrayIncident::Rot(step) => self.disk_set.rot(self.now, step),
            ArrayIncident::Verify => {
                let stripes = self.setting.geometry.stripes;
                let id = self.client.verify();
                self.subject.verify(self.now, id, 0..1 + self.rng.below(stripes));
            }
        }
    }

    fn crash(&mut self, survival: CrashSurvival) {
        // Data that survive a kill unflushed may be lost in a later loss of power: so only the last crash is checked.
        let is_last = !self.script.iter().any(|cue| cue.act.is_crash());
        if survival == CrashSurvival::Ended && is_last && !self.setting.is_over_budget {
            self.crash_amid_marks = None;
            let geometry = self.setting.geometry;
            let written = member_metadata::written(&geometry, &self.disk_set.disks);
            for stripe in 0..geometry.stripes {
                let start = stripe * geometry.stripe_bytes();
                self.client.keeps(start..start + geometry.stripe_bytes(), !written.get(StripeIndex(stripe)));
            }
        }
        let (losses, is_open) = (self.subject.losses(), self.subject.health().is_open);
        let undecidable = self.disk_set.crash(self.now, survival);
        if is_open {
            self.check_losses(&losses);
        }
        self.disk_set.undecidable.clear();
        self.client.crash();
        self.check_write_numbers();
        self.announced = S::announced(self.setting, &self.disk_set.disks);
        self.give_up(&undecidable);
        self.given_up = undecidable.into_iter().collect();
    }

    /// Checks that what a read called lost, and the volume still does, is recorded on the disks.
    fn check_losses(&self, known: &LossRegister) {
        let Some(recorded) = S::recorded_losses(&self.disk_set.disks) else { return };
        for stripe in self.client.lost_stripes().map(StripeIndex).filter(|&stripe| known.contains(stripe)) {
            assert!(recorded.contains(stripe), "stripe {stripe} was called lost, and no disk has a record of that");
        }
    }

    /// Checks that no row left by a crash carries a write number that the next start could give to another write.
    fn check_write_numbers(&self) {
        let geometry = self.setting.geometry;
        if !geometry.scheme.has_versions() || self.setting.is_over_budget {
            return;
        }
        let superblocks: Vec<Superblock> = self.disk_set.disks.iter().filter_map(array::superblock).collect();
        let Some(mark) = superblocks.iter().map(|superblock| superblock.write_mark).max() else { return };
        let array = superblocks[0].array.id();
        let mut appendix = vec![0; (geometry.row_bytes() - geometry.chunk_bytes) as usize];
        let (data, stripes) = (geometry.layout.shape().data, 0..geometry.stripes);
        for (position, (disk, row)) in stripes.flat_map(|stripe| self.disk_set.places(stripe).take(data).enumerate()) {
            let at = geometry.chunk_offset(RowIndex(row)) + geometry.chunk_bytes;
            if self.disk_set.disks[disk].read(at.get(), &mut appendix).is_err() {
                continue;
            }
            let (member, row, position) = (MemberIndex(disk), RowIndex(row), StripePosition(position));
            let tag = tag::open_data(&appendix, RowIdentity { array, member, row, position }, None);
            let is_reserved = tag.status != RowStatus::Sound || tag.entry.version.number() < mark;
            assert!(is_reserved, "row {row} of disk {disk} is {:?}, and the mark is {mark}", tag.entry.version);
        }
    }

    /// Accepts any content of rows that cannot be decided: those hit by a fault before their stripes were resynced after
    /// a crash; over the budget also those of stripes that the volume must take for half written and cannot rebuild.
    fn accept_undecidable(&mut self) {
        let mut rows = std::mem::take(&mut self.disk_set.undecidable);
        if self.setting.is_over_budget && !self.announced.is_empty() {
            match self.subject.health().is_resynced {
                true => self.announced.clear(),
                false => rows.extend(self.disk_set.corrupt_beyond(self.announced.iter().copied())),
            }
        }
        rows.retain(|&row| self.given_up.insert(row));
        self.give_up(&rows);
    }

    /// Accepts any content of those of these rows that are data.
    fn give_up(&mut self, rows: &[Row]) {
        let geometry = self.setting.geometry;
        for &(disk, row) in rows {
            let Some((stripe, slot)) = geometry.layout.chunk_at(disk, row) else { continue };
            if slot < geometry.layout.shape().data && stripe < geometry.stripes {
                let start = stripe * geometry.stripe_bytes() + slot as u64 * geometry.chunk_bytes;
                if self.client.accept_anything(start..start + geometry.chunk_bytes) {
                    self.trace.log(self.now, || format!("bytes {start}+{} may be anything", geometry.chunk_bytes));
                }
            }
        }
    }

    /// Loses a random member in this way, if it may be lost. Returns its index.
    fn lose(&mut self, method: impl FnOnce(&mut DiskSet, Nanos, usize)) -> Option<usize> {
        let slot = self.rng.below(self.disk_set.disks.len() as u64) as usize;
        let is_there = !self.disk_set.fault_budget.lacking[slot];
        if !is_there || !self.disk_set.fault_budget.allows_loss(&self.disk_set.disks, slot) {
            return None;
        }
        method(&mut self.disk_set, self.now, slot);
        Some(slot)
    }

    /// Puts a new or returned disk in the place of a member that the volume knows to be out.
    fn exchange(&mut self) {
        let mut members = MemberIndex::first(self.disk_set.disks.len());
        let Some(member) = members.find(|&member| self.subject.can_take_in(member)) else { return };
        let slot = member.get();
        let name = self.rng.bits();
        if self.rng.below(2) == 0 && !self.disk_set.disks[slot].is_gone {
            self.disk_set.put_back(self.now, slot);
            if self.subject.readd(self.now, &self.disk_set.disks[slot], name) {
                self.trace.log(self.now, || format!("disk {slot} is taken back"));
                return;
            }
        }
        self.disk_set.exchange(self.now, slot);
        self.subject.replace(self.now, member, &mut self.disk_set.disks[slot], name);
    }

    fn open(&mut self) {
        self.disk_set.note_recovered();
        // A bare array cannot tell which stripes of a dirty region are whole.
        if self.setting.geometry.scheme == Scheme::None {
            let announced = S::announced(self.setting, &self.disk_set.disks);
            self.disk_set.fault_budget.crash(&self.disk_set.disks, announced);
        }
        self.subject = S::open(self.setting, &self.disk_set.disks);
        self.runs += 1;
        self.next_send = Some(self.now);
    }

    /// Stops the volume in order. Afterwards everything is on the medium.
    fn stop(&mut self) {
        self.subject.stop(self.now);
        self.wait("it never stops", |world| world.subject.is_stopped());
        // Operations that the volume had abandoned return only after the stop.
        self.disk_set.release(self.now);
        self.wait("an operation never ends", |world| world.disk_set.next_end().is_none());
        self.wait("replies are missing", |world| !world.client.is_waiting());
        for (slot, disk) in
            self.disk_set.disks.iter().enumerate().filter(|(slot, _)| !self.disk_set.fault_budget.lacking[*slot])
        {
            assert!(disk.unflushed().next().is_none(), "it stopped, but disk {slot} was not flushed");
        }
    }

    /// Ends the storm: no more faults, then repairs and checks.
    fn finish(&mut self) {
        self.disk_set.calm();
        self.disk_set.release(self.now);
        // After this flush the volume has noticed every disk that is gone.
        self.client.flush(self.now, &mut self.subject);
        self.wait("a flush never ends", |world| !world.client.is_waiting());
        self.wait("an operation never ends", |world| world.disk_set.next_end().is_none());
        self.disk_set.suspected.fill(Nanos::ZERO);
        for _ in 0..self.disk_set.disks.len() {
            // All members: a rebuild may wait for another member that is out.
            (0..self.disk_set.disks.len()).for_each(|_| self.exchange());
            self.wait("a rebuild never ends", |world| !world.is_rebuilding());
        }
        self.wait("a member never comes back", |world| !world.disk_set.fault_budget.lacking.contains(&true));
        self.verify();
        self.read_all();
        let before = self.records;
        self.lost.clear();
        self.verify();
        assert_eq!(self.records, before, "the second verification found something");
        // Pages of the written map wait for a flush.
        self.client.flush(self.now, &mut self.subject);
        self.wait("a flush never ends", |world| !world.client.is_waiting() && world.disk_set.next_end().is_none());
        self.check_disks();
        let (lost, before) = (self.lost.len() as u64 * self.setting.geometry.chunk_bytes, self.client.tally.bytes_lost);
        self.read_all();
        let read = self.client.tally.bytes_lost - before;
        assert_eq!(lost, read, "bytes that a verification called lost, and bytes that reads did: {:?}", self.lost);
        self.stop();
        self.open();
        let recorded = self.subject.losses();
        if !recorded.is_coarse() {
            let lost: BTreeSet<u64> = self.lost.iter().map(|(stripe, _)| *stripe).collect();
            let recorded: BTreeSet<u64> = recorded.runs().iter().cloned().flatten().collect();
            assert!(!self.keeps_losses() || recorded == lost, "lost are {lost:?}, recorded over a stop {recorded:?}");
        }
        self.read_all();
    }

    /// Does the array keep a record of what it has lost?
    fn keeps_losses(&self) -> bool {
        S::recorded_losses(&self.disk_set.disks).is_some()
    }

    /// Checks that after a verification the media hold what they should: all metadata outside of the rows, and the rows
    /// of all stripes that were ever written.
    fn check_disks(&self) {
        let geometry = self.setting.geometry;
        let newest = member_metadata::newest(&geometry, &self.disk_set.disks[0]);
        for (slot, disk) in self.disk_set.disks.iter().enumerate() {
            let generations = member_metadata::newest(&geometry, disk);
            let is_fine = member_metadata::is_readable(&geometry, disk) && generations == newest;
            assert!(is_fine, "beside the rows disk {slot} has {generations:?}, and disk 0 {newest:?}");
        }
        // A bare array finds nothing, and a pure one finds nothing in its parities.
        if !geometry.scheme.checks_itself() || self.setting.is_over_budget {
            return;
        }
        let is_sure =
            |&stripe: &u64| self.subject.is_written(stripe) && !self.disk_set.fault_budget.is_doubtful(stripe);
        for stripe in (0..geometry.stripes).filter(is_sure) {
            let wrong = self.disk_set.places(stripe).find(|&row| !self.disk_set.is_right(row));
            assert!(wrong.is_none(), "row {wrong:?} of stripe {stripe} is wrong still");
        }
    }

    fn is_rebuilding(&self) -> bool {
        let is_rebuilding = |state: &MemberState| matches!(state, MemberState::Rebuilding { .. });
        self.subject.health().members.iter().any(is_rebuilding)
    }

    fn verify(&mut self) {
        let (id, begin) = (self.client.verify(), self.now);
        self.subject.verify(self.now, id, 0..self.setting.geometry.stripes);
        self.wait("a verification never ends", |world| !world.client.is_waiting());
        self.disk_set.fault_budget.note_verified(begin);
    }

    /// Requests every byte of the volume at once.
    fn copy(&mut self) {
        let size = self.setting.geometry.size();
        for start in (0..size).step_by(64 << 10) {
            self.client.read(self.now, start..(start + (64 << 10)).min(size), &mut self.subject);
        }
    }

    fn read_all(&mut self) {
        self.copy();
        self.wait("a read never ends", |world| !world.client.is_waiting());
    }

    fn wait(&mut self, complaint: &str, is_done: impl Fn(&Simulation<'a, S>) -> bool) {
        let until = self.steps + STEPS_MAX / 4;
        loop {
            self.drain();
            if is_done(self) {
                return;
            }
            assert!(self.steps < until, "{complaint}");
            self.next_send = None;
            self.step();
        }
    }

    /// Lets the next event happen.
    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "it never ends");
        if self.next_send.is_some_and(|next| next <= self.now) && self.is_sending() {
            self.client.send(self.now, &mut self.subject);
            self.next_send = Some(self.now + self.client.pause());
            return;
        }
        let send = self.next_send.filter(|&next| next > self.now && self.is_sending());
        let timeout = self.subject.poll_timeout().map(|timeout| timeout.max(self.now + Nanos(1)));
        let next = [send, timeout, self.disk_set.next_end()].into_iter().flatten().min();
        let next = next.expect("stuck: nothing is under way, and nothing will happen by itself");
        self.now = self.now.max(next);
        if self.disk_set.next_end().is_some_and(|end| end <= self.now) {
            let done = self.disk_set.end();
            self.subject.handle(self.now, done);
        }
    }

    fn is_sending(&self) -> bool {
        !self.client.has_sent_all() && self.client.has_room()
    }

    /// Takes all operations, replies and findings that the volume has ready.
    fn drain(&mut self) {
        loop {
            let mut is_quiet = true;
            while let Some(op) = self.subject.poll_op(self.now) {
                self.disk_set.start(self.now, op);
                is_quiet = false;
            }
            while let Some((id, reply)) = self.subject.poll_reply() {
                let fault_budget = &self.disk_set.fault_budget;
                self.client.reply(self.now, id, reply, |range| fault_budget.may_lose(range), &mut self.subject);
                is_quiet = false;
            }
            if is_quiet {
                break;
            }
        }
        self.follow_volume();
    }

    /// Follows the findings, the states of members, and the resync after a crash.
    fn follow_volume(&mut self) {
        self.accept_undecidable();
        while let Some(record) = self.subject.poll_finding() {
            self.trace.log(self.now, || format!("    {record:?}"));
            self.records += u64::from(record.resolution != Resolution::Lost);
            self.judge(record);
        }
        let health = self.subject.health();
        let subject = &self.subject;
        self.disk_set.fault_budget.resynced(|stripe| subject.is_resynced(stripe));
        let is_held_up = self.disk_set.hung().is_some_and(|slot| health.members[slot] == MemberState::Active);
        self.disk_set.hold_up(self.now, is_held_up);
        for (slot, state) in health.members.into_iter().enumerate() {
            let disk = &self.disk_set.disks[slot];
            let is_sure = health.is_open && !disk.is_gone && self.disk_set.suspected[slot] <= self.now;
            match (state == MemberState::Active, self.disk_set.fault_budget.lacking[slot]) {
                (true, true) if is_sure && S::knows_active(&self.disk_set.disks, MemberIndex(slot)) => {
                    self.trace.log(self.now, || format!("member {slot} is active"));
                    self.disk_set.fault_budget.lacking[slot] = false;
                }
                // A member that was lost, taken out or replaced, or that refused a write, is in `lacking` already. Here
                // a crash came before it was durable that the member is active.
                (false, false) if matches!(state, MemberState::Rebuilding { .. }) => {
                    self.trace.log(self.now, || format!("member {slot} is {state:?}"));
                    self.disk_set.lacks(slot);
                }
                (false, false) => panic!("member {slot} is {state:?}, and nothing befell it that costs a member"),
                _ => {}
            }
        }
    }

    /// Checks a finding: no member may be blamed without evidence, nor for another kind of fault.
    fn judge(&mut self, record: VolumeFinding) {
        let Some(stripe) = record.place.stripe().map(StripeIndex::get) else {
            let (member, offset) = (record.member.get(), record.offset.get());
            let is_there = |(disk, range): &(usize, Range<u64>)| *disk == member && range.contains(&offset);
            assert!(self.disk_set.blighted.iter().any(is_there), "nothing was planted there: {record:?}");
            return;
        };
        let place = self.setting.geometry.row_at(record.offset).expect("a row's record names its place");
        let row = (record.member.get(), place.get());
        if let (FindingPlace::Row { position, .. }, Resolution::Lost) = (record.place, record.resolution)
            && self.setting.geometry.layout.shape().is_data(position)
        {
            self.lost.insert((stripe, position.get()));
        }
        if record.resolution == Resolution::Repaired {
            self.disk_set.fault_budget.note_repair(row);
            let is_known = !self.disk_set.fault_budget.lacking[row.0] && !self.disk_set.unseen.contains(&row);
            assert!(
                !is_known || self.disk_set.is_right(row),
                "{record:?}, but the medium does not hold what it should"
            );
        }
        // A new disk's row for a lost chunk proves nothing, and is wrong when a member returns that can prove the chunk.
        let was_lost = self.lost.range((stripe, 0)..(stripe + 1, 0)).next().is_some();
        if record.resolution == Resolution::Lost || was_lost || self.disk_set.fault_budget.is_doubtful(stripe) {
            return;
        }
        let planted = self.disk_set.planted.get(&row).map_or(&[][..], Vec::as_slice);
        // Rows that do not prove themselves look stale, whatever happened to them.
        let checks = self.setting.geometry.scheme.checks_itself();
        // Wrong in one read and right in the next; a disk that says "unreadable" is no such case.
        let is_wrong_once = record.resolution == Resolution::Transient && record.kind != FindingKind::Unreadable(None);
        // An appendix written alone and lost from the cache between two reads makes the second read look better than the first.
        let appears = |planted: &InjectedFault| {
            is_wrong_once && self.setting.geometry.scheme.has_buddies() && planted.leaves_old_appendix()
        };
        // A read that went astray may show anything.
        let is_misread = is_wrong_once && planted.contains(&InjectedFault::Misread);
        // With junk in the row, one of the two reads may have been misdirected, and shown another place's row.
        let is_astray = matches!(record.kind, FindingKind::MisdirectedWrite { .. })
            && planted.contains(&InjectedFault::Misread)
            && planted.iter().any(|&planted| planted != InjectedFault::Misread);
        let explains = |planted: &InjectedFault| !checks || planted.explains(record.kind) || appears(planted);
        let is_explained = is_astray || is_misread || planted.iter().any(explains);
        assert!(is_explained, "{record:?}, but what was planted there is {planted:?}");
    }

    fn outcome(&self) -> StormOutcome {
        let (client, disk_set) = (self.client.tally, self.disk_set.tally);
        StormOutcome { client, disk_set, runs: self.runs, records: self.records, now: self.now }
    }
}
