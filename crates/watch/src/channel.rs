//! The proof of alert channels: a channel counts only after a person has confirmed a code that came by it.

use crate::calendar::{DAY, after, elapsed};
use scrubjay_core::units::UnixSeconds;

/// Days for which a proof is valid: three monthly reports, each of which can renew it.
pub const PROOF_DAYS: u64 = 90;
/// Seconds until an unproven or a failing channel is reported.
pub const REPORT_AFTER: u64 = DAY;
/// Wrong codes after which the code that was sent is void: ten attempts hardly guess one of a million codes.
pub const WRONG_MAX: u32 = 10;

/// The state of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChannelRow {
    /// Its name.
    pub name: String,
    /// The fingerprint of the settings to which all below applies.
    pub fingerprint: u64,
    /// Since when these settings are known.
    pub known_since: UnixSeconds,
    /// The code that was last sent by it.
    pub code: Option<String>,
    /// When a person last confirmed a code.
    pub proven: Option<UnixSeconds>,
    /// Since when it has accepted no message that was sent.
    pub failing_since: Option<UnixSeconds>,
    /// When it last accepted a message.
    pub delivered: Option<UnixSeconds>,
    /// Were the incidents that were open when it was added sent to it?
    pub is_caught_up: bool,
    /// The recipients whom the other side refuses for good, ascending, and its reply to each.
    pub refused: Vec<(String, String)>,
}

/// Whether a channel is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ProofState {
    /// Proven: a person confirmed a code that came by it, at this time.
    Proven(UnixSeconds),
    /// Proven too long ago: the proof expired at this time.
    Expired(UnixSeconds),
    /// Never proven with these settings.
    Never,
}

impl ChannelRow {
    /// A new channel, not proven.
    pub fn new(name: String, fingerprint: u64, now: UnixSeconds) -> ChannelRow {
        let (code, proven, failing_since, delivered) = (None, None, None, None);
        let is_caught_up = false;
        ChannelRow {
            name,
            fingerprint,
            known_since: now,
            code,
            proven,
            failing_since,
            delivered,
            is_caught_up,
            refused: Vec::new(),
        }
    }

    /// Whether it is proven.
    pub fn proof(&self, now: UnixSeconds) -> ProofState {
        match self.proven {
            None => ProofState::Never,
            Some(confirmed) if elapsed(now, confirmed) < PROOF_DAYS * DAY => ProofState::Proven(confirmed),
            Some(confirmed) => ProofState::Expired(after(confirmed, PROOF_DAYS * DAY)),
        }
    }

    /// Has it been unproven long enough to be reported?
    pub fn is_unproven(&self, now: UnixSeconds) -> bool {
        match self.proof(now) {
            ProofState::Proven(_) => false,
            ProofState::Expired(since) => elapsed(now, since) >= REPORT_AFTER,
            ProofState::Never => elapsed(now, self.known_since) >= REPORT_AFTER,
        }
    }

    /// Has it failed long enough to be reported?
    pub fn is_failing(&self, now: UnixSeconds) -> bool {
        self.failing_since.is_some_and(|since| elapsed(now, since) >= REPORT_AFTER)
    }

    /// Takes a code that a person read; returns whether it is the one that was sent.
    pub fn confirm(&mut self, now: UnixSeconds, code: &str) -> bool {
        let is_right = self.code.as_deref() == Some(code.trim());
        if is_right {
            (self.proven, self.code) = (Some(now), None);
        }
        is_right
    }
}

/// A code of six digits. It needs no protection, because it cannot be guessed within [`WRONG_MAX`] attempts.
pub fn code(secret: u64, number: u64) -> String {
    let mixed = (secret ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    format!("{:06}", (mixed ^ (mixed >> 31)) % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u64) -> UnixSeconds {
        UnixSeconds(20_000 * DAY + day * DAY)
    }

    #[test]
    fn a_proof_needs_the_code_and_is_good_for_90_days() {
        let mut channel = ChannelRow::new("email".into(), 1, day(0));
        assert!(!channel.is_unproven(day(0)) && channel.is_unproven(day(1)));
        channel.code = Some("004711".into());
        assert!(!channel.confirm(day(1), "4711") && channel.confirm(day(1), " 004711 "));
        assert!(!channel.confirm(day(2), "004711"), "a code is good once");
        assert_eq!(
            (channel.proof(day(90)), channel.proof(day(91))),
            (ProofState::Proven(day(1)), ProofState::Expired(day(91)))
        );
        assert!(!channel.is_unproven(day(91)) && channel.is_unproven(day(92)));
    }

    #[test]
    fn codes_have_six_digits_and_differ() {
        let mut codes: Vec<String> = (0..100).map(|number| code(7, number)).collect();
        assert!(codes.iter().all(|code| code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit())));
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), 100);
    }
}
