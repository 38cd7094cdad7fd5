//! The exit status of smartctl: eight bits, each with a meaning (smartctl(8), "EXIT STATUS").

/// The exit status as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmartctlExit(pub u8);

/// The meaning of each bit, the lowest first.
const WORDS: [&str; 8] = [
    "it did not understand its command line",
    "the device could not be opened, or sleeps",
    "a command to the drive failed, or its answer had a wrong checksum",
    "the drive says that it is failing",
    "an attribute that foretells failures is at or below its threshold",
    "an attribute was at or below its threshold some time ago",
    "the drive's error log has entries",
    "the drive's self-test log has errors",
];

impl SmartctlExit {
    /// Bits 3 and 4: the drive is failing by its own measure.
    pub const FAILING: u8 = 1 << 3 | 1 << 4;
    /// Bits 2 and 5 to 7: notes about data that are present all the same: a page is missing, or entries in logs that
    /// are never emptied.
    pub const NOTES: u8 = 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7;
    /// Bits 0 to 2: the data could not be read.
    pub const UNDONE: u8 = 1 << 0 | 1 << 1 | 1 << 2;

    /// Is one of these bits set?
    pub fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }

    /// The meanings of those of `bits` that are set, the lowest first.
    pub fn words(self, bits: u8) -> Vec<&'static str> {
        (0..8).filter(|bit| self.0 & bits & 1 << bit != 0).map(|bit| WORDS[bit]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_has_its_words() {
        assert_eq!(SmartctlExit(0).words(0xff), [""; 0]);
        assert_eq!(SmartctlExit(0xff).words(0xff), WORDS);
        assert_eq!(SmartctlExit(0x98).words(SmartctlExit::FAILING), [WORDS[3], WORDS[4]]);
        assert_eq!(SmartctlExit(0x9e).words(SmartctlExit::NOTES), [WORDS[2], WORDS[7]]);
    }
}
