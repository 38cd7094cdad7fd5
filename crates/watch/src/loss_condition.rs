//! What a person is told when the history's file was lost.

use crate::calendar::show_time;
use crate::conditions::single_sign;
use crate::incident::{Condition, Urgency};
use crate::loss::{HistoryLoss, LossKind};
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

impl Watch {
    /// Notes a loss. Of several the last one stays.
    pub(crate) fn note_loss(&mut self, now: UnixSeconds, loss: HistoryLoss) {
        self.host.history_lost = Some(HistoryLoss { at: now, ..loss });
    }

    /// The condition of a history that was lost, until a person has taken note.
    pub(crate) fn history_lost(&self) -> Option<Condition> {
        let HistoryLoss { at, kind, aside, is_rebuilt } = self.host.history_lost.as_ref()?;
        let what = match kind {
            LossKind::Deleted => "its file was deleted",
            LossKind::Damaged => "its file was damaged",
            LossKind::Older => "its file is older than it was",
            LossKind::Exchanged => "its file was exchanged",
        };
        let mut lines = vec![format!("Noticed   {}", show_time(&*self.calendar, *at))];
        lines.extend(match (is_rebuilt, kind) {
            (true, _) => [
                "Kept      what is known of the disks, incidents, acceptances and proofs: written anew, from memory",
                "Lost      the list of what happened, temperatures and passes of the past",
            ]
            .map(str::to_owned)
            .to_vec(),
            (false, LossKind::Older) => [
                "Lost      what came after that file was written: what was told since may be told again, what was accepted",
                "          or proven since is not, and what was read since counts as unread",
            ]
            .map(str::to_owned)
            .to_vec(),
            (false, _) => [
                "Lost      all that was known: unreadable sectors are not known again before the disks are read,",
                "          what was accepted or proven no longer is",
            ]
            .map(str::to_owned)
            .to_vec(),
        });
        lines.extend(aside.iter().map(|path| format!("Aside     {path}")));
        lines.push(
            "Do        find out who did that; put back a newer copy, if you have one, while the watch is stopped"
                .to_owned(),
        );
        lines.push("Quiet     sudo scrubjay accept history".to_owned());
        let headline = format!("NOTICE the watch's own history: {what}");
        let amounts = vec![(kind.word().to_owned(), at.0)];
        Some(Condition { amounts, ..single_sign(Urgency::Notice, 1, headline, lines) })
    }
}
