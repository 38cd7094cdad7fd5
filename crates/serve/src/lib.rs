//! Scrubjay's servers: a volume as a network block device, and the socket by which it is steered.
//!
//! **Never:** what a volume does with a request; that is its `core::volume::member::Array`'s business. Here is the protocol
//! ([`nbd`]) and its encryption ([`tls`]), the pump that moves bytes between clients, a volume and its members' disks ([`server`]), and the socket by
//! which it is steered ([`control`]).

pub mod control;
pub mod ended;
pub mod members;
pub mod memory;
pub mod nbd;
pub mod remote;
pub mod server;
pub mod tls;
pub mod volume;
