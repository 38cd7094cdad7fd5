//! The targets that are given to users: one row each.

/// What a program needs of the system's libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedTo {
    /// The system's C library, of [`GLIBC`] or newer.
    Glibc,
    /// Nothing: musl is in the file.
    Nothing,
}

/// The oldest glibc that programs run on: Debian 10, RHEL 8 and Ubuntu 18.10 have it. (`preadv2` asks for 2.26.)
pub const GLIBC: (u32, u32) = (2, 28);

/// A target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistTarget {
    /// As Rust calls it.
    pub triple: &'static str,
    /// What its programs need.
    pub linked_to: LinkedTo,
    /// The architecture as Linux and rpm call it.
    pub machine: &'static str,
    /// The architecture as Debian, Go and OCI call it.
    pub architecture: &'static str,
}

/// All targets.
pub const ALL: [DistTarget; 4] = [
    DistTarget {
        triple: "x86_64-unknown-linux-gnu",
        linked_to: LinkedTo::Glibc,
        machine: "x86_64",
        architecture: "amd64",
    },
    DistTarget {
        triple: "aarch64-unknown-linux-gnu",
        linked_to: LinkedTo::Glibc,
        machine: "aarch64",
        architecture: "arm64",
    },
    DistTarget {
        triple: "x86_64-unknown-linux-musl",
        linked_to: LinkedTo::Nothing,
        machine: "x86_64",
        architecture: "amd64",
    },
    DistTarget {
        triple: "aarch64-unknown-linux-musl",
        linked_to: LinkedTo::Nothing,
        machine: "aarch64",
        architecture: "arm64",
    },
];

impl DistTarget {
    /// The target with the version of the C library, as cargo-zigbuild wants it.
    pub fn for_zig(&self) -> String {
        match self.linked_to {
            LinkedTo::Glibc => format!("{}.{}.{}", self.triple, GLIBC.0, GLIBC.1),
            LinkedTo::Nothing => self.triple.to_owned(),
        }
    }
}
