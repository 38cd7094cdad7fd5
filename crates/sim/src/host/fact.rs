//! The facts that an observer of a modelled host receives, in true time.

use scrubjay_core::units::SectorRange;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::DiskFacts;
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::rows::{MessageRow, RowKey, WatchRow};
use scrubjay_watch::status::WatchStatus;
use scrubjay_words::MessageText;

/// Something that happened on the host, or that the watch did. Disks are named by their numbers, times are in seconds.
#[derive(Debug)]
pub enum HostFact<'a> {
    /// A disk was put in: its number, which no other disk ever has, and its properties.
    DiskIn(usize, &'a DiskFacts),
    /// A disk cannot be seen any more.
    DiskOut(usize),
    /// A disk that was out, or whose host was off, is seen again.
    DiskBack(usize),
    /// A part of a disk's pass was read: from and to (shares of the pass), begin and end.
    Read(usize, f64, f64, u64, u64),
    /// A session could not begin.
    Refused(usize),
    /// A session begins.
    SessionBegun(usize),
    /// A session is over, for any reason.
    SessionEnded(usize),
    /// A pass begins, with a forecast of its end (from and to) that is to hold in eight of ten cases.
    Forecast(usize, u64, u64),
    /// A pass is over.
    PassOver(usize),
    /// Evidence against a disk reached the watch; is it lasting?
    Evidence(usize, bool),
    /// A disk is too hot from now on (true), or has cooled down.
    Hot(usize, bool),
    /// The watch was notified that these sectors of a disk are unreadable.
    Unreadable(usize, &'a [SectorRange]),
    /// SMART data of a disk reached the watch (true), or a refusal (false).
    Smart(usize, bool),
    /// The members of an array: its UUID, and the numbers of its disks.
    Array(&'a str, &'a [usize]),
    /// The numbers of an array's members that are not in sync, and whether it is being rebuilt or checks itself.
    ArrayState(&'a str, &'a [usize], bool),
    /// The watch sees that a scrub covered all of this pool, and ended at this time.
    PoolScrubbed(&'a str, u64),
    /// The machine is on, or off.
    Power(bool),
    /// The clock jumped by this many seconds.
    Clock(i64),
    /// The list of channels is now this.
    Channels(&'a [String]),
    /// A channel accepts messages, or refuses them.
    Accepts(&'a str, bool),
    /// A channel that accepts messages refused one.
    Bounced(&'a str),
    /// A person wants no disk to be read for this many seconds from now on.
    Paused(u64),
    /// A person typed the newest code that came by this channel.
    Confirmed(&'a str),
    /// A person accepts the state of a subject.
    Accepted(&'a IncidentSubject),
    /// A person declared that a disk that is out will not come back.
    Forgotten(usize),
    /// The file of the watch's history was lost.
    HistoryLost,
    /// A channel's server refuses a recipient from now on (true), or none any more.
    RecipientsRefused(&'a str, bool),
    /// The machine was suspended, and the watch knows that it is awake again; its status.
    Woken(&'a WatchStatus),
    /// A message was made durable for the first time.
    Written(&'a MessageRow, &'a MessageText),
    /// A message arrived.
    Delivered(&'a MessageRow, &'a MessageText),
    /// The watch reports that its daily check went well; with its status at that time.
    Heartbeat(&'a WatchStatus),
    /// The status at noon (UTC) of every day by a true clock on which the watch runs.
    Noon(&'a WatchStatus),
    /// An event that the watch is about to receive; its times are of the host's clock.
    Event(&'a WatchEvent),
    /// Rows that were made durable, and the keys of those that were removed; times are of the host's clock.
    Kept(&'a [WatchRow], &'a [RowKey]),
    /// The run is over; the numbers of the messages that still wait.
    End(&'a [u64]),
}

/// Observes a host.
pub trait HostObserver {
    /// Receives a fact and its time: seconds since 1970, by a true clock.
    fn observe(&mut self, at: u64, fact: &HostFact<'_>);
}
