//! Joins several inputs to one trace: merged by time, or one after another.

use super::error::InputError;
use super::input_stream::InputStream;
use crate::error::TraceError;
use crate::formats::ClockOrigin;
use crate::record::{DeviceId, Record};
use crate::record_sink::{ArrivalSource, Devices, Example, Malformed};
use scrubjay_core::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of records of a merge that are passed on at a time.
const BATCH: usize = 8192;
/// The number of malformed records shown, of all inputs together.
const EXAMPLES_MAX: usize = 5;

/// Several inputs as one.
pub(super) struct Join {
    inputs: JoinedInputs,
    order: Order,
}

/// All inputs, and their joint devices and malformed records.
struct JoinedInputs {
    all: Vec<JoinedInput>,
    devices: Devices,
    malformed: Malformed,
}

/// An input, and the position in it.
struct JoinedInput {
    stream: InputStream,
    /// The joint device ids by the input's own ids.
    ids: Vec<DeviceId>,
    batch: Vec<Record>,
    /// The index of the first record of the batch not yet passed on.
    at: usize,
}

/// How inputs are joined.
enum Order {
    Merged(Merge),
    Chained(Chain),
}

/// Merges by time: `heads` has the next arrival of each input. Of equal arrivals, that of the input given first comes
/// first.
struct Merge {
    heads: BinaryHeap<Reverse<(Nanos, usize)>>,
}

/// Chains inputs one after another.
struct Chain {
    /// The index of the current input.
    current: usize,
    /// The beginning of the current input on the joint clock.
    began: Nanos,
    /// The last arrival or completion so far, on the joint clock.
    ended: Nanos,
}

impl Join {
    /// Joins inputs as their clock requires.
    pub(super) fn new(clock: ClockOrigin, streams: Vec<InputStream>) -> Join {
        let order = match clock {
            // Every input counts as at zero until its first batch is read.
            ClockOrigin::Absolute => {
                Order::Merged(Merge { heads: (0..streams.len()).map(|index| Reverse((Nanos::ZERO, index))).collect() })
            }
            ClockOrigin::Relative => Order::Chained(Chain { current: 0, began: Nanos::ZERO, ended: Nanos::ZERO }),
        };
        let input = |stream| JoinedInput { stream, ids: Vec::new(), batch: Vec::new(), at: 0 };
        let all = streams.into_iter().map(input).collect();
        Join { inputs: JoinedInputs { all, devices: Devices::default(), malformed: Malformed::default() }, order }
    }

    /// Replaces the contents of `batch` by the next records. False: there are no more.
    pub(super) fn next(&mut self, batch: &mut Vec<Record>) -> Result<bool, InputError> {
        batch.clear();
        match &mut self.order {
            Order::Merged(merge) => merge.next(&mut self.inputs, batch)?,
            Order::Chained(chain) => chain.next(&mut self.inputs, batch)?,
        }
        Ok(!batch.is_empty())
    }

    /// All devices so far.
    pub(super) fn devices(&self) -> &Devices {
        &self.inputs.devices
    }

    /// By what events the requests arrived, in the input that says least of it.
    pub(super) fn arrivals(&self) -> ArrivalSource {
        self.inputs.all.iter().map(|input| input.stream.arrivals()).max().unwrap_or_default()
    }

    /// The malformed records of all inputs.
    pub(super) fn malformed(&self) -> &Malformed {
        &self.inputs.malformed
    }
}

impl Merge {
    /// Appends the earliest records of all inputs to `batch`.
    fn next(&mut self, inputs: &mut JoinedInputs, batch: &mut Vec<Record>) -> Result<(), InputError> {
        while batch.len() < BATCH {
            let Some(Reverse((_, index))) = self.heads.pop() else { break };
            if inputs.all[index].is_used_up() {
                if inputs.refill(index)? {
                    self.heads.push(Reverse((inputs.all[index].batch[0].arrival, index)));
                }
                continue;
            }
            let input = &mut inputs.all[index];
            let rest = &input.batch[input.at..];
            let rest = &rest[..rest.len().min(BATCH - batch.len())];
            // Records before the next arrival of all other inputs are passed on as a run, without comparing each.
            let run = match self.heads.peek() {
                Some(&Reverse(next)) => rest.iter().position(|record| (record.arrival, index) >= next),
                None => None,
            };
            let run = run.unwrap_or(rest.len());
            batch.extend_from_slice(&rest[..run]);
            input.at += run;
            // A used-up input keeps the time of its last record: its next one cannot be earlier.
            let head = input.batch.get(input.at).or(input.batch.last()).expect("it had records");
            self.heads.push(Reverse((head.arrival, index)));
        }
        Ok(())
    }
}

impl Chain {
    /// Replaces the empty `batch` by the next batch of the current input, or by the first batch of the input after it.
    fn next(&mut self, inputs: &mut JoinedInputs, batch: &mut Vec<Record>) -> Result<(), InputError> {
        while self.current < inputs.all.len() {
            if !inputs.refill(self.current)? {
                self.current += 1;
                self.began = self.ended;
                continue;
            }
            std::mem::swap(batch, &mut inputs.all[self.current].batch);
            for record in batch {
                record.arrival = record.arrival.saturating_add(self.began);
                self.ended = self.ended.max(record.arrival.saturating_add(record.response.unwrap_or_default()));
            }
            break;
        }
        Ok(())
    }
}

impl JoinedInputs {
    /// Reads the next batch of an input and translates its device ids to the joint ones. False: there are no more.
    fn refill(&mut self, index: usize) -> Result<bool, InputError> {
        let JoinedInput { stream, ids, batch, at } = &mut self.all[index];
        let malformed = stream.malformed().count;
        let is_more = stream.next(batch)?;
        *at = 0;
        for name in &stream.devices().names()[ids.len()..] {
            let Some(id) = self.devices.id(name.as_bytes()) else {
                return Err(stream.error(TraceError::TooManyDevices(self.devices.names().len())));
            };
            ids.push(id);
        }
        for record in batch {
            record.device = ids[record.device.0 as usize];
        }
        if stream.malformed().count != malformed {
            self.malformed = self.account();
        }
        Ok(is_more)
    }

    /// The malformed records of all inputs together.
    fn account(&self) -> Malformed {
        let streams = || self.all.iter().map(|input| &input.stream);
        let examples = streams().flat_map(|stream| {
            let named = |example: &Example| format!("{}: {}", stream.name(), example.excerpt);
            stream
                .malformed()
                .examples
                .iter()
                .map(move |example| Example { excerpt: named(example), ..example.clone() })
        });
        let examples = examples.take(EXAMPLES_MAX).collect();
        Malformed { count: streams().map(|stream| stream.malformed().count).sum(), examples }
    }
}

impl JoinedInput {
    /// Whether all of its batch was passed on.
    fn is_used_up(&self) -> bool {
        self.at == self.batch.len()
    }
}
