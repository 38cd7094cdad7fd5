//! The schemes: the primitives of integrity protection that an array combines.

use std::fmt;

/// How an array finds silent corruption (Li & Lee 2014, section V; `Stamp` is this project's own).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Bare RAID: no appendix, and nothing is found.
    None,
    /// Checksum mirroring only. Parity chunks are not protected.
    Pure,
    /// Self-checksum, physical identity, version mirroring; a version counts the writes of its own chunk.
    Hybrid1,
    /// Self-checksum, physical identity, checksum mirroring.
    Hybrid2,
    /// Hybrid-1 with one write number for the whole array as the version, and the checksum of every data chunk next to its
    /// version in the parities. A write costs no more disk I/O than in a bare array, except for reading one list where a
    /// reconstruct-write reads chunks that were not read since they were written.
    Stamp,
}

impl Scheme {
    /// All schemes, the bare array first.
    pub const ALL: [Scheme; 5] = [Scheme::None, Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp];

    /// The scheme's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::None => "none",
            Scheme::Pure => "pure",
            Scheme::Hybrid1 => "hybrid1",
            Scheme::Hybrid2 => "hybrid2",
            Scheme::Stamp => "stamp",
        }
    }

    /// The scheme with this name.
    pub fn by_name(name: &str) -> Option<Scheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// Whether a chunk carries a checksum of itself and its physical identity.
    pub const fn checks_itself(self) -> bool {
        matches!(self, Scheme::Hybrid1 | Scheme::Hybrid2 | Scheme::Stamp)
    }

    /// Whether a chunk carries a version, mirrored in the parities.
    pub const fn has_versions(self) -> bool {
        matches!(self, Scheme::Hybrid1 | Scheme::Stamp)
    }

    /// Whether the parities carry the checksum of each data chunk.
    pub const fn lists_sums(self) -> bool {
        matches!(self, Scheme::Pure | Scheme::Hybrid2 | Scheme::Stamp)
    }

    /// Whether a data chunk carries a copy of its predecessor's checksum.
    pub const fn has_buddies(self) -> bool {
        matches!(self, Scheme::Pure | Scheme::Hybrid2)
    }

    /// Whether rows have an appendix.
    pub const fn has_appendix(self) -> bool {
        !matches!(self, Scheme::None)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
