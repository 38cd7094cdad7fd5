//! What goes into the watch and what comes out: plain values, the contract of its pumps.

use crate::facts::{ArrayFacts, DiskFacts, SessionNews, SessionSubject, SmartReading, SubjectKey};
use crate::hold::HoldBack;
use crate::incident::IncidentSubject;
use crate::rows::{MessageRow, RowKey, WatchRow};
use crate::settings::WatchSettings;
use scrubjay_core::units::{Nanos, UnixSeconds};

/// What a person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonCommand {
    /// Read nothing for so many seconds.
    PauseFor(u64),
    /// Go on.
    Resume,
    /// Read this disk or array now, out of its turn and before others that wait; what holds it back for another reason holds on.
    ScrubNow(SubjectKey),
    /// Be silent about what is open now of this subject, until it grows.
    Accept(IncidentSubject),
    /// Send a test, with a code, by every channel.
    TestAlerts,
    /// A code that came by some channel.
    Confirm(String),
    /// A disk, or an array, was taken out for good.
    Forget(IncidentSubject),
}

/// Something that happened. Disks are called by the kernel's names; a name is given to another disk only after it was told
/// that its disk is gone. A disk that is seen under another name has moved, once the old one is told to be gone; if both stay for
/// minutes, they are two disks of one identity.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A disk is there, or has changed.
    DiskSeen(DiskFacts),
    /// The disk of this name is not there any more.
    DiskGone(String),
    /// An array is there, or has changed.
    ArraySeen(ArrayFacts),
    /// The array with this UUID is not there any more.
    ArrayGone(String),
    /// SMART of the disk of this name was read, or not.
    Smart(String, SmartReading),
    /// A session on this disk or array reports. After a start the pump also tells, as stopped, what sessions have kept, with the
    /// date they were begun with.
    Session(SessionSubject, SessionNews),
    /// In the hour of the week that just ended this disk or array could have been read for this share of the time, within its
    /// budget: 0 to 1.
    IdleHour(SessionSubject, usize, f32),
    /// The machine runs on battery, or not any more.
    OnBattery(bool),
    /// Are all arrays of this machine seen, as far as is known? Not until this says so; nor where there are pools and arrays of
    /// which nothing more can be told.
    ArraysKnown(bool),
    /// A person commands.
    Command(PersonCommand),
    /// The settings were read anew.
    Settings(Box<WatchSettings>),
    /// The message of this number was accepted by its channel.
    MessageSent(u64),
    /// It was not.
    MessageFailed(u64),
    /// The clock is synchronised with another one, or is not. While nothing is said of it, a clock that is far from what it showed
    /// before is believed when it has stayed so for hours; so the pump tells this first after a start, and when it changes.
    ClockSynchronised(bool),
    /// Time has passed, and all that happened has been told.
    Tick,
}

/// Something that the watch wants done. The pump does one after the other, in order; it does not begin the next before rows are
/// durable.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchOp {
    /// Make these rows durable, and remove those, all or none.
    Keep(Vec<WatchRow>, Vec<RowKey>),
    /// Read the SMART data of the disk of this name; do not wake it.
    ReadSmart(String),
    /// On this disk or array go on with the pass of this number, which began then, and add no more latency than this to requests
    /// of others, as a mean over them. What was read before that date does not count: if what the session has kept is of another
    /// pass, or began before it (numbers begin anew when a disk was forgotten or a data base is lost), the pass begins; if it is
    /// of this one, and complete, it says so once more: the watch may have been killed before that was durable.
    BeginSession(SessionSubject, u32, UnixSeconds, Nanos),
    /// End the session on this disk or array, and keep where it is; one that does not say within an hour that it did hangs.
    StopSession(SessionSubject, HoldBack),
    /// Send this message, and say what came of it within a quarter of an hour: then it has failed, and may be sent twice.
    Send(Box<MessageRow>),
    /// The daily check went well: tell so whoever waits for it.
    Heartbeat,
}

/// Mistakes that can be made on purpose: tests of the tests. Without the feature `planted` nobody makes them, and the compiler
/// leaves them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchBug {
    /// A message that was under way when the machine was killed is forgotten.
    ForgetUnderWay,
    /// It is sent again, and not marked as possibly repeated.
    RepeatUnmarked,
    /// A message is handed to its channel before the row that says so is durable.
    SendBeforeKeep,
    /// A disk of which nothing was heard for days is still called ok.
    GreenWhenStale,
    /// A session that was stopped counts as a whole pass.
    StoppedIsFinished,
    /// That a date will be missed is said only when it was.
    WarnTooLate,
    /// Reminders come although a person accepted what is so.
    RemindTheAccepted,
    /// Members of an array are read all at once.
    ReadMembersTogether,
    /// The range of a forecast is a third of what it should be.
    NarrowForecasts,
    /// Disks are read at any hour, whatever the settings say.
    IgnoreHours,
    /// Disks are read although a person wants a pause.
    IgnorePause,
    /// Members of arrays that are degraded, rebuilt or checked are read.
    IgnoreArrays,
    /// As many disks behind a controller are read at a time as want to be.
    IgnoreController,
    /// That something has become more is not told.
    GrowthUntold,
    /// That a disk is missing is not told.
    MissingUntold,
    /// That unreadable sectors meet in a stripe is not told.
    StripesUntold,
    /// That a way for messages is not proven, or accepts nothing, is not told.
    ChannelsUntold,
    /// Notices are sent in quiet hours.
    IgnoreQuiet,
    /// Whatever a message tells waits for the end of quiet hours.
    AllNotices,
    /// There is no monthly report.
    NoReport,
    /// The daily check is not told to whoever waits for it.
    NoHeartbeat,
    /// The light of the arrays is always green.
    RedundancyGreen,
    /// The light of the alerts is always green.
    AlertsGreen,
}

impl WatchBug {
    /// All of them.
    pub const ALL: [WatchBug; 23] = [
        WatchBug::ForgetUnderWay,
        WatchBug::RepeatUnmarked,
        WatchBug::SendBeforeKeep,
        WatchBug::GreenWhenStale,
        WatchBug::StoppedIsFinished,
        WatchBug::WarnTooLate,
        WatchBug::RemindTheAccepted,
        WatchBug::ReadMembersTogether,
        WatchBug::NarrowForecasts,
        WatchBug::IgnoreHours,
        WatchBug::IgnorePause,
        WatchBug::IgnoreArrays,
        WatchBug::IgnoreController,
        WatchBug::GrowthUntold,
        WatchBug::MissingUntold,
        WatchBug::StripesUntold,
        WatchBug::ChannelsUntold,
        WatchBug::IgnoreQuiet,
        WatchBug::AllNotices,
        WatchBug::NoReport,
        WatchBug::NoHeartbeat,
        WatchBug::RedundancyGreen,
        WatchBug::AlertsGreen,
    ];
}
