//! Other programs that regularly read disks and arrays through: timers, lines of cron, smartd.

use super::root::SystemRoot;
use super::seen::OtherScrubber;
use std::path::{Path, PathBuf};

/// A program that scrubs, recognised by its timer or its line of cron.
struct KnownScrubber {
    /// The beginnings of its timers' names.
    timers: &'static [&'static str],
    /// Words that its commands contain.
    commands: &'static [&'static str],
    /// What it does, and to which subjects.
    work: &'static str,
    /// What to do about it.
    advice: &'static str,
}

const ARRAYS_ADVICE: &str = "Scrubjay runs the same check within its budget, and waits while this one runs. Once `scrubjay plan` \
                             says that the arrays are checked in time, this one may be switched off; until then keep it";
const KNOWN: [KnownScrubber; 8] = [
    KnownScrubber {
        timers: &["mdcheck_start", "mdcheck_continue", "raid-check"],
        commands: &["checkarray", "mdcheck", "raid-check"],
        work: "checks all md arrays: reads every member through and compares",
        advice: ARRAYS_ADVICE,
    },
    KnownScrubber {
        timers: &["btrfs-scrub", "btrfsd"],
        commands: &["btrfs scrub", "btrfs-scrub"],
        work: "scrubs btrfs: reads all data there are and compares them with their checksums",
        advice: "keep it: it finds silent corruption, which reading disks does not; of what btrfs has not allocated only \
                 Scrubjay reads anything",
    },
    KnownScrubber {
        timers: &["zfs-scrub", "zpool-scrub"],
        commands: &["zpool scrub", "zfs-linux/scrub"],
        work: "scrubs ZFS pools: reads all data there are and compares them with their checksums",
        advice: "keep it: it finds silent corruption, which reading disks does not. No member is read while it runs, where Scrubjay \
                 may ask zpool. Of pools that zfs.scrub in the settings names it is needed no longer",
    },
    KnownScrubber {
        timers: &["e2scrub_all"],
        commands: &["e2scrub_all"],
        work: "checks the metadata of ext4 on LVM (nothing without LVM); file contents are not read",
        advice: "keep it: it takes minutes, and does what Scrubjay does not",
    },
    KnownScrubber {
        timers: &["xfs_scrub_all"],
        commands: &["xfs_scrub"],
        work: "scrubs XFS: checks metadata, once a month reads file contents (xfs_scrub -x)",
        advice: "keep one reader of file contents: Scrubjay reads all of the disk anyway",
    },
    KnownScrubber {
        timers: &["snapraid"],
        commands: &["snapraid"],
        work: "syncs or scrubs SnapRAID: reads a part of all data disks and compares",
        advice: "keep it: it finds silent corruption, which reading disks does not. Scrubjay makes way for it as for any other",
    },
    KnownScrubber {
        timers: &["scrubjay-scrub"],
        commands: &["scrubjay scrub"],
        work: "runs `scrubjay scrub` by the clock",
        advice: "remove it: this watch reads each disk by its own dates",
    },
    KnownScrubber {
        timers: &["badblocks"],
        commands: &["badblocks"],
        work: "reads a disk through with badblocks",
        advice: "remove it: the watch reads every sector, and limits how much that delays other requests",
    },
];

/// Folders of units: the machine owner's, the run time's, the packages': the first one that has a unit counts.
const UNITS: [&str; 4] =
    ["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
/// Tables of cron, and folders of them.
const CRON: [&str; 3] = ["/etc/crontab", "/etc/cron.d", "/var/spool/cron/crontabs"];
/// Folders of programs that cron runs.
const CRON_FOLDERS: [&str; 3] = ["/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly"];

/// All other scrubbers that are switched on, by name.
pub fn other_scrubbers(root: &SystemRoot) -> Vec<OtherScrubber> {
    let mut found = timers(root);
    found.extend(cron_tables(root));
    found.extend(cron_folders(root));
    found.extend(smartd(root));
    found.sort_by(|a, b| a.who.cmp(&b.who));
    found.dedup();
    mark_doubles(&mut found);
    found
}

/// Marks work that both systemd and cron start, so that it is done twice.
fn mark_doubles(found: &mut [OtherScrubber]) {
    let is_cron = |other: &OtherScrubber| other.who.starts_with('/');
    for index in 0..found.len() {
        let own = &found[index];
        let twin = found.iter().find(|other| other.what == own.what && is_cron(other) != is_cron(own));
        if let Some(twin_name) = twin.map(|other| other.who.clone()) {
            found[index].advice = format!("the same is done by {twin_name}: keep one of the two");
        }
    }
}

fn known_by(matches: impl Fn(&KnownScrubber) -> bool) -> Option<&'static KnownScrubber> {
    KNOWN.iter().find(|known| matches(known))
}

