//! Timers, cron and smartd as distributions install them.

use super::super::fixture::MachineFiles;
use super::*;

fn names_and_times(machine: &MachineFiles) -> Vec<(String, String)> {
    other_scrubbers(&machine.root()).into_iter().map(|other| (other.who, other.when)).collect()
}

fn with_systemd() -> MachineFiles {
    let machine = MachineFiles::new();
    machine.file("run/systemd/system/.keep", "");
    machine
}

fn pair(name: &str, when: &str) -> (String, String) {
    (name.to_owned(), when.to_owned())
}

#[test]
fn timers_count_when_they_are_enabled_and_not_masked() {
    let machine = with_systemd();
    let units = "usr/lib/systemd/system";
    machine.file(&format!("{units}/mdcheck_start.timer"), "[Timer]\nOnCalendar=Sun *-*-1..7 1:00:00");
    machine.file(&format!("{units}/zfs-scrub-monthly@.timer"), "[Timer]\nOnCalendar=monthly\nPersistent=true");
    machine.file(&format!("{units}/xfs_scrub_all.timer"), "[Timer]\nOnCalendar=Sun *-*-* 03:10:00");
    machine.file(&format!("{units}/btrfs-scrub.timer"), "[Timer]\nOnCalendar=monthly");
    assert_eq!(names_and_times(&machine), [], "installed, but not enabled");
    machine.link(
        "etc/systemd/system/mdmonitor.service.wants/mdcheck_start.timer",
        "/lib/systemd/system/mdcheck_start.timer",
    );
    let wants = "etc/systemd/system/timers.target.wants";
    machine.link(&format!("{wants}/zfs-scrub-monthly@tank.timer"), "/usr/lib/systemd/system/zfs-scrub-monthly@.timer");
    machine.link(&format!("{wants}/fstrim.timer"), "/usr/lib/systemd/system/fstrim.timer");
    machine.link(&format!("{units}/timers.target.wants/xfs_scrub_all.timer"), "../xfs_scrub_all.timer");
    machine.link(&format!("{wants}/btrfs-scrub.timer"), "/usr/lib/systemd/system/btrfs-scrub.timer");
    machine.link("etc/systemd/system/btrfs-scrub.timer", "/dev/null");
    assert_eq!(
        names_and_times(&machine),
        [
            pair("mdcheck_start.timer", "Sun *-*-1..7 1:00:00"),
            pair("xfs_scrub_all.timer", "Sun *-*-* 03:10:00"),
            pair("zfs-scrub-monthly@tank.timer", "monthly"),
        ]
    );
    // A drop-in file with the owner's own time.
    machine.file("etc/systemd/system/xfs_scrub_all.timer.d/own.conf", "[Timer]\nOnCalendar=\nOnCalendar=Sat 02:00");
    assert_eq!(names_and_times(&machine)[1].1, "Sat 02:00");
    machine.remove("run/systemd");
    assert_eq!(names_and_times(&machine), [], "without systemd nobody uses timers");
}

#[test]
fn checkarray_is_listed_only_if_its_settings_enable_it() {
    let machine = MachineFiles::new();
    let line = "57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\\%d) -le 7 ]; then \
                /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi";
    machine.file("etc/cron.d/mdadm", &format!("# checkarray by cron\n{line}"));
    assert_eq!(names_and_times(&machine), []);
    machine.file("etc/default/mdadm", "# AUTOCHECK:\nAUTOCHECK=true\nAUTOSCAN=true");
    assert_eq!(
        names_and_times(&machine),
        [pair("/etc/cron.d/mdadm", "cron 57 0 * * 0, in the first seven days of a month")]
    );
    machine.file("etc/default/mdadm", "AUTOCHECK=false");
    assert_eq!(names_and_times(&machine), []);
}

#[test]
fn work_that_cron_and_systemd_both_start_is_marked_as_double() {
    let machine = with_systemd();
    machine.file("etc/cron.d/local", "0 3 1 * * root /usr/sbin/raid-check\n@monthly root btrfs scrub start -B /srv");
    machine.file("etc/cron.d/e2scrub_all", "30 3 * * 0 root test -e /run/systemd/system || /sbin/e2scrub_all_cron");
    machine.file("etc/cron.weekly/snap", "#!/bin/sh\n# snapraid\nsnapraid scrub -p 8");
    machine.link(
        "etc/systemd/system/mdmonitor.service.wants/mdcheck_start.timer",
        "/lib/systemd/system/mdcheck_start.timer",
    );
    let others = other_scrubbers(&machine.root());
    let names: Vec<&str> = others.iter().map(|other| other.who.as_str()).collect();
    assert_eq!(names, ["/etc/cron.d/local", "/etc/cron.d/local", "/etc/cron.weekly/snap", "mdcheck_start.timer"]);
    assert_eq!(others.iter().filter(|other| other.advice.contains("keep one of the two")).count(), 2);
    assert_eq!((others[1].when.as_str(), others[2].when.as_str()), ("cron @monthly", "weekly"));
}

#[test]
fn smartd_is_listed_only_with_long_tests() {
    let machine = with_systemd();
    machine.file("etc/smartd.conf", "# -s (L/../../6/03)\nDEVICESCAN -d removable -n standby -m root");
    machine.link(
        "etc/systemd/system/multi-user.target.wants/smartmontools.service",
        "/lib/systemd/system/smartmontools.service",
    );
    assert_eq!(names_and_times(&machine), []);
    machine.file("etc/smartd.conf", "DEVICESCAN -a -s (S/../.././02)");
    assert_eq!(names_and_times(&machine), []);
    machine
        .file("etc/smartd.conf", "/dev/sda -a \\\n -s (S/../.././02|L/../../6/03) -m root\n/dev/sdb -s L/../15/./04");
    let others = other_scrubbers(&machine.root());
    let when: Vec<&str> = others.iter().map(|other| other.when.as_str()).collect();
    assert_eq!(when, ["(S/../.././02|L/../../6/03)", "L/../15/./04"]);
    assert!(others[0].what.contains("/dev/sda"));
    machine.remove("etc/systemd/system/multi-user.target.wants/smartmontools.service");
    assert_eq!(names_and_times(&machine), [], "smartd does not run");
}
