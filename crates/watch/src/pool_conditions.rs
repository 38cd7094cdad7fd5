//! The problems of pools of ZFS that their members do not show: lost data, errors, scrubs that are overdue, and what is not known.

use crate::calendar::{DAY, after, elapsed, show_date};
use crate::conditions::{array_line, single_sign};
use crate::facts::ArrayActivity;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::pool::{LastScrub, PoolLosses, ZpoolFacts, damage_words};
use crate::state::{ArrayState, Watch};
use crate::words::{counted, typed};
use scrubjay_core::units::UnixSeconds;

/// Names of files that one message lists, at most.
const FILES_SHOWN_MAX: usize = 5;
/// Seconds beyond the time in which everything is to be read once, after which a scrub is called overdue. Timers that scrub once a
/// month may be 35 days apart, and a scrub takes days.
const SCRUB_GRACE: u64 = 7 * DAY;

impl Watch {
    /// The problems of a pool that its members do not show.
    pub(crate) fn pool_conditions(&self, array: &ArrayState, now: UnixSeconds) -> Vec<(IncidentKind, Condition)> {
        let Some(pool) = &array.facts.pool else { return Vec::new() };
        let found = [
            (IncidentKind::Lost, lost(array, pool)),
            (IncidentKind::Disagreement, member_errors(array, pool)),
            (IncidentKind::Unknown, unknown(array, pool)),
            (IncidentKind::Unread, self.unscrubbed(array, pool, now)),
        ];
        found.into_iter().filter_map(|(kind, condition)| Some((kind, condition?))).collect()
    }

    /// When a scrub of all of it is overdue; `None`: that is not known, as ZFS cannot be asked.
    fn scrub_due(&self, pool: &ZpoolFacts) -> Option<UnixSeconds> {
        let last = match (&pool.losses, pool.scrubbed) {
            (_, LastScrub::Ended(at)) => at,
            // Nobody can tell: that is a problem of its own.
            (PoolLosses::Unknown(_), _) => return None,
            (_, LastScrub::Unknown | LastScrub::Never) => pool.since,
        };
        Some(after(last, self.settings.every + SCRUB_GRACE))
    }

    fn unscrubbed(&self, array: &ArrayState, pool: &ZpoolFacts, now: UnixSeconds) -> Option<Condition> {
        let due = self.scrub_due(pool)?;
        // A scrub or a resilver that is under way: what it brings is not known yet.
        if due > now || array.facts.activity != ArrayActivity::Idle {
            return None;
        }
        let name = &array.facts.name;
        let (last, headline) = match pool.scrubbed {
            LastScrub::Ended(at) => {
                let days = elapsed(now, at) / DAY;
                (
                    format!("Scrubbed  {}", show_date(&*self.calendar, at)),
                    format!("NOTICE pool {name}: not scrubbed for {}", counted(days, "day")),
                )
            }
            LastScrub::Never => ("Scrubbed  never".to_owned(), format!("NOTICE pool {name}: it was never scrubbed")),
            LastScrub::Unknown => {
                let since = show_date(&*self.calendar, pool.since);
                (
                    format!("Scrubbed  not since {since}, as far as is known"),
                    format!("NOTICE pool {name}: no scrub since {since}"),
                )
            }
        };
        let mut lines = vec![array_line(array), last];
        if !pool.scan.is_empty() {
            lines.push(format!("Now       {}", pool.scan));
        }
        lines.push(
            "Meaning   only ZFS's own scrub compares what is stored with its checksums, and repairs it".to_owned(),
        );
        lines.push(format!("Do        sudo zpool scrub {}; have a timer do it every month", typed(name)));
        Some(single_sign(Urgency::Notice, 1, headline, lines))
    }
}

