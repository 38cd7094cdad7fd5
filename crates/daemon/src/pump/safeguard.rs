//! Looks with each survey whether the history's file is still there, and writes it anew from memory where it is not.

use super::state::Daemon;
use crate::history::standing;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_words::Wording;
use std::time::Instant;

impl Daemon<'_> {
    /// Notes how far the history has come; where it was lost, it is written anew, and that is told.
    pub(super) fn check_history(&mut self) {
        let kind = standing::check(&self.kept.database).or_else(|| self.check_pages());
        if let Some(kind) = kind
            && !self.rebuild_history(kind)
        {
            return;
        }
        if let Some(mark) = self.kept.database.last_mark() {
            self.kept.places.write(mark);
        }
    }

    /// Reads all pages of the history, in a hundredth of the time at most.
    fn check_pages(&mut self) -> Option<LossKind> {
        let begun = Instant::now();
        if begun < self.kept.pages_due {
            return None;
        }
        let is_whole = standing::is_whole(&self.kept.database);
        self.kept.pages_due = Instant::now() + 100 * begun.elapsed();
        (!is_whole).then_some(LossKind::Damaged)
    }

    /// Writes the history anew from memory. Returns whether it could be.
    pub(super) fn rebuild_history(&mut self, kind: LossKind) -> bool {
        // What waits to be kept is in the watch's rows already; the operations behind it go on.
        let rows = self.watch.rows();
        let wording = Wording { calendar: self.watch.calendar(), host: &self.settings.host };
        let rebuilt = standing::rebuild(&mut self.kept.database, self.clock.now(), kind, &rows, &wording);
        self.set_trouble("the history was lost", rebuilt.as_ref().err().map(ToString::to_string));
        let is_rebuilt = rebuilt.is_ok();
        rebuilt.into_iter().for_each(|loss| self.tell_loss(loss));
        is_rebuilt
    }

    /// Tells the journal and the watch that the history was lost.
    pub(super) fn tell_loss(&mut self, loss: HistoryLoss) {
        let aside = loss.aside.as_ref().map_or(String::new(), |path| format!("; what was found lies at {path}"));
        let rest = if loss.is_rebuilt { "written anew from memory" } else { "what it does not have is gone" };
        (self.say)(&format!("the history was lost ({}): {rest}{aside}", loss.kind.word()));
        self.feed(WatchEvent::HistoryLost(loss));
    }
}
