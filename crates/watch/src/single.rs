//! How a disk is by one reading of SMART, without a history of it: the signs of the watch, without growth.

use crate::counters::{self, CounterHistory};
use crate::facts::{MediaKind, SmartReading};
use crate::health::{self, DriveReport, HealthSign, HealthState, OwnEvidence};
use crate::observe::drive_word;
use crate::settings::WatchSettings;
use scrubjay_core::units::UnixSeconds;

/// The state of a disk, and its signs. Without a reading it is at best asleep or unknown.
pub fn judge(reading: &SmartReading, media: MediaKind, evidence: &OwnEvidence) -> (HealthState, Vec<HealthSign>) {
    let settings = WatchSettings::default();
    let limit = if media == MediaKind::Flash { settings.celsius_max_flash } else { settings.celsius_max };
    let (word, counters, state_without_signs) = match reading {
        SmartReading::Facts(facts) => {
            let state = if counters::has_evidence(facts) { HealthState::Ok } else { HealthState::Unknown };
            (drive_word(facts, limit, &DriveReport::default()), counters::decode(facts), state)
        }
        SmartReading::Asleep => (Default::default(), Default::default(), HealthState::Asleep),
        SmartReading::Refused(_) => (Default::default(), Default::default(), HealthState::Unknown),
    };
    let counters = counters.into_iter().map(|(kind, value)| (kind, CounterHistory::new(value))).collect();
    // There is no growth in a single reading, so the date does not matter.
    let signs = health::signs(UnixSeconds(0), media, &word, &counters, evidence);
    (health::gravest(&signs).unwrap_or(state_without_signs), signs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{AtaAttribute, NvmeLog, SmartFacts, SmartRefusal};
    use crate::health::BaseRate;

    fn reading_with(attributes: &[(u8, u64)]) -> SmartReading {
        let attributes = attributes.iter().map(|&(id, raw)| AtaAttribute::usual(id, raw)).collect();
        SmartReading::Facts(SmartFacts { passed: Some(true), attributes, ..SmartFacts::default() })
    }

    #[test]
    fn a_disk_without_smart_data_is_never_ok() {
        let no_evidence = OwnEvidence::default();
        assert_eq!(judge(&reading_with(&[(5, 0)]), MediaKind::Spinning, &no_evidence), (HealthState::Ok, vec![]));
        let empty = SmartReading::Facts(SmartFacts { celsius: Some(30), ..SmartFacts::default() });
        assert_eq!(judge(&empty, MediaKind::Spinning, &no_evidence), (HealthState::Unknown, vec![]));
        assert_eq!(judge(&SmartReading::Asleep, MediaKind::Spinning, &no_evidence), (HealthState::Asleep, vec![]));
        for refusal in
            [SmartRefusal::NoPermission, SmartRefusal::NotSupported, SmartRefusal::NoProgram, SmartRefusal::NoAnswer]
        {
            assert_eq!(
                judge(&SmartReading::Refused(refusal), MediaKind::Spinning, &no_evidence),
                (HealthState::Unknown, vec![])
            );
        }
    }

    #[test]
    fn unreadable_sectors_found_by_scrubbing_count_whatever_the_drive_reports() {
        let evidence = OwnEvidence { unreadable: 8, ..OwnEvidence::default() };
        for reading in
            [reading_with(&[(5, 0)]), SmartReading::Asleep, SmartReading::Refused(SmartRefusal::NoPermission)]
        {
            let (state, signs) = judge(&reading, MediaKind::Spinning, &evidence);
            assert_eq!((state, signs), (HealthState::Replace, vec![HealthSign::UnreadableSectors(8)]));
        }
    }

    #[test]
    fn base_rates_counted_on_sata_disks_are_not_applied_to_nvme_disks() {
        let log = NvmeLog { critical_warning: 0, spare: 100, spare_threshold: 10, used: 0, media_errors: 7 };
        let facts = SmartFacts { passed: Some(true), nvme: Some(log), ..SmartFacts::default() };
        let (state, signs) = judge(&SmartReading::Facts(facts), MediaKind::Flash, &OwnEvidence::default());
        assert_eq!((state, signs.len()), (HealthState::Watch, 1));
        assert_eq!(signs[0].base_rate(), Some(BaseRate::FlashLostRead));
    }

    #[test]
    fn a_single_reading_shows_no_growth() {
        let (state, signs) = judge(&reading_with(&[(197, 8), (198, 8)]), MediaKind::Spinning, &OwnEvidence::default());
        assert_eq!(state, HealthState::Replace, "two signs");
        assert!(signs.iter().all(|sign| matches!(sign, HealthSign::Level { is_grave: true, .. })));
        let cable = judge(&reading_with(&[(5, 0), (199, 87), (188, 12)]), MediaKind::Spinning, &OwnEvidence::default());
        assert_eq!(cable.0, HealthState::Ok);
    }
}