/// The condition of a pool that has lost data, or does not serve them.
fn lost(array: &ArrayState, pool: &ZpoolFacts) -> Option<Condition> {
    let name = &array.facts.name;
    let typed_name = typed(name);
    let mut amounts = Vec::new();
    let mut lines = vec![array_line(array)];
    let mut headline = None;
    if let PoolLosses::Lost { blocks, files } = &pool.losses {
        headline = Some(format!("DATA LOST in pool {name}: {}", damage_words(*blocks, files)));
        lines.extend(files.iter().take(FILES_SHOWN_MAX).map(|file| format!("File      {file}")));
        if files.len() > FILES_SHOWN_MAX {
            lines.push(format!("          and {} more", files.len() - FILES_SHOWN_MAX));
        }
        lines.extend(error_lines(pool));
        lines.push("Meaning   reads there fail: no copy of these blocks matches its checksum".to_owned());
        lines
            .push(format!("Do        restore these files from a backup; all names: sudo zpool status -v {typed_name}"));
        lines.push(format!(
            "          then sudo zpool scrub {typed_name}: a file stays listed until a second scrub finds it whole"
        ));
        if files.iter().any(|file| file.starts_with("<metadata>")) {
            lines.push("          if <metadata> stays damaged: make the pool anew, and restore all of it".to_owned());
        }
        amounts.push(("lost".to_owned(), *blocks));
    }
    if let Some(state) = &pool.failed {
        headline = Some(format!("DATA AT RISK pool {name}: it is {state}, and does not serve its data"));
        lines.push(format!("State     {state}, in ZFS's word: too many of its disks do not answer"));
        lines.push("Do        1. look at the disks' cables, power and ports".to_owned());
        lines.push(format!("          2. when they answer again: sudo zpool clear {typed_name}"));
        amounts.insert(0, ("failed".to_owned(), 1));
    }
    Some(Condition { urgency: Urgency::Loss, amounts, headline: headline?, lines, controller: None, cause: None })
}

fn error_lines(pool: &ZpoolFacts) -> impl Iterator<Item = String> {
    pool.errors.iter().take(FILES_SHOWN_MAX).map(|(member, count)| format!("Errors    {member}: {count}"))
}

/// The condition of a pool at whose members ZFS has counted errors.
fn member_errors(array: &ArrayState, pool: &ZpoolFacts) -> Option<Condition> {
    let (first, count) = pool.errors.iter().max_by_key(|(_, count)| *count)?;
    let name = &array.facts.name;
    let headline = format!("WATCH pool {name}: {} at {first}", counted(*count, "error"));
    let mut lines = vec![array_line(array)];
    lines.extend(error_lines(pool));
    lines.push(
        "Meaning   reads, writes or checksums that failed there; ZFS repairs what it can from other copies".to_owned(),
    );
    lines.push("Do        1. look at this disk's cable, its power and its SMART state".to_owned());
    lines.push(format!("          2. sudo zpool clear {0}; sudo zpool scrub {0}", typed(name)));
    lines.push(format!("          3. if errors come again: sudo zpool replace {} {} NEW", typed(name), typed(first)));
    // Where data are lost, these errors are how that was found.
    let subject = IncidentSubject::Array(array.facts.key.clone());
    let has_lost = matches!(pool.losses, PoolLosses::Lost { .. });
    let cause = has_lost.then_some(IncidentKey { subject, kind: IncidentKind::Lost });
    Some(Condition { urgency: Urgency::Notice, amounts: pool.errors.clone(), headline, lines, controller: None, cause })
}

/// The condition of a pool of which nobody can tell whether it has lost data.
fn unknown(array: &ArrayState, pool: &ZpoolFacts) -> Option<Condition> {
    let PoolLosses::Unknown(why) = &pool.losses else { return None };
    let name = &array.facts.name;
    let headline = format!("NOTICE pool {name}: whether it has lost data is not known");
    let lines = vec![
        array_line(array),
        format!("Unknown   {why}"),
        "Meaning   a pool that has lost data calls itself ONLINE, too".to_owned(),
        format!("Do        sudo zpool status -v {}", typed(name)),
        "          so that the watch can ask: docs/watch.md, \"What the unit forbids\"".to_owned(),
        format!("Quiet     sudo scrubjay accept {}", typed(name)),
    ];
    Some(single_sign(Urgency::Notice, 1, headline, lines))
}
