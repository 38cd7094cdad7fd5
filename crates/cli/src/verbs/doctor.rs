//! `scrubjay doctor`: what keeps Scrubjay from working here, and what to do about it.
//! It reads no disk and changes nothing; drives are asked for a setting.

use super::{WatchObstacle, watch_status_or_obstacle};
use crate::columns;
use crate::exit::Exit;
use crate::say::print_prose;
use crate::zfs;
use anyhow::{Context, Result};
use scrubjay_control::{ArrayEntry, WatchDocument};
use scrubjay_daemon::channels::AlertChannels;
use scrubjay_daemon::config::{CONFIG_FILE, WatchConfig};
use scrubjay_daemon::control::document::unwatched_array_entry;
use scrubjay_daemon::discovery::zfs::{PoolLooker, add_pools};
use scrubjay_daemon::discovery::{HostSurvey, SeenDisk, SystemRoot, survey};
use scrubjay_daemon::pump::is_called;
use scrubjay_daemon::smartctl::obstacle::SmartObstacle;
use scrubjay_daemon::smartctl::parse::RecoveryLimit;
use scrubjay_daemon::smartctl::run::Smartctl;
use scrubjay_device::clock;
use scrubjay_device::completion::own_uid;
use scrubjay_device::detector::{self, DetectorKind, RequestSources};
use scrubjay_device::inventory::{self, InventoryDisk};
use scrubjay_device::sysfs::DiskNode;
use scrubjay_device::target::TargetError;
use scrubjay_jobs::JobError;
use scrubjay_watch::facts::ArrayKind;
use scrubjay_words::counted;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum DoctorState {
    Ok,
    Missing,
    Note,
}

/// A check and its result.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    what: &'static str,
    state: DoctorState,
    found: String,
    #[serde(rename = "do")]
    to_do: Option<String>,
}

/// The JSON of `doctor --json`.
#[derive(Serialize)]
struct DoctorDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    looks: Vec<DoctorCheck>,
}

/// A kernel time-out in seconds that is long enough for any drive: desktop drives try a sector for up to two minutes.
const KERNEL_WAITS_MIN: u64 = 120;
/// What to do about drives that may try for longer than the kernel waits.
const TIMEOUTS_ADVICE: &str = "sudo smartctl -l scterc,70,70 DISK, or, where the drive knows no such limit, \
                               echo 180 > /sys/block/NAME/device/timeout. Both are forgotten, at a power cycle or a restart: a udev rule sets them \
                               (docs/safety.md)";

/// A clock that shows an earlier time has never been set, in seconds since 1970: roughly the date of this version.
const CLOCK_MIN: u64 = 1_790_000_000;

fn ok(what: &'static str, found: impl Into<String>) -> DoctorCheck {
    DoctorCheck { what, state: DoctorState::Ok, found: found.into(), to_do: None }
}

fn missing(what: &'static str, found: impl Into<String>, to_do: &str) -> DoctorCheck {
    DoctorCheck { what, state: DoctorState::Missing, found: found.into(), to_do: Some(to_do.to_owned()) }
}

fn note(what: &'static str, found: impl Into<String>, to_do: &str) -> DoctorCheck {
    DoctorCheck { what, state: DoctorState::Note, found: found.into(), to_do: Some(to_do.to_owned()) }
}

/// Makes all checks, and prints the results.
pub fn run(json: bool) -> Result<Exit> {
    let checks = checks();
    let is_well = checks.iter().all(|check| check.state != DoctorState::Missing);
    let (mut out, width) = (io::stdout().lock(), columns::width());
    if json {
        let document = DoctorDocument { schema: 1, version: scrubjay_control::version::version(), looks: checks };
        writeln!(out, "{}", serde_json::to_string(&document).context("the findings as JSON")?)?;
    } else {
        for check in &checks {
            let mark = match check.state {
                DoctorState::Ok => "ok",
                DoctorState::Missing => "MISSING",
                DoctorState::Note => "note",
            };
            print_prose(&mut out, &format!("{mark:<8} {:<12} ", check.what), &check.found, width)?;
            if let Some(to_do) = &check.to_do {
                print_prose(&mut out, &format!("{:<22}-> ", ""), to_do, width)?;
            }
        }
    }
    Ok(if is_well { Exit::Clean } else { Exit::Found })
}

