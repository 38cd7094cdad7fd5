//! The steps of `cargo xtask test`: a table, in the order in which failures show up soonest.
//!
//! Steps that mostly wait for disks run in lanes beside the others, once their packages and the build are there.

use super::packages::{
    ARRAYS, ARRAYS_ON_FUSE, BENCH_DISK, BTRFS, BTRFS_UNDER_LOAD, CAPTURE, CLIENTS, CONTRIB, DIST, FAILING, FAULTY_DISK,
    FILE_SYSTEMS, GUEST, GUEST_ARM, GUEST_ARRAYS, GUEST_BTRFS, GUEST_FAILURES, GUEST_FILE_SYSTEMS, GUEST_VOLUME,
    GUEST_ZFS, HANGING, HOST_SECTORS, PAGE, PAGE_SECURITY, PYTHON, SIGNED, SUITES, TYPED, WATCHED, WATCHED_VOLUME,
};

/// A step.
#[derive(Clone, Copy)]
pub struct TestStep {
    /// What it proves, as the summary states it.
    pub name: &'static str,
    /// The program and its arguments, run in the root of the repository. A program below `built/` lies in the folder of the profile.
    pub command: &'static [&'static str],
    /// Its environment variables.
    pub environment: &'static [(&'static str, &'static str)],
    /// The rustup component that it needs.
    pub component: Option<&'static str>,
    /// The Debian packages that it needs.
    pub packages: &'static [&'static str],
    /// Whether it needs the program that [`BUILD`] builds.
    pub needs_build: bool,
    /// The profile of that program.
    pub profile: &'static str,
    /// In which sequence it runs.
    pub lane: Lane,
    /// What runs of it in the daily loop.
    pub smoke: Smoke,
}

/// A sequence of steps. The lanes run beside each other; each takes its steps in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// What computes.
    Main,
    /// What mostly waits, on this machine.
    Waits,
    /// What mostly waits, and has a machine or folders of its own: virtual machines, demonstrations, what documents tell people to type.
    Apart,
}

/// What runs of a step in the daily loop (`cargo xtask test smoke`), which must take less than three minutes when
/// everything is built.
#[derive(Clone, Copy)]
pub enum Smoke {
    /// None of it.
    Nothing,
    /// All of it.
    All,
    /// This command instead of its own.
    Only(&'static [&'static str]),
}

impl TestStep {
    /// The step in the daily loop; `None`: it does not run there.
    pub fn short(self) -> Option<TestStep> {
        match self.smoke {
            Smoke::Nothing => None,
            Smoke::All => Some(self),
            Smoke::Only(command) => Some(TestStep { command, ..self }),
        }
    }
}

const PLAIN: TestStep = TestStep {
    name: "",
    command: &[],
    environment: &[],
    component: None,
    packages: &[],
    needs_build: false,
    profile: PROFILE,
    lane: Lane::Main,
    smoke: Smoke::Nothing,
};

/// The defaults of the lab's steps.
const LAB: TestStep = TestStep { needs_build: true, lane: Lane::Waits, ..PLAIN };

/// The defaults of steps with a machine or folders of their own.
const APART: TestStep = TestStep { lane: Lane::Apart, ..LAB };

/// The defaults of the long steps: some of them measure, so they run an optimized program.
const LONG: TestStep = TestStep { needs_build: true, profile: "release", ..PLAIN };

/// The name of the step that builds what the lab runs. It is chosen with every step that needs it: an older program would be tested
/// otherwise.
pub const BUILD: &str = "build";

/// The profile in which the steps compile: what takes long to optimize and little to run is not optimized (Cargo.toml).
pub const PROFILE: &str = "suite";

