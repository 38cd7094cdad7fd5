//! The arguments of `scrub`.

use super::exit_codes::ALL as EXIT_CODES;
use super::named::parser;
use super::policy::{OfferedPolicies, ParameterArgs};
use clap::{Args, ValueHint};
use scrubjay_core::quantity;
use scrubjay_core::scrub::idle::PolicyKind;
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::Bytes;
use scrubjay_device::{detector, verify};
use scrubjay_jobs::settings::Settings;
use std::ops::Range;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay scrub /dev/sda                    read all of it; delay applications by 1 ms a request on average
  scrubjay scrub /dev/sd[a-d]                four disks side by side
  scrubjay scrub /dev/sda --slowdown 0.2ms   be more careful still
  scrubjay scrub /dev/sda --policy none      at full speed: nobody else uses the disk
  scrubjay scrub disk.img --json             an image file, and a result for a program
  scrubjay scrub /dev/sda --range 1TB..      all but the first TB
  scrubjay scrub /dev/sda --config sda.toml   with the settings that `scrubjay tune` wrote
  scrubjay scrub /mnt/pool                   a mounted btrfs: all its checksums; btrfs repairs
  scrubjay scrub tank                        a pool of ZFS: its own scrub, in runs and rests of minutes
  scrubjay scrub /dev/md0                    an array of md: its own check, which compares copies and parities, in steps
  scrubjay scrub /dev/md0 --repair           the same, and md makes agree what does not: asks first
  scrubjay scrub photos                      a running volume: all chunks, checksums and parities
  scrubjay scrub photos /dev/sda             the two side by side

Scrubjay opens disks and files read-only. The scrub of a running volume repairs its members (unless the volume is served
read-only); its sizes and places are those of one member. Of a mounted btrfs, the kernel repairs what scrubjay finds wrong
(unless --read-only is given); its places are those of its devices, one behind the other. Of an array of md, md itself rewrites
what a member cannot read; what does not agree is reported, and left as it is (unless --repair is given).

Ctrl-C, a closed terminal, a reboot and kill -9 are pauses: run the same command again to go on.";

/// Arguments of `scrub`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct ScrubArgs {
    /// Disks, partitions, arrays of md, image files, mounted btrfs (mount point), running volumes (name or control socket), or one pool of
    /// ZFS (name or mount point)
    #[arg(required = true, value_name = "TARGET", value_hint = ValueHint::AnyPath)]
    pub targets: Vec<PathBuf>,

    /// How
    #[command(flatten)]
    pub settings: SettingsArgs,

    /// Scrub only this byte range of each target
    #[arg(long, value_name = "A..B", value_parser = quantity::range, help_heading = "What")]
    pub range: Option<Range<Option<u64>>>,

    /// Have btrfs repair nothing: only tell what is wrong
    #[arg(long, help_heading = "What")]
    pub read_only: bool,
    /// Have md make agree what does not, where nothing speaks against it; asks first
    #[arg(long, help_heading = "What", conflicts_with = "read_only")]
    pub repair: bool,
    /// Do not ask
    #[arg(long, help_heading = "What", requires = "repair")]
    pub yes: bool,
    /// Of a pool of ZFS: only the blocks that are known to be wrong (zpool scrub -e, OpenZFS 2.2)
    #[arg(long, help_heading = "What")]
    pub only_errors: bool,
    /// Of a pool of ZFS: while others use it, let its scrub have few bytes in flight (zfs_scan_vdev_limit, zfs_scrub_min_time_ms; of all
    /// pools, put back at the end)
    #[arg(long, help_heading = "When")]
    pub tune_zfs: bool,

    /// Read settings from the table `scrub` of this TOML file; command-line options override it
    #[arg(long, value_name = "FILE", help_heading = "State and output")]
    pub config: Option<PathBuf>,
    /// Start a new pass; forget the progress and what was learnt of the load
    #[arg(long, help_heading = "State and output")]
    pub fresh: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "State and output")]
    pub json: bool,
    /// Show no progress
    #[arg(short = 'q', long, visible_alias = "quiet", help_heading = "State and output")]
    pub no_progress: bool,
    /// Record all events of the run, to be replayed in the simulator (one target only)
    #[arg(long, value_name = "FILE", help_heading = "State and output")]
    pub record: Option<PathBuf>,
}

