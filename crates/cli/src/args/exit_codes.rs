//! The exit codes in the help pages.

/// For the whole command: what they have in common.
pub const ROOT: &str = "\
Exit codes (`--help` of a verb says what they mean there; those of check are a plugin's):
  0    done, and nothing is left to do
  1    could not do the job
  2    bad usage
  3    done, and something needs you
  4    no permission
  130  stopped by a signal";

/// For verbs that read disks.
pub const ALL: &str = "\
Exit codes:
  0    every sector asked for was verified; what was wrong, if anything, is repaired
  1    could not do the job
  2    bad usage
  3    finished, and something is still wrong, or may be
  4    no permission
  130  paused by a signal; start again to go on";

/// For verbs that read traces.
pub const TRACES: &str = "\
Exit codes:
  0    done
  1    could not do the job
  2    bad usage, or not a trace
  4    no permission";

/// For verbs that work on volumes.
pub const VOLUMES: &str = "\
Exit codes:
  0    done, and all is well now: what was wrong, if anything, is repaired
  1    could not do the job
  2    bad usage, or members that make no such volume
  3    done, and something is wrong or lost
  4    no permission";

/// For the verb that probes.
pub const PROBE: &str = "\
Exit codes:
  0    answered (\"one disk\" and \"not measurable here\" are answers), or the budget is spent
  1    could not do the job
  2    bad usage, or a device that cannot be probed
  3    answered, and a member is slow, lost, or shared
  4    no permission
  130  stopped by a signal: what is known was printed";

/// For the verbs that measure disks.
pub const BENCH: &str = "\
Exit codes:
  0    measured
  1    could not do the job
  2    bad usage, or nothing that can be measured (of bench verify: no VERIFY)
  3    measured, and requests failed, or it is slower or faster than it can be
  4    no permission
  130  stopped by a signal: what is known was printed";

/// For verbs that report how a disk is.
pub const HEALTH: &str = "\
Exit codes:
  0    ok: nothing that is known speaks against the disk
  1    could not do the job
  2    bad usage, or no such disk
  3    watch, replace, asleep, unknown or missing
  4    no permission, so it is unknown";

/// For the watch, and for verbs that talk to it.
pub const WATCH: &str = "\
Exit codes:
  0    done
  1    could not do the job
  2    bad usage, or no such disk, array or channel
  3    done, and something is not as it should be
  4    no permission";
