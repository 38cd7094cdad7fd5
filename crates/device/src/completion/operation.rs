//! One operation of a ring: all memory and files that the kernel may use until it has ended, and how it ends.

use super::fault::{fault, is_transient};
use super::member_file::{FileIoPath, MemberFile};
use super::outgoing::Outgoing;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, types};
use rustix::net::Shutdown;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::volume::member::DiskFault;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// A connected or listening socket. It is closed when the last clone is gone, so a request under way keeps it open.
pub type Socket = Arc<OwnedFd>;

/// Repetitions of a request that was merely deferred (EAGAIN, EINTR), at most.
const RETRIES_MAX: u8 = 16;

/// Slices that are sent at a time, at most: half of the kernel's limit (`UIO_MAXIOV`).
const SLICES_MAX: usize = 512;

/// Bytes that one operation sends, at most: its end is the sign that the other side reads.
const SENT_MAX: usize = 1 << 20;

/// How an operation ended, with the memory that it was lent.
#[derive(Debug)]
pub enum IoEnd {
    /// End of a read, write, flush or discard.
    Disk {
        /// The buffer of a read or write.
        buffer: Option<Buffer>,
        /// `Ok`: all of it was done.
        result: Result<(), DiskFault>,
    },
    /// End of an accept: the new connection.
    Accepted(io::Result<OwnedFd>),
    /// End of a receive.
    Received {
        /// The buffer.
        buffer: Buffer,
        /// Bytes received, from the start of the range on; 0: the other side has ended.
        result: io::Result<usize>,
    },
    /// End of a send.
    Sent {
        /// The bytes to send.
        outgoing: Outgoing,
        /// Bytes that were sent: all, or as many as are sent at a time.
        result: io::Result<usize>,
    },
    /// End of a command: the driver's result, or a negative errno.
    Command(i32),
}

/// One operation, with all memory that it owns.
pub(super) struct Operation {
    kind: IoKind,
    retries: u8,
    age: u8,
}

/// The age, in calls of `IoRing::age`, at which an operation on a file is given up.
const AGE_MAX: u8 = 2;

enum IoKind {
    Transfer(Transfer),
    Flush(MemberFile),
    Discard { file: MemberFile, range: Range<u64> },
    Accept(Socket),
    Receive { socket: Socket, buffer: Buffer, range: Range<usize> },
    Send(Box<SendInFlight>),
    Command { file: Arc<File>, command: u32, bytes: [u8; 16] },
}

/// A read or a write.
pub(super) struct Transfer {
    pub file: MemberFile,
    pub direction: IoDirection,
    pub offset: u64,
    pub buffer: Buffer,
    /// Bytes of it that are done.
    pub done: usize,
}

/// The direction of a transfer.
#[derive(Clone, Copy)]
pub(super) enum IoDirection {
    Read,
    Write { is_durable: bool },
}

/// A send in flight: the kernel reads `header`, which points to `slices`, which point into `outgoing`.
struct SendInFlight {
    socket: Socket,
    outgoing: Outgoing,
    /// Its first byte in `outgoing`, the next one to send, and its end.
    start: usize,
    sent: usize,
    end: usize,
    slices: Vec<libc::iovec>,
    header: libc::msghdr,
}

impl Operation {
    pub fn transfer(transfer: Transfer) -> Operation {
        Operation::of(IoKind::Transfer(transfer))
    }

    pub fn flush(file: MemberFile) -> Operation {
        Operation::of(IoKind::Flush(file))
    }

    pub fn discard(file: MemberFile, range: Range<u64>) -> Operation {
        Operation::of(IoKind::Discard { file, range })
    }

    pub fn accept(socket: Socket) -> Operation {
        Operation::of(IoKind::Accept(socket))
    }

    pub fn receive(socket: Socket, buffer: Buffer, range: Range<usize>) -> Operation {
        assert!(!range.is_empty() && range.end <= buffer.len(), "room to receive into");
        Operation::of(IoKind::Receive { socket, buffer, range })
    }