fn scrubber(name: String, when: String, known: &KnownScrubber) -> OtherScrubber {
    OtherScrubber { who: name, what: known.work.to_owned(), when, advice: known.advice.to_owned() }
}

/// Units that are enabled: by links in a folder `*.wants` of the owner or a package. A unit that is itself a link to
/// `/dev/null`, or an empty file, is masked.
fn enabled(root: &SystemRoot, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut units = Vec::new();
    for place in UNITS.map(Path::new) {
        for folder in root.names(place).iter().filter(|name| name.ends_with(".wants")) {
            units.extend(root.names(&place.join(folder)).into_iter().filter(|unit| wanted(unit)));
        }
    }
    units.sort();
    units.dedup();
    let is_masked = |unit: &String| {
        let masks = UNITS.iter().map(|place| Path::new(place).join(unit)).find_map(|file| root.link(&file));
        masks.is_some_and(|target| target == Path::new("/dev/null"))
    };
    units.retain(|unit| !is_masked(unit));
    units
}

fn timers(root: &SystemRoot) -> Vec<OtherScrubber> {
    let known_timer = |unit: &str| {
        let name = unit.strip_suffix(".timer")?.to_owned();
        known_by(|known| known.timers.iter().any(|timer| name.starts_with(timer)))
    };
    let is_running = root.has(Path::new("/run/systemd/system"));
    let units = enabled(root, |unit| is_running && known_timer(unit).is_some());
    units
        .into_iter()
        .filter_map(|unit| Some(scrubber(unit.clone(), calendar(root, &unit), known_timer(&unit)?)))
        .collect()
}

/// The `OnCalendar=` of a timer: in its file or its template's, then in its drop-in files.
fn calendar(root: &SystemRoot, unit: &str) -> String {
    let template = unit.split_once('@').map(|(name, _)| format!("{name}@.timer"));
    let names: Vec<&str> = [Some(unit), template.as_deref()].into_iter().flatten().collect();
    let files = names.iter().flat_map(|name| UNITS.map(|place| Path::new(place).join(name)));
    let mut files: Vec<PathBuf> = files.filter(|file| root.has(file)).take(1).collect();
    for (place, name) in UNITS.iter().rev().flat_map(|place| names.iter().rev().map(move |name| (place, name))) {
        let folder = Path::new(place).join(format!("{name}.d"));
        let conf = root.names(&folder).into_iter().filter(|file| file.ends_with(".conf"));
        files.extend(conf.map(|file| folder.join(file)));
    }
    let mut times: Vec<String> = Vec::new();
    for text in files.iter().filter_map(|file| root.text(file)) {
        for value in
            text.lines().filter_map(|line| line.trim().strip_prefix("OnCalendar")?.trim_start().strip_prefix('='))
        {
            match value.trim() {
                "" => times.clear(), // an empty value clears the earlier ones
                value => times.push(value.to_owned()),
            }
        }
    }
    times.dedup();
    times.join("; ")
}

