//! Writes replies: simple ones, and structured ones, in which only lost bytes fail.

use super::command::{NbdCommand, NbdCommandKind};
use super::wire::{Errno, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, allocation, chunk};
use scrubjay_core::volume::block::{AllocationRun, BlockFailure, BlockReply, ReadPart};
use scrubjay_device::completion::Outgoing;

/// Runs in one reply to an allocation query, at most (count): 64 KiB of them. The client asks again for the rest.
const RUNS_MAX: usize = 8192;

/// The text in errors of reads.
const LOST: &[u8] = b"these bytes are lost";

/// Writes the reply to a command.
///
/// # Panics
/// When the reply does not fit the command. The parts of reads and the runs of allocation must have no gaps.
pub fn write(out: &mut Outgoing, is_structured: bool, command: &NbdCommand, reply: BlockReply) {
    match (command.kind, reply) {
        (NbdCommandKind::Read { is_whole }, BlockReply::Read(parts)) => {
            let total: u64 = parts.iter().map(ReadPart::len).sum();
            assert_eq!(total, u64::from(command.len), "what was read is what was asked for");
            match is_structured {
                true => write_chunks(out, command, is_whole, parts),
                false => write_simple(out, command.cookie, parts),
            }
        }
        (NbdCommandKind::Allocation { is_one_run }, BlockReply::Allocation(runs)) => {
            write_runs(out, command, is_one_run, &runs)
        }
        (
            NbdCommandKind::Write { .. } | NbdCommandKind::Flush | NbdCommandKind::Trim | NbdCommandKind::Zero { .. },
            BlockReply::Done,
        ) => {
            write_simple_head(out, command.cookie, 0);
        }
        (kind, BlockReply::Failed(failure)) => {
            write_error(out, is_structured, command.cookie, kind, errno(kind, failure))
        }
        (kind, reply) => panic!("{reply:?} is no reply to {kind:?}"),
    }
}

/// Writes an error as the reply to a command.
pub fn write_error(out: &mut Outgoing, is_structured: bool, cookie: u64, kind: NbdCommandKind, errno: Errno) {
    match kind {
        NbdCommandKind::Read { .. } | NbdCommandKind::Allocation { .. } if is_structured => {
            write_chunk_head(out, chunk::DONE, chunk::ERROR, cookie, 6);
            out.push_copy(&(errno as u32).to_be_bytes());
            out.push_copy(&0u16.to_be_bytes());
        }
        _ => write_simple_head(out, cookie, errno as u32),
    }
}

/// Writes the reply to a command of no bytes.
pub fn write_nothing(out: &mut Outgoing, is_structured: bool, command: &NbdCommand) {
    match command.kind {
        NbdCommandKind::Read { .. } if is_structured => {
            write_chunk_head(out, chunk::DONE, chunk::NONE, command.cookie, 0)
        }
        _ => write_simple_head(out, command.cookie, 0),
    }
}

fn errno(kind: NbdCommandKind, failure: BlockFailure) -> Errno {
    match failure {
        BlockFailure::Io => Errno::Io,
        BlockFailure::OutOfRange if matches!(kind, NbdCommandKind::Write { .. } | NbdCommandKind::Zero { .. }) => {
            Errno::NoSpc
        }
        BlockFailure::OutOfRange => Errno::Inval,
        BlockFailure::ReadOnly => Errno::Perm,
        BlockFailure::Stopping => Errno::Shutdown,
    }
}

/// Writes a simple reply to a read: all bytes, or an error.
fn write_simple(out: &mut Outgoing, cookie: u64, parts: Vec<ReadPart>) {
    if parts.iter().any(|part| matches!(part, ReadPart::Lost(_))) {
        return write_simple_head(out, cookie, Errno::Io as u32);
    }
    write_simple_head(out, cookie, 0);
    parts.into_iter().for_each(|part| write_part(out, part));
}

fn write_simple_head(out: &mut Outgoing, cookie: u64, errno: u32) {
    let mut head = [0; 16];
    head[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    head[4..8].copy_from_slice(&errno.to_be_bytes());
    head[8..].copy_from_slice(&cookie.to_be_bytes());
    out.push_copy(&head);
}

/// Kinds of parts; neighbours of the same kind share a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Data,
    Hole,
    Lost,
}

