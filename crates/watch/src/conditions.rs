//! Present problems: the condition of every incident that should be open.

use crate::calendar::{DAY, HOUR, elapsed, show_date};
use crate::causes::{HELD_SHOWN_MAX, degraded_key};
use crate::events::WatchBug;
use crate::facts::{ArrayFacts, ArrayKind, DiskKey};
use crate::health::{HealthSign, HealthState};
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentRow, IncidentSubject, Urgency};
use crate::passes::ArrayFlaws;
use crate::pool::{PoolLack, ZpoolFacts};
use crate::reading::{ReadingState, SessionPhase};
use crate::risk::{StripeRisk, stripe_risk};
use crate::rows::SessionRefusal;
use crate::state::{ArrayState, DiskState, MISSING_AFTER, STALE_AFTER, Watch};
use crate::subject::WatchedSubject;
use crate::words::{counted, typed};
use scrubjay_core::units::{Bytes, SECTOR_BYTES, UnixSeconds};
use std::collections::{BTreeMap, BTreeSet};

/// Seconds for which a subject's sessions cannot begin before it is reported.
const STUCK_AFTER: u64 = DAY;
/// Signs of a disk that one message lists, at most.
const SIGNS_SHOWN_MAX: usize = 5;

/// Present problems.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// The condition of each incident that should be open.
    pub found: BTreeMap<IncidentKey, Condition>,
    /// Incidents that stay as they were: they cannot be judged now, or their words are fresh enough.
    pub unjudged: BTreeSet<IncidentKey>,
    /// Incidents that send no messages, because the disk is not there and that is reported, or known to be short.
    pub held: BTreeSet<IncidentKey>,
    /// Disks whose condition was put in words in this turn.
    described: Vec<DiskKey>,
}

/// The part of a disk's condition that is compared at each turn; the lines below it are written again once an hour.
struct ConditionOutline {
    urgency: Urgency,
    amounts: Vec<(String, u64)>,
    headline: String,
}

impl ConditionOutline {
    /// `None`: nothing speaks against the disk.
    fn of(disk: &DiskState, signs: &[HealthSign]) -> Option<ConditionOutline> {
        let (urgency, word) = match signs.iter().map(HealthSign::state).max()? {
            HealthState::Replace => (Urgency::Replace, "REPLACE"),
            HealthState::Hot => (Urgency::Replace, "HOT"),
            HealthState::Worn => (Urgency::Notice, "WORN"),
            _ => (Urgency::Notice, "WATCH"),
        };
        // What the drive counts because of sectors that our own reads met is no news beside them.
        let own =
            signs.iter().map(|sign| if let HealthSign::UnreadableSectors(count) = sign { *count } else { 0 }).max();
        let is_news = |sign: &&HealthSign| match sign {
            HealthSign::Growth { kind, value, .. } | HealthSign::Level { kind, value, .. } => {
                !kind.counts_bad_reads() || Some(*value) > own
            }
            _ => true,
        };
        let mut amounts: Vec<(String, u64)> = signs.iter().filter(is_news).flat_map(HealthSign::amounts).collect();
        amounts.sort();
        let headline = format!("{word} {}: {}", disk.label(), signs[0].words());
        Some(ConditionOutline { urgency, amounts, headline })
    }

    fn matches(&self, known: &Condition) -> bool {
        (self.urgency, &self.amounts, &self.headline) == (known.urgency, &known.amounts, &known.headline)
    }
}

