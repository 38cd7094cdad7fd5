//! Fingerprints of settings: numbers that change with the settings.

use ring::digest::{Context, SHA256};

/// Computes a fingerprint from settings that are added one after the other.
pub(crate) struct FingerprintMaker(Context);

impl FingerprintMaker {
    /// Begins the fingerprint of a channel of this name.
    pub(crate) fn new(channel: &str) -> FingerprintMaker {
        let mut maker = FingerprintMaker(Context::new(&SHA256));
        maker.add("channel", Some(channel.as_bytes()));
        maker
    }

    /// Adds a setting, or its absence.
    pub(crate) fn add(&mut self, key: &str, value: Option<&[u8]>) {
        self.part(key.as_bytes());
        match value {
            None => self.0.update(&[0]),
            Some(value) => {
                self.0.update(&[1]);
                self.part(value);
            }
        }
    }

    /// Adds bytes with their length before them, so that different lists of settings never give the same text.
    fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The first 64 bits of a SHA-256: it is stored in the data base, and reveals no secret.
    pub(crate) fn finish(self) -> u64 {
        self.0.finish().as_ref().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint_of(settings: &[(&str, Option<&str>)]) -> u64 {
        let mut maker = FingerprintMaker::new("email");
        for (key, value) in settings {
            maker.add(key, value.map(str::as_bytes));
        }
        maker.finish()
    }

    #[test]
    fn a_fingerprint_is_the_same_in_every_version_and_differs_with_each_setting() {
        assert_eq!(fingerprint_of(&[("to", Some("a"))]), 11_985_987_766_759_940_803, "it is in data bases");
        let changed = [
            fingerprint_of(&[("to", Some("b"))]),
            fingerprint_of(&[("to", Some(""))]),
            fingerprint_of(&[("to", None)]),
            fingerprint_of(&[("t", Some("oa"))]),
            fingerprint_of(&[("to", Some("a")), ("to", Some("a"))]),
        ];
        let mut all = changed.to_vec();
        all.push(fingerprint_of(&[("to", Some("a"))]));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), changed.len() + 1);
    }
}
