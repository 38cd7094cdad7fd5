//! What an observer of a modelled host is told, in true time.

use scrubjay_core::units::SectorRange;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::DiskFacts;
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::rows::{MessageRow, RowKey, WatchRow};
use scrubjay_watch::status::WatchStatus;

/// Something that happened on the host, or that the watch did.
#[derive(Debug)]
pub enum HostFact<'a> {
    /// A disk was put in: its number, which no other ever has, and what it is.
    DiskIn(usize, &'a DiskFacts),
    /// A disk cannot be seen any more.
    DiskOut(usize),
    /// A disk that was out, or whose host was off, is seen again.
    DiskBack(usize),
    /// A part of a disk's pass was read, from and to a share of it, in a time from and to.
    Read(usize, f64, f64, u64, u64),
    /// A session that was to begin could not.
    Refused(usize),
    /// A session begins.
    SessionBegun(usize),
    /// It is over, however.
    SessionEnded(usize),
    /// A pass begins, and is said to end in a time from and to, in eight of ten cases.
    Foretold(usize, u64, u64),
    /// A pass is over.
    PassOver(usize),
    /// Something speaks against a disk, and the watch was told; and does it for good?
    Evidence(usize, bool),
    /// The watch was told that these sectors of a disk cannot be read.
    Unreadable(usize, &'a [SectorRange]),
    /// SMART data of a disk reached the watch: real ones, or none.
    Smart(usize, bool),
    /// Members of an array: its UUID and the numbers of its disks.
    Array(&'a str, &'a [usize]),
    /// The numbers of an array's members that are not in sync, and whether it is being rebuilt, or checks itself.
    ArrayState(&'a str, &'a [usize], bool),
    /// The machine is on, or off.
    Power(bool),
    /// The clock jumped by so many seconds.
    Clock(i64),
    /// The channels are these now.
    Channels(&'a [String]),
    /// A channel accepts messages, or not.
    Accepts(&'a str, bool),
    /// A channel that accepts messages did not accept one.
    Bounced(&'a str),
    /// A person wants nothing to be read for so many seconds from now on.
    Paused(u64),
    /// A person typed the newest code that came this way.
    Confirmed(&'a str),
    /// A person accepts what is so with a subject.
    Accepted(&'a IncidentSubject),
    /// A disk that is out will not come back, and a person said so.
    Forgotten(usize),
    /// A message was made durable for the first time.
    Written(&'a MessageRow),
    /// Somebody got it.
    Delivered(&'a MessageRow),
    /// The watch says that its daily check went well; and what its status shows then.
    Heartbeat(&'a WatchStatus),
    /// What the status shows at noon (UTC) of every day, by a true clock, at which the watch runs.
    Noon(&'a WatchStatus),
    /// The watch is about to be told this,
    Told(&'a WatchEvent),
    /// and these rows were made durable, and those removed; all by the host's clock.
    Kept(&'a [WatchRow], &'a [RowKey]),
    /// It is over; the numbers of the messages that still wait.
    End(&'a [u64]),
}

/// Watches the host.
pub trait HostObserver {
    /// `fact` is so, at this time: seconds since 1970, by a true clock.
    fn observe(&mut self, at: u64, fact: &HostFact<'_>);
}
