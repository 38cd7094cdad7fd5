//! The pages of the site.
//!
//! `frame` is around each; `front` is the front page, with `disks`, `bays` and `timeline`; `disk` is of one disk;
//! `tone` maps words to colours.

mod actions;
mod bays;
mod bench;
pub mod disk;
mod disks;
mod frame;
pub mod front;
mod speed;
mod surface;
mod timeline;
mod tone;
mod trends;
mod view;

pub use frame::message;
pub use view::PageView;
