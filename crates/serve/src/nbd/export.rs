//! The exported device as clients see it: its name, size and limits.

use super::wire::transmission;

/// The longest payload of one request, either way, in bytes: 32 MiB, which clients may use without asking ("NBD protocol",
/// size constraints).
pub const PAYLOAD_MAX: u32 = 32 << 20;

/// The longest name of an export, in bytes ("NBD protocol", on strings).
pub const NAME_BYTES_MAX: usize = 4096;

/// The one device that is served. Clients may also ask for it by the empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    name: String,
    size: u64,
    block_preferred: u32,
    is_read_only: bool,
}

impl Export {
    /// A device of `size` bytes. `block_preferred`: offsets and lengths of requests should be multiples of it, in bytes.
    ///
    /// # Panics
    /// When the name is longer than [`NAME_BYTES_MAX`], or `block_preferred` is no power of two from 512 to
    /// [`PAYLOAD_MAX`].
    pub fn new(name: &str, size: u64, block_preferred: u32, is_read_only: bool) -> Export {
        assert!(name.len() <= NAME_BYTES_MAX, "a name of {} bytes", name.len());
        assert!(block_preferred.is_power_of_two() && (512..=PAYLOAD_MAX).contains(&block_preferred));
        Export { name: name.to_owned(), size, block_preferred, is_read_only }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The preferred multiple of offsets and lengths of requests, in bytes.
    pub fn block_preferred(&self) -> u32 {
        self.block_preferred
    }

    /// Are writes refused?
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Does a client mean this export by this name?
    pub fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// Transmission flags. CAN_MULTI_CONN: all connections see the same device, and a flush on one holds for all.
    pub fn flags(&self, is_structured: bool) -> u16 {
        use transmission::*;
        let writing = SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO;
        let kind = if self.is_read_only { READ_ONLY } else { writing };
        HAS_FLAGS | SEND_FLUSH | CAN_MULTI_CONN | kind | if is_structured { SEND_DF } else { 0 }
    }
}
