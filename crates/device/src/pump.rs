//! The real-time pump: runs a machine against a real disk. The simulator's pump is its twin.
//!
//! Each turn: ask the detector what others did, tell the machine, tell it what of ours has ended, then take what it
//! wants done; then wait for an answer or for the machine's time-out. It decides nothing.

use crate::clock;
use crate::detector::{Detector, OwnTraffic};
use crate::verify::{Verifier, VerifyCompletion};
use scrubjay_core::scrub::machine::{Event, Machine, Op};
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::Nanos;

/// No wait is longer: so often the detector is drained, the watcher told, and the stop flag seen.
const TURN_MAX: Nanos = Nanos::from_millis(50);
/// After a stop, so long is waited for requests that are at the disk.
const STOP_TIMEOUT: Nanos = Nanos::from_secs(10);

/// What is to become of a run, asked once a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// It goes on.
    GoOn,
    /// Nothing more is started for now.
    Hold,
    /// It ends when what is at the disk has come back.
    Stop,
}

/// Watches a run without taking part in it.
pub trait Watcher<M> {
    /// The machine was told of `event`.
    fn told(&mut self, now: Nanos, event: &Event) {
        let _ = (now, event);
    }

    /// The machine gave `op`.
    fn gave(&mut self, now: Nanos, op: &Op) {
        let _ = (now, op);
    }

    /// A turn is over: a good moment to save, or to publish.
    fn turned(&mut self, now: Nanos, machine: &M);

    /// A request failed: is the device still there? A vanished one answers like a bad sector.
    fn is_present(&mut self) -> bool;
}

/// Runs `machine` until it is done, or until `steer` says stop and what is at the disk has come back. `steer` may also change
/// the machine.
pub fn run<M: Machine>(
    machine: &mut M,
    verifier: &mut dyn Verifier,
    detector: &mut dyn Detector,
    watcher: &mut dyn Watcher<M>,
    steer: &mut dyn FnMut(Nanos, &mut M) -> Steering,
) {
    let mut pump = DevicePump { machine, watcher, own: OwnTraffic::default() };
    let mut events = Vec::new();
    let mut answer: Option<VerifyCompletion> = None;
    let mut stopping: Option<Nanos> = None;
    loop {
        events.clear();
        detector.drain(pump.own, &mut events);
        let now = clock::now();
        events.iter().for_each(|&event| pump.tell(now, event));
        if let Some(answer) = answer.take() {
            pump.tell_answer(now, answer);
        }
        pump.tell(now, Event::Tick);
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
        let is_idle = pump.own.in_flight == 0;
        let is_over = pump.machine.is_done() || stopping.is_some_and(|at| is_idle || now.since(at) > STOP_TIMEOUT);
        if is_over {
            return;
        }
        // What is held would be started at once.
        let wanted = pump.machine.poll_timeout(now).filter(|_| steering == Steering::GoOn);
        let timeout = wanted.map_or(TURN_MAX, |at| at.since(now).min(TURN_MAX));
        if is_idle {
            std::thread::sleep(std::time::Duration::from_nanos(timeout.0));
        } else {
            answer = verifier.wait(TURN_MAX);
            answer.iter().for_each(|answer| pump.account(answer));
        }
    }
}

struct DevicePump<'a, M> {
    machine: &'a mut M,
    watcher: &'a mut dyn Watcher<M>,
    own: OwnTraffic,
}

impl<M: Machine> DevicePump<'_, M> {
    fn tell(&mut self, now: Nanos, event: Event) {
        self.watcher.told(now, &event);
        self.machine.handle(now, event);
    }

    /// Notes that a request of ours is no longer at the disk: before the detector looks, so that it can tell.
    fn account(&mut self, answer: &VerifyCompletion) {
        self.own.in_flight -= 1;
        self.own.requests += 1;
        self.own.sectors += answer.counted;
    }

    fn tell_answer(&mut self, now: Nanos, answer: VerifyCompletion) {
        let VerifyCompletion { id, outcome, started, finished, .. } = answer;
        let is_bad = matches!(outcome, VerifyOutcome::Unreadable(_) | VerifyOutcome::Inconclusive(_));
        let outcome = if is_bad && !self.watcher.is_present() { VerifyOutcome::Gone } else { outcome };
        self.tell(now, Event::Completed { id, outcome, started, finished });
    }

    fn start_ops(&mut self, now: Nanos, verifier: &mut dyn Verifier) {
        while let Some(op) = self.machine.poll_op(now) {
            self.watcher.gave(now, &op);
            let Op::Verify { id, range } = op;
            self.own.in_flight += 1;
            verifier.submit(id, range);
        }
    }
}
