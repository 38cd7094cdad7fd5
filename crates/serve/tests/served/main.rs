//! The running server, with clients made of bytes, and with third-party clients.
//!
//! Third-party clients are used where they are installed. Without one, its tests report that and pass, unless the
//! environment has `SCRUBJAY_CLIENTS=required`. With `SCRUBJAY_CLIENTS=none` none is used.

mod certificates;
mod control;
mod ends;
mod file_array;
mod files;
mod fio;
mod host;
mod libnbd;
mod qemu;
mod raw;
mod slots;
mod stranger;
mod tls;
