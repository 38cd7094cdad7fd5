//! Requests of clients and of scrubs: cut into stripes, read, written, verified; and the rows of a stripe, read, sealed and put.

pub(super) mod parts;
pub(super) mod put;
pub(super) mod read;
pub mod read_status;
pub(super) mod requests;
pub(super) mod rows;
pub(super) mod seal;
pub(super) mod stripe_write;
pub(super) mod verify;
pub(super) mod write;
pub(super) mod writes;
