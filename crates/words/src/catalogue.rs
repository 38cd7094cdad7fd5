//! Every sentence, with an example: what docs/messages.md lists.

use crate::letter::Wording;
use crate::sentence::Sentences;
use crate::{
    advice, array, card, channel, condition, doing, exposure, failures, found, health, history, hold, letter, paced,
    pool, pool_scrub, reading, scrubbed, status, surface,
};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, UtcCalendar};
use scrubjay_watch::incident::MessageReason;
use scrubjay_watch::letter::{Letter, LetterContent, ToldIncident};
use std::fmt::Write;

/// The sentences of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// What they are about.
    pub about: &'static str,
    /// Each with what stands in it in braces, and an example.
    pub rows: Vec<(&'static str, String)>,
}

fn chapter<S: Sentences>() -> Chapter {
    Chapter { about: S::ABOUT, rows: S::rows().into_iter().map(|(text, row)| (text, row.to_string())).collect() }
}

/// All sentences of this crate, in the order in which people meet them.
pub fn catalogue() -> Vec<Chapter> {
    vec![
        chapter::<status::VerdictWords>(),
        chapter::<status::LightWords>(),
        chapter::<status::StandingWords>(),
        chapter::<status::ToDoWords>(),
        chapter::<letter::SubjectWords>(),
        chapter::<letter::FrameWords>(),
        chapter::<letter::CommonWords>(),
        chapter::<card::Called>(),
        chapter::<health::DiskWords>(),
        chapter::<health::SignWords>(),
        chapter::<health::SelfTestWords>(),
        chapter::<health::CounterWords>(),
        chapter::<health::WarningWords>(),
        chapter::<health::FailedWords>(),
        chapter::<surface::SpeedWords>(),
        chapter::<exposure::ExposureWords>(),
        chapter::<failures::FailuresWords>(),
        chapter::<failures::FailuresSteps>(),
        chapter::<health::RateWords>(),
        chapter::<health::SourceWords>(),
        chapter::<health::RefusalWords>(),
        chapter::<health::StripeWords>(),
        chapter::<health::DiskSteps>(),
        chapter::<advice::ReplaceSteps>(),
        chapter::<advice::PlaceWords>(),
        chapter::<reading::ReadingWords>(),
        chapter::<reading::ReadingLines>(),
        chapter::<hold::HoldWords>(),
        chapter::<hold::FaultWords>(),
        chapter::<condition::HeldWords>(),
        chapter::<condition::RecordedWords>(),
        chapter::<array::ArrayWords>(),
        chapter::<array::LostStripes>(),
        chapter::<array::FlawWords>(),
        chapter::<array::LackWords>(),
        chapter::<array::ArrayLines>(),
        chapter::<array::ArraySteps>(),
        chapter::<pool::PoolWords>(),
        chapter::<pool::DamageWords>(),
        chapter::<pool::PoolLines>(),
        chapter::<pool::PoolSteps>(),
        chapter::<hold::ScanWords>(),
        chapter::<channel::ChannelWords>(),
        chapter::<channel::ProofWords>(),
        chapter::<channel::ChannelLines>(),
        chapter::<scrubbed::ResultWords>(),
        chapter::<scrubbed::WrongWords>(),
        chapter::<scrubbed::ScrubAdvice>(),
        chapter::<scrubbed::CostWords>(),
        chapter::<paced::PaceWords>(),
        chapter::<pool_scrub::PoolScrubWords>(),
        chapter::<doing::DoingWords>(),
        chapter::<found::FoundWords>(),
        chapter::<found::MdWords>(),
        chapter::<found::BtrfsWords>(),
        chapter::<history::LossWords>(),
        chapter::<history::HowLost>(),
        chapter::<history::LossLines>(),
    ]
}

/// The head of docs/messages.md.
const HEAD: &str = "# What Scrubjay says\n\nEvery sentence that the watch, its page, its mails and pushes say of disks, arrays, pools and \
alerts. `cargo xtask messages`\nwrites this page of the tables in `crates/words`, and a test holds it to them: nothing else can be \
said. (What programs, drives and the kernel say is quoted; errors of commands are their own.)\n";

/// docs/messages.md.
pub fn page() -> String {
    let mut page = format!("{HEAD}\n## Whole messages\n\nOne of each kind, as it is mailed when it opens.\n");
    let wording = Wording { calendar: &UtcCalendar, host: "nas1" };
    for condition in condition::example_conditions() {
        let opened = UnixSeconds(condition::NOW.0 - DAY / 8);
        let incident = ToldIncident { condition, opened, is_accepted: false };
        let content = LetterContent::Incident {
            incident: Box::new(incident),
            reason: MessageReason::Opened,
            age_days: 0,
            reminder_days: 1,
        };
        let text = wording.message(&Letter { content, blind_since: None }).unwrap_or_default();
        let _ = write!(page, "\n```text\n{}\n\n{}\n```\n", text.subject(), text.body());
    }
    for Chapter { about, rows } in catalogue() {
        let _ = write!(page, "\n## {about}\n\n| sentence | for example |\n|---|---|\n");
        for (text, example) in rows {
            let cell = |text: &str| text.replace('|', "\\|").replace('<', "\\<");
            let example = if text == example { String::new() } else { cell(&example) };
            let _ = writeln!(page, "| {} | {example} |", cell(text));
        }
    }
    page
}
