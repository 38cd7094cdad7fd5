//! The real-time pump: runs a machine against a real disk. The simulator's pump is its twin.
//!
//! Each turn: pass the detector's foreground events to the machine, then completed scrub requests, then start the requests
//! that the machine wants; then wait for a completion or, if no request is in flight, for the machine's time-out. The pump
//! decides nothing.

use crate::clock;
use crate::detector::{Detector, OwnTraffic};
use crate::verify::{Verifier, VerifyCompletion};
use scrubjay_core::scrub::machine::{Event, Machine, Op};
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::Nanos;

/// The longest wait of a turn: the detector is drained, the watcher called and the stop flag checked at least this often.
const TURN_MAX: Nanos = Nanos::from_millis(50);
/// After a stop, the longest wait for requests that are at the disk.
const STOP_TIMEOUT: Nanos = Nanos::from_secs(10);

/// Whether a run continues; asked once a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// It continues.
    GoOn,
    /// No further request is started for now.
    Hold,
    /// It ends when the requests at the disk have completed.
    Stop,
}

/// Observes a run without taking part in it.
pub trait Watcher<M> {
    /// The machine received `event`.
    fn received(&mut self, now: Nanos, event: &Event) {
        let _ = (now, event);
    }

    /// The machine returned `op`.
    fn issued(&mut self, now: Nanos, op: &Op) {
        let _ = (now, op);
    }

    /// A turn is over: a good moment to save, to publish, or to take what was measured.
    fn turned(&mut self, now: Nanos, machine: &mut M);

    /// Whether the device still exists; asked when a request failed. A vanished device answers like a bad sector.
    fn is_present(&mut self) -> bool;
}

/// Runs `machine` until it is done, or until `steer` returns [`Steering::Stop`] and the requests at the disk have completed.
/// `steer` may also change the machine.
pub fn run<M: Machine>(
    machine: &mut M,
    verifier: &mut dyn Verifier,
    detector: &mut dyn Detector,
    watcher: &mut dyn Watcher<M>,
    steer: &mut dyn FnMut(Nanos, &mut M) -> Steering,
) {
    let mut pump = DevicePump { machine, watcher, own: OwnTraffic::default(), submitted: 0 };
    let mut events = Vec::new();
    let mut answer: Option<VerifyCompletion> = None;
    let mut stopping: Option<Nanos> = None;
    loop {
        events.clear();
        detector.drain(pump.own, &mut events);
        let now = clock::now();
        events.iter().for_each(|&event| pump.handle_event(now, event));
        if let Some(answer) = answer.take() {
            verifier.findings(false).into_iter().for_each(|finding| pump.machine.found(now, finding));
            pump.handle_completion(now, answer);
        }
        pump.handle_event(now, Event::Tick);
        let steering = steer(now, pump.machine);
        match steering {
            _ if stopping.is_some() => {}
            Steering::GoOn => pump.start_ops(now, verifier),
            Steering::Hold => {}
            Steering::Stop => {
                stopping = Some(now);
                verifier.stop();
            }
        }
        pump.watcher.turned(now, pump.machine);
        let is_idle = pump.submitted == 0;
        let is_over = pump.machine.is_done() || stopping.is_some_and(|at| is_idle || now.since(at) > STOP_TIMEOUT);
        if is_over {
            verifier.findings(true).into_iter().for_each(|finding| pump.machine.found(now, finding));
            return;
        }
        // On hold the machine's time-out may have passed already: waiting for it would make the loop spin.
        let deadline = pump.machine.poll_timeout(now).filter(|_| steering == Steering::GoOn);
        let timeout = deadline.map_or(TURN_MAX, |at| at.since(now).min(TURN_MAX));
        if is_idle {
            std::thread::sleep(std::time::Duration::from_nanos(timeout.0));
        } else {
            answer = verifier.wait(TURN_MAX);
            answer.iter().for_each(|answer| pump.account(answer, verifier.is_at_disk()));
        }
    }
}

struct DevicePump<'a, M> {
    machine: &'a mut M,
    watcher: &'a mut dyn Watcher<M>,
    own: OwnTraffic,
    /// Requests that the verifier has not completed.
    submitted: usize,
}

impl<M: Machine> DevicePump<'_, M> {
    fn handle_event(&mut self, now: Nanos, event: Event) {
        self.watcher.received(now, &event);
        self.machine.handle(now, event);
    }

    /// Counts a scrub request as completed, before the detector is drained: it subtracts these from what it sees.
    fn account(&mut self, answer: &VerifyCompletion, is_at_disk: bool) {
        self.submitted -= 1;
        if is_at_disk {
            self.own.in_flight -= 1;
            self.own.requests += 1;
            self.own.sectors += answer.counted;
        }
    }

    fn handle_completion(&mut self, now: Nanos, answer: VerifyCompletion) {
        let VerifyCompletion { id, outcome, started, finished, .. } = answer;
        let is_bad = matches!(outcome, VerifyOutcome::Unreadable(_) | VerifyOutcome::Inconclusive(_));
        let outcome = if is_bad && !self.watcher.is_present() { VerifyOutcome::Gone } else { outcome };
        self.handle_event(now, Event::Completed { id, outcome, started, finished });
    }

    fn start_ops(&mut self, now: Nanos, verifier: &mut dyn Verifier) {
        while let Some(op) = self.machine.poll_op(now) {
            self.watcher.issued(now, &op);
            let Op::Verify { id, range } = op;
            self.submitted += 1;
            if verifier.is_at_disk() {
                self.own.in_flight += 1;
            }
            verifier.submit(id, range);
        }
    }
}
