//! One piece of work for a disk, and its owner.

/// A piece of work for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskWork {
    /// The first sector.
    pub sector: u64,
    /// The number of sectors, not zero.
    pub count: u64,
    /// Is it a write?
    pub is_write: bool,
    /// The job that it belongs to.
    pub owner: Owner,
}

/// The job that waits for a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A request of the batch, by its number.
    Request(usize),
    /// A write that the cache passes on, by a number of its own.
    Destage(usize),
}
