//! A proof of another machine: a person there confirmed a code that came by the very same settings.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use scrubjay_core::units::UnixSeconds;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// `NAME FINGERPRINT DATE`, as in `email 00f3a1b2c3d4e5f6 2026-11-29`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ChannelProof {
    name: String,
    fingerprint: u64,
    date: Date,
}

impl ChannelProof {
    /// The proof of these settings, on the day of this time (UTC).
    pub fn new(name: &str, fingerprint: u64, on: UnixSeconds) -> Option<ChannelProof> {
        let time = jiff::Timestamp::from_second(i64::try_from(on.0).ok()?).ok()?;
        Some(ChannelProof { name: name.to_owned(), fingerprint, date: TimeZone::UTC.to_datetime(time).date() })
    }

    /// When it proves the channel of this name, if it is of just these settings: at the beginning of its day.
    pub(super) fn of(&self, name: &str, fingerprint: u64) -> Option<UnixSeconds> {
        let is_same = self.name == name && self.fingerprint == fingerprint;
        let epoch = Date::constant(1970, 1, 1).at(0, 0, 0, 0);
        let begin = is_same.then(|| self.date.at(0, 0, 0, 0).duration_since(epoch).as_secs())?;
        u64::try_from(begin).ok().map(UnixSeconds)
    }
}

impl fmt::Display for ChannelProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:016x} {}", self.name, self.fingerprint, self.date)
    }
}

impl FromStr for ChannelProof {
    type Err = String;

    fn from_str(text: &str) -> Result<ChannelProof, String> {
        let error =
            || format!("`{text}` is no proof: copy the line that `scrubjay alert proof` prints on the other machine");
        let [name, fingerprint, date] = text.split_whitespace().collect::<Vec<_>>()[..] else { return Err(error()) };
        let is_whole = fingerprint.len() == 16;
        let fingerprint = u64::from_str_radix(fingerprint, 16).ok().filter(|_| is_whole).ok_or_else(error)?;
        let date = date.parse::<Date>().map_err(|_| error())?;
        Ok(ChannelProof { name: name.to_owned(), fingerprint, date })
    }
}

impl TryFrom<String> for ChannelProof {
    type Error = String;

    fn try_from(text: String) -> Result<ChannelProof, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_the_very_same_settings() {
        let proof = ChannelProof::new("email", 0xf3a1, UnixSeconds(1_795_950_000)).unwrap();
        assert_eq!(proof.to_string(), "email 000000000000f3a1 2026-11-29");
        assert_eq!(proof.to_string().parse(), Ok(proof.clone()));
        assert_eq!(proof.of("email", 0xf3a1), Some(UnixSeconds(1_795_910_400)));
        assert_eq!((proof.of("email", 0xf3a2), proof.of("ntfy", 0xf3a1)), (None, None));
    }

    #[test]
    fn what_is_no_proof_is_refused() {
        for text in [
            "",
            "email",
            "email f3a1 2026-11-29",
            "email 000000000000f3a1 29.11.",
            "email 000000000000f3a1 2026-11-29 x",
        ] {
            assert!(text.parse::<ChannelProof>().unwrap_err().contains("scrubjay alert proof"), "{text}");
        }
    }
}