impl Watch {
    /// Checks everything for problems.
    pub(crate) fn conditions(&mut self, now: UnixSeconds) -> Conditions {
        let mut conditions = Conditions::default();
        self.refresh_foreseen(now);
        for disk in self.disks.values() {
            self.check_disk(disk, now, &mut conditions);
        }
        self.described.extend(conditions.described.drain(..).map(|key| (key, now)));
        for array in self.arrays.values() {
            let (facts, key_of) =
                (&array.facts, |kind| IncidentKey { subject: IncidentSubject::Array(array.facts.key.clone()), kind });
            if let Some(absent_since) = array.absent_since {
                let kinds =
                    [IncidentKind::Degraded, IncidentKind::Stripes, IncidentKind::Lost, IncidentKind::Disagreement];
                conditions.unjudged.extend(
                    kinds
                        .into_iter()
                        .chain([IncidentKind::Unread, IncidentKind::Stuck, IncidentKind::Unknown])
                        .map(key_of),
                );
                if elapsed(now, absent_since) >= MISSING_AFTER {
                    let headline = format!("DATA AT RISK {} {}: it is not there", facts.noun(), facts.name);
                    let lines = vec![
                        format!(
                            "Array     {} ({}), not there since {}",
                            facts.name,
                            facts.level,
                            show_date(
                                &*self.calendar,
                                self.missing_since(&key_of(IncidentKind::Missing), absent_since)
                            )
                        ),
                        match facts.kind() {
                            ArrayKind::Zfs => format!(
                                "Do        look whether too many of its disks are missing; sudo zpool import {}",
                                typed(&facts.name)
                            ),
                            _ => {
                                "Do        look whether too many of its disks are missing; start or mount it".to_owned()
                            }
                        },
                        format!("Quiet     if it was taken down for good: sudo scrubjay forget {}", typed(&facts.name)),
                    ];
                    conditions
                        .found
                        .insert(key_of(IncidentKind::Missing), single_sign(Urgency::Loss, 1, headline, lines));
                } else {
                    // After a start nothing has been seen yet.
                    conditions.unjudged.insert(key_of(IncidentKind::Missing));
                }
                continue;
            }
            if let Some(condition) = self.degraded(array) {
                conditions.found.insert(key_of(IncidentKind::Degraded), condition);
            }
            let of_pool = self.pool_conditions(array, now);
            conditions.found.extend(of_pool.into_iter().map(|(kind, condition)| (key_of(kind), condition)));
            if facts.pool.as_ref().is_some_and(ZpoolFacts::is_unanswered) {
                // What is not known now has not ended.
                conditions
                    .unjudged
                    .extend([IncidentKind::Lost, IncidentKind::Disagreement, IncidentKind::Unread].map(key_of));
            }
            if let Some(condition) = array.volume_lost() {
                conditions.found.insert(key_of(IncidentKind::Lost), condition);
            }
            if let Some(subject) = WatchedSubject::of_array(array) {
                let found = [
                    (IncidentKind::Lost, lost(array, subject.reading())),
                    (IncidentKind::Disagreement, disagreement(array, subject.reading())),
                    (IncidentKind::Unread, self.unread(subject, now)),
                    (IncidentKind::Stuck, self.stuck(subject)),
                ];
                conditions
                    .found
                    .extend(found.into_iter().filter_map(|(kind, condition)| Some((key_of(kind), condition?))));
            }
            let stripes = self.stripes(facts);
            // Unreadable sectors of an absent disk may be unknown: the incident stays as it was, and can only grow.
            let key = key_of(IncidentKind::Stripes);
            let known = self.incidents.get(&key).map(|incident| &incident.condition);
            let is_less =
                |present: &Condition| known.is_some_and(|known| !present.is_beyond(&known.amounts, known.urgency));
            if !self.are_all_present(facts) && stripes.as_ref().is_none_or(is_less) {
                conditions.unjudged.insert(key);
            } else if let Some(condition) = stripes {
                conditions.found.insert(key, condition);
            }
        }
        if let Some(condition) = self.history_lost().filter(|_| !self.is_planted(WatchBug::HistoryLossUnreported)) {
            let key = IncidentKey { subject: IncidentSubject::Watch, kind: IncidentKind::History };
            conditions.found.insert(key, condition);
        }
        self.check_channels(now, &mut conditions);
        self.list_consequences(&mut conditions.found);
        conditions
    }

