//! The text of `explain`: labelled paragraphs, no wider than 80 columns.

use super::explained::Explained;
use crate::say::{prose_width, wrapped};
use crate::zfs;
use scrubjay_control::surface;
use scrubjay_control::wording::now_of;
use scrubjay_control::wording::{date, moment};
use scrubjay_control::{ArrayEntry, DiskEntry};
use scrubjay_core::quantity::show_count;
use scrubjay_core::units::Bytes;
use scrubjay_daemon::smartctl::exit::SmartctlExit;
use scrubjay_device::clock;
use scrubjay_watch::counters::{self, CounterKind};
use scrubjay_watch::facts::SmartFacts;
use scrubjay_watch::health::{BaseRate, HealthState};
use scrubjay_words::{base_rate, counter, nvme_warnings};
use std::io::{self, Write};

/// Columns of the line that draws the speed of each part.
const SPEED_COLUMNS: usize = 64;
/// Columns of the labels.
const LABEL: usize = 12;

/// Writes the whole text.
pub fn write(explained: &Explained, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let width = prose_width(width);
    for line in wrapped(&format!("{}.", explained.headline()), width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    let to_do = explained.to_do();
    let is_list = to_do.len() > 1;
    let numbered = |(number, step): (usize, String)| if is_list { format!("{}. {step}", number + 1) } else { step };
    let sections = [
        ("Disk", vec![identity(explained)]),
        ("Why", reasons(explained)),
        ("Drive says", drive(explained)),
        ("Counters", counters(explained)),
        ("Our scrubs", scrubs(explained)),
        ("Speed", speed(explained, width - LABEL)),
        ("The watch", watch(explained)),
        ("Pool", pools(explained)),
        ("Not known", unknown(explained)),
        ("Do", to_do.into_iter().enumerate().map(numbered).collect()),
    ];
    for (label, paragraphs) in sections {
        let mut label = label;
        for line in paragraphs.iter().flat_map(|paragraph| wrapped(paragraph, width - LABEL)) {
            writeln!(out, "{}", format!("{label:LABEL$}{line}").trim_end())?;
            label = "";
        }
    }
    Ok(())
}

/// The pools of ZFS that it is a member of, and what to do about them.
fn pools(explained: &Explained) -> Vec<String> {
    let words = |pool: &ArrayEntry| {
        let advice = zfs::advice(pool).map(|advice| format!("-> {advice}"));
        [Some(format!("{}.", zfs::words(pool, clock::today().0))), advice].into_iter().flatten().collect::<Vec<_>>()
    };
    explained.pools.iter().flat_map(words).collect()
}

fn identity(explained: &Explained) -> String {
    let about = &explained.answer.about;
    let parts = [
        explained.model().map(str::to_owned),
        explained.serial().map(|serial| format!("serial {serial}")),
        about.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
        explained.bytes().map(|bytes| Bytes(bytes).to_string()),
        explained.is_spinning().map(|is_spinning| if is_spinning { "hard disk" } else { "flash" }.to_owned()),
        about.power_on_hours.map(|hours| format!("switched on for {} h", show_count(hours))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing is known of what it is".to_owned() } else { parts.join(", ") }
}

/// The signs; the last one of those with the same base rate is followed by that rate.
fn reasons(explained: &Explained) -> Vec<String> {
    let signs = &explained.signs;
    let mut reasons: Vec<String> = Vec::new();
    for (index, sign) in signs.iter().enumerate() {
        let rate = sign.base_rate();
        let is_last = signs.get(index + 1).is_none_or(|next| next.base_rate() != rate);
        reasons.push(format!("- {}", scrubjay_words::sign(sign)));
        match rate.filter(|_| is_last) {
            Some(rate) => {
                let (words, source) = base_rate(rate);
                reasons.push(format!("({words}; {source})"));
            }
            None if is_last => reasons.push("(no base rate is known)".to_owned()),
            None => {}
        }
    }
    reasons.extend(explained.watch_reasons().into_iter().map(|reason| format!("- {reason} (by the watch)")));
    // That the drive tells nothing is a reason only where there is no other: else it is listed under what is not known.
    let obstacle = explained.obstacle().filter(|_| reasons.is_empty());
    reasons.extend(obstacle.map(|obstacle| format!("- {}", obstacle.words())));
    reasons
}

fn drive(explained: &Explained) -> Vec<String> {
    let about = &explained.answer.about;
    let Ok(facts) = &explained.answer.outcome else {
        return about.own_verdict.map(|passed| verdict(Some(passed)).to_owned()).into_iter().collect();
    };
    let mut lines = vec![match (about.own_verdict, facts.passed) {
        (Some(false), Some(true)) => "that it warns, and not that it fails (smartctl calls both FAILED)".to_owned(),
        (_, passed) => verdict(passed).to_owned(),
    }];
    if !about.below_threshold.is_empty() {
        lines.push(format!("at or below its own threshold: {}", about.below_threshold.join(", ")));
    }
    if facts.is_self_testing {
        lines.push("it is testing itself now".to_owned());
    }
    let notes = about.exit.map(|exit| exit.words(SmartctlExit::NOTES)).unwrap_or_default();
    lines.extend(notes.iter().map(|note| format!("smartctl notes: {note}")));
    lines
}

/// The drive's own verdict, in words.
fn verdict(passed: Option<bool>) -> &'static str {
    match passed {
        Some(true) => "PASSED",
        Some(false) => "FAILING",
        None => "no verdict of its own",
    }
}

fn counters(explained: &Explained) -> Vec<String> {
    let Ok(facts) = &explained.answer.outcome else { return Vec::new() };
    let mut parts: Vec<String> = counters::decode(facts)
        .into_iter()
        .map(|(kind, value)| format!("{} {}", counter(kind), show_count(value)))
        .collect();
    parts.extend(nvme(facts));
    if facts.nvme.is_none() {
        parts.extend(
            facts
                .spare_blocks()
                .map(|spare| format!("spare blocks {} % (too few below {} %)", spare.left, spare.threshold)),
        );
        parts.extend(facts.endurance_used().map(|used| format!("endurance used {used} %")));
    }
    parts.extend(counters::celsius(facts).map(|celsius| format!("{celsius} °C")));
    let mut lines = vec![parts.join(", ")];
    if !explained.answer.about.missing.is_empty() {
        lines.push(format!("not reported by this drive: {}", explained.answer.about.missing.join(", ")));
    }
    lines
}

fn nvme(facts: &SmartFacts) -> Vec<String> {
    let Some(log) = facts.nvme else { return Vec::new() };
    let warning =
        if log.critical_warning == 0 { "none".to_owned() } else { nvme_warnings(log.critical_warning).into() };
    vec![
        format!("critical warning {:#04x} ({warning})", log.critical_warning),
        format!("spare blocks {} % (too few below {} %)", log.spare, log.spare_threshold),
        format!("endurance used {} %", log.used),
    ]
}

fn scrubs(explained: &Explained) -> Vec<String> {
    if let Some(DiskEntry { reading, .. }) = &explained.watched {
        let last = reading.oldest_read.map_or("not all of it yet".to_owned(), moment);
        let bad = match (reading.unreadable, reading.oldest_read) {
            (0, None) => "nothing unreadable so far".to_owned(),
            (0, Some(_)) => "no unreadable sector".to_owned(),
            (count, _) => format!("unreadable sectors: {}", show_count(count)),
        };
        return vec![format!("last full read: {last}; {bad}")];
    }
    let Some(record) = &explained.record else { return vec!["not looked up: no disk was named".to_owned()] };
    if !record.is_readable {
        return vec!["what they found cannot be read (run as root)".to_owned()];
    }
    let bad = match (record.bad_sectors, record.first_bad_share) {
        (None, _) => "nothing is known of its sectors".to_owned(),
        (Some(0), _) => "no unreadable sector".to_owned(),
        (Some(count), None) => format!("unreadable sectors: {}", show_count(count)),
        (Some(count), Some(share)) => {
            format!("unreadable sectors: {}, the first at {:.0} % of the surface", show_count(count), share * 100.0)
        }
    };
    let mut scrubs = vec![format!("last full read: {}; {bad}", record.last_full_read())];
    scrubs.extend(record.pass_share.map(|share| format!("a pass is at {:.0} %", (share * 100.0).floor())));
    scrubs
}

/// How fast its places answer.
fn speed(explained: &Explained, width: usize) -> Vec<String> {
    let Some(speed) = explained.speed.as_ref().filter(|_| explained.record.as_ref().is_some_and(|of| of.is_readable))
    else {
        return Vec::new();
    };
    let drawn = surface::drawn(speed, SPEED_COLUMNS.min(width));
    let words = surface::in_words(speed, &explained.name, date);
    Some(drawn).filter(|drawn| !drawn.is_empty()).into_iter().chain(words).collect()
}

/// How the watch reads the disk.
fn watch(explained: &Explained) -> Vec<String> {
    let Some(DiskEntry { reading, .. }) = &explained.watched else { return Vec::new() };
    let pass = if reading.pass_share.is_some() { "this pass" } else { "the next pass" };
    let ends = match reading.forecast {
        Some(forecast) => format!("; {pass} ends {} most likely", date(forecast.likely)),
        None => format!("; no end of {pass} is in sight"),
    };
    let due = match reading.lateness {
        Some(0) => format!("reads every sector by {}", date(reading.due)),
        _ => format!("was to read every sector by {}, and will be late", date(reading.due)),
    };
    vec![format!("{due}{ends}; now: {}", now_of(reading))]
}

/// What cannot be known from one reading, or without one.
pub fn unknown(explained: &Explained) -> Vec<String> {
    let mut unknown = Vec::new();
    match &explained.answer.outcome {
        // Where there is no other reason it is named as that.
        Err(_) if explained.signs.is_empty() && explained.watch_reasons().is_empty() => {
            unknown.push("what the drive counts".to_owned());
        }
        Err(obstacle) => unknown.push(format!("what the drive counts: {}", obstacle.words())),
        Ok(facts) => {
            unknown.push(
                "whether a counter grows: one reading does not show it, and growth matters more than any value"
                    .to_owned(),
            );
            let old = counters::decode(facts).into_iter().filter(|(kind, value)| !kind.is_of_medium() && *value > 0);
            let words = |(kind, value): (CounterKind, u64)| format!("{} {}", counter(kind), show_count(value));
            let old: Vec<String> = old.map(words).collect();
            if !old.is_empty() {
                unknown.push(format!("when these happened: {}; only more of them would be news", old.join(", ")));
            }
        }
    }
    // The rate was counted on hard disks.
    if explained.state == HealthState::Ok && explained.is_spinning() != Some(false) {
        let (rate, source) = base_rate(BaseRate::NoSign);
        unknown.push(format!("whether it fails all the same: {rate} ({source})"));
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disks::ScrubRecord;
    use scrubjay_daemon::smartctl::parse;

    #[test]
    fn there_are_as_many_bullets_as_reasons() {
        let answer = parse::answer(br#"{"smartctl": {"exit_status": 1}}"#, None);
        assert!(answer.outcome.is_err(), "the drive tells nothing");
        let record = ScrubRecord { is_readable: true, bad_sectors: Some(81), ..ScrubRecord::default() };
        let explained = Explained::from_facts("sda".to_owned(), None, Some(record), answer);
        let mut out = Vec::new();
        write(&explained, None, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("sda should be replaced: 1 reason.\n"), "{text}");
        assert_eq!(text.lines().filter(|line| line[LABEL.min(line.len())..].starts_with("- ")).count(), 1, "{text}");
        assert!(text.contains("\nNot known   what the drive counts: "), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_or_sends_commands_to_it() {
        let json = r#"{"smartctl": {"exit_status": 224}, "smart_status": {"passed": true}, "model_name": "E\u001b[31mvil",
            "ata_smart_attributes": {"table": [{"id": 197, "raw": {"value": 8}}, {"id": 198, "raw": {"value": 8}},
            {"id": 199, "raw": {"value": 87}}]}}"#;
        let explained = Explained::from_facts("sda".to_owned(), None, None, parse::answer(json.as_bytes(), None));
        for (terminal, width) in [(None, 80), (Some(200), 80), (Some(60), 60), (Some(10), 40)] {
            let mut out = Vec::new();
            write(&explained, terminal, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.starts_with("sda should be replaced: 2 reasons.\n") && !text.contains('\u{1b}'), "{text}");
        }
    }
}