/// The settings, each as an option. What is given nowhere is as the help says; a test holds the two together.
#[derive(Clone, Debug, Args)]
pub struct SettingsArgs {
    /// When to send requests [default: budget]
    #[arg(long, value_parser = parser::<&PolicyKind>(), help_heading = "When")]
    pub policy: Option<&'static PolicyKind>,
    /// What the policy is set to
    #[command(flatten)]
    pub parameters: ParameterArgs<OfferedPolicies>,

    /// Order in which to read; arrays of md: sequential [default: staggered]
    #[arg(long, value_parser = parser::<OrderKind>(), help_heading = "What")]
    pub order: Option<OrderKind>,
    /// Region size: what is read at once around an error [default: 128MiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "What")]
    pub region: Option<Bytes>,
    /// Segment size: the piece of each region that is read in one round [default: 8MiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "What")]
    pub segment: Option<Bytes>,
    /// How to verify: reading is the only reliable way [default: auto]
    #[arg(long, value_parser = parser::<verify::VerifierKind>(), help_heading = "What")]
    pub verify: Option<verify::VerifierKind>,

    /// Folder for progress and what was learnt; for root, one that only root may write to [default: /var/lib/scrubjay for
    /// root, else $XDG_STATE_HOME/scrubjay or ~/.local/state/scrubjay]
    #[arg(long, value_name = "DIR", help_heading = "State and output")]
    pub state: Option<PathBuf>,
    /// How to see the requests of others; unless given, the best that works
    #[arg(long, value_parser = parser::<detector::DetectorKind>(), help_heading = "State and output")]
    pub detector: Option<detector::DetectorKind>,
}

impl SettingsArgs {
    /// The settings that were given.
    pub fn settings(&self) -> Settings {
        let SettingsArgs { policy, parameters, order, region, segment, verify, state, detector } = self.clone();
        Settings { policy, parameters: parameters.given, order, region, segment, verify, state, detector }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Verb};
    use super::*;
    use clap::{CommandFactory, Parser};
    use scrubjay_core::scrub::idle::Parameter;
    use scrubjay_core::scrub::tour::{REGION_BYTES, SEGMENT_BYTES};

    fn parsed(arguments: &[String]) -> Settings {
        let fixed = ["scrubjay", "scrub", "disk"].map(str::to_owned);
        match Cli::try_parse_from(fixed.iter().chain(arguments)).unwrap().verb {
            Some(Verb::Scrub(scrub)) => scrub.settings.settings(),
            _ => panic!("a scrub"),
        }
    }

    /// The defaults of all settings except the policy's parameters (`jobs::parameter`), the state folder and the
    /// detector, which depend on the machine.
    fn defaults() -> Settings {
        Settings {
            policy: Some(Settings::default().kind()),
            parameters: Vec::new(),
            order: Some(OrderKind::default()),
            region: Some(REGION_BYTES),
            segment: Some(SEGMENT_BYTES),
            verify: Some(verify::VerifierKind::default()),
            state: None,
            detector: None,
        }
    }

    #[test]
    fn the_help_states_the_defaults() {
        let command = Cli::command();
        let scrub = command.find_subcommand("scrub").unwrap();
        let mut stated = Vec::new();
        for argument in scrub.get_arguments() {
            let help = argument.get_help().unwrap_or_default().to_string();
            if let (Some(name), Some((_, default))) = (argument.get_long(), help.split_once("[default: ")) {
                let is_policy_parameter = Parameter::ALL.iter().any(|parameter| parameter.name() == name);
                let is_stated = name != "state" && !is_policy_parameter;
                stated.extend(is_stated.then(|| format!("--{name}={}", default.trim_end_matches(']'))));
            }
        }
        assert_eq!((stated.len(), parsed(&stated)), (5, defaults()));
    }
}