    pub fn send(socket: Socket, outgoing: Outgoing, start: usize) -> Operation {
        assert!(start < outgoing.len(), "something to send");
        let end = outgoing.len().min(start + SENT_MAX);
        // SAFETY: a msghdr is numbers and pointers, for which zeros are fine: no address, no slices, no control data.
        let header = unsafe { std::mem::zeroed() };
        let sending = SendInFlight { socket, outgoing, start, sent: start, end, slices: Vec::new(), header };
        Operation::of(IoKind::Send(Box::new(sending)))
    }

    pub fn command(file: Arc<File>, command: u32, bytes: [u8; 16]) -> Operation {
        Operation::of(IoKind::Command { file, command, bytes })
    }

    /// Whether it is a command. The kernel cancels none of them, and none uses memory of this process.
    pub fn is_command(&self) -> bool {
        matches!(self.kind, IoKind::Command { .. })
    }

    /// The read or write.
    ///
    /// # Panics
    /// When it is neither; so does [`Operation::into_transfer`].
    pub fn as_transfer(&mut self) -> &mut Transfer {
        let IoKind::Transfer(transfer) = &mut self.kind else { panic!("a read or a write") };
        transfer
    }

    pub fn into_transfer(self) -> Transfer {
        let IoKind::Transfer(transfer) = self.kind else { panic!("a read or a write") };
        transfer
    }

    fn of(kind: IoKind) -> Operation {
        Operation { kind, retries: 0, age: 0 }
    }

    /// Ages an operation on a file. Returns whether it is given up by this call.
    pub fn age_once(&mut self) -> bool {
        let is_of_disk = matches!(self.kind, IoKind::Transfer(_) | IoKind::Flush(_) | IoKind::Discard { .. });
        if !is_of_disk || self.is_given_up() {
            return false;
        }
        self.age += 1;
        self.is_given_up()
    }

    /// Whether it has not ended for so long that it is given up.
    pub fn is_given_up(&self) -> bool {
        self.age >= AGE_MAX
    }

    /// Whether it is a read or write that may wait for another party from the start. (Flushes and discards begin in a worker of the
    /// kernel, whatever the file.)
    pub fn is_remote(&self) -> bool {
        matches!(&self.kind, IoKind::Transfer(transfer) if transfer.file.io_path() == FileIoPath::Remote)
    }

    /// The submission entry for the rest of the operation. It points into memory that `self` owns and that stays where it is
    /// when `self` is moved; `self` must live, and not be accessed, until the kernel has ended it.
    pub fn entry(&mut self) -> Entry {
        match &mut self.kind {
            IoKind::Transfer(Transfer { file, direction, offset, buffer, done }) => {
                let (at, rest) = (*offset + *done as u64, &mut buffer[*done..]);
                let (start, len) = (rest.as_mut_ptr(), u32::try_from(rest.len()).unwrap_or(u32::MAX));
                match direction {
                    IoDirection::Read => opcode::Read::new(file.fd(), start, len).offset(at).build(),
                    IoDirection::Write { is_durable } => {
                        let flags = if *is_durable { libc::RWF_DSYNC } else { 0 };
                        opcode::Write::new(file.fd(), start, len).offset(at).rw_flags(flags as _).build()
                    }
                }
            }
            IoKind::Flush(file) => opcode::Fsync::new(file.fd()).flags(FsyncFlags::DATASYNC).build(),
            IoKind::Discard { file, range } => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                let len = range.end - range.start;
                opcode::Fallocate::new(file.fd(), len).offset(range.start).mode(mode).build()
            }
            IoKind::Accept(socket) => {
                let no_address = std::ptr::null_mut();
                opcode::Accept::new(fd(socket), no_address, std::ptr::null_mut()).flags(libc::SOCK_CLOEXEC).build()
            }
            IoKind::Receive { socket, buffer, range } => {
                let room = &mut buffer[range.clone()];
                let len = u32::try_from(room.len()).unwrap_or(u32::MAX);
                opcode::Recv::new(fd(socket), room.as_mut_ptr(), len).build()
            }
            IoKind::Send(sending) => sending.entry(),
            IoKind::Command { file, command, bytes } => {
                opcode::UringCmd16::new(types::Fd(file.as_raw_fd()), *command).cmd(*bytes).build()
            }
        }
    }

    /// Takes the kernel's result: returns how the operation ended, or the operation itself when there is more to do.
    pub fn absorb(mut self, result: i32) -> Result<IoEnd, Operation> {
        if result < 0 && is_transient(-result) && self.retries < RETRIES_MAX {
            self.retries += 1;
            return Err(self);
        }
        let outcome = if result < 0 { Err(-result) } else { Ok(result as usize) };
        let of_socket = || outcome.map_err(io::Error::from_raw_os_error);
        match self.kind {
            IoKind::Transfer(transfer) => {
                transfer.absorb(outcome).map_err(|transfer| Operation::of(IoKind::Transfer(transfer)))
            }
            IoKind::Flush(_) => Ok(IoEnd::Disk { buffer: None, result: outcome.map(drop).map_err(fault) }),
            IoKind::Discard { .. } => {
                let result = match outcome {
                    Ok(_) | Err(libc::EOPNOTSUPP | libc::ENOSYS) => Ok(()), // a hint: not all disks support it
                    Err(errno) => Err(fault(errno)),
                };
                Ok(IoEnd::Disk { buffer: None, result })
            }
            IoKind::Accept(_) => {
                // SAFETY: the kernel has just opened this descriptor for this operation; no other code knows of it.
                Ok(IoEnd::Accepted(of_socket().map(|number| unsafe { OwnedFd::from_raw_fd(number as i32) })))
            }
            IoKind::Receive { buffer, .. } => Ok(IoEnd::Received { buffer, result: of_socket() }),
            IoKind::Command { .. } => Ok(IoEnd::Command(result)),
            IoKind::Send(sending) => sending.absorb(outcome).map_err(|sending| Operation::of(IoKind::Send(sending))),
        }
    }
}

