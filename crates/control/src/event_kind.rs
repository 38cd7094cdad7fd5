//! The kinds of events that the history has.

use scrubjay_watch::worded;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HistoryEventKind {
    /// A disk was seen for the first time.
    DiskSeen,
    /// The kernel gave the disk another name.
    DiskRenamed,
    /// The disk is gone.
    DiskGone,
    /// The disk is back.
    DiskBack,
    /// A person took the disk out for good.
    DiskForgotten,
    /// The disk took the place of another in an array.
    DiskReplaced,
    /// An incident opened.
    IncidentOpened,
    /// The incident grew beyond its worst.
    IncidentGrown,
    /// A person accepted the incident.
    IncidentAccepted,
    /// The incident is over.
    IncidentResolved,
    /// A message was written.
    MessageWritten,
    /// A channel accepted the message.
    MessageDelivered,
    /// The message was given up, because its channel was removed.
    MessageDropped,
    /// There is a new channel, or one with new settings.
    ChannelAdded,
    /// A person confirmed a code that came by the channel.
    ChannelProven,
    /// A channel was removed.
    ChannelRemoved,
    /// All of a disk was read.
    PassFinished,
    /// An array's own checker has covered all of it.
    CheckFinished,
    /// Sectors are unreadable that were readable before, or never read.
    UnreadableFound,
    /// Sectors are readable again.
    UnreadableGone,
}

impl HistoryEventKind {
    /// Is it about a message?
    pub fn is_of_message(self) -> bool {
        use HistoryEventKind::{MessageDelivered, MessageDropped, MessageWritten};
        matches!(self, MessageWritten | MessageDelivered | MessageDropped)
    }
}

worded!(HistoryEventKind {
    DiskSeen = "disk-seen",
    DiskRenamed = "disk-renamed",
    DiskGone = "disk-gone",
    DiskBack = "disk-back",
    DiskForgotten = "disk-forgotten",
    DiskReplaced = "disk-replaced",
    IncidentOpened = "incident-opened",
    IncidentGrown = "incident-grown",
    IncidentAccepted = "incident-accepted",
    IncidentResolved = "incident-resolved",
    MessageWritten = "message-written",
    MessageDelivered = "message-delivered",
    MessageDropped = "message-dropped",
    ChannelAdded = "channel-added",
    ChannelProven = "channel-proven",
    ChannelRemoved = "channel-removed",
    PassFinished = "pass-finished",
    CheckFinished = "check-finished",
    UnreadableFound = "unreadable-found",
    UnreadableGone = "unreadable-gone",
});
