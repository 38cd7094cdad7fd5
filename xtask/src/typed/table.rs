//! By which step what a document tells people to type is typed: the table. `cargo xtask tidy` refuses a block of a document without a row, and a
//! row without a block; `cargo xtask typed` an example of `--help`.

/// A machine on which commands are typed: a file in tests/typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// Traces and images, no disk.
    Files,
    /// Small disks.
    Disks,
    /// A disk with bad sectors.
    Bad,
    /// Members of volumes.
    Volume,
    /// A mounted btrfs.
    Btrfs,
    /// A watch over small disks.
    Watch,
    /// A modelled machine after a year.
    Recorded,
    /// An array of md, in the virtual machine of tests/lab/guest-md.sh.
    Md,
    /// A kernel with ublk and NBD, in the virtual machine of tests/lab/guest-ublk.sh.
    BlockDevice,
    /// A clean Debian with systemd, in the virtual machine of tests/lab/deb.sh.
    Debian,
    /// A Debian whose package was upgraded and is to be the older one again, in the virtual machine of tests/lab/upgrade.sh.
    Downgrade,
}

impl Scene {
    /// All scenes.
    pub const ALL: [Scene; 11] = [
        Scene::Files,
        Scene::Disks,
        Scene::Bad,
        Scene::Volume,
        Scene::Btrfs,
        Scene::Watch,
        Scene::Recorded,
        Scene::Md,
        Scene::BlockDevice,
        Scene::Debian,
        Scene::Downgrade,
    ];

    /// Its name, which is that of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Scene::Files => "files",
            Scene::Disks => "disks",
            Scene::Bad => "bad",
            Scene::Volume => "volume",
            Scene::Btrfs => "btrfs",
            Scene::Watch => "watch",
            Scene::Recorded => "recorded",
            Scene::Md => "md",
            Scene::BlockDevice => "block-device",
            Scene::Debian => "debian",
            Scene::Downgrade => "downgrade",
        }
    }

    /// Whether it needs a virtual machine, in which a script of the lab plays it.
    pub const fn is_in_guest(self) -> bool {
        matches!(self, Scene::Md | Scene::BlockDevice | Scene::Debian | Scene::Downgrade)
    }
}

/// Who types it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// It is typed in this scene.
    Scene(Scene),
    /// A step of `make test` or of `lab-long` of this name types it.
    Step(&'static str),
    /// Nobody, for this reason.
    Exempt(&'static str),
}

/// A row: what begins so, in this place, is typed so.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The document, [`HELP`], [`MAKE`] or [`EXAMPLES`].
    pub place: &'static str,
    /// How its first command begins; of [`HELP`], the beginning of each example that it covers.
    pub begins: &'static str,
    /// Who types it.
    pub by: By,
    /// What the scene does first.
    pub before: &'static str,
    /// What is typed in place of what is told, for what is told by its name alone; empty: what is told.
    pub instead: &'static str,
    /// The exit statuses that it may have.
    pub statuses: &'static [i32],
}

/// The place of examples of `--help`.
pub const HELP: &str = "--help";
/// The place of targets of the Makefile.
pub const MAKE: &str = "make";
/// The place of programs in `examples/`.
pub const EXAMPLES: &str = "examples";

const fn typed(place: &'static str, begins: &'static str, scene: Scene) -> Row {
    Row { place, begins, by: By::Scene(scene), before: "", instead: "", statuses: &[0] }
}

const fn step(place: &'static str, begins: &'static str, step: &'static str) -> Row {
    Row { place, begins, by: By::Step(step), before: "", instead: "", statuses: &[0] }
}

const fn exempt(place: &'static str, begins: &'static str, why: &'static str) -> Row {
    Row { place, begins, by: By::Exempt(why), before: "", instead: "", statuses: &[0] }
}

impl Row {
    /// The row, with what the scene does first.
    const fn after(self, before: &'static str) -> Row {
        Row { before, ..self }
    }

