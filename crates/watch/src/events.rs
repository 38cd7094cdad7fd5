//! Events into the watch and operations out of it: plain values, the contract with its pumps.

use crate::facts::{ArrayFacts, DiskFacts, SessionNews, SessionSubject, SmartReading, SubjectKey};
use crate::failures::FailedRequests;
use crate::hold::HoldBack;
use crate::incident::IncidentSubject;
use crate::loss::HistoryLoss;
use crate::rows::{MessageRow, RowKey, WatchRow};
use crate::settings::WatchSettings;
use crate::slowness::Slowness;
use scrubjay_core::units::{Nanos, UnixSeconds};

/// A person's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonCommand {
    /// Read nothing for this many seconds.
    PauseFor(u64),
    /// End the pause.
    Resume,
    /// Read this disk or array now, out of its turn and before others that wait; any other reason to hold it back remains.
    ScrubNow(SubjectKey),
    /// Send no messages about the open incidents of this subject until they grow.
    Accept(IncidentSubject),
    /// Send a test message, with a code, by every channel.
    TestAlerts,
    /// Confirm a code that came by some channel.
    Confirm(String),
    /// Forget a disk or array that was taken out for good.
    Forget(IncidentSubject),
}

/// An event. Disks are called by the kernel's names; the pump gives a name to another disk only after the event that
/// its disk is gone. A disk that is seen under another name has moved, once its old name is gone; if both names stay
/// for minutes, they are two disks with one identity.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A disk is present, or has changed.
    DiskSeen(DiskFacts),
    /// The disk of this name is gone.
    DiskGone(String),
    /// The same while a file system on it is mounted: it was not taken out in order.
    DiskPulled(String),
    /// An array is present, or has changed.
    ArraySeen(ArrayFacts),
    /// The array with this UUID is gone.
    ArrayGone(String),
    /// The result of reading the SMART data of the disk of this name.
    Smart(String, SmartReading),
    /// Requests of programs failed at the disk of this name, by the kernel's word; those of the watch's own sessions are not among them.
    Failures(String, FailedRequests),
    /// How slow the disk of this name is, by the maps of its scrubs.
    Slow(String, Slowness),
    /// The kernel has reset the way to the disk of this name.
    LinkReset(String),
    /// A report of a session on this disk or array. After a start the pump also reports what sessions have kept, as
    /// stopped, with the date with which they were begun.
    Session(SessionSubject, SessionNews),
    /// The share (0 to 1) of the hour of the week that just ended in which this disk or array could have been read
    /// within its budget.
    IdleHour(SessionSubject, usize, f32),
    /// Whether the machine runs on battery.
    OnBattery(bool),
    /// Whether all arrays of this machine are seen, as far as is known. They are not until this event says so, nor
    /// where there are pools and arrays that cannot be examined.
    ArraysKnown(bool),
    /// Since when the pump has seen nothing of this machine, so that no disk or array that changes or goes would be
    /// reported; `None`: it sees again, as it does after a start.
    Blind(Option<UnixSeconds>),
    /// The history's file was lost, and another one is written from now on.
    HistoryLost(HistoryLoss),
    /// A person's command.
    Command(PersonCommand),
    /// The settings were read again.
    Settings(Box<WatchSettings>),
    /// The message of this number was accepted by its channel.
    MessageSent(u64),
    /// The message of this number was not accepted.
    MessageFailed(u64),
    /// Whom the other side of this channel refuses for good, by its last delivery, and its reply to each.
    Recipients(String, Vec<(String, String)>),
    /// Whether the clock is synchronised with another one. If this is not known, a clock that is far from what it
    /// showed before is trusted only when it has stayed so for hours; so the pump sends this event first after a start,
    /// and when it changes.
    ClockSynchronised(bool),
    /// The machine was suspended for so many seconds, and goes on: the pump sends this event before all others that come after.
    Suspended(u64),
    /// Time has passed, and all events so far were sent.
    Tick,
}

/// An operation that the watch asks for. The pump carries out one after the other, in order; it does not begin the next
/// before rows are durable.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchOp {
    /// Make these rows durable and remove the rows with those keys, all or none.
    Keep(Vec<WatchRow>, Vec<RowKey>),
    /// Read the SMART data of the disk of this name; do not wake it.
    ReadSmart(String),
    /// Continue the pass of this number on this disk or array, which began at this date, with no more than this mean
    /// slowdown of foreground requests. Reads before that date do not count: if the session's kept progress is of
    /// another pass, or began before it (numbers start again when a disk was forgotten or a data base is lost), the
    /// pass starts over; if it is of this pass, and complete, the session reports that once more: the watch may have
    /// been killed before it was durable.
    BeginSession(SessionSubject, u32, UnixSeconds, Nanos),
    /// End the session on this disk or array, and keep its progress; a session that does not report its end within an
    /// hour hangs.
    StopSession(SessionSubject, HoldBack),
    /// Send this message, and report the result within a quarter of an hour: after that it has failed, and may be sent twice.
    Send(Box<MessageRow>),
    /// Report to the heartbeat's receiver that the daily check went well.
    Heartbeat,
}

