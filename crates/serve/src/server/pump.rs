//! The server's loop.

use super::address::Listener;
use super::block_device::{BlockDevice, DEVICE_OPS_MAX, DeviceEvent};
use super::connection::{ClientMessage, Connection, PeerKind};
use super::error::ServeError;
use super::memory_budget::MemoryBudget;
use super::patience::Patience;
use super::stop::ServerStop;
use super::task::RingTask;
use crate::control::{self, CommandHandler, CommandId};
use crate::ended::{Flushed, ServerEnded};
use crate::members::MemberTable;
use crate::nbd::{Export, IN_FLIGHT_MAX};
use crate::tls::{Tls, TlsSession};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{BlockReply, BlockRequest, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, DiskFault, MemberOp, MemberOpDone, OpKind};
use scrubjay_device::clock;
use scrubjay_device::completion::{Completion, IoEnd, IoRing, keep_alive, own_uid, peer_uid, release_memory, shutdown};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// NBD clients at a time, at most (count); more are turned away. A Linux client uses up to 16 connections.
const CLIENTS_MAX: usize = 32;

/// NBD clients besides whose handshake (TLS included) is under way, at most (count). When one more connects, the oldest
/// of them is cut off, so that clients which connect and stay silent block no others.
const NEWCOMERS_MAX: usize = 16;

/// Control clients besides, at most (count): NBD clients cannot displace them.
const CONTROLLERS_MAX: usize = 16;

/// All connections, at most (count), including those that were cut off and have not ended yet.
const CONNECTIONS_MAX: usize = CLIENTS_MAX + 2 * NEWCOMERS_MAX + CONTROLLERS_MAX;

/// Operations of the ring at a time, at most (count). Each connection needs up to two; the rest is for the disks.
const RING_DEPTH: u32 = 2048;

/// Operations reserved for sockets and a block device (count).
const RING_RESERVE: usize = 2 * CONNECTIONS_MAX + 64 + DEVICE_OPS_MAX;

/// How long a listener rests after it could not accept.
const ACCEPT_BACKOFF: Nanos = Nanos::from_secs(1);

/// Period of [`IoRing::age`]. After one to two of these, an operation at a disk takes no more room in the ring: a volume that
/// drops the hanging disk has to record that on the others.
const AGE: Nanos = Nanos::from_secs(15);

/// Id of the one request that is not a client's: the flush at the end.
const LAST_FLUSH: RequestId = RequestId(u64::MAX);

/// A running server.
pub(super) struct ServerPump<'a, V> {
    export: &'a Arc<Export>,
    tls: &'a Tls,
    listeners: &'a [(Listener, bool)],
    members: &'a mut MemberTable,
    volume: &'a mut V,
    stop: &'a ServerStop,
    ring: IoRing<RingTask>,
    connections: Vec<Option<Connection>>,
    device: Option<BlockDevice>,
    on_device: fn(&DeviceEvent),
    /// Memory held by all connections and the block device.
    memory: MemoryBudget,
    /// Connections, by index, that may have something to do at once.
    scheduled: Vec<usize>,
    /// When the oldest handshake under way times out, if there is one.
    handshake_end: Option<Nanos>,
    /// When the ring's operations are aged next.
    age_at: Option<Nanos>,
    /// When to check next for stalled clients.
    stall_check_at: Option<Nanos>,
    /// Listeners that could not accept, and how long they rest.
    resting: Vec<usize>,
    rest_end: Option<Nanos>,
    patience: Patience,
    ending: Ending,
    /// How it ended, as far as that is known.
    ended: ServerEnded,
    now: Nanos,
}

/// The phase of the server's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It has not begun.
    No,
    /// Requests under way are completed, and, for a shorter time, replies are sent.
    Requests { unread: Nanos, until: Nanos },
    /// The volume makes everything durable.
    Flush { until: Nanos },
    /// The volume leaves everything in order.
    Volume { until: Nanos },
    /// Control clients receive the last answers.
    LastAnswers { until: Nanos },
}

