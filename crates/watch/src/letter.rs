//! What a message says, as facts: the pump puts it in words once, when it keeps the message, and sends those.

use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentRow, MessageReason, Urgency};
use crate::state::Watch;
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
        incident: OpenIncident,
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
        incidents: Vec<OpenIncident>,
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
        incidents: Vec<OpenIncident>,
    },
    /// What the message of this number says.
    CopyOf(u64),
}

/// An incident, as far as a message has it.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenIncident {
    /// Its condition.
    pub condition: Condition,
    /// When it opened.
    pub opened: UnixSeconds,
    /// Has a person accepted it?
    pub is_accepted: bool,
}

impl From<&IncidentRow> for OpenIncident {
    fn from(row: &IncidentRow) -> OpenIncident {
        OpenIncident { condition: row.condition.clone(), opened: row.opened, is_accepted: row.is_accepted }
    }
}

/// Is it likely that many of these at once have a common cause in the machine, not in the disks?
pub fn is_common_cause(kind: IncidentKind, urgency: Urgency) -> bool {
    kind == IncidentKind::Missing || kind == IncidentKind::Health && urgency == Urgency::Replace
}

impl Watch {
    /// The letter about this, with what every message says.
    pub(crate) fn letter(&self, content: LetterContent) -> Letter {
        Letter { content, blind_since: self.blind_since }
    }

    /// The message about one incident.
    pub(crate) fn incident_letter(&self, incident: &IncidentRow, reason: MessageReason, now: UnixSeconds) -> Letter {
        self.letter(LetterContent::Incident {
            incident: incident.into(),
            reason,
            age_days: crate::calendar::days(now, incident.opened),
            reminder_days: incident.next_reminder_days(reason),
        })
    }

    /// The message about several disks with incidents of one kind: behind one controller, if that is named.
    pub(crate) fn common_letter(
        &self,
        keys: &[IncidentKey],
        reason: MessageReason,
        kind: IncidentKind,
        controller: Option<String>,
    ) -> Letter {
        let rows = keys.iter().filter_map(|key| self.incidents.get(key));
        let conditions = rows.map(|row| row.condition.clone()).collect();
        self.letter(LetterContent::Several { reason, kind, controller, conditions })
    }

    /// The message to a new channel about the open incidents.
    pub(crate) fn open_letter(&self, open: &[IncidentRow], now: UnixSeconds) -> Letter {
        let mut open: Vec<&IncidentRow> = open.iter().collect();
        open.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        self.letter(LetterContent::Open { now, incidents: open.into_iter().map(OpenIncident::from).collect() })
    }

    /// A test message.
    pub(crate) fn test_letter(&self, channel: &str, code: String) -> Letter {
        self.letter(LetterContent::Test { channel: channel.to_owned(), code })
    }

    /// The monthly report, which is sent also when all is well.
    pub(crate) fn report_letter(&self, channel: &str, code: String, now: UnixSeconds) -> Letter {
        let told = self.incidents.values().filter(|incident| incident.last_message.is_some());
        let incidents = told.map(OpenIncident::from).collect();
        let status = Box::new(self.status(now));
        self.letter(LetterContent::Report { channel: channel.to_owned(), code, status, incidents })
    }
}
