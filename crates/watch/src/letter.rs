//! What a message says, as facts: the pump puts it in words once, when it keeps the message, and sends those.

use crate::incident::{Condition, IncidentKind, IncidentRow, MessageReason, Urgency};
use crate::status::WatchStatus;
use scrubjay_core::units::UnixSeconds;

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    /// What it is about.
    pub content: LetterContent,
    /// Since when nothing is seen of the machine, which every message says; `None`: it is seen.
    pub blind_since: Option<UnixSeconds>,
}

/// What a message is about.
#[derive(Clone, Debug, PartialEq)]
pub enum LetterContent {
    /// One incident.
    Incident {
        /// The incident.
        incident: Box<ToldIncident>,
        /// Why it is told.
        reason: MessageReason,
        /// For how many whole days it has been open.
        age_days: u64,
        /// Days to the next reminder.
        reminder_days: u64,
    },
    /// Incidents of one kind of several disks at once; not empty.
    Several {
        /// Why they are told: they have opened, or it is a reminder.
        reason: MessageReason,
        /// Their kind.
        kind: IncidentKind,
        /// The controller that may be their cause.
        controller: Option<String>,
        /// How each disk is.
        conditions: Vec<Condition>,
    },
    /// Incidents that were told before, to a channel that is new; the most urgent first, not empty.
    Open {
        /// Now.
        now: UnixSeconds,
        /// The incidents.
        incidents: Vec<ToldIncident>,
    },
    /// A test of a channel.
    Test {
        /// The channel.
        channel: String,
        /// What a person confirms.
        code: String,
    },
    /// The monthly report.
    Report {
        /// The channel.
        channel: String,
        /// What a person confirms.
        code: String,
        /// How things stand.
        status: Box<WatchStatus>,
        /// The incidents that were told.
        incidents: Vec<ToldIncident>,
    },
    /// What the message of this number says.
    CopyOf(u64),
}

/// An incident, as far as a message has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldIncident {
    /// Its condition.
    pub condition: Condition,
    /// When it opened.
    pub opened: UnixSeconds,
    /// Has a person accepted it?
    pub is_accepted: bool,
}

impl From<&IncidentRow> for ToldIncident {
    fn from(row: &IncidentRow) -> ToldIncident {
        ToldIncident { condition: row.condition.clone(), opened: row.opened, is_accepted: row.is_accepted }
    }
}

/// Is it likely that many of these at once have a common cause in the machine, not in the disks?
pub fn is_common_cause(kind: IncidentKind, urgency: Urgency) -> bool {
    kind == IncidentKind::Missing || kind == IncidentKind::Health && urgency == Urgency::Replace
}
