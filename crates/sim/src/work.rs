//! Work that runs by itself on a modelled disk: the machine that paces real programs ([`Work`]), in virtual time.
//!
//! The work reads one piece after the other, sequentially, and computes in between. The disk serves all requests first come, first
//! served; a piece that does not follow the one before pays for positioning, and so does one that follows a foreground request. What
//! each foreground request loses is its response time less that at a disk without the work, exact to the nanosecond.

use scrubjay_core::scrub::disk_server::{DiskServer, ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::scrub::work::{Work, WorkEvent, WorkOp, WorkReport};
use scrubjay_core::units::{Bytes, Nanos};
use std::collections::VecDeque;

/// The work: what it does while it may.
#[derive(Clone, Copy, Debug)]
pub struct WorkModel {
    /// The size of a piece.
    pub piece: Bytes,
    /// How long it computes after each piece.
    pub computes: Nanos,
    /// Pieces that it has at the disk at the same time, as readahead does.
    pub depth: usize,
    /// How long it takes from an order until it is carried out.
    pub order_takes: Nanos,
}

impl Default for WorkModel {
    /// A program that reads a file through the page cache.
    fn default() -> WorkModel {
        let (computes, order_takes) = (Nanos(300_000), Nanos(100_000));
        WorkModel { piece: Bytes::kib(128), computes, depth: 2, order_takes }
    }
}

/// What happened in a run.
#[derive(Clone, Debug)]
pub struct WorkRun {
    /// What the work read.
    pub read: Bytes,
    /// Foreground requests (count).
    pub requests: u64,
    /// What they lost on average, in seconds: the truth, beside what the report says.
    pub lost_mean: f64,
    /// The most that one lost.
    pub lost_most: Nanos,
    /// What the machine says.
    pub report: WorkReport,
}

/// Runs `work` beside these foreground requests until `until`.
pub fn run(
    model: &WorkModel,
    disk: ServiceModel,
    foreground: impl IntoIterator<Item = ForegroundRequest>,
    until: Nanos,
    work: &mut Work,
) -> WorkRun {
    let mut foreground = foreground.into_iter().peekable();
    let (mut server, mut shadow) = (DiskServer::default(), DiskServer::default());
    // Events that will happen, by time: completions of the foreground and of the work.
    let mut completions: VecDeque<(Nanos, bool)> = VecDeque::new();
    let (mut pieces, mut read, mut was_work_last) = (0_usize, 0_u64, false);
    let (mut runs, mut ordered): (bool, Option<(Nanos, WorkOp)>) = (true, None);
    let mut next_piece = Nanos::ZERO;
    let (mut requests, mut lost, mut most) = (0_u64, 0.0, Nanos::ZERO);
    let (mut news, mut look_at) = (Vec::new(), Nanos::ZERO);
    let mut now = Nanos::ZERO;
    work.handle(now, WorkEvent::Free { at: now });
    while now < until {
        let at_disk = completions.front().map_or(Nanos::MAX, |(at, _)| *at);
        let arrives = foreground.peek().map_or(Nanos::MAX, |request| request.at);
        let sends = if runs && pieces < model.depth { next_piece.max(now) } else { Nanos::MAX };
        let order = ordered.map_or(Nanos::MAX, |(at, _)| at);
        now = at_disk.min(arrives).min(sends).min(order).min(look_at).max(now);
        if now == at_disk {
            let (at, is_work) = completions.pop_front().expect("it is there");
            if is_work {
                pieces -= 1;
                read += model.piece.0;
                next_piece = next_piece.max(at) + model.computes;
                news.push(WorkEvent::OwnCompleted { at, count: 1 });
            } else {
                news.push(WorkEvent::Foreground(Event::ForegroundCompleted { at, count: 1 }));
            }
        } else if now == arrives {
            let request = foreground.next().expect("it is there");
            let finished = server.serve(request.at, request.service).finished;
            let slowdown = finished.since(shadow.serve(request.at, request.service).finished);
            (requests, lost, most) = (requests + 1, lost + slowdown.as_secs_f64(), most.max(slowdown));
            completions.push_back((finished, false));
            was_work_last = false;
            news.push(WorkEvent::Foreground(Event::ForegroundArrived { at: now, count: 1 }));
        } else if now == order {
            let (_, op) = ordered.take().expect("it is there");
            runs = op == WorkOp::GoOn;
            if !runs {
                work.handle(now, WorkEvent::Frozen { at: now });
            }
        } else if now == sends {
            let transfer = Nanos(((u128::from(disk.per_mib.0) * u128::from(model.piece.0)) >> 20) as u64);
            let service = if was_work_last { transfer } else { disk.positioning + transfer };
            let finished = server.serve(now, service).finished;
            completions.push_back((finished, true));
            (pieces, was_work_last) = (pieces + 1, true);
            news.push(WorkEvent::OwnArrived { at: now, count: 1 });
        }
        if now < look_at {
            continue;
        }
        for event in news.drain(..) {
            work.handle(now, event);
        }
        while let Some(op) = work.poll_op(now) {
            ordered = Some((now + model.order_takes, op));
        }
        look_at = work.poll_timeout(now).min(now + Nanos::from_millis(50)).max(now + Nanos(1));
    }
    let lost_mean = if requests == 0 { 0.0 } else { lost / requests as f64 };
    WorkRun { read: Bytes(read), requests, lost_mean, lost_most: most, report: work.report(now) }
}