/// Lines of cron that run a program that scrubs.
fn cron_tables(root: &SystemRoot) -> Vec<OtherScrubber> {
    let mut found = Vec::new();
    for place in CRON.map(Path::new) {
        let below: Vec<PathBuf> = root.names(place).into_iter().map(|name| place.join(name)).collect();
        for file in if below.is_empty() { vec![place.to_owned()] } else { below } {
            let text = root.text(&file).unwrap_or_default();
            for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
                let runs = |known: &KnownScrubber| known.commands.iter().any(|command| line.contains(command));
                let Some(known) = known_by(runs).filter(|_| !is_switched_off(root, line)) else { continue };
                let entry = scrubber(file.display().to_string(), cron_time(line), known);
                let is_listed = |other: &OtherScrubber| other.who == entry.who && other.what == entry.what;
                if !found.iter().any(is_listed) {
                    found.push(entry); // a file may have one line for the work and another after a power cut
                }
            }
        }
    }
    found
}

/// Is a line of cron without effect? Debian's `checkarray --cron` does nothing unless its settings say so; lines that
/// begin with a test for systemd leave the work to its timers.
fn is_switched_off(root: &SystemRoot, line: &str) -> bool {
    let is_left_to_timers = line.contains("/run/systemd/system") && root.has(Path::new("/run/systemd/system"));
    let is_checkarray_cron = line.contains("checkarray") && line.contains("--cron");
    is_left_to_timers || is_checkarray_cron && !is_autocheck(root)
}

/// Is `AUTOCHECK=true` set in `/etc/default/mdadm`?
fn is_autocheck(root: &SystemRoot) -> bool {
    let text = root.text(Path::new("/etc/default/mdadm")).unwrap_or_default();
    let value = text.lines().filter_map(|line| line.trim().strip_prefix("AUTOCHECK=")).next_back().unwrap_or_default();
    let value = value.trim_matches(['"', '\'', ' ']).to_ascii_lowercase();
    ["true", "yes", "1", "y", "t"].contains(&value.as_str())
}

/// The five fields of time, or `@monthly`; further tests of the date are in the line's command.
fn cron_time(line: &str) -> String {
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let time = line.split_whitespace().take(fields).collect::<Vec<_>>().join(" ");
    let is_first_week = line.contains("-le 7");
    if is_first_week { format!("cron {time}, in the first seven days of a month") } else { format!("cron {time}") }
}

/// Programs in `/etc/cron.daily` and the like that scrub, recognised by their text.
fn cron_folders(root: &SystemRoot) -> Vec<OtherScrubber> {
    let mut found = Vec::new();
    for place in CRON_FOLDERS {
        for name in root.names(Path::new(place)) {
            let file = Path::new(place).join(&name);
            let text = root.text(&file).unwrap_or_default();
            let is_run =
                |command: &str| text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(command));
            let known = known_by(|known| known.commands.iter().any(|command| is_run(command)));
            let when = place.trim_start_matches("/etc/cron.").to_owned();
            found.extend(known.map(|known| scrubber(file.display().to_string(), when, known)));
        }
    }
    found
}

/// Long self-tests that smartd starts: `-s` with a rule for `L`.
fn smartd(root: &SystemRoot) -> Vec<OtherScrubber> {
    if enabled(root, |unit| ["smartd.service", "smartmontools.service"].contains(&unit)).is_empty() {
        return Vec::new();
    }
    let files = ["/etc/smartd.conf", "/etc/smartmontools/smartd.conf"].map(Path::new);
    let Some(file) = files.into_iter().find(|file| root.has(file)) else { return Vec::new() };
    let text = root.text(file).unwrap_or_default().replace("\\\n", " ");
    let self_test = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let device = words.next()?;
        let rule = words.skip_while(|word| *word != "-s").nth(1)?;
        let is_long =
            rule.split(['|', '(', ')']).any(|test| test.split('/').next().is_some_and(|kind| kind.contains('L')));
        is_long.then(|| OtherScrubber {
            who: format!("smartd ({})", file.display()),
            what: match device {
                "DEVICESCAN" | "DEFAULT" => "has all drives test themselves: a long self-test reads all of a disk".to_owned(),
                device => format!("has {device} test itself: a long self-test reads all of the disk"),
            },
            when: rule.to_owned(),
            advice: "keep one: a self-test stops at the first bad sector, and slows other requests down (take `L` out of the rule, short tests \
                     do not harm). Scrubjay waits while it runs"
                .to_owned(),
        })
    };
    text.lines().filter_map(self_test).collect()
}

#[cfg(test)]
mod tests;
