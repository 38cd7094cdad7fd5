//! What is not read in time, and sessions that cannot begin, or hang.

use crate::card;
use crate::date::{show_date, show_day};
use crate::hold::{FaultWords, HoldWords, hold_back, session_fault};
use crate::line::{Label, Line};
use crate::sentence::{Count, Said, sentences};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::hold::SessionFault;
use scrubjay_watch::problem::{ReadingHelp, SubjectCard, UnreadSectors};

sentences! {
    pub(crate) ReadingWords: "Reading: the subject of a message" {
        WereDue { subject: Said = card::example_label(), date: String = "12 Mar 2026" } =>
            "NOTICE {subject}: some sectors were due to be read by {date}",
        AreDue { subject: Said = card::example_label(), date: String = "12 Mar 2026" } =>
            "NOTICE {subject}: some sectors are not read yet, and due by {date}",
        Hangs { subject: Said = card::example_label() } => "NOTICE {subject}: its scrub hangs",
        CannotBeScrubbed { subject: Said = card::example_label(), date: String = "12 Mar 2026" } =>
            "NOTICE {subject}: its scrubs have failed since {date}",
    }
}

sentences! {
    pub(crate) ReadingLines: "Reading: lines of a message" {
        Ends { low: String = "12 Mar 2026", high: String = "15 Mar 2026" } => "the pass ends {low} to {high}, in 8 of 10 cases",
        DoesNotEnd => "the pass does not end within a year",
        HeldBack { why: Said = HoldWords::OnBattery } => "{why}",
        Share { percent: u8 = 37u8 } => "{percent} % of this pass",
        Cause => "none: it is idle long enough; what holds it back, or slows it, is the cause",
        Hours { needed: u64 = 30u64, allowed: u64 = 12u64, total: u64 = 60u64 } =>
            "allow more hours: it needs {needed} idle hours a week, its hours have {allowed} of {total}",
        Time { needed: u64 = 30u64, allowed: u64 = 12u64 } =>
            "it is idle {allowed} of the {needed} hours a week it needs: allow more time: sudo scrubjay set scrub.every 60d",
        NoVerdict { sectors: Count = Count(2048, "sector") } => "none: its last pass got no verdict on {sectors}",
        NobodyKnows => "Until a sector is read nobody knows whether it still can be.",
        NeitherAnswers => "It does not answer or end; disks that need not wait for it are read meanwhile.",
        LookAtLog => "look for it in the kernel's log (journalctl -k), then: sudo systemctl restart scrubjay",
        Why { fault: Said = FaultWords::EndedByItself } => "{fault}",
        TriedAgain => "This says nothing of what it holds; it is tried again every hour.",
        SeeAbove => "mend what is named above; else look into the log (journalctl -u scrubjay)",
    }
}

pub(crate) fn unread_headline(sectors: &UnreadSectors, calendar: &dyn Calendar) -> Said {
    let (subject, date) = (card::label(&sectors.subject), show_date(calendar, sectors.due));
    match sectors.is_over {
        true => ReadingWords::WereDue { subject, date }.into(),
        false => ReadingWords::AreDue { subject, date }.into(),
    }
}

pub(crate) fn unread_lines(sectors: &UnreadSectors, calendar: &dyn Calendar) -> Vec<Line> {
    let ends = match sectors.ends {
        Some((low, high)) => ReadingLines::Ends { low: show_day(low), high: show_day(high) },
        None => ReadingLines::DoesNotEnd,
    };
    let held = match &sectors.held {
        Some(why) => Line::of(Label::HeldBack, ReadingLines::HeldBack { why: hold_back(why, calendar) }),
        None => Line::of(Label::Read, ReadingLines::Share { percent: sectors.percent }),
    };
    let help = match (sectors.unjudged, sectors.help) {
        (0, ReadingHelp::Cause) => ReadingLines::Cause,
        (0, ReadingHelp::Hours { needed, allowed, total }) => ReadingLines::Hours { needed, allowed, total },
        (0, ReadingHelp::Time { needed, allowed }) => ReadingLines::Time { needed, allowed },
        (unjudged, _) => ReadingLines::NoVerdict { sectors: Count(unjudged, "sector") },
    };
    vec![
        card::subject_line(&sectors.subject),
        Line::of(Label::Forecast, ends),
        held,
        Line::of(Label::Help, help),
        Line::plain(ReadingLines::NobodyKnows),
    ]
}

pub(crate) fn hangs_headline(subject: &SubjectCard) -> Said {
    ReadingWords::Hangs { subject: card::label(subject) }.into()
}

pub(crate) fn hangs_lines(subject: &SubjectCard) -> Vec<Line> {
    vec![
        card::subject_line(subject),
        Line::plain(ReadingLines::NeitherAnswers),
        Line::of(Label::Do, ReadingLines::LookAtLog),
    ]
}

pub(crate) fn refused_headline(subject: &SubjectCard, since: UnixSeconds, calendar: &dyn Calendar) -> Said {
    ReadingWords::CannotBeScrubbed { subject: card::label(subject), date: show_date(calendar, since) }.into()
}

pub(crate) fn refused_lines(subject: &SubjectCard, fault: &SessionFault) -> Vec<Line> {
    vec![
        card::subject_line(subject),
        Line::of(Label::Why, ReadingLines::Why { fault: session_fault(fault) }),
        Line::plain(ReadingLines::TriedAgain),
        Line::of(Label::Do, ReadingLines::SeeAbove),
    ]
}
