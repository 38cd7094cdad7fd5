//! The pages. `frame` is around each; `front` is the first one: `disks`, `bays` and `timeline` are its parts; `disk` is of one disk.
//! `tone` says which word has which colour.

mod actions;
mod bays;
mod bench;
pub mod disk;
mod disks;
mod frame;
pub mod front;
mod surface;
mod timeline;
mod tone;
mod trends;
mod view;

pub use frame::message;
pub use view::PageView;