    fn check_disk(&self, disk: &DiskState, now: UnixSeconds, conditions: &mut Conditions) {
        let key_of = |kind| IncidentKey { subject: IncidentSubject::Disk(disk.row.facts.key.clone()), kind };
        let with_controller =
            |condition: Condition| Condition { controller: disk.row.facts.controller.clone(), ..condition };
        let (_, signs) = self.health(disk, now);
        if let Some(outline) = ConditionOutline::of(disk, &signs) {
            let key = key_of(IncidentKind::Health);
            // A condition that is about to be sent is worded afresh.
            let is_due = |incident: &IncidentRow| incident.next_message().is_some_and(|(at, _)| at <= now);
            let known = self.incidents.get(&key).filter(|incident| !is_due(incident));
            let is_known = known.is_some_and(|incident| outline.matches(&incident.condition));
            let is_fresh =
                self.described.get(&disk.row.facts.key).is_some_and(|&at| at <= now && elapsed(now, at) < HOUR);
            if is_known && is_fresh {
                conditions.unjudged.insert(key); // as it was
            } else {
                conditions.described.push(disk.row.facts.key.clone());
                conditions.found.insert(key, with_controller(self.disk_condition(disk, &signs, outline)));
            }
        }
        if disk.live.name.is_none() {
            let consequences = [IncidentKind::Unknown, IncidentKind::Unread, IncidentKind::Stuck].map(key_of);
            conditions.held.extend(consequences.clone());
            conditions.unjudged.extend(consequences);
            if !disk.is_missing(now) || self.is_planted(WatchBug::MissingUnreported) {
                conditions.unjudged.insert(key_of(IncidentKind::Missing));
            } else {
                let headline = format!("MISSING {}: look at its cable and power first", disk.label());
                let mut lines = vec![self.disk_line(disk)];
                let since = self.missing_since(&key_of(IncidentKind::Missing), disk.live.since);
                lines.push(format!("Missing   since {}", show_date(&*self.calendar, since)));
                lines.push("Do        1. look at its cable, its power and its port".to_owned());
                lines.push("          2. try another port".to_owned());
                lines.push("          3. only if it stays away: replace it".to_owned());
                lines.push(format!(
                    "Quiet     once it is taken out: sudo scrubjay forget {}",
                    typed(&disk.row.facts.key.0)
                ));
                // An array that lacks it says so, and names it.
                let mut arrays = self.arrays.values().filter(|array| array.misses(&disk.row.facts.key));
                let cause = arrays.next().map(|array| degraded_key(&array.facts));
                let condition = Condition { cause, ..single_sign(Urgency::Replace, 1, headline, lines) };
                conditions.found.insert(key_of(IncidentKind::Missing), with_controller(condition));
            }
            return;
        }
        // The date is kept with the disk, because machines that are off at night start every day.
        let since = match disk.row.unknown_since.0 {
            0 => disk.row.smart_read.max(disk.live.since),
            _ => disk.row.unknown_since,
        };
        let is_stale = elapsed(now, since) >= STALE_AFTER;
        let is_pending = !disk.live.is_answered && elapsed(now, disk.live.since) < STALE_AFTER;
        if is_pending || disk.live.asleep.is_some() {
            conditions.unjudged.insert(key_of(IncidentKind::Unknown));
        } else if is_stale {
            let reason = disk.live.refused.map_or("SMART was not read for more than a day", |refused| refused.words());
            let headline = format!("NOTICE {}: its state is not known", disk.label());
            let lines = vec![
                self.disk_line(disk),
                format!("Unknown   {reason}"),
                "It is read like the others; what its own counters say is not known.".to_owned(),
                format!("Quiet     if it cannot tell: sudo scrubjay accept {}", typed(&disk.row.facts.key.0)),
            ];
            conditions.found.insert(
                key_of(IncidentKind::Unknown),
                with_controller(single_sign(Urgency::Notice, 1, headline, lines)),
            );
        }
        if let Some(condition) = self.unread(WatchedSubject::Disk(disk), now) {
            conditions.found.insert(key_of(IncidentKind::Unread), with_controller(condition));
        }
        if let Some(condition) = self.stuck(WatchedSubject::Disk(disk)) {
            conditions.found.insert(key_of(IncidentKind::Stuck), with_controller(condition));
        }
    }

    /// Is this date near enough to be reported?
    fn is_late_soon(&self, due: UnixSeconds, now: UnixSeconds) -> bool {
        let margin = if self.is_planted(WatchBug::WarnTooLate) { 0 } else { self.margin() };
        due.0 <= now.0 + margin
    }

