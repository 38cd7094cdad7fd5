//! Fuzzes the output of smartctl: a disk without known facts is never ok, and no message commands a terminal.

#![no_main]

use scrubjay_daemon::smartctl::parse;
use scrubjay_watch::counters;
use scrubjay_watch::facts::MediaKind;
use scrubjay_watch::health::{HealthState, OwnEvidence};
use scrubjay_watch::single;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // The first byte is the exit status; 255: not known.
    let Some((&status, output)) = data.split_first() else { return };
    let answer = parse::answer(output, (status != u8::MAX).then_some(status));
    let (state, signs) = single::judge(&answer.reading(), MediaKind::Spinning, &OwnEvidence::default());
    match &answer.outcome {
        Ok(facts) => {
            assert!(state != HealthState::Ok || counters::has_evidence(facts), "by what is it judged?");
            assert!(facts.passed != Some(false) || state == HealthState::Replace);
        }
        Err(obstacle) => {
            assert!(matches!(state, HealthState::Unknown | HealthState::Asleep), "{state:?}");
            let said = format!("{}{}", obstacle.words(), obstacle.advice("sda"));
            assert!(!said.contains(char::is_control), "{said:?}");
        }
    }
    assert!(state != HealthState::Ok || signs.is_empty());
    let about = &answer.about;
    let named = [&about.model, &about.serial, &about.firmware];
    assert!(named.into_iter().flatten().chain(&about.below_threshold).all(|text| !text.contains(char::is_control)));
});
