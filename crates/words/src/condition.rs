//! What is wrong, in words: the headline of a condition, and the lines of a message about it.

use crate::health::{DiskSteps, DiskWords, RefusalWords};
use crate::line::{Label, Line, steps};
use crate::sentence::{Said, sentences};
use crate::{array, card, channel, health, history, pool, reading};
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::facts::SmartRefusal;
use scrubjay_watch::incident::Condition;
use scrubjay_watch::problem::{DiskCard, Problem};

sentences! {
    pub(crate) HeldWords: "What is not read meanwhile" {
        NotRead { names: Said = card::Called::Array { name: "md0".into() } } => "{names}: not read meanwhile, though due",
        NotReadAndMore { names: Said = card::Called::Array { name: "md0".into() }, more: usize = 3usize } =>
            "{names} and {more} more: not read meanwhile, though due",
    }
}

sentences! {
    pub(crate) RecordedWords: "What an earlier version found, until it is judged anew" {
        Headline { headline: String = "REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors" } => "{headline}",
    }
}

/// The condition in one line, for a lock screen: it begins with the word of what to do, such as REPLACE.
pub fn headline(condition: &Condition, calendar: &dyn Calendar) -> Said {
    match &condition.problem {
        Problem::Disk(evidence) => health::headline(evidence),
        Problem::DiskMissing(disk, _) => DiskWords::Missing { disk: card::disk_label(disk) }.into(),
        Problem::ArrayMissing(array, _) => array::missing_headline(array),
        Problem::DiskUnknown(disk, _) => DiskWords::NotKnown { disk: card::disk_label(disk) }.into(),
        Problem::PoolUnknown(array, _) => pool::unknown_headline(array),
        Problem::Unread(sectors) => reading::unread_headline(sectors, calendar),
        Problem::Unscrubbed { array, last, days, since, .. } => {
            pool::unscrubbed_headline(array, *last, *days, *since, calendar)
        }
        Problem::Hangs(subject) => reading::hangs_headline(subject),
        Problem::Refused(subject, since, _) => reading::refused_headline(subject, *since, calendar),
        Problem::Degraded(lost) => array::degraded_headline(lost),
        Problem::Stripes(damage) => array::stripes_headline(damage),
        Problem::Lost(array, sectors, _) => array::lost_headline(array, *sectors),
        Problem::VolumeLost(array, stripes) => array::volume_lost_headline(array, *stripes),
        Problem::PoolLost(trouble) => pool::lost_headline(trouble),
        Problem::Disagreement { array, corrected, mismatched } => array::flaws_headline(array, *corrected, *mismatched),
        Problem::PoolErrors(array, errors) => pool::errors_headline(array, errors),
        Problem::Unproven(name, proof) => channel::unproven_headline(name, *proof, calendar),
        Problem::Undelivered(name, since) => channel::undelivered_headline(name, *since, calendar),
        Problem::Recipients(name, refused) => channel::recipients_headline(name, refused),
        Problem::History(loss) => history::headline(loss),
        Problem::Recorded(_, headline) => RecordedWords::Headline { headline: headline.clone() }.into(),
    }
}

/// Further lines of the message about it.
pub(crate) fn lines(condition: &Condition, calendar: &dyn Calendar) -> Vec<Line> {
    let date = |at| crate::date::show_date(calendar, at);
    let mut lines = match &condition.problem {
        Problem::Disk(evidence) => health::lines(evidence),
        Problem::DiskMissing(disk, since) => missing(disk, date(*since)),
        Problem::ArrayMissing(array, since) => array::missing_lines(array, date(*since)),
        Problem::DiskUnknown(disk, refused) => unknown(disk, *refused),
        Problem::PoolUnknown(array, why) => pool::unknown_lines(array, why),
        Problem::Unread(sectors) => reading::unread_lines(sectors, calendar),
        Problem::Unscrubbed { array, last, since, scan, .. } => {
            pool::unscrubbed_lines(array, *last, *since, *scan, calendar)
        }
        Problem::Hangs(subject) => reading::hangs_lines(subject),
        Problem::Refused(subject, _, fault) => reading::refused_lines(subject, fault),
        Problem::Degraded(lost) => array::degraded_lines(lost),
        Problem::Stripes(damage) => array::stripes_lines(damage),
        Problem::Lost(array, _, runs) => array::lost_lines(array, runs),
        Problem::VolumeLost(array, _) => array::volume_lost_lines(array),
        Problem::PoolLost(trouble) => pool::lost_lines(trouble),
        Problem::Disagreement { array, mismatched, .. } => array::flaws_lines(array, *mismatched),
        Problem::PoolErrors(array, errors) => pool::errors_lines(array, errors),
        Problem::Unproven(_, proof) => channel::unproven_lines(*proof),
        Problem::Undelivered(..) => channel::undelivered_lines(),
        Problem::Recipients(_, refused) => channel::recipients_lines(refused),
        Problem::History(loss) => history::lines(loss, calendar),
        Problem::Recorded(..) => Vec::new(),
    };
    if !condition.held.is_empty() {
        let names = crate::sentence::joined(condition.held.iter().map(card::label), ", ");
        let words = match condition.held_more {
            0 => HeldWords::NotRead { names },
            more => HeldWords::NotReadAndMore { names, more },
        };
        lines.push(Line::of(Label::HeldBack, words));
    }
    lines
}

fn missing(disk: &DiskCard, date: String) -> Vec<Line> {
    let mut lines = vec![card::disk_line(disk), Line::of(Label::Missing, DiskWords::MissingSince { date })];
    lines.extend(steps([DiskSteps::LookAtCable.into(), DiskSteps::AnotherPort.into(), DiskSteps::OnlyThen.into()]));
    lines.push(Line::of(Label::Quiet, DiskSteps::QuietOnceOut { key: (&disk.key.0).into() }));
    lines
}

fn unknown(disk: &DiskCard, refused: Option<SmartRefusal>) -> Vec<Line> {
    vec![
        card::disk_line(disk),
        Line::of(Label::Unknown, unknown_why(refused)),
        Line::plain(DiskWords::ReadAllTheSame),
        Line::of(Label::Quiet, DiskSteps::QuietIfItCannot { key: (&disk.key.0).into() }),
    ]
}

fn unknown_why(refused: Option<SmartRefusal>) -> Said {
    refused.map_or_else(|| RefusalWords::NotRead.into(), health::refusal)
}

/// What the conditions of several disks have in common, beyond their kind.
pub(crate) fn common_lines(conditions: &[Condition]) -> Vec<Line> {
    let whys = conditions.iter().filter_map(|condition| match &condition.problem {
        Problem::DiskUnknown(_, refused) => Some(*refused),
        _ => None,
    });
    let whys: Vec<Option<SmartRefusal>> = whys.collect();
    match whys.first() {
        Some(first) if whys.len() == conditions.len() && whys.iter().all(|why| why == first) => {
            vec![Line::of(Label::Unknown, unknown_why(*first)), Line::plain(DiskWords::ReadAllTheSame)]
        }
        _ => Vec::new(),
    }
}