/// Mistakes that can be planted, to test the tests. Without the feature `planted` the compiler leaves them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchBug {
    /// A message that was under way when the machine was killed is forgotten.
    ForgetUnderWay,
    /// A message that was under way then is sent again, but not marked as possibly repeated.
    RepeatUnmarked,
    /// A message is handed to its channel before the row that records it is durable.
    SendBeforeKeep,
    /// A disk that gave no answer for days is still called ok.
    GreenWhenStale,
    /// A stopped session counts as a whole pass.
    StoppedIsFinished,
    /// A missed date is reported only afterwards.
    WarnTooLate,
    /// What comes and goes is told each time.
    FlapUnbounded,
    /// Consequences are told beside their cause.
    ConsequencesTold,
    /// No budget of messages is kept.
    BudgetIgnored,
    /// What comes back is taken for something new.
    PastForgotten,
    /// Attributes count by their number, whatever smartctl calls them.
    AttributesByNumber,
    /// What was held back by a cause stays silent for ever.
    HeldForEver,
    /// Reminders are sent for accepted incidents.
    RemindTheAccepted,
    /// Members of an array are read at the same time.
    ReadMembersTogether,
    /// The range of a forecast is a third of what it should be.
    NarrowForecasts,
    /// Disks are read outside of their hours.
    IgnoreHours,
    /// Disks are read during a pause.
    IgnorePause,
    /// Members of arrays that are degraded, rebuilding or checking are read.
    IgnoreArrays,
    /// The limit of disks that are read at a time behind one controller is ignored.
    IgnoreController,
    /// Growth is not reported.
    GrowthUnreported,
    /// A missing disk is not reported.
    MissingUnreported,
    /// Unreadable sectors that meet in a stripe are not reported.
    StripesUnreported,
    /// A channel that is not proven, or accepts nothing, is not reported.
    ChannelsUnreported,
    /// Notices are sent in quiet hours.
    IgnoreQuiet,
    /// Urgent messages wait for the end of quiet hours, too.
    HoldUrgentInQuietHours,
    /// No monthly report is sent.
    NoReport,
    /// The heartbeat is not sent after a daily check.
    NoHeartbeat,
    /// The light of the arrays is always green.
    RedundancyGreen,
    /// The light of the alerts is always green.
    AlertsGreen,
    /// The loss of the history is not reported.
    HistoryLossUnreported,
    /// Recipients that a server refuses are not reported.
    RecipientsUnreported,
    /// The time that a suspend took is taken for a wrong clock.
    SuspendIsWrongClock,
}

impl WatchBug {
    /// All planted mistakes.
    pub const ALL: [WatchBug; 32] = [
        WatchBug::ForgetUnderWay,
        WatchBug::RepeatUnmarked,
        WatchBug::SendBeforeKeep,
        WatchBug::GreenWhenStale,
        WatchBug::StoppedIsFinished,
        WatchBug::WarnTooLate,
        WatchBug::FlapUnbounded,
        WatchBug::ConsequencesTold,
        WatchBug::BudgetIgnored,
        WatchBug::PastForgotten,
        WatchBug::AttributesByNumber,
        WatchBug::HeldForEver,
        WatchBug::RemindTheAccepted,
        WatchBug::ReadMembersTogether,
        WatchBug::NarrowForecasts,
        WatchBug::IgnoreHours,
        WatchBug::IgnorePause,
        WatchBug::IgnoreArrays,
        WatchBug::IgnoreController,
        WatchBug::GrowthUnreported,
        WatchBug::MissingUnreported,
        WatchBug::StripesUnreported,
        WatchBug::ChannelsUnreported,
        WatchBug::IgnoreQuiet,
        WatchBug::HoldUrgentInQuietHours,
        WatchBug::NoReport,
        WatchBug::NoHeartbeat,
        WatchBug::RedundancyGreen,
        WatchBug::AlertsGreen,
        WatchBug::HistoryLossUnreported,
        WatchBug::RecipientsUnreported,
        WatchBug::SuspendIsWrongClock,
    ];
}