fn checks() -> Vec<DoctorCheck> {
    let status = watch_status_or_obstacle();
    let file = status.as_ref().map_or_else(|_| CONFIG_FILE.into(), |status| PathBuf::from(&status.settings_file));
    let read = WatchConfig::read(&file, false);
    let config = read.as_ref().cloned().unwrap_or_default();
    let mut survey = survey(&SystemRoot::default(), &config.also);
    if !survey.pools.is_empty() {
        add_pools(&mut survey, &PoolLooker::within(zfs::TIME_OUT).look());
    }
    let mut checks = vec![
        permission(&inventory::disks().unwrap_or_default()),
        disks(&survey, &config),
        detection(&survey),
        smartctl(),
        settings(&file, read),
    ];
    checks.extend(timeouts(&survey));
    checks.extend(pools(&survey));
    checks.extend(watch_checks(status));
    checks.push(clock());
    let programs = survey.others.into_iter();
    checks.extend(
        programs.map(|program| note("also here", format!("{}: {}", program.who, program.what), &program.advice)),
    );
    checks
}

/// Checks whether disks may be opened: a container or a sandbox may withhold them even from root.
fn permission(disks: &[InventoryDisk]) -> DoctorCheck {
    const NAME: &str = "permission";
    let refused = disks.iter().filter_map(|disk| match &disk.obstacle {
        Some(TargetError::Permission { path, advice }) => Some((path.display().to_string(), *advice)),
        _ => None,
    });
    let refused: Vec<(String, &str)> = refused.collect();
    match (own_uid(), refused.first()) {
        (0, None) => ok(NAME, "this is root"),
        (0, Some((first, advice))) => {
            let more = if refused.len() > 1 { format!(" and {} more", refused.len() - 1) } else { String::new() };
            let found = format!("this is root, but {first}{more}: permission denied, {advice}");
            missing(NAME, found, "run it outside, or give the container its disks (docker run --device=/dev/sda ...)")
        }
        (user, _) => missing(NAME, format!("this is user {user}: disks are root's"), "sudo scrubjay doctor"),
    }
}

fn disks(survey: &HostSurvey, config: &WatchConfig) -> DoctorCheck {
    let is_excluded = |disk: &&SeenDisk| config.never.iter().any(|name| is_called(disk, name));
    let excluded = survey.disks.iter().filter(is_excluded).count();
    match survey.disks.len() {
        0 => missing(
            "disks",
            "none is seen",
            "other devices are watched by name: also = [\"/dev/loop7\"] in the settings",
        ),
        count => {
            let remark = if excluded == 0 { String::new() } else { format!("; {excluded} left alone (never)") };
            let arrays = counted(survey.arrays.len() as u64, "array");
            ok("disks", format!("{}, {arrays}{remark}", counted(count as u64, "disk")))
        }
    }
}

/// How each pool of ZFS is.
fn pools(survey: &HostSurvey) -> Vec<DoctorCheck> {
    let pools = survey.arrays.iter().filter(|array| array.kind() == ArrayKind::Zfs).cloned();
    let check = |pool: ArrayEntry| {
        let (words, advice) = (zfs::words(&pool, clock::today().0), zfs::advice(&pool));
        match advice {
            None => ok("pool", words),
            Some(advice) if zfs::is_faulty(&pool) => missing("pool", words, &advice),
            Some(advice) => note("pool", words, &advice),
        }
    };
    pools.map(unwatched_array_entry).map(check).collect()
}

/// Checks how foreground requests are seen, on the first disk.
fn detection(survey: &HostSurvey) -> DoctorCheck {
    let Some(disk) = survey.disks.first() else { return note("detection", "not tried: there is no disk", "nothing") };
    let node = DiskNode::of_folder(&Path::new("/sys/block").join(&disk.facts.name)).ok();
    let opened = detector::open(node.as_ref(), None, RequestSources::All);
    match opened.kind {
        DetectorKind::Bpf | DetectorKind::Perf => ok("detection", opened.why),
        DetectorKind::Stat | DetectorKind::Blind | DetectorKind::Server => missing(
            "detection",
            opened.why,
            "what others lose is estimated at best: run as root, on a kernel with BPF or tracefs",
        ),
    }
}

fn smartctl() -> DoctorCheck {
    match Smartctl::default().version() {
        Ok(version) => ok("smartctl", format!("version {version}")),
        Err(obstacle) => missing("smartctl", obstacle.words(), "apt install smartmontools"),
    }
}

/// A disk of an array: the kernel's time-out for it in seconds, and the drive's own limit for a bad sector.
struct MemberTimeout {
    name: String,
    kernel: u64,
    limit: Result<RecoveryLimit, SmartObstacle>,
}

