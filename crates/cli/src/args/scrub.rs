//! The arguments of `scrub`.

use super::codes::ALL as EXIT_CODES;
use super::{GoalForm, written};
use crate::quantity;
use clap::{Args, ValueEnum};
use scrubjay_core::units::{Bytes, Nanos};
use serde::Deserialize;
use std::ops::Range;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay scrub /dev/sda                    read all of it; applications lose at most 1 ms a request on average
  scrubjay scrub /dev/sd[a-d]                four disks side by side
  scrubjay scrub /dev/sda --slowdown 0.2ms   be more careful still
  scrubjay scrub /dev/sda --policy none      as fast as it goes: nobody else uses the disk
  scrubjay scrub disk.img --json             an image file, and a result for a program
  scrubjay scrub /dev/sda --range 1TiB..     only what lies behind the first TiB
  scrubjay scrub /dev/sda --config sda.toml  as `scrubjay tune` found best
  scrubjay scrub photos                      a volume that is being served: every chunk, every list, the parity itself
  scrubjay scrub photos /dev/sda             the two side by side

Nothing is ever written to a disk or a file. A volume repairs what is wrong on its members, unless it is served for
reading only; sizes and places are those of one member. A stop (Ctrl-C, kill, even kill -9) is a pause: the same
command goes on.";

/// Arguments of `scrub`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Scrub {
    /// Disks, partitions or image files; volumes that are being served, by their names or their control sockets
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,

    /// How to go about it
    #[command(flatten)]
    pub settings: Settings,

    /// Only these bytes of each target
    #[arg(long, value_name = "A..B", value_parser = quantity::range, help_heading = "What")]
    pub range: Option<Range<Option<u64>>>,

    /// Take settings from the table `scrub` of this TOML file; its keys are the options, and options given here win
    #[arg(long, value_name = "FILE", help_heading = "State and output")]
    pub config: Option<PathBuf>,
    /// Begin a new pass, whatever was done and learnt before
    #[arg(long, help_heading = "State and output")]
    pub fresh: bool,
    /// The result as one JSON object
    #[arg(long, help_heading = "State and output")]
    pub json: bool,
    /// Say nothing until the end
    #[arg(long, help_heading = "State and output")]
    pub no_progress: bool,
    /// Record all that happens, to be replayed in the simulator (one target only)
    #[arg(long, value_name = "FILE", help_heading = "State and output")]
    pub record: Option<PathBuf>,
}

/// What may be given on the command line or in the `[scrub]` table of a file, under the same names. What is given
/// nowhere is as the help says; a test holds the two together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// What foreground requests may lose on average (policy budget) [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    #[serde(deserialize_with = "written::time")]
    pub slowdown: Option<Nanos>,
    /// What any one of them may lose, but for one in 10,000 (policy budget) [default: 50ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    #[serde(deserialize_with = "written::time")]
    pub max_slowdown: Option<Nanos>,
    /// What they may lose, but for one in 100 (policy budget; without this option there is no such goal)
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    #[serde(deserialize_with = "written::time")]
    pub p99_slowdown: Option<Nanos>,
    /// When the average is to be kept (policy budget) [default: strict]
    #[arg(long, value_enum, value_name = "FORM", help_heading = "When")]
    #[serde(deserialize_with = "written::name")]
    pub goal: Option<GoalForm>,
    /// When to read [default: budget]
    #[arg(long, value_enum, help_heading = "When")]
    #[serde(deserialize_with = "written::name")]
    pub policy: Option<Policy>,
    /// How long the disk must have been idle (policy waiting) [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    #[serde(deserialize_with = "written::time")]
    pub wait: Option<Nanos>,
    /// The pause after each request (policy delay) [default: 16ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    #[serde(deserialize_with = "written::time")]
    pub delay: Option<Nanos>,
    /// The size of a request (every policy but budget, which chooses it) [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "When")]
    #[serde(deserialize_with = "written::bytes")]
    pub request: Option<Bytes>,

    /// In which order to read [default: staggered]
    #[arg(long, value_enum, help_heading = "What")]
    #[serde(deserialize_with = "written::name")]
    pub order: Option<Order>,
    /// The size of a region: what is read at once around an error [default: 128MiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "What")]
    #[serde(deserialize_with = "written::bytes")]
    pub region: Option<Bytes>,
    /// The size of a segment: what is read in one go [default: 8MiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "What")]
    #[serde(deserialize_with = "written::bytes")]
    pub segment: Option<Bytes>,
    /// How to verify; auto reads, which is the only way to know [default: auto]
    #[arg(long, value_enum, help_heading = "What")]
    #[serde(deserialize_with = "written::name")]
    pub verify: Option<Verify>,

    /// Where to keep the state; for root, a folder in which nobody else has a say [default: $XDG_STATE_HOME/scrubjay, or
    /// /var/lib/scrubjay for root]
    #[arg(long, value_name = "DIR", help_heading = "State and output")]
    pub state: Option<PathBuf>,
    /// Watch the foreground with this detector, not the best one that works
    #[arg(long, value_enum, help_heading = "State and output")]
    #[serde(deserialize_with = "written::name")]
    pub detector: Option<Detector>,
}

