//! One piece of work for a disk, and for whom.

/// What a disk does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskWork {
    /// From which sector on.
    pub sector: u64,
    /// How many sectors, not zero.
    pub count: u64,
    /// Written, not read.
    pub is_write: bool,
    /// For whom.
    pub owner: Owner,
}

/// Who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A request of the batch, by its number.
    Request(usize),
    /// The write cache, which passes on what it took: a number of its own.
    Destage(usize),
}