    /// Forecasts all passes if one is to be reported; once an hour is enough, as messages give dates to the day.
    fn refresh_foreseen(&mut self, now: UnixSeconds) {
        let (at, all) = &self.foreseen;
        let is_fresh = *at <= now && elapsed(now, *at) < HOUR;
        let is_due = |subject: &WatchedSubject<'_>| {
            self.is_late_soon(subject.reading().row.passes.due(self.settings.every), now)
        };
        if self.subjects().filter(is_due).any(|subject| !is_fresh || !all.contains_key(&subject.key())) {
            self.foreseen = (now, self.foresee(now));
        }
    }

    /// The condition of a subject whose sessions cannot begin, or whose session does not end.
    fn stuck(&self, subject: WatchedSubject<'_>) -> Option<Condition> {
        let reading = subject.reading();
        if reading.hangs() {
            let headline = format!("NOTICE {}: its session hangs", subject.label());
            let lines = vec![
                self.subject_line(subject),
                "It does not answer, and does not end; what does not wait for it is read meanwhile.".to_owned(),
                "Do        look into the kernel's log for it; restart the daemon".to_owned(),
            ];
            return Some(Condition {
                amounts: vec![("hangs".into(), 1)],
                ..single_sign(Urgency::Notice, 1, headline, lines)
            });
        }
        // A session that was refused, and then held back for days, has not been tried since.
        let lasts = |refused: &&SessionRefusal| elapsed(refused.last, refused.since) >= STUCK_AFTER;
        let SessionRefusal { since, why, .. } = reading.row.refused.as_ref().filter(lasts)?;
        let since = show_date(&*self.calendar, *since);
        let headline = format!("NOTICE {}: it cannot be scrubbed since {since}", subject.label());
        let lines = vec![
            self.subject_line(subject),
            format!("Why       {why}"),
            "This says nothing of what it holds; it is tried again every hour.".to_owned(),
            "Do        see to what is said above, or look into the log".to_owned(),
        ];
        Some(single_sign(Urgency::Notice, 1, headline, lines))
    }

    /// Since when something is missing that was not seen since `unseen`: a start of the machine does not make it later.
    fn missing_since(&self, key: &IncidentKey, unseen: UnixSeconds) -> UnixSeconds {
        self.incidents.get(key).map_or(unseen, |incident| unseen.min(incident.opened))
    }

    /// The line of a message that identifies a disk: `Disk   bay 3 · sdc · ST16000NM001G · ZL2ABCDE · 16.0 TB`.
    pub(crate) fn disk_line(&self, disk: &DiskState) -> String {
        let facts = &disk.row.facts;
        let bay = facts.bay.as_ref().map_or(String::new(), |bay| format!("bay {bay} · "));
        let name = disk.live.name.as_deref().unwrap_or("not there");
        let size = Bytes(facts.sectors.saturating_mul(SECTOR_BYTES));
        format!("Disk      {bay}{name} · {} · {} · {size}", facts.model, facts.serial_shown())
    }

    /// The line of a message that identifies a disk or an array.
    fn subject_line(&self, subject: WatchedSubject<'_>) -> String {
        match subject {
            WatchedSubject::Disk(disk) => self.disk_line(disk),
            WatchedSubject::Array(array, _) => array_line(array),
        }
    }

    /// The full condition of a disk with signs against it.
    fn disk_condition(&self, disk: &DiskState, signs: &[HealthSign], outline: ConditionOutline) -> Condition {
        let ConditionOutline { urgency, amounts, headline } = outline;
        let words: Vec<String> = signs.iter().map(HealthSign::words).collect();
        let mut lines = vec![self.disk_line(disk)];
        lines.extend(words.iter().take(SIGNS_SHOWN_MAX).map(|words| format!("Sign      {words}")));
        if words.len() > SIGNS_SHOWN_MAX {
            lines.push(format!("          and {} more", words.len() - SIGNS_SHOWN_MAX));
        }
        if let Some(rate) = signs.iter().find_map(HealthSign::base_rate) {
            lines.push(format!("Meaning   {}", rate.words));
            lines.push(format!("          ({})", rate.source));
        }
        lines.push(match disk.row.word.passed {
            Some(true) => "Drive     says of itself: passed".to_owned(),
            Some(false) => "Drive     says of itself: failing".to_owned(),
            None => "Drive     says nothing of itself".to_owned(),
        });
        lines.extend(disk.live.name.iter().flat_map(|name| self.member_array_lines(name)));
        lines.extend(match signs.iter().map(HealthSign::state).max() {
            Some(HealthState::Replace) => self.steps_to_replace(disk),
            Some(HealthState::Hot) => vec![
                "Do        look at its fan, its airflow and its neighbours: heat is a fault of its place".to_owned(),
                "          It is not read until it has cooled down.".to_owned(),
            ],
            Some(HealthState::Worn) => {
                vec!["Do        have a backup, and plan to replace it, without haste: it may last".to_owned()]
            }
            _ => vec!["Do        nothing yet; you get a message if it becomes worse".to_owned()],
        });
        lines.extend(self.place_lines(disk, signs));
        lines.push(format!("Quiet     until it grows: sudo scrubjay accept {}", typed(&disk.row.facts.key.0)));
        Condition { urgency, amounts, headline, lines, controller: None, cause: None }
    }

    /// One line for each array that a disk is a member of.
    fn member_array_lines(&self, name: &str) -> Vec<String> {
        let member_arrays = self.present_arrays().filter(|array| array.has_member(name));
        let lines = member_arrays.map(|array| {
            let risk = self.risk(array);
            let left = array.redundancy_left();
            let stripes = match (risk.is_known, risk.damaged) {
                (false, _) => "its layout is not known".to_owned(),
                (true, 0) => "no stripe is damaged".to_owned(),
                (true, damaged) => format!("{damaged} damaged, {} on two disks", risk.shared.len()),
            };
            format!(
                "Array     {} ({}): redundancy {left} of {} left; {stripes}",
                array.name, array.level, array.redundancy
            )
        });
        lines.collect()
    }

    pub(crate) fn risk(&self, array: &ArrayFacts) -> StripeRisk {
        stripe_risk(array, |name| {
            let disk = self.names.get(name).and_then(|key| self.disks.get(key));
            disk.map(|disk| disk.reading.row.passes.known_unreadable()).unwrap_or_default()
        })
    }

    fn degraded(&self, state: &ArrayState) -> Option<Condition> {
        let array = &state.facts;
        if !array.is_degraded() {
            return None;
        }
        let left = array.redundancy_left();
        let urgency = if left <= 0 { Urgency::Loss } else { Urgency::Replace };
        let missing = array.members.iter().filter(|member| !member.is_in_sync).count() as u64;
        let headline = match left {
            // Which mirrors the missing ones belong to is not known: as the array runs, they belong to different ones.
            i64::MIN..0 if array.layout.is_none() && array.level.to_ascii_uppercase().starts_with("RAID10") => {
                format!("DATA AT RISK array {}: degraded, the next failure may lose data", array.name)
            }
            i64::MIN..0 => format!("DATA AT RISK {} {}: too many disks are missing", array.noun(), array.name),
            0 => format!("DATA AT RISK {} {}: degraded, the next failure loses data", array.noun(), array.name),
            _ => {
                format!("DEGRADED {} {}: redundancy {left} of {} left", array.noun(), array.name, array.redundancy)
            }
        };
        let members = array.members.len();
        let lack = array.pool.as_ref().map_or(PoolLack::Nothing, |pool| pool.lack);
        let how = match lack {
            PoolLack::Nothing => format!("{missing} of {members} members missing or not in sync"),
            PoolLack::Filling => "a device is being filled; ZFS does not say which".to_owned(),
            PoolLack::Amiss => "ZFS calls it less than ONLINE; a spare may stand in for a device".to_owned(),
        };
        let mut lines = vec![
            format!("Array     {} ({}), {how}", array.name, array.level),
            format!("At risk   {} more may fail before data are lost", left.max(0)),
        ];
        let gone = self.disks.values().filter(|disk| disk.live.name.is_none() && state.misses(&disk.row.facts.key));
        let gone: Vec<&DiskState> = gone.take(HELD_SHOWN_MAX).collect();
        lines.extend(gone.iter().map(|disk| self.disk_line(disk)));
        let pool = (array.kind() == ArrayKind::Zfs).then(|| typed(&array.name));
        lines.extend(match (gone.is_empty(), pool) {
            (true, Some(pool)) if lack == PoolLack::Filling => vec![
                "Do        have a backup, and wait: ZFS fills a device".to_owned(),
                format!("          how far it is: sudo zpool status {pool}"),
            ],
            (_, Some(pool)) => vec![
                format!("Do        1. have a backup; sudo zpool status {pool} names the device"),
                "          2. look at the disk's cable, its power and its port".to_owned(),
                format!("          3. when it is back: sudo zpool online {pool} DEVICE; else sudo zpool replace {pool} DEVICE NEW"),
            ],
            (true, None) => vec!["Do        have a backup; add a disk in the place of the missing one".to_owned()],
            (false, None) => vec![
                "Do        1. have a backup of what has none".to_owned(),
                "          2. look at the disk's cable, its power and its port".to_owned(),
                "          3. if it stays away: add another one in its place".to_owned(),
            ],
        });
        // Each place has a sign of its own: another lost member is news, even if one has come back meanwhile.
        let lost = array.members.iter().enumerate().filter(|(_, member)| !member.is_in_sync);
        let mut amounts: Vec<(String, u64)> = lost.map(|(place, _)| (format!("member {place}"), 1)).collect();
        if lack != PoolLack::Nothing {
            amounts.push(("a member".to_owned(), 1));
        }
        amounts.sort();
        Some(Condition { urgency, amounts, headline, lines, controller: None, cause: None })
    }

    /// Are the disks of all members that are in sync present? If not, fewer damaged stripes may be known than there are.
    fn are_all_present(&self, array: &ArrayFacts) -> bool {
        let is_present = |name: &String| self.names.contains_key(name);
        let mut in_sync = array.members.iter().filter(|member| member.is_in_sync);
        in_sync.all(|member| member.disk.as_ref().is_some_and(is_present))
    }

    fn stripes(&self, array: &ArrayFacts) -> Option<Condition> {
        let member_keys = array.members.iter().filter_map(|member| self.names.get(member.disk.as_deref()?));
        let mut disks = member_keys.filter_map(|key| self.disks.get(key));
        let is_suppressed = self.is_planted(WatchBug::StripesUnreported);
        if is_suppressed || !disks.any(|disk| disk.reading.row.passes.unreadable_sectors() > 0) {
            return None;
        }
        let risk = self.risk(array);
        let worst = risk.shared.iter().min_by_key(|shared| shared.left)?;
        let (lost, bytes) = risk.lost().fold((0, 0), |(count, bytes), shared| (count + 1, bytes + shared.bytes.0));
        let shared = risk.shared.len();
        let (urgency, headline) = match lost {
            0 => {
                let stripes = counted(shared as u64, "stripe");
                (Urgency::Replace, format!("REPLACE in array {}: {stripes} bad on two disks", array.name))
            }
            _ => {
                let stripes = counted(lost, "stripe");
                (Urgency::Loss, format!("DATA AT RISK array {}: {stripes} cannot be rebuilt", array.name))
            }
        };
        let names = worst.members.iter().filter_map(|&place| array.members[place].disk.clone());
        let at_stake = Bytes(if lost == 0 { worst.bytes.0 } else { bytes });
        let lines = vec![
            format!("Array     {} ({}), {} damaged stripes", array.name, array.level, risk.damaged),
            format!("Stripe    {}: unreadable on {}", worst.stripe, names.collect::<Vec<_>>().join(", ")),
            format!("At risk   at most {at_stake} of data"),
            "Do        have a backup; replace these disks one at a time; run the array's repair".to_owned(),
        ];
        let amounts =
            [("lost", lost), ("shared", shared as u64)].map(|(sign, count)| (sign.to_owned(), count)).to_vec();
        Some(Condition { urgency, amounts, headline, lines, controller: None, cause: None })
    }

    fn unread(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<Condition> {
        let reading = subject.reading();
        let due = reading.row.passes.due(self.settings.every);
        if !self.is_late_soon(due, now) {
            return None;
        }
        let is_over = due <= now;
        let date = show_date(&*self.calendar, due);
        let headline = match is_over {
            true => format!("NOTICE {}: some sectors were to be read by {date}", subject.label()),
            false => format!("NOTICE {}: some sectors are unread, and due {date}", subject.label()),
        };
        let ends = match self.foreseen.1.get(&subject.key()).and_then(|foreseen| foreseen.ends) {
            Some(forecast) => {
                let show = |at| show_date(&*self.calendar, at);
                format!("Forecast  the pass ends {} to {}, in 8 of 10 cases", show(forecast.low), show(forecast.high))
            }
            None => "Forecast  the pass does not end within a year".to_owned(),
        };
        let held = match (self.hold_back(subject, now), reading.live.session) {
            (Some(hold_back), SessionPhase::None) => format!("Held back {}", hold_back.words(&*self.calendar)),
            _ => format!("Read      {:.0} % of this pass", 100.0 * (1.0 - reading.row.passes.rest())),
        };
        let lines = vec![
            self.subject_line(subject),
            ends,
            held,
            match reading.row.passes.unjudged {
                0 => format!("Help      {}", self.help(reading)),
                unjudged => format!("Help      none: its last pass got no verdict on {unjudged} sectors"),
            },
            "Until a sector is read nobody knows whether it still can be.".to_owned(),
        ];
        let cause = self.cause_of(subject);
        Some(Condition { cause, ..single_sign(Urgency::Notice, if is_over { 2 } else { 1 }, headline, lines) })
    }
}