impl Settings {
    /// These, and what they leave open from `others`.
    pub fn or(self, others: Settings) -> Settings {
        Settings {
            slowdown: self.slowdown.or(others.slowdown),
            max_slowdown: self.max_slowdown.or(others.max_slowdown),
            p99_slowdown: self.p99_slowdown.or(others.p99_slowdown),
            goal: self.goal.or(others.goal),
            policy: self.policy.or(others.policy),
            wait: self.wait.or(others.wait),
            delay: self.delay.or(others.delay),
            request: self.request.or(others.request),
            order: self.order.or(others.order),
            region: self.region.or(others.region),
            segment: self.segment.or(others.segment),
            verify: self.verify.or(others.verify),
            state: self.state.or(others.state),
            detector: self.detector.or(others.detector),
        }
    }

    /// What is given nowhere. The state folder and the detector depend on the machine, and without `p99_slowdown` there is no
    /// such goal.
    pub fn defaults() -> Settings {
        Settings {
            slowdown: Some(Nanos::from_millis(1)),
            max_slowdown: Some(Nanos::from_millis(50)),
            p99_slowdown: None,
            goal: Some(GoalForm::Strict),
            policy: Some(Policy::Budget),
            wait: Some(Nanos::from_millis(100)),
            delay: Some(Nanos::from_millis(16)),
            request: Some(Bytes::mib(1)),
            order: Some(Order::Staggered),
            region: Some(Bytes::mib(128)),
            segment: Some(Bytes::mib(8)),
            verify: Some(Verify::Auto),
            state: None,
            detector: None,
        }
    }
}

/// Policies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// Tune wait, size and pace to the slowdown goals
    Budget,
    /// Wait for idleness, then read until somebody comes
    Waiting,
    /// Pause after each request, whoever uses the disk
    Delay,
    /// As fast as it goes
    None,
}

/// Orders by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Ascending addresses
    Sequential,
    /// One segment of every region, then the next of every region: finds clusters of errors early
    Staggered,
    /// What was read longest ago comes first
    Oldest,
}

/// Verifiers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verify {
    /// Whatever is known to read the medium: today, read
    Auto,
    /// Read past the page cache
    Read,
    /// SCSI VERIFY
    Scsi,
    /// ATA READ VERIFY SECTORS EXT
    Ata,
    /// NVMe Verify
    Nvme,
}

/// Detectors by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Detector {
    /// BPF programs on the block layer's tracepoints
    Bpf,
    /// The same tracepoints through perf
    Perf,
    /// Counters in /sys/block
    Stat,
    /// None: see nobody
    None,
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Verb};
    use super::*;
    use clap::{CommandFactory, Parser};

    fn parsed(arguments: &[String]) -> Settings {
        let fixed = ["scrubjay", "scrub", "disk"].map(str::to_owned);
        match Cli::try_parse_from(fixed.iter().chain(arguments)).unwrap().verb {
            Some(Verb::Scrub(scrub)) => scrub.settings,
            _ => panic!("a scrub"),
        }
    }

    #[test]
    fn the_help_tells_the_defaults() {
        let command = Cli::command();
        let scrub = command.find_subcommand("scrub").unwrap();
        let mut told = Vec::new();
        for argument in scrub.get_arguments() {
            let help = argument.get_help().unwrap_or_default().to_string();
            if let (Some(name), Some((_, default))) = (argument.get_long(), help.split_once("[default: ")) {
                told.extend((name != "state").then(|| format!("--{name}={}", default.trim_end_matches(']'))));
            }
        }
        assert_eq!(parsed(&told), Settings::defaults());
    }

    #[test]
    fn what_is_given_first_wins() {
        let given = parsed(&["--wait=2ms", "--order=oldest"].map(str::to_owned));
        let file = Settings { wait: Some(Nanos(1)), request: Some(Bytes(2)), ..Settings::default() };
        let both = given.or(file).or(Settings::defaults());
        assert_eq!((both.wait, both.request), (Some(Nanos::from_millis(2)), Some(Bytes(2))));
        assert_eq!((both.order, both.region), (Some(Order::Oldest), Some(Bytes::mib(128))));
    }
}
