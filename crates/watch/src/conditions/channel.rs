//! The problems of channels: not proven, not accepting, refusing some of their recipients.

use super::Conditions;
use crate::events::WatchBug;
use crate::incident::{Condition, IncidentSubject, Urgency};
use crate::problem::Problem;
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

impl Watch {
    /// Checks the channels for problems.
    pub(super) fn check_channels(&self, now: UnixSeconds, conditions: &mut Conditions) {
        for channel in self.outgoing.channels.values().filter(|_| !self.is_planted(WatchBug::ChannelsUnreported)) {
            let (subject, name) = (IncidentSubject::Channel(channel.name.clone()), || channel.name.clone());
            let mut add = |problem| conditions.add(&subject, Condition::of(Urgency::Notice, problem));
            if channel.is_unproven(now) {
                add(Problem::Unproven(name(), channel.proof(now)));
            }
            if let Some(since) = channel.failing_since.filter(|_| channel.is_failing(now)) {
                add(Problem::Undelivered(name(), since));
            }
            // Those who get it are told; of a channel that nobody gets, its failing tells.
            if !channel.refused.is_empty() && !self.is_planted(WatchBug::RecipientsUnreported) {
                let amounts: Vec<(String, u64)> = channel.refused.iter().map(|(to, _)| (to.clone(), 1)).collect();
                let problem = Problem::Recipients(name(), channel.refused.clone());
                conditions.add(&subject, Condition::of(Urgency::Notice, problem).with_amounts(amounts));
            }
        }
    }
}
