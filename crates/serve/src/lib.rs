//! Scrubjay's servers: a volume as a network block device, and its control socket.
//!
//! **Never:** decisions about a volume's requests; its `core::volume::member::ArrayMachine` makes those. This crate has the
//! protocol ([`nbd`]) and its encryption ([`tls`]), the pump that moves bytes between clients, a volume and its members'
//! disks ([`server`]), and the control socket ([`control`]).
//!
//! The requests of a server to an array, here one in memory, and the replies:
//!
//! ```
//! use scrubjay_core::buffer::Buffer;
//! use scrubjay_core::units::{Nanos, VolumeOffset};
//! use scrubjay_core::volume::block::{BlockReply, BlockRequest, ReadPart, RequestId};
//! use scrubjay_core::volume::member::ArrayMachine;
//! use scrubjay_serve::memory::MemoryArray;
//!
//! let mut array = MemoryArray::new(64 << 10);
//! let write = BlockRequest::Write { offset: VolumeOffset(4096), data: Buffer::copy_of(b"jay"), is_durable: true };
//! array.submit(Nanos::ZERO, RequestId(1), write);
//! assert_eq!(array.poll_reply(), Some((RequestId(1), BlockReply::Done)));
//!
//! array.submit(Nanos::ZERO, RequestId(2), BlockRequest::Read { offset: VolumeOffset(4096), len: 3 });
//! let Some((RequestId(2), BlockReply::Read(parts))) = array.poll_reply() else { panic!("an answer") };
//! let [ReadPart::Data(buffer, range)] = &parts[..] else { panic!("its bytes") };
//! assert_eq!(&buffer[range.clone()], b"jay");
//! ```

pub mod control;
pub mod ended;
pub mod members;
pub mod memory;
pub mod nbd;
pub mod remote;
pub mod server;
pub mod tls;
pub mod volume;