impl<'a, V: ArrayMachine + CommandHandler> ServerPump<'a, V> {
    pub fn new(
        export: &'a Arc<Export>,
        tls: &'a Tls,
        patience: Patience,
        listeners: &'a [(Listener, bool)],
        members: &'a mut MemberTable,
        volume: &'a mut V,
        stop: &'a ServerStop,
    ) -> Result<ServerPump<'a, V>, ServeError> {
        let ring = IoRing::new(RING_DEPTH).map_err(ServeError::NoRing)?;
        Ok(ServerPump {
            export,
            tls,
            listeners,
            members,
            volume,
            stop,
            ring,
            connections: Vec::new(),
            device: None,
            on_device: |_| (),
            memory: MemoryBudget::default(),
            scheduled: Vec::new(),
            handshake_end: None,
            stall_check_at: None,
            age_at: None,
            resting: Vec::new(),
            rest_end: None,
            patience,
            ending: Ending::No,
            ended: ServerEnded::default(),
            now: clock::now(),
        })
    }

    /// Runs until it is stopped and everything has ended; returns the block device, too, if there is one. `on_device` is
    /// notified of what happens to that.
    pub fn run(
        mut self,
        device: Option<BlockDevice>,
        on_device: fn(&DeviceEvent),
    ) -> Result<(ServerEnded, Option<BlockDevice>), ServeError> {
        (self.device, self.on_device) = (device, on_device);
        if let Some(device) = &mut self.device {
            let news = device.begin(&mut self.ring);
            self.handle_news(news);
        }
        for (index, (listener, _)) in self.listeners.iter().enumerate() {
            self.ring.accept(RingTask::Accept(index), &listener.socket);
        }
        self.watch_stop();
        loop {
            self.now = clock::now();
            self.pump_volume();
            while let Some(index) = self.scheduled.pop() {
                self.serve(index);
                self.pump_volume();
            }
            self.watch_times();
            if self.is_ended() {
                return Ok((self.ended, self.device));
            }
            self.ring.wait(self.timeout()).map_err(ServeError::Ring)?;
            self.now = clock::now();
            while let Some(Completion { name, end }) = self.ring.poll() {
                self.complete(name, end);
            }
        }
    }

    /// An operation of the ring has ended.
    fn complete(&mut self, task: RingTask, end: IoEnd) {
        match (task, end) {
            (RingTask::Disk(id), IoEnd::Disk { buffer, result }) => {
                self.volume.handle(self.now, MemberOpDone { id, buffer, result });
            }
            (RingTask::Accept(listener), IoEnd::Accepted(client)) => self.accepted(listener, client),
            (RingTask::Receive(index), IoEnd::Received { buffer, result }) => {
                let connection = self.connections[index].as_mut().expect("it waits for what it receives");
                if let Some(message) = connection.received(buffer, result) {
                    self.handle_message(index, message);
                }
                self.schedule(index);
            }
            (RingTask::Send(index), IoEnd::Sent { outgoing, result }) => {
                let connection = self.connections[index].as_mut().expect("it waits for what it sends");
                let recycle = |buffer| self.volume.recycle(buffer);
                connection.sent(self.now, index, &mut self.ring, (outgoing, result), recycle);
                self.schedule(index);
            }
            (RingTask::Fetch(tag), IoEnd::Command(result)) => self.fetched(tag, result),
            (RingTask::DeviceEvent, IoEnd::Received { .. }) => {
                let news = self.device.as_mut().and_then(|device| device.command_ended(&mut self.ring));
                self.handle_news(news);
            }
            (RingTask::Wake, IoEnd::Received { .. }) => self.watch_stop(),
            (task, end) => panic!("{task:?} does not end with {end:?}"),
        }
    }

    /// The block device has a request, or returns a tag for the last time.
    fn fetched(&mut self, tag: u16, result: i32) {
        let Some(device) = &mut self.device else { unreachable!("it was there to ask") };
        let before = device.held();
        match device.fetched(&mut self.ring, tag, result, |len| self.volume.buffer(len)) {
            Ok(Some((id, request))) => {
                self.memory.changed(self.now, before, device.held());
                self.volume.submit(self.now, id, request);
            }
            Ok(None) => (),
            Err(news) => self.handle_news(Some(news)),
        }
    }

    /// Something happened to the block device. If it failed, or is removed and there are no NBD listeners, the server stops.
    fn handle_news(&mut self, news: Option<DeviceEvent>) {
        let Some(news) = news else { return };
        (self.on_device)(&news);
        match &news {
            DeviceEvent::Ready { path, .. } => self.volume.device(Some(path)),
            DeviceEvent::Failed(_) | DeviceEvent::Removed(_) => self.volume.device(None),
            DeviceEvent::Stays { .. } => {}
        }
        self.ended.is_device_wrong |= matches!(news, DeviceEvent::Failed(_));
        let is_lost = matches!(news, DeviceEvent::Failed(_) | DeviceEvent::Removed(_));
        if is_lost && (self.ended.is_device_wrong || self.listeners.iter().all(|(_, is_control)| *is_control)) {
            self.stop.request();
        }
    }

    /// Puts a connection on the list of those to be served.
    fn schedule(&mut self, index: usize) {
        if let Some(connection) = self.connections[index].as_mut().filter(|connection| !connection.is_scheduled) {
            connection.is_scheduled = true;
            self.scheduled.push(index);
        }
    }

    /// Serves a connection: its bytes become requests, and its I/O is started.
    fn serve(&mut self, index: usize) {
        let takes_requests = self.ending == Ending::No;
        let Some(connection) = self.connections[index].as_mut() else { return };
        connection.is_scheduled = false;
        let was_new = connection.is_new();
        connection.set_limit(self.memory.limit(index, connection.held_bytes()));
        while takes_requests
            && let Some(connection) = self.connections[index].as_mut()
            && let Some(message) = connection.next(|len| self.volume.buffer(len))
        {
            self.handle_message(index, message);
        }
        let Some(connection) = self.connections[index].as_mut() else { return };
        if !takes_requests {
            connection.hang_up();
        }
        if connection.kind() == PeerKind::Client && was_new && self.count(PeerKind::Client) > CLIENTS_MAX {
            self.connections[index].as_mut().expect("it was here just now").cut();
        }
        let Some(connection) = self.connections[index].as_mut() else { return };
        connection.start_io(self.now, index, &mut self.ring, |buffer| self.volume.recycle(buffer));
        let (before, after, is_held) = (connection.held, connection.held_bytes(), connection.is_held());
        connection.held = after;
        if connection.is_done() {
            self.connections[index] = None;
        }
        let after = if self.connections[index].is_some() { after } else { 0 };
        let nexts = [self.memory.set_waiting(index, is_held), self.memory.changed(self.now, before, after)];
        nexts.into_iter().flatten().filter(|next| *next != index).for_each(|next| self.schedule(next));
    }

    fn handle_message(&mut self, index: usize, message: ClientMessage) {
        match message {
            ClientMessage::Request(ticket, request) => {
                let id = RequestId((index * IN_FLIGHT_MAX + ticket) as u64);
                self.volume.submit(self.now, id, request);
            }
            ClientMessage::Command(line) => {
                let id = CommandId(index as u64);
                if let Some(answer) = self.volume.command(self.now, id, &line, self.members) {
                    self.answered(id, &answer);
                }
            }
        }
    }

    /// Starts the volume's operations, as far as the ring has room, and passes on its replies and answers.
    fn pump_volume(&mut self) {
        while self.ring.room() > RING_RESERVE
            && let Some(op) = self.volume.poll_op(self.now)
        {
            self.start(op);
        }
        if self.ring.room() <= RING_RESERVE {
            self.volume.tick(self.now); // a disk that hangs may occupy all the room
        }
        self.ring.start_reads();
        while let Some((id, reply)) = self.volume.poll_reply() {
            self.replied(id, reply);
        }
        while let Some((id, answer)) = self.volume.poll_answer() {
            self.answered(id, &answer);
        }
    }

    fn start(&mut self, op: MemberOp) {
        let task = RingTask::Disk(op.id);
        let Some(file) = self.members.file(op.member) else {
            let done = MemberOpDone { id: op.id, buffer: buffer_of(op.kind), result: Err(DiskFault::Gone) };
            return self.volume.handle(self.now, done);
        };
        match op.kind {
            OpKind::Read { offset, buffer } => self.ring.read(task, file, offset.get(), buffer),
            OpKind::Write { offset, buffer, is_durable } => {
                self.ring.write(task, file, offset.get(), buffer, is_durable)
            }
            OpKind::Flush => self.ring.flush(task, file),
            OpKind::Discard { offset, len } => self.ring.discard(task, file, offset.get()..(offset + len).get()),
        }
    }

    fn replied(&mut self, id: RequestId, reply: BlockReply) {
        if id == LAST_FLUSH {
            self.ended.flush = if matches!(reply, BlockReply::Failed(_)) { Flushed::Failed } else { Flushed::Done };
            if let Ending::Flush { until } = self.ending {
                self.ending = Ending::Volume { until };
                self.volume.stop(self.now);
            }
            return;
        }
        if let Some(tag) = BlockDevice::tag_of(id) {
            return self.replied_to_device(tag, reply);
        }
        let (index, ticket) = (id.0 as usize / IN_FLIGHT_MAX, id.0 as usize % IN_FLIGHT_MAX);
        let connection = self.connections[index].as_mut().expect("it waits for its replies");
        self.ended.count(&reply, connection.is_read(ticket));
        connection.reply(ticket, reply);
        self.schedule(index);
    }

    fn replied_to_device(&mut self, tag: u16, reply: BlockReply) {
        let device = self.device.as_mut().expect("it waits for its replies");
        self.ended.count(&reply, device.is_read(tag));
        let before = device.held();
        device.reply(&mut self.ring, tag, reply, |buffer| self.volume.recycle(buffer));
        if let Some(next) = self.memory.changed(self.now, before, device.held()) {
            self.schedule(next);
        }
    }

    fn answered(&mut self, id: CommandId, answer: &str) {
        let index = id.0 as usize;
        self.connections[index].as_mut().expect("it waits for its answer").answer(answer);
        self.schedule(index);
    }

    /// A client connected, or the listener is closed.
    fn accepted(&mut self, listener: usize, client: io::Result<OwnedFd>) {
        if self.ending != Ending::No {
            return;
        }
        let (Listener { socket, .. }, is_control) = &self.listeners[listener];
        let Ok(client) = client else {
            // No descriptors left, or no memory: retries without a pause would never end.
            self.resting.push(listener);
            self.rest_end = Some(self.now.saturating_add(ACCEPT_BACKOFF));
            return;
        };
        self.ring.accept(RingTask::Accept(listener), socket);
        match is_control {
            true => self.admit_controller(client),
            false => self.admit_client(client),
        }
    }

    /// Admits a control client, or sends it the reason for the refusal.
    fn admit_controller(&mut self, client: OwnedFd) {
        let owner = own_uid();
        let refusal = match peer_uid(&client) {
            Ok(uid) if uid != 0 && uid != owner => Some(format!("only root and user {owner} may give commands to it")),
            Ok(_) if self.count(PeerKind::Controller) >= CONTROLLERS_MAX => {
                Some(format!("{CONTROLLERS_MAX} others are giving it commands: try again"))
            }
            Ok(_) => None,
            Err(error) => Some(format!("the sender of a command is not known: {error}")),
        };
        match refusal {
            // The socket's buffer is empty: this does not block.
            Some(why) => drop(UnixStream::from(client).write_all(control::refusal(&why).as_bytes())),
            None => self.admit(Connection::control(Arc::new(client), self.now)),
        }
    }

    /// Admits an NBD client, if there is room for one more with a complete handshake.
    fn admit_client(&mut self, client: OwnedFd) {
        if self.count(PeerKind::Client) >= CLIENTS_MAX {
            return;
        }
        if self.count(PeerKind::Newcomer) >= NEWCOMERS_MAX {
            let newcomers = self.connections.iter().enumerate().filter_map(|(index, connection)| {
                connection.as_ref().filter(|it| it.kind() == PeerKind::Newcomer).map(|it| (it.accepted_at, index))
            });
            if let Some((_, index)) = newcomers.min() {
                self.cut(index);
            }
        }
        let end = self.now.saturating_add(self.patience.handshake);
        self.handshake_end = Some(self.handshake_end.map_or(end, |other| other.min(end)));
        let session = TlsSession::new(Arc::clone(self.export), self.tls);
        let client = undelayed(client, Duration::from_nanos(self.patience.progress.0));
        self.admit(Connection::nbd(Arc::new(client), self.now, session));
    }

    fn admit(&mut self, connection: Connection) {
        let free = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        if free >= CONNECTIONS_MAX {
            return;
        }
        if free == self.connections.len() {
            self.connections.push(None);
        }
        self.connections[free] = Some(connection);
        let check_at = self.now.saturating_add(Nanos(self.patience.progress.0 / 4));
        self.stall_check_at.get_or_insert(check_at);
        self.schedule(free);
    }

    fn count(&self, kind: PeerKind) -> usize {
        self.connections.iter().flatten().filter(|connection| connection.kind() == kind).count()
    }

    fn cut(&mut self, index: usize) {
        if let Some(connection) = self.connections[index].as_mut() {
            connection.cut();
            self.schedule(index);
        }
    }

    /// Does what is due: restarts listeners, ages the ring, releases memory, cuts off stalled clients and long handshakes.
    fn watch_times(&mut self) {
        if self.rest_end.is_some_and(|end| end <= self.now) {
            self.rest_end = None;
            for index in std::mem::take(&mut self.resting) {
                self.ring.accept(RingTask::Accept(index), &self.listeners[index].0.socket);
            }
        }
        if self.age_at.is_some_and(|at| at <= self.now) {
            self.age_at = None;
            self.ring.age();
        }
        if self.ring.at_disk() > 0 {
            self.age_at.get_or_insert(self.now.saturating_add(AGE));
        }
        self.watch_stalls();
        if self.memory.is_release_due(self.now) {
            release_memory();
        }
        if self.handshake_end.is_none_or(|end| self.now < end) {
            return;
        }
        self.handshake_end = None;
        for index in 0..self.connections.len() {
            let negotiating = self.connections[index].as_mut().filter(|connection| connection.is_new());
            let Some(connection) = negotiating else { continue };
            let end = connection.accepted_at.saturating_add(self.patience.handshake);
            if end <= self.now {
                connection.cut();
                self.schedule(index);
            } else {
                self.handshake_end = Some(self.handshake_end.map_or(end, |other| other.min(end)));
            }
        }
    }

    /// Cuts off clients that have made no progress for too long.
    fn watch_stalls(&mut self) {
        if self.stall_check_at.is_none_or(|at| self.now < at) {
            return;
        }
        for index in 0..self.connections.len() {
            let stalled = self.connections[index].as_ref().and_then(Connection::stalled_since);
            if stalled.is_some_and(|since| since.saturating_add(self.patience.progress) <= self.now) {
                self.cut(index);
            }
        }
        let is_any = self.connections.iter().any(Option::is_some);
        self.stall_check_at = is_any.then(|| self.now.saturating_add(Nanos(self.patience.progress.0 / 4)));
    }

    /// Checks the stop flag, at the start and whenever it wakes the server.
    fn watch_stop(&mut self) {
        self.ring.receive(RingTask::Wake, self.stop.woken(), Buffer::zeroed(64), 0..64);
        if self.stop.is_requested() && self.ending == Ending::No {
            let [unread, until] = [self.patience.unread, self.patience.stop].map(|time| self.now.saturating_add(time));
            self.ending = Ending::Requests { unread, until };
            self.listeners.iter().for_each(|(listener, _)| shutdown(&listener.socket));
            (0..self.connections.len()).for_each(|index| self.schedule(index));
            let news = self.device.as_mut().and_then(|device| device.stop(&mut self.ring));
            self.handle_news(news);
        }
    }

    /// Advances the end. True when there is nothing left to wait for.
    fn is_ended(&mut self) -> bool {
        match self.ending {
            Ending::No => false,
            Ending::Requests { unread, until } => {
                let mut connections = self.connections.iter().flatten();
                let is_waiting = match self.now < unread {
                    true => !connections.all(Connection::is_quiet),
                    false => connections.any(|connection| connection.in_flight() > 0),
                };
                let is_stop_complete = self.device.as_ref().is_none_or(BlockDevice::is_stop_complete);
                if (is_waiting || !is_stop_complete) && self.now < until {
                    return false;
                }
                let device_in_flight = self.device.as_ref().map_or(0, BlockDevice::in_flight);
                self.ended.unended =
                    self.connections.iter().flatten().map(Connection::in_flight).sum::<usize>() + device_in_flight;
                self.ending = Ending::Flush { until };
                self.volume.submit(self.now, LAST_FLUSH, BlockRequest::Flush);
                self.pump_volume(); // the volume may have replied by now
                self.is_ended()
            }
            Ending::Flush { until } | Ending::Volume { until } => {
                self.pump_volume();
                self.ended.is_stopped = matches!(self.ending, Ending::Volume { .. }) && self.volume.is_stopped();
                if !self.ended.is_stopped && self.now < until {
                    return false;
                }
                self.volume.ended(&self.ended);
                self.ending = Ending::LastAnswers { until: self.now.saturating_add(self.patience.last_answers) };
                self.pump_volume();
                while let Some(index) = self.scheduled.pop() {
                    self.serve(index);
                }
                self.is_ended()
            }
            Ending::LastAnswers { until } => {
                let is_answered = !self.connections.iter().flatten().any(Connection::is_answering);
                is_answered || self.now >= until
            }
        }
    }

    /// How long to wait for the next completion at most; `None`: without limit.
    fn timeout(&self) -> Option<Nanos> {
        let until = match self.ending {
            Ending::No => None,
            Ending::Requests { unread, until } => Some(if self.now < unread { unread } else { until }),
            Ending::Flush { until } | Ending::Volume { until } | Ending::LastAnswers { until } => Some(until),
        };
        let events = [
            until,
            self.volume.poll_timeout(),
            self.handshake_end,
            self.stall_check_at,
            self.age_at,
            self.memory.release_at,
            self.rest_end,
        ];
        events.into_iter().flatten().min().map(|at| at.since(self.now))
    }
}

/// The buffer of an operation that cannot be started.
fn buffer_of(kind: OpKind) -> Option<Buffer> {
    match kind {
        OpKind::Read { buffer, .. } | OpKind::Write { buffer, .. } => Some(buffer),
        OpKind::Flush | OpKind::Discard { .. } => None,
    }
}

/// Sends small replies without delay, and detects clients that lost power by keep-alive probes. (Sockets other than TCP have
/// no such options.)
fn undelayed(client: OwnedFd, patience: Duration) -> OwnedFd {
    let stream = TcpStream::from(client);
    let _ = stream.set_nodelay(true);
    let _ = keep_alive(&stream, patience);
    stream.into()
}