impl Transfer {
    /// A partial transfer is continued, never reported as success. No bytes at all mean that there is no such place,
    /// so the disk is not the one it was.
    pub fn absorb(mut self, outcome: Result<usize, i32>) -> Result<IoEnd, Transfer> {
        let result = match outcome {
            Err(errno) => Err(fault(errno)),
            Ok(count) => {
                self.done += count;
                match (self.done == self.buffer.len(), count) {
                    (true, _) => Ok(()),
                    (false, 0) => Err(DiskFault::Gone),
                    (false, _) => return Err(self),
                }
            }
        };
        Ok(IoEnd::Disk { buffer: Some(self.buffer), result })
    }
}

impl SendInFlight {
    fn entry(&mut self) -> Entry {
        self.slices.clear();
        let (mut skip, mut left) = (self.sent, self.end - self.sent);
        for slice in self.outgoing.slices() {
            if skip >= slice.len() {
                skip -= slice.len();
                continue;
            }
            let rest = &slice[std::mem::take(&mut skip)..];
            let rest = &rest[..rest.len().min(left)];
            left -= rest.len();
            self.slices.push(libc::iovec { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest.len() });
            if self.slices.len() == SLICES_MAX || left == 0 {
                break;
            }
        }
        self.header.msg_iov = self.slices.as_mut_ptr();
        self.header.msg_iovlen = self.slices.len() as _;
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_WAITALL) as u32;
        opcode::SendMsg::new(fd(&self.socket), &self.header).flags(flags).build()
    }

    fn absorb(mut self: Box<Self>, outcome: Result<usize, i32>) -> Result<IoEnd, Box<SendInFlight>> {
        let result = match outcome {
            Ok(count) => {
                self.sent += count;
                if self.sent < self.end && count > 0 {
                    return Err(self);
                }
                if count > 0 { Ok(self.sent - self.start) } else { Err(io::ErrorKind::WriteZero.into()) }
            }
            Err(errno) => Err(io::Error::from_raw_os_error(errno)),
        };
        Ok(IoEnd::Sent { outgoing: self.outgoing, result })
    }
}

/// Ends a connection, or a listener: operations that wait for it end at once, even if it has other holders.
pub fn shutdown(socket: &Socket) {
    // On an error it has ended already.
    let _ = rustix::net::shutdown(socket, Shutdown::Both);
}

fn fd(socket: &Socket) -> Fd {
    types::Fd(socket.as_raw_fd())
}