/// The line of a message that identifies an array: `Array  tank (volume 4+2), 6 members`.
pub(crate) fn array_line(array: &ArrayState) -> String {
    format!("Array     {} ({}), {} members", array.facts.name, array.facts.level, array.facts.members.len())
}

/// The condition of an array whose checker found data that cannot be rebuilt.
fn lost(array: &ArrayState, reading: &ReadingState) -> Option<Condition> {
    if array.facts.lost_stripes.is_some() {
        return None; // its own register knows better: what was written since is not lost any more
    }
    let sectors = reading.row.passes.unreadable_sectors();
    if sectors == 0 {
        return None;
    }
    let size = Bytes(sectors.saturating_mul(SECTOR_BYTES));
    let headline = format!("DATA AT RISK array {}: {size} cannot be read or rebuilt", array.facts.name);
    let runs = reading.row.passes.known_unreadable();
    let run_lines =
        runs.iter().take(SIGNS_SHOWN_MAX).map(|run| format!("Where     sectors {} to {}", run.start.0, run.end.0 - 1));
    let lines = [array_line(array)].into_iter().chain(run_lines).chain([
        "Meaning   reads there fail; more of its members are bad there than it can do without".to_owned(),
        "Do        restore what lies there from a backup; a sector that is written can be read again".to_owned(),
    ]);
    let amounts = vec![("lost".to_owned(), sectors)];
    Some(Condition { urgency: Urgency::Loss, amounts, headline, lines: lines.collect(), controller: None, cause: None })
}

