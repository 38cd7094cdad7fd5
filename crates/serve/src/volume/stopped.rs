//! How a volume was left: the last message of its server, for its own user and for the clients that stopped it.

use super::commands::{Status, Stopped};
use super::conditions::{MemberCondition, VolumeCondition};
use crate::ended::{Flushed, ServerEnded};
use scrubjay_core::index::MemberIndex;

/// How the volume of a server that ends is left. `in_order`: its superblock states that it was stopped in order, or it was
/// served for reading only. `lost`: members that failed while it was served, and were not taken out by the administrator; what was
/// acknowledged is durable without them.
pub(super) fn stopped(status: &Status, ended: &ServerEnded, in_order: bool, lost: &[MemberIndex]) -> Stopped {
    let mut problems = Vec::new();
    if status.state == VolumeCondition::Broken {
        problems.push("it is broken: more members are out than it can do without".to_owned());
    }
    match ended.flush {
        Flushed::Done => (),
        Flushed::Failed => problems.push("the last flush failed: what was written last may be lost".to_owned()),
        Flushed::Late => {
            problems.push("the last flush did not end in time: what was written last may be lost".to_owned())
        }
    }
    if !ended.is_stopped {
        problems.push("it did not end in time".to_owned());
    }
    // What a crash left is decided by the next server; all that was acknowledged is durable.
    let is_only_unresynced = ended.is_stopped && ended.flush == Flushed::Done && status.regions_to_resync > 0;
    if !(ended.is_stopped && in_order || is_only_unresynced) {
        problems.push(
            "it was not stopped in order, and looks at what was being written when it is served again".to_owned(),
        );
    }
    for (count, noun, outcome) in
        [(ended.unended as u64, "request", "did not end in time"), (ended.writes_failed, "write", "failed")]
    {
        if count > 0 {
            problems.push(format!("{count} {noun}{} {outcome}", plural(count)));
        }
    }
    if ended.is_device_wrong {
        problems.push("its block device could not be started, or not be removed".to_owned());
    }
    let (mut left, mut remarks) = (Vec::new(), Vec::new());
    if !in_order && is_only_unresynced {
        remarks.push("the resync after a crash is not over: it goes on when it is served again".to_owned());
    }
    left.extend(status.loss_words());
    if ended.reads_failed > 0 {
        left.push(format!("{} read{} failed", ended.reads_failed, plural(ended.reads_failed)));
    }
    for (index, member) in
        status.members.iter().enumerate().filter(|(_, member)| member.state != MemberCondition::Active)
    {
        let detail = member.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let words = format!("member {index} is {}{detail}", member.state.predicate());
        if lost.contains(&MemberIndex(index)) { &mut left } else { &mut remarks }.push(words);
    }
    if status.findings > 0 {
        let lost = if status.lost == 0 { String::new() } else { format!(", of them LOST: {}", status.lost) };
        remarks.push(format!("{} finding{}{lost}", status.findings, plural(status.findings)));
    }
    let name = if status.name.is_empty() { &status.array } else { &status.name };
    Stopped { name: name.clone(), problems, left, remarks }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl Stopped {
    /// The name, problems and remarks in one line.
    pub fn words(&self) -> String {
        let Stopped { name, problems, left, remarks } = self;
        let all: Vec<&str> = problems.iter().chain(left).chain(remarks).map(String::as_str).collect();
        match all.len() {
            0 => format!("stopped {name}: nothing was found wrong"),
            _ => format!("stopped {name}: {}", all.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::commands::MemberStatus;
    use super::*;
    use scrubjay_core::layout::Shape;

    fn status(state: VolumeCondition, members: [MemberCondition; 2], findings: u64) -> Status {
        let member = |state| MemberStatus { path: None, state, detail: None, faults: 0, may_return: false };
        Status {
            schema: 1,
            name: "photos".to_owned(),
            array: String::new(),
            state,
            shape: Shape { data: 4, parity: 2 },
            layout: String::new(),
            scheme: String::new(),
            device: None,
            chunk_bytes: 4096,
            size_bytes: 0,
            stripes: 0,
            stripes_written: 0,
            regions_dirty: 0,
            regions_to_resync: 0,
            findings,
            events: 0,
            lost: 0,
            lost_stripes: Some(0),
            is_lost_at_most: false,
            lost_runs: Vec::new(),
            read_only: false,
            members: members.map(member).to_vec(),
        }
    }

    #[test]
    fn nothing_wrong_is_reported_only_after_a_stop_in_order() {
        let fine = ServerEnded { flush: Flushed::Done, is_stopped: true, ..ServerEnded::default() };
        let both = [MemberCondition::Active; 2];
        let one_failed = [MemberCondition::Active, MemberCondition::Failed];
        let words = |status: Status, ended: ServerEnded, in_order: bool, lost: &[MemberIndex]| {
            let stopped = stopped(&status, &ended, in_order, lost);
            (stopped.problems.len(), stopped.words())
        };
        let left = |status: Status, lost: &[MemberIndex]| {
            let stopped = stopped(&status, &fine, true, lost);
            (stopped.problems.len(), stopped.left.len(), stopped.words())
        };
        let well = (0, "stopped photos: nothing was found wrong".to_owned());
        assert_eq!(words(status(VolumeCondition::Open, both, 0), fine, true, &[]), well);
        let found = (0, "stopped photos: 2 findings".to_owned());
        assert_eq!(words(status(VolumeCondition::Open, both, 2), fine, true, &[]), found);
        let gone = Status { lost: 1, lost_stripes: Some(1), ..status(VolumeCondition::Open, both, 2) };
        let text = "stopped photos: 1 stripe holds lost data: reads there fail until it is written; 2 findings, of them LOST: 1";
        assert_eq!(left(gone.clone(), &[]), (0, 1, text.to_owned()));
        let text = "stopped photos: 1 stripe holds lost data: reads there fail until it is written";
        assert_eq!(
            left(Status { findings: 0, lost: 0, ..gone }, &[]),
            (0, 1, text.to_owned()),
            "since before its start"
        );
        let degraded = (0, "stopped photos: member 1 is out of use".to_owned());
        assert_eq!(words(status(VolumeCondition::Degraded, one_failed, 0), fine, true, &[]), degraded);
        let lost = (0, 1, "stopped photos: member 1 is out of use; 1 finding".to_owned());
        assert_eq!(left(status(VolumeCondition::Degraded, one_failed, 1), &[MemberIndex(1)]), lost);
        let resyncing = Status { regions_to_resync: 2, ..status(VolumeCondition::Open, both, 0) };
        let text = "stopped photos: the resync after a crash is not over: it goes on when it is served again";
        assert_eq!(words(resyncing.clone(), fine, false, &[]), (0, text.to_owned()));
        let (problems, text) = words(resyncing, ServerEnded { flush: Flushed::Failed, ..fine }, false, &[]);
        assert!(problems == 2 && text.contains("not stopped in order"), "{text}");
        let unread =
            stopped(&status(VolumeCondition::Open, both, 0), &ServerEnded { reads_failed: 3, ..fine }, true, &[]);
        assert_eq!((unread.problems.len(), unread.left), (0, vec!["3 reads failed".to_owned()]));
        for (ended, in_order, expected) in [
            (ServerEnded { flush: Flushed::Failed, ..fine }, true, "the last flush failed"),
            (ServerEnded { flush: Flushed::Late, is_stopped: false, ..fine }, false, "did not end in time"),
            (ServerEnded { writes_failed: 1, ..fine }, true, "1 write failed"),
            (ServerEnded { writes_failed: 2, ..fine }, true, "2 writes failed"),
            (ServerEnded { is_device_wrong: true, ..fine }, true, "its block device could not be started"),
            (ServerEnded { unended: 4, ..fine }, true, "4 requests did not end in time"),
            (fine, false, "was not stopped in order"),
        ] {
            let (problems, text) = words(status(VolumeCondition::Open, both, 0), ended, in_order, &[]);
            assert!(problems > 0 && text.contains(expected), "{text}");
        }
        let (problems, text) = words(status(VolumeCondition::Broken, both, 0), fine, false, &[]);
        assert!(problems == 2 && text.contains("it is broken"), "{text}");
    }
}
