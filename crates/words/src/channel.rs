//! How a channel for alerts is.

use crate::date::show_date;
use crate::line::{Label, Line};
use crate::sentence::{Said, sentences};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::channel::ProofState;

sentences! {
    pub(crate) ProofWords: "Whether a channel is proven" {
        Proven { date: String = "12 Mar 2026" } => "proven {date}",
        Expired { date: String = "12 Mar 2026" } => "not proven since {date}",
        Never => "never proven",
    }
}

sentences! {
    pub(crate) ChannelWords: "A channel for alerts: the subject of a message" {
        Unproven { channel: String = "email", proof: Said = ProofWords::Never } => "NOTICE alerts by {channel}: {proof}",
        NotAccepted { channel: String = "email", date: String = "12 Mar 2026" } =>
            "NOTICE alerts by {channel} have not been accepted since {date}",
        NotReached { channel: String = "email", who: String = "you@example.org", reply: String = "550 5.1.1 no such user" } =>
            "NOTICE alerts by {channel} do not reach {who}: {reply}",
    }
}

sentences! {
    pub(crate) ChannelLines: "A channel for alerts: lines of a message" {
        NobodyConfirmed => "Nobody has confirmed that messages arrive this way.",
        NobodyOfLate => "Nobody has confirmed in 90 days that messages arrive this way.",
        ConfirmCode => "send a test, and confirm its code: sudo scrubjay alert test",
        Kept => "What was to be sent this way is kept, and tried again.",
        SeeWhy => "see why: sudo scrubjay alert list",
        Refused { who: String = "you@example.org", reply: String = "550 5.1.1 no such user" } => "{who}: {reply}",
        LookAtAddress => "look at the address; another list: sudo scrubjay set alert.email.to '[\"you@example.org\"]'",
    }
}

/// Whether a channel is proven: `proven 12 Mar 2026`.
pub fn proof(proof: ProofState, calendar: &dyn Calendar) -> Said {
    let words = match proof {
        ProofState::Proven(confirmed) => ProofWords::Proven { date: show_date(calendar, confirmed) },
        ProofState::Expired(since) => ProofWords::Expired { date: show_date(calendar, since) },
        ProofState::Never => ProofWords::Never,
    };
    words.into()
}

pub(crate) fn unproven_headline(channel: &str, state: ProofState, calendar: &dyn Calendar) -> Said {
    ChannelWords::Unproven { channel: channel.to_owned(), proof: proof(state, calendar) }.into()
}

pub(crate) fn unproven_lines(state: ProofState) -> Vec<Line> {
    let who = if state == ProofState::Never { ChannelLines::NobodyConfirmed } else { ChannelLines::NobodyOfLate };
    vec![Line::plain(who), Line::of(Label::Do, ChannelLines::ConfirmCode)]
}

pub(crate) fn undelivered_headline(channel: &str, since: UnixSeconds, calendar: &dyn Calendar) -> Said {
    ChannelWords::NotAccepted { channel: channel.to_owned(), date: show_date(calendar, since) }.into()
}

pub(crate) fn undelivered_lines() -> Vec<Line> {
    vec![Line::plain(ChannelLines::Kept), Line::of(Label::Do, ChannelLines::SeeWhy)]
}

pub(crate) fn recipients_headline(channel: &str, refused: &[(String, String)]) -> Said {
    let (who, reply) = refused.first().cloned().unwrap_or_default();
    ChannelWords::NotReached { channel: channel.to_owned(), who, reply }.into()
}

pub(crate) fn recipients_lines(refused: &[(String, String)]) -> Vec<Line> {
    let line = |(who, reply): &(String, String)| ChannelLines::Refused { who: who.clone(), reply: reply.clone() };
    let mut lines: Vec<Line> = refused.iter().map(|one| Line::of(Label::Refused, line(one))).collect();
    lines.push(Line::of(Label::Do, ChannelLines::LookAtAddress));
    lines
}