    /// The row of something that is told by its name, with how it is run.
    const fn as_in(self, instead: &'static str) -> Row {
        Row { instead, ..self }
    }

    /// The row, where its commands may also find something (exit status 3).
    const fn may_find(self) -> Row {
        self.may_end(&[0, 3])
    }

    /// The row, with the exit statuses that its commands may have.
    const fn may_end(self, statuses: &'static [i32]) -> Row {
        Row { statuses, ..self }
    }
}

const DEB: &str = "the Debian package: made, installed, used, purged";
const DIST: &str = "all that users are given: made, for x86-64 and 64-bit Arm";
const DEMO_SCRUB: &str = "demo: a scrub beside its owner";
const PYTHON: &str = "the Python package: a wheel of what was built, in a clean environment, tried by pytest";
const PYTHON_LONG: &str = "the Python package: a wheel as pip makes it of the sources, and all of its tests";
const STORM: &str = "storm: everything at once";
const UNIT_TESTS: &str = "unit and integration tests";
const YEARS: &str = "years: hosts, their disks, people and mail servers";
const GUEST_BENCH: &str = "VERIFY measured in a virtual machine, and a read cache put back after kill -9";

const GUEST_ZFS: &str =
    "a pool of ZFS in a virtual machine: its scrub driven, held, killed; what others do in the midst of it";
const GUEST_WATCH: &str = "the watch in a virtual machine: drives that answer, arrays that fail";

use Scene::{Bad, BlockDevice, Btrfs, Debian, Disks, Downgrade, Files, Md, Recorded, Volume, Watch};

