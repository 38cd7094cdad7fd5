//! The thresholds of the tests, with their reasons. All are log-odds (natural logarithms) unless they are described otherwise.
//!
//! They were chosen by a model of a burst at one disk: the disk of Denehy et al. 2004 with 8 to 32 random reads at a time.
//! The logarithm of its pace has a spread of 6 to 11 %; the same burst on two disks lies 0.55 lower, plus or minus 0.2.

/// Log-odds at which a statement is decided: one error in ten thousand. No test claims more confidence, however large
/// its numbers become, because the models behind them are no better known than that.
pub const DECIDED: f64 = 9.2;
/// Log-odds at which a search continues as if a stride were a multiple: one error in thirty. All of them are tested
/// again together, because the pattern divides each; an error costs a repetition.
pub const TENTATIVE: f64 = 3.5;
/// Log-odds at which a stride is dismissed as no multiple: one error in a hundred; a wrongly kept factor is divided out
/// at the end.
pub const DISMISSED: f64 = 4.6;
/// Log-odds at which a candidate is taken for a multiple, by which all else is measured: one error in four hundred.
pub const BELIEVED: f64 = 6.0;
/// The share of places that may look like one disk although the stride is no multiple: half of RAID-5 left-asymmetric
/// at half its pattern, and some more.
pub const ALIKE_SHARE: f64 = 0.55;
/// The least logarithm of the pace, relative to one disk, when two disks share a burst (0.5 to 0.6 times the time).
pub const SHARED_LOG: f64 = -0.55;
/// The spread of that logarithm: on two disks, 16 reads do not always fall 8 and 8.
pub const SHARED_SPREAD: f64 = 0.2;
/// The share of bursts that follow no model; it bounds the evidence of one burst.
pub const STRAY_SHARE: f64 = 0.02;
/// Bursts of one stride, at most; then the likelier answer is taken.
pub const BURSTS_MAX: usize = 48;

/// The spread of the references (of their logarithm) above which a burst gets more requests: at 0.1, two disks are five
/// spreads away.
pub const SPREAD_WANTED: f64 = 0.1;
/// The spread above which nothing can be distinguished with the most requests.
pub const SPREAD_MAX: f64 = 0.2;
/// The least spread assumed: a few references cannot prove a smaller one.
pub const SPREAD_MIN: f64 = 0.06;
/// Requests of the smallest burst on disks.
pub const BURST_MIN: usize = 12;
/// Requests of the largest burst on disks.
pub const BURST_MAX: usize = 64;
/// Segments of each stride on the device, at least: with fewer, equal distances lock the rotation and change the seeks,
/// and true multiples are rejected.
pub const SEGMENTS_MIN: u64 = 400;

/// The longest response time of memory, in nanoseconds: 3 microseconds, less than any flash drive with its bus takes,
/// and more than a copy in memory.
pub const MEMORY_NANOS: f64 = 3_000.0;
/// The least response time of a spinning disk, in nanoseconds: a millisecond; flash takes a tenth, a disk's half
/// revolution 2 to 4 ms.
pub const SPINNING_NANOS: f64 = 1_000_000.0;
/// The factor in time for twice the requests that shows saturation, twice in a row: 2, less what evens out between the dies.
pub const DOUBLED: f64 = 1.6;
/// The deepest queue that is tried, in requests at a time.
pub const DEPTH_MAX: usize = 8192;
/// Copies of a mirror, at most; a device that seems to have more is no array of disks.
pub const COPIES_MAX: usize = 4;
/// The excess, in logarithms, of two simultaneous reads over one from which on they wait for each other. On one disk
/// they take the time of both, 0.69 more than one; on two copies that of the slower one, 0.2 more. The same holds for
/// three reads on two or three disks. This is about halfway.
pub const COLLIDED_LOG: f64 = 0.46;
/// The assumed spread of the logarithm of one such time.
pub const COLLIDED_SPREAD: f64 = 0.3;

/// The probability that a probe is late although it is on another disk: by its own delay or another program's, in a busy array.
pub const LATE_APART: f64 = 0.05;
/// The probability that a probe is early although it is behind the hammer: the disk served it out of turn.
pub const EARLY_TOGETHER: f64 = 0.02;
/// The share of the hammer that is done before a probe, from which on the probe is late.
pub const LATE_FROM: f64 = 0.85;
/// The share of the hammer that is done before a probe, up to which the probe is early; between the two there is little evidence.
pub const EARLY_TO: f64 = 0.6;
/// The longest time of an early probe, in times of a single read: its own seek, and two other probes of the same hammer.
pub const EARLY_RESPONSES: f64 = 3.0;
/// Reads of a hammer, per copy: they take twice as long as the longest seek of a probe.
pub const HAMMER_READS: usize = 10;
/// Log-odds at which two places lie on the same disk: three late probes and no early one.
pub const TOGETHER: f64 = 7.5;
/// Log-odds at which two places lie on different disks: two early probes.
pub const APART: f64 = 6.5;
/// Hammers for one question, at most; then the likelier answer is taken.
pub const HAMMERS_MAX: usize = 12;

/// The deviation of a class, in the logarithm of its time, from which on it is compared with others: a member 1.2 times
/// as slow is at 0.17, and the median of three bursts has an error of 0.04 to 0.09.
pub const ODD_SUSPECTED: f64 = 0.1;
/// The deviation, in logarithms, above which a class is called slow or fast: 13 %.
pub const ODD_MIN: f64 = 0.12;
/// The deviation, in logarithms, below which members are alike: drives of one model differ by a few percent. A choice.
pub const ODD_SAME: f64 = 0.03;
/// A class is no longer measured when it is this many standard errors below [`ODD_MIN`]: at each look, one class in
/// twenty that deviates by just [`ODD_MIN`] is dismissed.
pub const ODD_DISMISSED: f64 = 1.6;
/// The prior log-odds against an unlike member: one array in a hundred has one.
pub const ODD_PRIOR: f64 = 4.6;
/// The log-odds from which on a member is called slow or fast: one in a thousand is blamed wrongly.
pub const ODD_DECIDED: f64 = 6.9;
