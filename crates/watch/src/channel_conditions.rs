//! The problems of channels: not proven, not accepting, refusing some of their recipients.

use crate::calendar::show_date;
use crate::conditions::{Conditions, single_sign};
use crate::events::WatchBug;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

impl Watch {
    /// Checks the channels for problems.
    pub(crate) fn check_channels(&self, now: UnixSeconds, conditions: &mut Conditions) {
        for channel in self.channels.values().filter(|_| !self.is_planted(WatchBug::ChannelsUnreported)) {
            let key_of = |kind| IncidentKey { subject: IncidentSubject::Channel(channel.name.clone()), kind };
            if channel.is_unproven(now) {
                let state = channel.words(now, &*self.calendar);
                let headline = format!("NOTICE alerts by {}: {state}", channel.name);
                let lines = vec![
                    "Nobody has confirmed that messages arrive this way.".to_owned(),
                    "Do        confirm the code that comes of: sudo scrubjay alert test".to_owned(),
                ];
                conditions
                    .found
                    .insert(key_of(IncidentKind::Unproven), single_sign(Urgency::Notice, 1, headline, lines));
            }
            // Those who get it are told; of a channel that nobody gets, its failing tells.
            let refused = channel.refused.first().filter(|_| !self.is_planted(WatchBug::RecipientsUnreported));
            if let Some((first, reply)) = refused {
                let headline = format!("NOTICE alerts by {} do not reach {first}: {reply}", channel.name);
                let amounts: Vec<(String, u64)> = channel.refused.iter().map(|(to, _)| (to.clone(), 1)).collect();
                let mut lines: Vec<String> =
                    channel.refused.iter().map(|(to, reply)| format!("Refused   {to}: {reply}")).collect();
                lines.push("Do        look at the address; another list of recipients: sudo scrubjay set".to_owned());
                let condition = single_sign(Urgency::Notice, 1, headline, lines);
                conditions.found.insert(key_of(IncidentKind::Recipients), Condition { amounts, ..condition });
            }
            if channel.is_failing(now) {
                let since = channel.failing_since.map(|since| show_date(&*self.calendar, since)).unwrap_or_default();
                let headline = format!("NOTICE alerts by {} are not accepted since {since}", channel.name);
                let lines = vec!["What was to be sent this way is kept, and tried again.".to_owned()];
                conditions
                    .found
                    .insert(key_of(IncidentKind::Undelivered), single_sign(Urgency::Notice, 1, headline, lines));
            }
        }
    }
}
