//! Gathers the facts of letters.

use crate::incident::{IncidentKey, IncidentKind, IncidentRow, MessageReason};
use crate::letter::{Letter, LetterContent, ToldIncident};
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

impl Watch {
    /// The letter about this, with what every message says.
    pub(crate) fn letter(&self, content: LetterContent) -> Letter {
        Letter { content, blind_since: self.seen.blind_since }
    }

    /// The message about one incident.
    pub(crate) fn incident_letter(&self, incident: &IncidentRow, reason: MessageReason, now: UnixSeconds) -> Letter {
        self.letter(LetterContent::Incident {
            incident: Box::new(incident.into()),
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
        let rows = keys.iter().filter_map(|key| self.book.incidents.get(key));
        let conditions = rows.map(|row| row.condition.clone()).collect();
        self.letter(LetterContent::Several { reason, kind, controller, conditions })
    }

    /// The message to a new channel about the open incidents.
    pub(crate) fn open_letter(&self, open: &[IncidentRow], now: UnixSeconds) -> Letter {
        let mut open: Vec<&IncidentRow> = open.iter().collect();
        open.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        self.letter(LetterContent::Open { now, incidents: open.into_iter().map(ToldIncident::from).collect() })
    }

    /// A test message.
    pub(crate) fn test_letter(&self, channel: &str, code: String) -> Letter {
        self.letter(LetterContent::Test { channel: channel.to_owned(), code })
    }

    /// The monthly report, which is sent also when all is well.
    pub(crate) fn report_letter(&self, channel: &str, code: String, now: UnixSeconds) -> Letter {
        let told = self.book.incidents.values().filter(|incident| incident.last_message.is_some());
        let incidents = told.map(ToldIncident::from).collect();
        let status = Box::new(self.status(now));
        self.letter(LetterContent::Report { channel: channel.to_owned(), code, status, incidents })
    }
}
