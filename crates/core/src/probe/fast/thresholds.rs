//! Every number that decides something, with its reason. All are log-odds (natural logarithms) unless they say otherwise.
//!
//! Model of a burst at one disk, against which they were chosen: the disk of Denehy et al. 2004, 8 to 32 random reads at a
//! time. The logarithm of its pace has a spread of 6 to 11 %; the same burst on two disks lies 0.55 lower, plus or minus 0.2.

/// Log-odds at which a statement is taken as decided: one error in ten thousand. No test calls itself surer, however far its numbers go:
/// the models behind them are no better known than that.
pub const DECIDED: f64 = 9.2;
/// Log-odds at which a search goes on as if a stride were a multiple: one in thirty. All of them are tested again together,
/// as the pattern divides each; being wrong costs a repetition.
pub const TENTATIVE: f64 = 3.5;
/// A stride that is no multiple: one in a hundred; what the search took for necessary by mistake is divided out at its end.
pub const DISMISSED: f64 = 4.6;
/// Log-odds at which a candidate is taken for a multiple, and all else is measured by it: one in four hundred.
pub const BELIEVED: f64 = 6.0;
/// The share of places which may look like one disk although the stride is no multiple: half of RAID-5 left-asymmetric at
/// half its pattern, and some more.
pub const ALIKE_SHARE: f64 = 0.55;
/// Where the logarithm of the pace lies at least, when two disks share a burst (0.5 to 0.6 times the time).
pub const SHARED_LOG: f64 = -0.55;
/// Its spread: 8 reads on either of two disks are not always 8.
pub const SHARED_SPREAD: f64 = 0.2;
/// Bursts that follow no model at all; bounds what one of them may say.
pub const STRAY_SHARE: f64 = 0.02;
/// Bursts of one stride, after which the likelier answer is taken.
pub const BURSTS_MAX: usize = 48;

/// The spread of the reference (of its logarithm) above which more requests go into a burst: at 0.1, two disks are five
/// spreads away.
pub const SPREAD_WANTED: f64 = 0.1;
/// The spread above which nothing can be told apart with the most requests.
pub const SPREAD_MAX: f64 = 0.2;
/// No spread is taken to be less: a few references cannot prove it.
pub const SPREAD_MIN: f64 = 0.06;
/// Requests of the smallest and largest burst on disks.
pub const BURST_MIN: usize = 12;
/// See [`BURST_MIN`].
pub const BURST_MAX: usize = 64;
/// Segments of each stride on the device: with fewer, equal distances lock the rotation and change the seeks, and true
/// multiples are rejected.
pub const SEGMENTS_MIN: u64 = 400;

/// A reader that answers within so many nanoseconds has no way to go: 3 microseconds, less than any flash drive with its
/// bus takes, more than a copy in memory.
pub const MEMORY_NANOS: f64 = 3_000.0;
/// One that takes longer spins: a millisecond; flash takes a tenth, a disk's half revolution 2 to 4.
pub const SPINNING_NANOS: f64 = 1_000_000.0;
/// Twice the requests take so many times as long once the device is saturated: 2, less what evens out between its dies.
/// It must do so twice in a row.
pub const DOUBLED: f64 = 1.6;
/// The deepest queue that is tried.
pub const DEPTH_MAX: usize = 8192;
/// No mirror has more copies; what seems to have is no array of disks.
pub const COPIES_MAX: usize = 4;
/// Two reads at once on one disk take the time of both, 0.69 more (in logarithms) than one; on two copies that of the
/// slower one, 0.2 more. The same holds for three reads on two disks or three. Halfway:
pub const COLLIDED_LOG: f64 = 0.46;
/// The spread of one such time.
pub const COLLIDED_SPREAD: f64 = 0.3;

/// Late, although on another disk: its own delay or a stranger, in a heavily loaded array.
pub const LATE_APART: f64 = 0.05;
/// Early, although behind the hammer: a disk that overtakes on its way.
pub const EARLY_TOGETHER: f64 = 0.02;
/// The share of the hammer that is done before a probe, from which on it is late.
pub const LATE_FROM: f64 = 0.85;
/// The share up to which it is early; what lies between says little.
pub const EARLY_TO: f64 = 0.6;
/// An early probe takes at most so many times as long as a single read: its own way, and two others of the same hammer.
pub const EARLY_RESPONSES: f64 = 3.0;
/// Reads of a hammer, for each copy: twice as long as the longest way of a probe.
pub const HAMMER_READS: usize = 10;
/// Log-odds at which two places are together: three late probes and none early.
pub const TOGETHER: f64 = 7.5;
/// Log-odds at which they are apart: two early probes.
pub const APART: f64 = 6.5;
/// Hammers for one question, after which the likelier answer is taken.
pub const HAMMERS_MAX: usize = 12;

/// A class is measured against others when the logarithm of its time is off by more: a member 1.2 times as slow is at
/// 0.17, and the median of three bursts has an error of 0.04 to 0.09.
pub const ODD_SUSPECTED: f64 = 0.1;
/// It is called slow or fast when it is off by more than this: 13 %.
pub const ODD_MIN: f64 = 0.12;
/// Members that are off by less are alike: drives of one model are, give or take a few parts in a hundred. A choice.
pub const ODD_SAME: f64 = 0.03;
/// A member that is off by so many standard errors less than [`ODD_MIN`] is not asked further: one in twenty that is off by
/// just that is let go at each look.
pub const ODD_DISMISSED: f64 = 1.6;
/// Log-odds against an unlike member before anything is measured: one array in a hundred has one.
pub const ODD_PRIOR: f64 = 4.6;
/// Log-odds from which on a member is called slow or fast: one in a thousand is blamed wrongly.
pub const ODD_DECIDED: f64 = 6.9;