/// Checks whether the kernel waits for each disk of an array as long as the disk may try a bad sector. Asks the drives,
/// as root.
fn timeouts(survey: &HostSurvey) -> Option<DoctorCheck> {
    let places = survey.arrays.iter().flat_map(|array| &array.members);
    let members: BTreeSet<&str> = places.filter_map(|place| place.disk.as_deref()).collect();
    let disks = survey.disks.iter().filter(|disk| members.contains(disk.facts.name.as_str()));
    let limits = disks.filter(|_| own_uid() == 0).filter_map(|disk| {
        let folder = Path::new("/sys/block").join(&disk.facts.name);
        let kernel = SystemRoot::default().number(&folder.join("device/timeout"))?;
        let limit = match kernel {
            KERNEL_WAITS_MIN.. => Ok(RecoveryLimit::NotReported),
            _ => Smartctl::default().recovery_limit(&disk.device),
        };
        Some(MemberTimeout { name: disk.facts.name.clone(), kernel, limit })
    });
    timeouts_of(&limits.collect::<Vec<_>>())
}

/// The result of that check; `None`: there are no such disks.
fn timeouts_of(members: &[MemberTimeout]) -> Option<DoctorCheck> {
    const NAME: &str = "timeouts";
    let names = |is_named: &dyn Fn(&MemberTimeout) -> bool| {
        let names: Vec<&str> =
            members.iter().filter(|member| is_named(member)).map(|member| member.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let is_short = |member: &MemberTimeout| {
        member.kernel < KERNEL_WAITS_MIN
            && match member.limit {
                Ok(RecoveryLimit::Deciseconds(tenths)) => tenths >= 10 * member.kernel,
                Ok(RecoveryLimit::Unlimited) => true,
                Ok(RecoveryLimit::NotReported) | Err(_) => false,
            }
    };
    let kernel = members.iter().map(|member| member.kernel).min()?;
    if let Some(names) = names(&is_short) {
        let found = format!(
            "{names}: may try a bad sector for longer than the kernel waits ({kernel} s), which then resets the drive, and an array \
             may take it out"
        );
        return Some(missing(NAME, found, TIMEOUTS_ADVICE));
    }
    if let Some(names) = names(&|member| matches!(member.limit, Err(SmartObstacle::Asleep))) {
        let found = format!("{names}: asleep, and not asked how long they may try a bad sector");
        return Some(note(NAME, found, "ask again when they are awake"));
    }
    let refused = members.iter().find_map(|member| Some((&member.name, member.limit.as_ref().err()?)));
    if let Some((name, obstacle)) = refused {
        let found = format!("{name}: did not say how long it may try a bad sector: {}", obstacle.words());
        let to_do = format!("ask it: smartctl -l scterc /dev/{name} (behind a USB bridge with -d TYPE)");
        return Some(note(NAME, found, &to_do));
    }
    let count = counted(members.len() as u64, "disk");
    Some(ok(NAME, format!("{count} of arrays: none is known to try a bad sector for longer than the kernel waits")))
}

fn settings(file: &Path, read: Result<WatchConfig, JobError>) -> DoctorCheck {
    let channels = read.as_ref().map(|config| AlertChannels::from_settings(&config.alert).map(drop));
    if let Ok(Err(fault)) = channels {
        if own_uid() != 0 {
            return note("settings", format!("not judged without root: {fault}"), "sudo scrubjay doctor");
        }
        let found = format!("{}: {fault}", file.display());
        return missing("settings", found, "mend it: the watch does not start with it");
    }
    match read {
        Ok(_) if !file.exists() => ok("settings", format!("{} is not there: defaults", file.display())),
        Ok(_) => ok("settings", file.display().to_string()),
        Err(error) => missing("settings", error.to_string(), "mend it; the watch keeps the old ones until then"),
    }
}

/// Checks the daemon, and its own status.
fn watch_checks(status: Result<Box<WatchDocument>, WatchObstacle>) -> Vec<DoctorCheck> {
    let status = match status {
        Ok(status) => status,
        Err(WatchObstacle { why, .. }) if own_uid() != 0 => return vec![note("watch", why, "sudo scrubjay doctor")],
        Err(WatchObstacle { why, start }) => {
            return vec![missing("watch", why, start.unwrap_or("see the line itself"))];
        }
    };
    let mut checks = vec![ok("watch", format!("version {} is running", status.version))];
    if status.observed.is_some() {
        checks.push(note(
            "watch",
            "it only observes: nothing is read, and nothing is sent",
            "sudo scrubjay set observe false",
        ));
    } else if status.channels.is_empty() {
        checks.push(missing("alerts", "no alert is sent: there is no channel", "sudo scrubjay setup"));
    }
    for channel in &status.channels {
        let failing = channel.last.as_ref().filter(|last| !last.is_accepted);
        checks.push(match (failing, channel.is_proven == Some(true)) {
            (Some(last), _) => missing(
                "alerts",
                format!("{}: {}", channel.name, last.said),
                "mend that, then: sudo scrubjay alert test",
            ),
            (None, true) => ok("alerts", format!("{}: {}", channel.name, channel.proof)),
            (None, false) => {
                missing("alerts", format!("{}: {}", channel.name, channel.proof), "sudo scrubjay alert test")
            }
        });
    }
    checks.extend(status.troubles.iter().map(|trouble| missing("watch", trouble.clone(), "see the line itself")));
    checks
}

fn clock() -> DoctorCheck {
    match clock::today().0 {
        now if now < CLOCK_MIN => missing(
            "clock",
            format!("it shows {}", scrubjay_control::wording::moment(now)),
            "set it: timedatectl set-ntp true",
        ),
        now => ok("clock", scrubjay_control::wording::moment(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Bytes;
    use scrubjay_device::target::TargetIdentity;

    #[test]
    fn a_watch_that_does_not_run_is_told_how_to_start_once() {
        if own_uid() != 0 {
            return; // others are told to ask again as root
        }
        let why = "The watch is not running: no disk is read on schedule, and no alert is sent".to_owned();
        let start = scrubjay_control::start_command();
        let checks = watch_checks(Err(WatchObstacle { why, start: Some(start) }));
        assert_eq!(checks.len(), 1);
        assert!(!checks[0].found.contains(start), "{}", checks[0].found);
        assert_eq!(checks[0].to_do.as_deref(), Some(start));
    }

    #[test]
    fn root_is_not_well_where_a_disk_is_withheld_from_it() {
        let disk = |name: &str, obstacle| InventoryDisk {
            path: PathBuf::from(name),
            model: None,
            serial: None,
            id: TargetIdentity::new(name, String::new(), false),
            bytes: Bytes(1 << 30),
            is_hardware: true,
            is_rotational: true,
            obstacle,
        };
        let withheld = |name: &str| {
            let obstacle = TargetError::Permission { path: name.into(), advice: "even to root" };
            disk(name, Some(obstacle))
        };
        let check = permission(&[disk("/dev/sda", None), withheld("/dev/sdb"), withheld("/dev/sdc")]);
        assert_eq!(check.state, DoctorState::Missing);
        if own_uid() == 0 {
            assert_eq!(check.found, "this is root, but /dev/sdb and 1 more: permission denied, even to root");
            assert_eq!(permission(&[disk("/dev/sda", None)]).state, DoctorState::Ok);
        }
    }

    #[test]
    fn a_disk_of_an_array_that_may_try_for_longer_than_the_kernel_waits_is_named() {
        let member = |name: &str, kernel, limit| MemberTimeout { name: name.to_owned(), kernel, limit };
        let short = member("sda", 30, Ok(RecoveryLimit::Unlimited));
        let slow = member("sdb", 30, Ok(RecoveryLimit::Deciseconds(300)));
        let good = member("sdc", 30, Ok(RecoveryLimit::Deciseconds(70)));
        let patient = member("sdd", 180, Ok(RecoveryLimit::NotReported));
        let asleep = member("sde", 30, Err(SmartObstacle::Asleep));
        let check = timeouts_of(&[short, slow, good, patient, asleep]).unwrap();
        assert_eq!(check.state, DoctorState::Missing);
        assert!(check.found.starts_with("sda, sdb: may try"), "{}", check.found);
        let good = || member("sdc", 30, Ok(RecoveryLimit::Deciseconds(70)));
        let check = timeouts_of(&[good(), member("sde", 30, Err(SmartObstacle::Asleep))]).unwrap();
        assert_eq!((check.state, check.found.starts_with("sde:")), (DoctorState::Note, true), "{}", check.found);
        let bridge = Err(SmartObstacle::TypeNeeded { usb: None, proposed: None });
        let check = timeouts_of(&[good(), member("sdf", 30, bridge)]).unwrap();
        assert_eq!(
            (check.state, check.found.starts_with("sdf: did not say")),
            (DoctorState::Note, true),
            "{}",
            check.found
        );
        assert!(check.to_do.as_deref().is_some_and(|to_do| to_do.contains("scterc /dev/sdf")), "{:?}", check.to_do);
        assert_eq!(timeouts_of(&[good()]).unwrap().state, DoctorState::Ok);
        assert!(timeouts_of(&[]).is_none());
    }
}