/// Writes a structured reply: a chunk for each run of like parts. If `is_whole`, it is one chunk of data, or an error.
fn write_chunks(out: &mut Outgoing, command: &NbdCommand, is_whole: bool, parts: Vec<ReadPart>) {
    if is_whole && parts.iter().any(|part| matches!(part, ReadPart::Lost(_))) {
        return write_lost(out, chunk::DONE, command.cookie, command.offset);
    }
    let kind_of = |part: &ReadPart| match part {
        ReadPart::Lost(_) => PartKind::Lost,
        ReadPart::Zeros(_) if !is_whole => PartKind::Hole,
        ReadPart::Zeros(_) | ReadPart::Data(..) => PartKind::Data,
    };
    let mut offset = command.offset;
    let mut parts = parts.into_iter();
    while let Some(kind) = parts.as_slice().first().map(kind_of) {
        let run = parts.as_slice().iter().take_while(|part| kind_of(part) == kind);
        let (count, len) = run.fold((0, 0), |(count, len), part| (count + 1, len + part.len()));
        let flags = if count == parts.len() { chunk::DONE } else { 0 };
        match kind {
            PartKind::Data => write_chunk_head(out, flags, chunk::OFFSET_DATA, command.cookie, 8 + len as u32),
            PartKind::Hole => write_chunk_head(out, flags, chunk::OFFSET_HOLE, command.cookie, 12),
            PartKind::Lost => write_lost(out, flags, command.cookie, offset),
        }
        if kind != PartKind::Lost {
            out.push_copy(&offset.to_be_bytes());
        }
        if kind == PartKind::Hole {
            out.push_copy(&(len as u32).to_be_bytes());
        }
        for part in parts.by_ref().take(count) {
            if kind == PartKind::Data {
                write_part(out, part);
            }
        }
        offset += len;
    }
}

fn write_part(out: &mut Outgoing, part: ReadPart) {
    match part {
        ReadPart::Data(buffer, range) => out.push_buffer(buffer, range),
        ReadPart::Zeros(len) => out.push_zeros(len as usize),
        ReadPart::Lost(_) => panic!("lost bytes are not sent"),
    }
}

/// Writes that the bytes from `offset` to the next chunk are lost.
fn write_lost(out: &mut Outgoing, flags: u16, cookie: u64, offset: u64) {
    write_chunk_head(out, flags, chunk::ERROR_OFFSET, cookie, (4 + 2 + LOST.len() + 8) as u32);
    out.push_copy(&(Errno::Io as u32).to_be_bytes());
    out.push_copy(&(LOST.len() as u16).to_be_bytes());
    out.push_copy(LOST);
    out.push_copy(&offset.to_be_bytes());
}

fn write_runs(out: &mut Outgoing, command: &NbdCommand, is_one_run: bool, runs: &[AllocationRun]) {
    let total: u64 = runs.iter().map(|run| run.len).sum();
    assert!(total > 0 && total <= u64::from(command.len), "at least one run, inside the range");
    let most = if is_one_run { 1 } else { RUNS_MAX };
    let mut descriptors: Vec<(u32, u32)> = Vec::new();
    for run in runs.iter().filter(|run| run.len > 0) {
        let flags = if run.is_written { 0 } else { allocation::HOLE | allocation::ZERO };
        if let Some((len, before)) = descriptors.last_mut()
            && *before == flags
        {
            *len += run.len as u32;
        } else if descriptors.len() < most {
            descriptors.push((run.len as u32, flags));
        } else {
            break;
        }
    }
    let bytes = 4 + 8 * descriptors.len();
    write_chunk_head(out, chunk::DONE, chunk::BLOCK_STATUS, command.cookie, bytes as u32);
    out.push_copy(&allocation::CONTEXT_ID.to_be_bytes());
    for (len, flags) in descriptors {
        out.push_copy(&len.to_be_bytes());
        out.push_copy(&flags.to_be_bytes());
    }
}

fn write_chunk_head(out: &mut Outgoing, flags: u16, kind: u16, cookie: u64, len: u32) {
    let mut head = [0; 20];
    head[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
    head[4..6].copy_from_slice(&flags.to_be_bytes());
    head[6..8].copy_from_slice(&kind.to_be_bytes());
    head[8..16].copy_from_slice(&cookie.to_be_bytes());
    head[16..].copy_from_slice(&len.to_be_bytes());
    out.push_copy(&head);
}
