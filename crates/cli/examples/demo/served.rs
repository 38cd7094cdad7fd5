//! The volume of the demo on a thread of its own, served as users are, with disks that can be made to misread.

use crate::client::Nbd;
use anyhow::{Context, Result, anyhow, ensure};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::{MemberOffset, Nanos};
use scrubjay_core::volume::block::{BlockReply, BlockRequest, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone, OpKind};
use scrubjay_device::clock;
use scrubjay_serve::control::{CommandHandler, CommandId};
use scrubjay_serve::members::MemberTable;
use scrubjay_serve::nbd::Export;
use scrubjay_serve::remote::client::ControlClient;
use scrubjay_serve::server::{Address, Server, ServerStop};
use scrubjay_serve::volume::VolumeController;
use scrubjay_serve::volume::gather::gather;
use std::path::{Path, PathBuf};
use std::thread;

/// What the device says that requests had best be multiples of: a chunk of the demo's volume.
const BLOCK_PREFERRED: u32 = 4 << 10;

/// A read that will go astray, once. Places are bytes of the member.
#[derive(Clone, Copy, Debug)]
pub struct MisdirectedRead {
    /// Index of the member, from 0.
    pub member: usize,
    /// What it was to read.
    pub wanted: u64,
    /// What it reads.
    pub actual: u64,
}

/// Serves the volume of these members while `work` is at it; then stops it, in order.
pub fn serve<T>(
    folder: &Path,
    members: &[PathBuf],
    misdirected_reads: &[MisdirectedRead],
    work: impl FnOnce(&mut Nbd, &mut ControlClient) -> Result<T>,
) -> Result<T> {
    let mut gathered = gather(members, false)?;
    let size = gathered.assembly.superblock.geometry.size();
    let mut server = Server::new(Export::new("demo", size, BLOCK_PREFERRED, false));
    let (nbd, control) = (folder.join("nbd.sock"), folder.join("control.sock"));
    server.listen(&Address::Unix(nbd.clone()))?;
    server.listen_for_commands(&Address::Unix(control.clone()))?;
    server.members = std::mem::take(&mut gathered.members);
    let stop = ServerStop::new().context("no file descriptors left")?;
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut server = server; // which listens no more when this ends, however it ends
            let volume = gathered.start(false, clock::today()).expect("the kernel has random numbers");
            let controller = VolumeController::new(volume, gathered.paths.clone(), stop.clone());
            let mut misdirecting = MisdirectingController { controller, misdirected_reads: misdirected_reads.to_vec() };
            server.run(&mut misdirecting, &stop).map(|_| misdirecting.misdirected_reads)
        });
        let result = run_client(&nbd, &control, work);
        stop.request();
        let left = served.join().map_err(|_| anyhow!("the server died"))?.context("the server ended")?;
        let result = result?;
        ensure!(left.is_empty(), "reads that were to go astray never were: {left:?}");
        Ok(result)
    })
}

fn run_client<T>(
    nbd: &Path,
    control: &Path,
    work: impl FnOnce(&mut Nbd, &mut ControlClient) -> Result<T>,
) -> Result<T> {
    let (mut nbd, mut control) = (Nbd::connect(nbd)?, ControlClient::connect(control)?);
    let result = work(&mut nbd, &mut control)?;
    nbd.disconnect()?;
    Ok(result)
}

/// A controller, between which and its disks some reads go astray.
struct MisdirectingController {
    controller: VolumeController,
    /// Those that have not happened yet.
    misdirected_reads: Vec<MisdirectedRead>,
}

impl ArrayMachine for MisdirectingController {
    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp> {
        let mut op = self.controller.poll_op(now)?;
        if let OpKind::Read { offset, .. } = &mut op.kind {
            let is_meant = |read: &MisdirectedRead| (read.member, read.wanted) == (op.member.get(), (*offset).get());
            if let Some(index) = self.misdirected_reads.iter().position(is_meant) {
                *offset = MemberOffset(self.misdirected_reads.swap_remove(index).actual);
            }
        }
        Some(op)
    }

    fn size(&self) -> u64 {
        self.controller.size()
    }

    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest) {
        self.controller.submit(now, id, request);
    }

    fn handle(&mut self, now: Nanos, done: MemberOpDone) {
        self.controller.handle(now, done);
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        self.controller.poll_reply()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.controller.poll_timeout()
    }

    fn recycle(&mut self, buffer: Buffer) {
        self.controller.recycle(buffer);
    }

    fn stop(&mut self, now: Nanos) {
        self.controller.stop(now);
    }

    fn is_stopped(&self) -> bool {
        self.controller.is_stopped()
    }
}

impl CommandHandler for MisdirectingController {
    fn command(&mut self, now: Nanos, id: CommandId, line: &str, members: &mut MemberTable) -> Option<String> {
        self.controller.command(now, id, line, members)
    }

    fn poll_answer(&mut self) -> Option<(CommandId, String)> {
        self.controller.poll_answer()
    }
}
