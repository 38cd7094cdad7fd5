//! The schemes: which primitives of integrity protection an array combines. One row each.

use std::fmt;

/// How an array finds silent corruption (Li & Lee 2014, section V; `Stamp` is ours).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Bare RAID: no appendix, nothing found.
    None,
    /// Checksum mirroring only. Parity chunks are not protected.
    Pure,
    /// Self-checksum, physical identity, version mirroring; a version counts the writes of its own chunk.
    Hybrid1,
    /// Self-checksum, physical identity, checksum mirroring.
    Hybrid2,
    /// Hybrid-1 with one write number for the whole array as the version, and the checksum of every data chunk beside
    /// its version in the parities. A write costs no more disk I/O than in a bare array, but for one list where a
    /// reconstruct-write reads chunks that were not read since they were written.
    Stamp,
}

impl Scheme {
    /// All of them, the bare array first.
    pub const ALL: [Scheme; 5] = [Scheme::None, Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp];

    /// As it is called on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::None => "none",
            Scheme::Pure => "pure",
            Scheme::Hybrid1 => "hybrid1",
            Scheme::Hybrid2 => "hybrid2",
            Scheme::Stamp => "stamp",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<Scheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// Does a chunk carry a checksum of itself and its physical identity?
    pub const fn checks_itself(self) -> bool {
        matches!(self, Scheme::Hybrid1 | Scheme::Hybrid2 | Scheme::Stamp)
    }

    /// Does a chunk carry a version, mirrored in the parities?
    pub const fn has_versions(self) -> bool {
        matches!(self, Scheme::Hybrid1 | Scheme::Stamp)
    }

    /// Do the parities carry the checksum of each data chunk?
    pub const fn lists_sums(self) -> bool {
        matches!(self, Scheme::Pure | Scheme::Hybrid2 | Scheme::Stamp)
    }

    /// Does a data chunk carry a copy of the checksum of its neighbour?
    pub const fn has_buddies(self) -> bool {
        matches!(self, Scheme::Pure | Scheme::Hybrid2)
    }

    /// Is there an appendix at all?
    pub const fn has_appendix(self) -> bool {
        !matches!(self, Scheme::None)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