/// The condition of an array whose checker found copies or parity that disagree.
fn disagreement(array: &ArrayState, reading: &ReadingState) -> Option<Condition> {
    let ArrayFlaws { corrected, mismatched } = reading.row.passes.known_flaws();
    let (problem, meaning, advice) = match (corrected, mismatched, array.facts.kind()) {
        (0, 0, _) => return None,
        (corrected, 0, _) => (
            match corrected {
                1 => "1 place was wrong, and is right now".to_owned(),
                _ => format!("{corrected} places were wrong, and are right now"),
            },
            "it was repaired from the other members, or was right when it was read again",
            "nothing; if it becomes more, look which member it is: its log says so",
        ),
        (_, mismatched, ArrayKind::Btrfs) => (
            format!("{mismatched} places are wrong, and were not made right"),
            "a copy elsewhere is right, but here the file system is mounted read-only",
            "run `scrubjay scrub` on its mount point, where it is mounted to be written",
        ),
        (_, rows, ArrayKind::Volume) => (
            format!("{rows} rows are wrong on a member, and were not made right"),
            "the other members hold what is right, but that member's disk does not take it, or the volume is read-only",
            "see which member it is (`scrubjay volume status`), and replace its disk",
        ),
        (_, mismatched, ArrayKind::Md | ArrayKind::Zfs) => (
            format!("{mismatched} sectors disagree between its members, or could not be compared"),
            "of a RAID-1 or 10 it may be swap or a write that was under way; of others parity is wrong; or a member's list of bad \
             blocks has them (/sys/block/md*/md/dev-*/bad_blocks), so that there is less redundancy",
            "compare what lies there with a backup before anything repairs it; replace a member with such a list",
        ),
    };
    let lines = vec![array_line(array), format!("Meaning   {meaning}"), format!("Do        {advice}")];
    let amounts = [("corrected", corrected), ("mismatched", mismatched)].into_iter().filter(|(_, count)| *count > 0);
    let amounts = amounts.map(|(sign, count)| (sign.to_owned(), count)).collect();
    let headline = format!("WATCH array {}: {problem}", array.facts.name);
    Some(Condition { urgency: Urgency::Notice, amounts, headline, lines, controller: None, cause: None })
}

/// A condition with a single sign.
pub(crate) fn single_sign(urgency: Urgency, amount: u64, headline: String, lines: Vec<String>) -> Condition {
    Condition { urgency, amounts: vec![("so".to_owned(), amount)], headline, lines, controller: None, cause: None }
}
