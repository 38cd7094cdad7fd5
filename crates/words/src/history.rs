//! That the history's file was lost.

use crate::date::show_time;
use crate::line::{Label, Line};
use crate::sentence::{Said, sentences};
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::loss::{HistoryLoss, LossKind};

sentences! {
    pub(crate) LossWords: "The watch's own history: the subject of a message" {
        Lost { what: Said = HowLost::Deleted } => "NOTICE the watch's own history: {what}",
    }
}

sentences! {
    pub(crate) HowLost: "How the history's file was lost" {
        Deleted => "its file was deleted",
        Damaged => "its file was damaged",
        Older => "its file is older than it was",
        Exchanged => "its file was exchanged",
    }
}

sentences! {
    pub(crate) LossLines: "The watch's own history: lines of a message" {
        Noticed { time: String = "12 Mar 2026 03:41" } => "{time}",
        KeptAnew => "what is known of the disks, incidents, acceptances and proofs: written anew, from memory",
        LostOfThePast => "the list of what happened, temperatures and passes of the past",
        LostSince => "what came after that file was written: what was told since may be told again, what was accepted",
        LostSinceToo => "or proven since is not, and what was read since counts as unread",
        LostAll => "all that was known: unreadable sectors are not known again before the disks are read,",
        LostAllToo => "what was accepted or proven no longer is",
        Aside { path: String = "/var/lib/scrubjay/history.db.damaged" } => "{path}",
        FindOut => "find out why; put back a newer copy, if you have one, while the watch is stopped",
        PutNothingBack => "find out why (damaged: look at the system's disk); put nothing back: nothing is newer",
        Quiet => "sudo scrubjay accept history",
    }
}

pub(crate) fn headline(loss: &HistoryLoss) -> Said {
    let what = match loss.kind {
        LossKind::Deleted => HowLost::Deleted,
        LossKind::Damaged => HowLost::Damaged,
        LossKind::Older => HowLost::Older,
        LossKind::Exchanged => HowLost::Exchanged,
    };
    LossWords::Lost { what: what.into() }.into()
}

pub(crate) fn lines(loss: &HistoryLoss, calendar: &dyn Calendar) -> Vec<Line> {
    let mut lines = vec![Line::of(Label::Noticed, LossLines::Noticed { time: show_time(calendar, loss.at) })];
    lines.extend(match (loss.is_rebuilt, loss.kind) {
        (true, _) => [Line::of(Label::Kept, LossLines::KeptAnew), Line::of(Label::Lost, LossLines::LostOfThePast)],
        (false, LossKind::Older) => {
            [Line::of(Label::Lost, LossLines::LostSince), Line::of(Label::More, LossLines::LostSinceToo)]
        }
        (false, _) => [Line::of(Label::Lost, LossLines::LostAll), Line::of(Label::More, LossLines::LostAllToo)],
    });
    lines.extend(loss.aside.iter().map(|path| Line::of(Label::Aside, LossLines::Aside { path: path.clone() })));
    let what = if loss.is_rebuilt { LossLines::PutNothingBack } else { LossLines::FindOut };
    lines.push(Line::of(Label::Do, what));
    lines.push(Line::of(Label::Quiet, LossLines::Quiet));
    lines
}