/// All steps. All that compiles does so in one profile: macros, build scripts and C are compiled once. Every build selects the
/// whole workspace: the selection decides which features the dependencies have, and with other features they, and all that
/// depends on them, would be rebuilt.
pub const STEPS: &[TestStep] = &[
    TestStep {
        name: "format",
        command: &["cargo", "fmt", "--all", "--check"],
        component: Some("rustfmt"),
        smoke: Smoke::All,
        ..PLAIN
    },
    TestStep { name: "tidy", command: &["cargo", "xtask", "tidy"], smoke: Smoke::All, ..PLAIN },
    TestStep { name: "licences of all that we are made of", command: &["cargo", "xtask", "licences"], ..PLAIN },
    TestStep {
        name: BUILD,
        // What the lab runs, and the programs in examples/.
        command: &["cargo", "build", "--profile=suite", "--workspace", "--lib", "--bins", "--examples"],
        ..PLAIN
    },
    TestStep {
        name: "strangers' clients: a volume",
        command: &["tests/lab/volume-clients.sh"],
        packages: CLIENTS,
        ..LAB
    },
    TestStep {
        name: "lab: a volume whose server is killed",
        command: &["tests/lab/volume-kill.sh"],
        packages: CLIENTS,
        ..LAB
    },
    TestStep {
        name: "lab: members of a volume that hang, and are taken back",
        command: &["tests/lab/volume-hang.sh"],
        packages: HANGING,
        ..LAB
    },
    TestStep {
        name: "lab: a served volume as the target of the scrub",
        command: &["tests/lab/volume-scrub.sh"],
        packages: CLIENTS,
        ..LAB
    },
    TestStep {
        name: "lab: file systems on a volume whose members are written over",
        command: &["tests/lab/volume-fs.sh"],
        packages: FILE_SYSTEMS,
        ..LAB
    },
    TestStep {
        name: "lab: what a volume's writes cost its members",
        command: &["tests/lab/volume-count.sh"],
        packages: CLIENTS,
        ..LAB
    },
    TestStep {
        name: "lab: limits, small parts, strangers and lost disks, probed, and what its writes leave behind",
        command: &["tests/lab/host-probe.sh"],
        packages: ARRAYS_ON_FUSE,
        ..LAB
    },
    TestStep {
        name: "lab: disks measured: slow, broken, shared, sparse, small; what is refused; fio beside",
        command: &["tests/lab/bench-disk.sh"],
        packages: BENCH_DISK,
        ..LAB
    },
    TestStep {
        name: "lab: a disk qualified: a client of its own beside a scrub, bad sectors among what it reads",
        command: &["tests/lab/qualify.sh"],
        packages: BENCH_DISK,
        ..LAB
    },
    TestStep {
        name: "lab: md arrays in a virtual machine, checked in steps",
        command: &["tests/lab/guest-md.sh"],
        packages: GUEST_ARRAYS,
        ..APART
    },
    TestStep {
        name: "lab: bad sectors on a block device",
        command: &["tests/lab/host-scrub.sh"],
        packages: FAULTY_DISK,
        ..LAB
    },
    TestStep {
        name: "lab: a paced program: exit codes, signals, pipes, locks; scrubjay and its guardian killed",
        command: &["tests/lab/pace.sh"],
        packages: BENCH_DISK,
        ..LAB
    },
    TestStep {
        name: "lab: a mounted btrfs, damaged, repaired and lost",
        command: &["tests/lab/btrfs-scrub.sh"],
        packages: BTRFS,
        ..LAB
    },
    TestStep {
        name: "lab: the watch: disks found, read and told of by mail, killed, full, and set back a day",
        command: &["tests/lab/watch.sh"],
        packages: WATCHED,
        ..LAB
    },
    TestStep {
        name: "lab: reads of programs that fail, told within seconds",
        command: &["tests/lab/failures.sh"],
        packages: FAILING,
        ..LAB
    },
    TestStep {
        name: "lab: a place of a disk that is slower than those around it",
        command: &["tests/lab/slow.sh"],
        packages: BENCH_DISK,
        ..LAB
    },
    TestStep {
        name: "lab: a watch that only observes, and then the real one",
        command: &["tests/lab/observe.sh"],
        packages: BENCH_DISK,
        ..LAB
    },
    TestStep {
        name: "lab: the page as an enemy meets it",
        command: &["tests/lab/page-security.sh"],
        packages: PAGE_SECURITY,
        ..LAB
    },
    TestStep {
        name: "lab: alert rules, dashboard and tiles for other people's programs",
        command: &["tests/lab/contrib.sh"],
        packages: CONTRIB,
        ..LAB
    },
    TestStep {
        name: "lab: capture of a block device",
        command: &["tests/lab/host-capture.sh"],
        packages: CAPTURE,
        ..LAB
    },
    TestStep {
        name: "lab: virtio, SCSI, SATA, NVMe and dm-integrity in a virtual machine",
        command: &["tests/lab/guest-scrub.sh"],
        packages: GUEST,
        ..APART
    },
    TestStep {
        name: "the Python package: a wheel of what was built, in a clean environment, tried by pytest",
        command: &["tests/lab/python.sh"],
        packages: PYTHON,
        ..LAB
    },
    TestStep { name: "demo: a volume whose members lie", command: &["built/examples/demo", "volume"], ..APART },
    TestStep { name: "demo: a scrub beside its owner", command: &["built/examples/demo", "scrub"], ..APART },
    TestStep {
        name: "what documents, help and Makefile tell people to type, and what they show",
        command: &["cargo", "xtask", "typed"],
        packages: TYPED,
        ..APART
    },
    // After the build, although they are short: what the lab runs must be there early, for most of the lab's time is waiting.
    TestStep {
        name: "clippy, also of the fuzz targets",
        command: &[
            "cargo",
            "clippy",
            "--profile=suite",
            "--workspace",
            "--all-targets",
            "--features=scrubjay-fuzz/fuzzer",
            "--",
            "-D",
            "warnings",
        ],
        // The fuzzer itself is C++, and nothing is linked with it here.
        environment: &[("CUSTOM_LIBFUZZER_PATH", "/dev/null")],
        component: Some("clippy"),
        ..PLAIN
    },
    TestStep { name: "64-bit Arm: what depends on the architecture compiles", command: &["tests/lab/arm.sh"], ..PLAIN },
    TestStep {
        name: "documentation",
        command: &["cargo", "doc", "--profile=suite", "--workspace", "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        ..PLAIN
    },
    TestStep {
        name: "unit and integration tests",
        // `--tests` includes those of libraries and programs, except where a manifest states that there are none.
        command: &["cargo", "test", "--profile=suite", "--workspace", "--tests", "--no-fail-fast"],
        environment: &[("SCRUBJAY_CLIENTS", "none")], // a step of its own runs them
        smoke: Smoke::Only(&["cargo", "test", "--profile=smoke", "--workspace", "--lib", "--bins", "--no-fail-fast"]),
        packages: SIGNED,
        ..PLAIN
    },
    // These virtual machines compute all the time, on one processor: they begin when nothing compiles any more.
    TestStep {
        name: "lab: which file lies at a sector of an array, in a virtual machine",
        command: &["tests/lab/guest-sector.sh"],
        packages: GUEST_FILE_SYSTEMS,
        ..APART
    },
    TestStep {
        name: "lab: what lies at a sector of ext4, XFS, btrfs and a volume's member",
        command: &["tests/lab/host-sector.sh"],
        packages: HOST_SECTORS,
        lane: Lane::Main,
        ..LAB
    },
    TestStep {
        name: "lab: a volume as a block device in a virtual machine, its server killed under load",
        command: &["tests/lab/guest-ublk.sh"],
        packages: GUEST_VOLUME,
        ..APART
    },
    TestStep {
        name: "strangers' clients: the NBD server",
        command: &["cargo", "test", "--profile=suite", "--workspace", "--test", "served"],
        environment: &[("SCRUBJAY_CLIENTS", "required")],
        packages: CLIENTS,
        ..PLAIN
    },
    TestStep {
        name: "examples in the documentation",
        command: &["cargo", "test", "--profile=suite", "--workspace", "--doc"],
        ..PLAIN
    },
    TestStep {
        name: "storm: the volume's own mistakes, made on purpose, are found",
        command: &["cargo", "xtask", "seeds", "--planted"],
        ..PLAIN
    },
    TestStep {
        name: "years: the watch's own mistakes, made on purpose, are found",
        command: &["cargo", "xtask", "years", "--planted"],
        ..PLAIN
    },
    TestStep {
        name: "years: hosts, their disks, people and mail servers",
        command: &["cargo", "xtask", "years", "200"],
        smoke: Smoke::Only(&["cargo", "xtask", "years", "--profile", "smoke", "10"]),
        ..PLAIN
    },
    // All schemes; the storms take about three minutes on two cores in total.
    TestStep {
        name: "storm: members lost and replaced",
        command: &["cargo", "xtask", "seeds", "4000", "--faultless", "--crashless"],
        ..PLAIN
    },
    TestStep { name: "storm: disks that lie", command: &["cargo", "xtask", "seeds", "4000", "--crashless"], ..PLAIN },
    TestStep { name: "storm: crashes", command: &["cargo", "xtask", "seeds", "4000", "--faultless"], ..PLAIN },
    TestStep {
        name: "storm: crashes, and disks that lie, and no member lost",
        command: &["cargo", "xtask", "seeds", "4000", "--lossless"],
        ..PLAIN
    },
    TestStep {
        name: "storm: everything at once",
        command: &["cargo", "xtask", "seeds", "8000"],
        smoke: Smoke::Only(&["cargo", "xtask", "seeds", "--profile", "smoke", "2000"]),
        ..PLAIN
    },
];

/// Steps that take too long for `make test`, on two cores without KVM: `cargo xtask test lab-long`, one after the other.
pub const LONG_STEPS: &[TestStep] = &[
    TestStep { name: BUILD, command: &["cargo", "build", "--release", "--workspace", "--lib", "--bins"], ..PLAIN },
    TestStep {
        name: "md and dm in a virtual machine, probed",
        command: &["tests/lab/guest-probe.sh", "long"],
        packages: GUEST_ARRAYS,
        ..LONG
    },
    TestStep {
        name: "md in a virtual machine, probed with writes, also until it is killed: members compared",
        command: &["tests/lab/guest-probe.sh", "writes"],
        packages: GUEST_ARRAYS,
        ..LONG
    },
    TestStep {
        name: "md arrays in a virtual machine, checked in steps: every level, in two orders, with 50 kills",
        command: &["tests/lab/guest-md.sh", "long"],
        packages: GUEST_ARRAYS,
        ..LONG
    },
    TestStep {
        name: "md's check beside a load, as the kernel runs it and as a scrub drives it",
        command: &["tests/lab/guest-md-load.sh"],
        packages: GUEST_ARRAYS,
        ..LONG
    },
    TestStep {
        name: "which file lies at a sector, in a virtual machine: every level and layout of md, the device mapper",
        command: &["tests/lab/guest-sector.sh", "long"],
        packages: GUEST_FILE_SYSTEMS,
        ..LONG
    },
    TestStep {
        name: "a volume as a block device in a virtual machine: many kills, and its speed beside NBD's",
        command: &["tests/lab/guest-ublk.sh", "long"],
        packages: GUEST_VOLUME,
        ..LONG
    },
    TestStep {
        name: "a mounted btrfs in a virtual machine: damaged, repaired and lost",
        command: &["tests/lab/btrfs-scrub.sh", "--guest"],
        packages: GUEST_BTRFS,
        ..LONG
    },
    TestStep {
        name: "a mounted btrfs beside a load, as btrfs scrubs it and as a scrub does within its budget",
        command: &["tests/lab/btrfs-load.sh"],
        packages: BTRFS_UNDER_LOAD,
        ..LONG
    },
    TestStep {
        name: "a pool of ZFS in a virtual machine: its scrub driven, held, killed; what others do in the midst of it",
        command: &["tests/lab/guest-zfs.sh", "20"],
        packages: GUEST_ZFS,
        ..LONG
    },
    TestStep {
        name: "reads that fail on SCSI, NVMe, md and ZFS, disks that are pulled, links that are reset, told within seconds",
        command: &["tests/lab/guest-failures.sh"],
        packages: GUEST_FAILURES,
        ..LONG
    },
    TestStep {
        name: "a paced program: scrubjay and its guardian killed 50 times each",
        command: &["tests/lab/pace.sh", "50"],
        packages: BENCH_DISK,
        ..LONG
    },
    TestStep {
        name: "the watch in a virtual machine: drives that answer, arrays that fail",
        command: &["tests/lab/guest-watch.sh"],
        packages: GUEST_ARRAYS,
        ..LONG
    },
    TestStep {
        name: "the watch, killed 100 times",
        command: &["tests/lab/watch.sh", "100"],
        packages: WATCHED,
        ..LONG
    },
    TestStep {
        name: "VERIFY measured in a virtual machine, and a read cache put back after kill -9",
        command: &["tests/lab/guest-bench.sh"],
        packages: GUEST,
        ..LONG
    },
    TestStep {
        name: "arrays behind real queues, probed",
        command: &["tests/lab/volume-probe.sh"],
        packages: ARRAYS,
        ..LONG
    },
    TestStep {
        name: "the watch and a served volume: scrubbed as one, beside its members",
        command: &["tests/lab/watch-volume.sh"],
        packages: WATCHED_VOLUME,
        ..LONG
    },
    TestStep {
        name: "the oldest Rust that is promised compiles all that ships",
        command: &["cargo", "xtask", "msrv"],
        ..PLAIN
    },
    TestStep {
        name: "the Python package: a wheel as pip makes it of the sources, and all of its tests",
        command: &["tests/lab/python.sh", "long"],
        packages: PYTHON,
        ..LONG
    },
    TestStep {
        name: "the page in a browser: years of 1, 8 and 60 disks, and a live watch",
        command: &["tests/lab/page.sh"],
        packages: PAGE,
        ..LONG
    },
    TestStep {
        name: "the Python package: a fleet of 1,000 volumes on two workers, killed and gone on with",
        command: &["tests/lab/python.sh", "fleet"],
        packages: PYTHON,
        ..LONG
    },
    TestStep { name: "years: 2000 hosts", command: &["cargo", "xtask", "years", "2000"], ..PLAIN },
    TestStep {
        name: "all that users are given: made, for x86-64 and 64-bit Arm",
        command: &["cargo", "xtask", "dist"],
        packages: DIST,
        ..PLAIN
    },
    TestStep {
        name: "what users are given, on clean systems: installed, a disk scrubbed, an alert proven",
        command: &["tests/lab/suites.sh"],
        packages: SUITES,
        ..PLAIN
    },
    TestStep {
        name: "virtual machines of 64-bit Arm, pages of 4 and 16 KiB: scrub, volume, alert, tests",
        command: &["tests/lab/guest-arm.sh"],
        packages: GUEST_ARM,
        ..PLAIN
    },
    TestStep {
        name: "the Debian package: made, installed, used, purged",
        command: &["cargo", "xtask", "deb", "--test"],
        ..PLAIN
    },
];