/// The table. Of several rows that fit, the first holds.
pub const TABLE: &[Row] = &[
    // README.md
    typed("README.md", "sudo scrubjay status", Recorded),
    typed("README.md", "cargo xtask deb && sudo apt", Debian).after("afresh").may_find(),
    typed("README.md", "sudo systemctl enable", Debian),
    step("README.md", "make demo", DEMO_SCRUB),
    typed("README.md", "sudo scrubjay scrub /dev/sda", Disks),
    // docs/containers.md, docs/fleet-of-hosts.md, docs/platforms.md
    step("docs/containers.md", "cargo xtask dist", DIST),
    exempt("docs/containers.md", "podman-compose", "no container program runs here"),
    exempt("docs/containers.md", "kubectl apply", "takes a cluster"),
    typed("docs/fleet-of-hosts.md", "sudo scrubjay alert test", Watch).may_find(),
    exempt("docs/fleet-of-hosts.md", "for host in nas1", "takes other machines"),
    typed("docs/platforms.md", "sudo scrubjay watch --observe", Disks)
        .after("printf 'never = [\"sda\"]\\n' >watch.toml"),
    // docs/install.md
    exempt("docs/install.md", "sudo apt install git", "fetches from addresses that a test may not reach (rustup's)"),
    typed("docs/install.md", "cargo xtask deb", Debian).after("afresh").may_find(),
    typed("docs/install.md", "sudo systemctl enable", Debian),
    typed("docs/install.md", "sudo apt install ./target/debian/scrubjay-lab", Debian).after("installed"),
    typed("docs/install.md", "sudo scrubjay status", Debian).may_find(),
    typed("docs/install.md", "git pull", Debian),
    typed("docs/install.md", "sudo systemctl stop scrubjay", Downgrade),
    step("docs/install.md", "cargo xtask dist", DIST),
    exempt("docs/install.md", "ssh-keygen", "takes a file that the owner of the key gives"),
    exempt("docs/install.md", "sudo dnf install", "takes another distribution"),
    typed("docs/install.md", "scrubjay generate man", Files),
    typed("docs/install.md", "sudo apt remove", Debian),
    typed("docs/install.md", "sudo install -m 755 contrib/cron", Files).after("cd \"$root\""),
    // docs/safety.md
    typed("docs/safety.md", "echo 180", Debian),
    exempt("docs/safety.md", "sudo smartctl -l scterc,70,70", "no emulated drive has the command (SCT) that it sends"),
    exempt(
        "docs/safety.md",
        "sudo smartctl -l scterc /dev/sda",
        "no emulated drive has the command (SCT) that it sends",
    ),
    typed("docs/safety.md", "sudo timeout", Disks),
    // docs/repair.md
    typed("docs/report.md", "sudo scrubjay report --out", Watch)
        .as_in("echo y | sudo scrubjay report --out report.json --force")
        .may_find(),
    typed("docs/report.md", "sudo scrubjay report", Watch).may_find(),
    typed("docs/qualified.md", "sudo scrubjay qualify", Disks)
        .as_in("sudo scrubjay qualify $A --minutes 0.1 --goals 1ms --out qualified.json --page page")
        .may_find(),
    typed("docs/qualified.md", "sudo scrubjay report", Watch)
        .after("echo '{}' >qualified.json")
        .as_in("echo y | sudo scrubjay report --with qualified.json --out report.json --force")
        .may_find(),
    typed("docs/repair.md", "sudo scrubjay scrub /dev/sda --policy none", Bad).may_find(),
    typed("docs/repair.md", "cat /proc/mdstat", Md),
    typed("docs/repair.md", "sudo scrubjay accept sda", Watch).after("problem"),
    typed("docs/repair.md", "sudo scrubjay explain /dev/sda", Bad).may_find(),
    typed("docs/repair.md", "sudo scrubjay scrub /dev/sda --range", Bad).may_find(),
    typed("docs/repair.md", "sudo scrubjay scrub /dev/md0 --repair", Md),
    typed("docs/repair.md", "sudo scrubjay locate", Watch),
    typed("docs/repair.md", "sudo mdadm /dev/md0 --add", Md).after("short_of_one"),
    typed("docs/repair.md", "sudo mdadm /dev/md0 --replace", Md).after("with_spare"),
    typed("docs/repair.md", "sudo btrfs replace start", Btrfs),
    typed("docs/repair.md", "sudo sgdisk -R", Btrfs).after("tables"),
    typed("docs/repair.md", "sudo mdadm /dev/md0 --fail", Md).after("whole"),
    typed("docs/repair.md", "sudo mdadm --stop /dev/md0", Md).after("whole"),
    typed("docs/repair.md", "sudo mdadm --assemble --scan", Md).after("unplugged"),
    exempt(
        "docs/repair.md",
        "sudo systemctl disable --now mdcheck",
        "the units are those of newer versions of mdadm than the lab has",
    ),
    // docs/volume.md
    typed("docs/volume.md", "truncate -s 1G", Volume).may_find(),
    typed("docs/volume.md", "sudo modprobe ublk_drv", BlockDevice).after("new_photos"),
    typed("docs/volume.md", "scrubjay volume serve", Volume).after("new_photos"),
    typed("docs/volume.md", "sudo modprobe nbd", BlockDevice).after("served_photos"),
    // other documents
    typed("docs/faq.md", "scrubjay simulate watch", Files),
    typed("docs/bench.md", "sudo scrubjay bench disk", Disks),
    typed("docs/probe.md", "scrubjay probe /dev/sdb", Disks),
    typed("docs/pace.md", "sudo scrubjay pace", Disks).after("to_pace"),
    step("docs/zfs.md", "sudo scrubjay scrub tank", GUEST_ZFS),
    typed("docs/traces.md", "sudo scrubjay trace capture", Disks).after("recording"),
    step("docs/traces.md", "import scrubjay", PYTHON_LONG),
    step("docs/python.md", "pip install", PYTHON_LONG),
    step("docs/python.md", "import scrubjay", PYTHON),
    step("docs/python.md", "pyarrow.table", PYTHON_LONG),
    step("docs/python.md", "with tqdm", PYTHON_LONG),
    step("docs/fleet.md", "pip install", PYTHON_LONG),
    step("docs/fleet.md", "from scrubjay import fleet", PYTHON_LONG),
    step("docs/fleet.ipynb", "its cells", PYTHON_LONG),
    step("crates/python/README.md", "import scrubjay", PYTHON),
    exempt("docs/budget.md", "cargo xtask bench-budget", "measures for an hour; no test decides by a time"),
    typed("docs/history.md", "sqlite3 -readonly", Watch).after("cp /var/lib/scrubjay/history.db* ."),
    exempt("docs/lab.md", "disk=", "the scripts of the lab call these two commands"),
    typed("docs/web.md", "sudo systemctl enable", Debian).after("installed"),
    typed("docs/watch.md", "sudo scrubjay set observe", Debian).after("installed; systemctl start scrubjay").may_find(),
    typed("docs/watch.md", "sudo scrubjay set zfs.scrub", Debian)
        .after("installed; systemctl start scrubjay")
        .may_find(),
    typed("docs/watch.md", "sudo install -D -m 644 /usr/share", Debian).after("installed"),
    typed("docs/watch.md", "sudo usermod -aG scrubjay", Debian).after("installed; useradd nagios"),
    exempt("CONTRIBUTING.md", "make demo", "each of these is this table, or a part of it"),
    exempt("fuzz/README.md", "export FORMAT", "takes a nightly compiler"),
    // the Makefile
    typed(MAKE, "help", Files).as_in("make -C \"$root\" help"),
    step(MAKE, "demo", DEMO_SCRUB),
    exempt(MAKE, "test", "it runs this table"),
    exempt(MAKE, "smoke", "it runs a part of what `make test` runs"),
    // examples/
    step(EXAMPLES, "crates/cli/examples/demo", DEMO_SCRUB),
    step(EXAMPLES, "crates/device/examples/speed_maps", UNIT_TESTS),
    step(EXAMPLES, "crates/proof/examples/seeds", STORM),
    step(EXAMPLES, "crates/proof/examples/slow_trials", UNIT_TESTS),
    step(EXAMPLES, "crates/proof/examples/years", YEARS),
    step(EXAMPLES, "crates/words/examples/messages", UNIT_TESTS),
    typed(EXAMPLES, "crates/trace/examples/rate", Files).as_in("example rate open proj_0.csv.gz 1"),
    typed(EXAMPLES, "crates/daemon/examples/survey", Files).as_in("example survey"),
    typed(EXAMPLES, "crates/serve/examples/volume_speed", Files).as_in("example volume_speed"),
    typed(EXAMPLES, "crates/sim/examples/speed", Files).as_in("example speed --millions 1"),
    typed(EXAMPLES, "crates/sim/examples/budget_trials", Files).as_in("example budget_trials --only 'even beat'"),
    typed(EXAMPLES, "crates/sim/examples/probe_trials", Files).as_in("example probe_trials --trials 1"),
    typed(EXAMPLES, "crates/sim/examples/rarely_slow", Files).as_in("example rarely_slow 60"),
    // --help
    step(HELP, "sudo systemctl", DEB),
    exempt(HELP, "ssh -L", "takes a second machine"),
    step(HELP, "sudo scrubjay bench verify", GUEST_BENCH),
    exempt(
        HELP,
        "scrubjay bench disk /dev/sdb --write",
        "wants the serial number of a drive, which a loop device does not have",
    ),
    step(
        HELP,
        "scrubjay bench disk /dev/nvme0n1 --engine fio",
        "lab: disks measured: slow, broken, shared, sparse, small; what is refused; fio beside",
    ),
    typed(HELP, "scrubjay bench code", Files),
    typed(HELP, "scrubjay bench disk", Disks),
    typed(HELP, "sudo scrubjay bench disk", Disks),
    typed(HELP, "scrubjay explain --smart", Files)
        .after("cp \"$root/crates/daemon/tests/fixtures/recorded/nvme.json\" smart.json")
        .may_find(),
    typed(HELP, "sudo scrubjay explain", Disks).may_find(),
    typed(HELP, "scrubjay generate", Files),
    typed(HELP, "sudo scrubjay generate", Files),
    typed(HELP, "scrubjay probe", Disks).may_find(),
    typed(HELP, "sudo scrubjay pace", Disks).after("to_pace"),
    typed(HELP, "scrubjay scrub /mnt/pool", Btrfs),
    typed(HELP, "scrubjay scrub /dev/md0 --repair", Md).after("whole"),
    typed(HELP, "scrubjay scrub /dev/md0", Md).after("whole"),
    typed(HELP, "sudo scrubjay scrub /dev/md0", Md).after("whole"),
    step(HELP, "scrubjay scrub tank", GUEST_ZFS),
    typed(HELP, "scrubjay scrub photos", Volume).after("photos").may_find(),
    typed(HELP, "scrubjay scrub", Disks),
    step(HELP, "sudo scrubjay scrub-now md0", GUEST_WATCH),
    typed(HELP, "sudo scrubjay scrub-now", Watch),
    typed(HELP, "sudo scrubjay scrub", Disks),
    typed(HELP, "scrubjay simulate watch --disks 60 --page nas.json && scrubjay web", Files),
    typed(HELP, "scrubjay simulate", Files),
    typed(HELP, "scrubjay study", Files),
    typed(HELP, "scrubjay trace generate --like", Files).after("unwritten"),
    typed(HELP, "scrubjay trace", Files),
    typed(HELP, "sudo scrubjay trace capture", Disks).after("recording"),
    typed(HELP, "scrubjay tune", Files).after("unwritten"),
    typed(HELP, "truncate", Volume),
    typed(HELP, "scrubjay volume create", Volume).after("blank"),
    typed(HELP, "scrubjay volume serve", Volume).after("create_both"),
    typed(HELP, "scrubjay volume check", Volume).after("create_both"),
    typed(HELP, "scrubjay volume inspect", Volume).after("create_both"),
    typed(HELP, "scrubjay volume readd", Volume)
        .after("photos; scrubjay volume fail \"/dev/$C\" >/dev/null")
        .may_find(),
    typed(HELP, "scrubjay volume replace", Volume).after("photos; scrubjay volume fail 2 >/dev/null").may_find(),
    typed(HELP, "scrubjay volume", Volume).after("photos").may_find(),
    typed(HELP, "sudo scrubjay setup", Debian).after("installed"),
    typed(HELP, "sudo scrubjay doctor", Watch).may_find(),
    exempt(HELP, "sudo scrubjay qualify /dev/sda --by-hand", "takes hands"),
    typed(HELP, "sudo scrubjay qualify", Disks)
        .as_in("sudo scrubjay qualify $A --minutes 0.1 --goals 1ms --out sda.json --page page --force")
        .may_find(),
    typed(HELP, "sudo scrubjay report --out", Watch)
        .as_in("echo y | sudo scrubjay report --out report.json")
        .may_find(),
    typed(HELP, "sudo scrubjay report --with", Watch).after("echo '{}' >qualified.json; rm -f report.json").may_find(),
    typed(HELP, "sudo scrubjay check", Watch).may_end(&[0, 1, 2, 3]),
    typed(HELP, "scrubjay watch --print-config", Watch),
    typed(HELP, "sudo scrubjay watch", Disks).after("printf 'never = [\"sda\"]\\n' >watch.toml"),
    typed(HELP, "sudo scrubjay alert confirm", Watch).after("scrubjay alert test >/dev/null"),
    step(HELP, "sudo scrubjay accept tank", GUEST_WATCH),
    typed(HELP, "sudo scrubjay accept ZL2ABCDE", Watch).after("problem"),
    typed(HELP, "sudo scrubjay forget", Watch).after("taken_out"),
    typed(HELP, "sudo scrubjay", Watch).may_find(),
    typed(HELP, "scrubjay status", Watch).may_find(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_a_name_of_its_own() {
        let mut names: Vec<&str> = Scene::ALL.iter().map(|scene| scene.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Scene::ALL.len());
    }
}
