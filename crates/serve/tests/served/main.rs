//! The server as it runs: with clients made of bytes, and with clients that others wrote.
//!
//! Others' clients are used where they are installed. Where one is not, its tests say so and pass, unless the environment
//! says `SCRUBJAY_CLIENTS=required`. With `SCRUBJAY_CLIENTS=none` none is used.

mod control;
mod ends;
mod file_array;
mod files;
mod fio;
mod host;
mod libnbd;
mod papers;
mod qemu;
mod raw;
mod slots;
mod stranger;
mod tls;
