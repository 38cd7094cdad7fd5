//! Pairs requests with their completions, for traces that record these as separate events, like blktrace's.

use crate::record::{DeviceId, Record, RequestKind};
use scrubjay_core::units::{Bytes, Nanos};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A request waits for its completion until this many more were queued. No disk's queue is nearly as long (NVMe allows
/// 65,535 per queue, and the kernel's default is 1,023), so after that its completion is lost.
const QUEUED_MAX: usize = 1 << 16;

/// Requests that were queued, each waiting for its completion; memory is bounded.
///
/// Feed it events in order of time. Each call emits records into its `out`, **in the order in which they were queued**,
/// once their completions and those of all requests queued before are known. So records in order of arrival stay so,
/// and need no sorting. A record whose completion does not come (lost by the tracer, or after the end of the trace) is
/// emitted without a response once 65,536 more were queued, or at the end.
///
/// The kernel does not complete the requests that were queued, but others made from them. If the trace records that one
/// was merged with another, the two are emitted as one, with the arrival of the first, because the disk positions once
/// for both. A completion is assigned
///
/// 1. to the oldest request of its device and kind with exactly its range; if there is none,
/// 2. to all requests side by side in its range (several were merged into one without a record of it; of two requests
///    for the same bytes, each has its own completion); and the rest of its range
/// 3. to requests that extend beyond it (one was split into several, or completed piece by piece): these are complete
///    with the last of their bytes.
///
/// A completion of a request that was never queued (in flight when the trace began) changes nothing. A completion that
/// precedes its request's arrival (CPU clocks differ slightly) looks the same, and also changes nothing.
///
/// ```text
/// let mut pairing = Pairing::default();
/// pairing.queued(record, &mut sink.records);                          // Q
/// pairing.merged(device, kind, offset, length, MergeSide::Behind);                 // M
/// pairing.completed(device, kind, offset, length, now, &mut sink.records);  // C
/// pairing.drain(&mut sink.records);                                   // the end
/// ```
pub struct Pairing {
    /// In queueing order. The first one always still waits for its completion; otherwise it would have been emitted.
    queue: VecDeque<QueueSlot>,
    /// The number of the first request in the queue; successive requests have successive numbers.
    first: u64,
    lanes: HashMap<(DeviceId, RequestKind), WaitingRequests>,
    queued_max: usize,
}

/// A queued request.
struct QueueSlot {
    record: Record,
    /// The number of its bytes not yet completed.
    bytes_left: u64,
    stage: PairingStage,
}

/// The state of a queued request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PairingStage {
    /// It waits for its completion.
    Waiting,
    /// It is complete, and waits for those before it.
    Complete,
    /// It was merged into one before it.
    Merged,
}

/// The side of another request on which a request was merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeSide {
    /// It begins where the other ended.
    Behind,
    /// It ends where the other began.
    Before,
}

/// The waiting requests of one device and kind.
#[derive(Default)]
struct WaitingRequests {
    /// Lengths by (first byte, number).
    waiting: BTreeMap<(u64, u64), u64>,
    /// No request so far was longer.
    longest: u64,
}

impl Default for Pairing {
    fn default() -> Pairing {
        Pairing { queue: VecDeque::new(), first: 0, lanes: HashMap::new(), queued_max: QUEUED_MAX }
    }
}

impl Pairing {
    /// Adds a request that arrived. Its `response`, normally `None`, is kept if it never completes.
    pub fn queued(&mut self, record: Record, out: &mut Vec<Record>) {
        if self.queue.len() == self.queued_max {
            self.give_up_first();
            self.emit_decided(out);
        }
        let number = self.first + self.queue.len() as u64;
        let lane = self.lanes.entry((record.device, record.kind)).or_default();
        lane.insert(record.offset.0, number, record.length.0);
        self.queue.push_back(QueueSlot { record, bytes_left: record.length.0, stage: PairingStage::Waiting });
    }

    /// Merges the last queued request with this range into a waiting request on that side of it. If there are no such
    /// two, nothing happens: the trace lacks the earlier events.
    pub fn merged(&mut self, device: DeviceId, kind: RequestKind, offset: Bytes, length: Bytes, side: MergeSide) {
        let Some((number, neighbour)) =
            self.lanes.get(&(device, kind)).and_then(|lane| lane.pair(offset.0, length.0, side))
        else {
            return;
        };
        let place = |number: u64| (number - self.first) as usize;
        let (kept_place, merged_place) = (place(number.min(neighbour)), place(number.max(neighbour)));
        let [kept, merged] = [kept_place, merged_place].map(|place| self.queue[place].record);
        // Requests that are partly completed are not merged.
        let is_whole = |place: usize| self.queue[place].bytes_left == self.queue[place].record.length.0;
        let Some(length) =
            kept.length.0.checked_add(merged.length.0).filter(|_| is_whole(kept_place) && is_whole(merged_place))
        else {
            return;
        };
        self.forget((device, kind), (merged.offset.0, number.max(neighbour)));
        self.queue[merged_place].stage = PairingStage::Merged;
        self.forget((device, kind), (kept.offset.0, number.min(neighbour)));
        let slot = &mut self.queue[kept_place];
        slot.record.offset = kept.offset.min(merged.offset);
        (slot.record.length, slot.bytes_left) = (Bytes(length), length);
        let (start, lane) = (slot.record.offset.0, self.lanes.entry((device, kind)).or_default());
        lane.insert(start, number.min(neighbour), length);
    }

    /// Completes the bytes from `offset` on at `time`, on the clock of the arrivals. A completion without bytes is for
    /// all requests without bytes at the same offset (flushes).
    pub fn completed(
        &mut self,
        device: DeviceId,
        kind: RequestKind,
        offset: Bytes,
        length: Bytes,
        time: Nanos,
        out: &mut Vec<Record>,
    ) {
        let Some(lane) = self.lanes.get(&(device, kind)) else {
            return;
        };
        for (key, bytes) in lane.completed_by(offset.0, length.0) {
            self.complete_part((device, kind), key, bytes, time);
        }
        self.emit_decided(out);
    }

    /// Emits everything at the end of the trace. Afterwards the pairing is as new.
    pub fn drain(&mut self, out: &mut Vec<Record>) {
        let emitted = self.queue.drain(..).filter(|slot| slot.stage != PairingStage::Merged);
        out.extend(emitted.map(|slot| slot.record));
        self.lanes.clear();
        self.first = 0;
    }

    /// Subtracts completed `bytes` from a request, and marks it complete if none are left.
    fn complete_part(&mut self, lane: (DeviceId, RequestKind), key: (u64, u64), bytes: u64, time: Nanos) {
        let slot = &mut self.queue[(key.1 - self.first) as usize];
        slot.bytes_left = slot.bytes_left.saturating_sub(bytes);
        if slot.bytes_left == 0 {
            slot.record.response = Some(time.since(slot.record.arrival));
            slot.stage = PairingStage::Complete;
            self.forget(lane, key);
        }
    }

    /// Stops waiting for the completion of the oldest request.
    fn give_up_first(&mut self) {
        let Some(slot) = self.queue.front_mut() else {
            return;
        };
        slot.stage = PairingStage::Complete;
        let record = slot.record;
        self.forget((record.device, record.kind), (record.offset.0, self.first));
    }

    fn forget(&mut self, lane: (DeviceId, RequestKind), key: (u64, u64)) {
        if let Some(waiting) = self.lanes.get_mut(&lane) {
            waiting.remove(key);
            if waiting.waiting.is_empty() {
                self.lanes.remove(&lane);
            }
        }
    }

    fn emit_decided(&mut self, out: &mut Vec<Record>) {
        while self.queue.front().is_some_and(|slot| slot.stage != PairingStage::Waiting) {
            let emitted = self.queue.pop_front().filter(|slot| slot.stage == PairingStage::Complete);
            out.extend(emitted.map(|slot| slot.record));
            self.first += 1;
        }
    }
}

impl WaitingRequests {
    fn insert(&mut self, offset: u64, number: u64, length: u64) {
        self.waiting.insert((offset, number), length);
        self.longest = self.longest.max(length);
    }

    fn remove(&mut self, key: (u64, u64)) {
        self.waiting.remove(&key);
    }

    /// The number of the last request with this range, and of the last request that it adjoins on that side.
    fn pair(&self, start: u64, length: u64, side: MergeSide) -> Option<(u64, u64)> {
        let mut same = self.waiting.range((start, 0)..=(start, u64::MAX)).rev();
        let (&(_, number), _) = same.find(|&(_, &other_length)| other_length == length && length > 0)?;
        let adjoins = |(&(other_start, other_number), &other_length): (&(u64, u64), &u64)| {
            (other_start.checked_add(other_length) == Some(start) && other_length > 0).then_some(other_number)
        };
        let other = match side {
            MergeSide::Behind => {
                let near = self.waiting.range((start.saturating_sub(self.longest), 0)..(start, 0));
                near.filter_map(adjoins).max()?
            }
            MergeSide::Before => {
                let end = start.checked_add(length)?;
                let (&(_, other_number), _) = self.waiting.range((end, 0)..=(end, u64::MAX)).next_back()?;
                other_number
            }
        };
        Some((number, other))
    }

    /// The requests that a completion of this range is for, with the number of bytes of each.
    fn completed_by(&self, start: u64, length: u64) -> Vec<((u64, u64), u64)> {
        let mut same = self.waiting.range((start, 0)..=(start, u64::MAX));
        if let Some((&key, _)) = same.find(|&(_, &other_length)| other_length == length && length > 0) {
            return vec![(key, length)];
        }
        let end = start.saturating_add(length);
        let mut completed = Vec::new();
        // Requests side by side in the range: one that begins before the previous one's end has its own completion.
        let mut reached = start;
        for (&key, &length) in self.waiting.range((start, 0)..=(end, u64::MAX)) {
            let is_comparable = (length == 0) == (start == end);
            if is_comparable && key.0 >= reached && length <= end - key.0 {
                completed.push((key, length));
                reached = key.0 + length;
            }
        }
        let mut rest = length - completed.iter().map(|&(_, bytes)| bytes).sum::<u64>();
        if rest == 0 {
            return completed;
        }
        // Requests that extend beyond it.
        for (&key, &length) in self.waiting.range((start.saturating_sub(self.longest), 0)..(end, 0)) {
            let request_end = key.0.saturating_add(length);
            let overlap = request_end.min(end).saturating_sub(key.0.max(start));
            if (key.0 < start || request_end > end) && overlap > 0 && rest > 0 {
                let bytes = overlap.min(rest);
                completed.push((key, bytes));
                rest -= bytes;
            }
        }
        completed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEVICE: DeviceId = DeviceId(3);

    fn request(arrival: u64, offset: u64, length: u64) -> Record {
        let (offset, length) = (Bytes(offset), Bytes(length));
        Record { arrival: Nanos(arrival), response: None, offset, length, device: DEVICE, kind: RequestKind::Read }
    }

    /// Queues reads of (offset, length) at times 0, 1, ...; completes (offset, length) at times 100, 101, ...; returns
    /// the responses in the order of emission, -1 if there is none.
    fn responses(queued: &[(u64, u64)], completed: &[(u64, u64)]) -> Vec<i64> {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        for (time, &(offset, length)) in queued.iter().enumerate() {
            pairing.queued(request(time as u64, offset, length), &mut out);
        }
        for (time, &(offset, length)) in completed.iter().enumerate() {
            let time = Nanos(100 + time as u64);
            pairing.completed(DEVICE, RequestKind::Read, Bytes(offset), Bytes(length), time, &mut out);
        }
        pairing.drain(&mut out);
        assert!(out.is_sorted_by_key(|record| record.arrival));
        out.iter().map(|record| record.response.map_or(-1, |response| response.0 as i64)).collect()
    }

    #[test]
    fn a_completion_goes_to_the_request_for_the_same_bytes() {
        assert_eq!(responses(&[(0, 8), (64, 8)], &[(64, 8), (0, 8)]), [101, 99]);
        assert_eq!(responses(&[(0, 8)], &[(8, 8), (64, 8)]), [-1]);
    }

    #[test]
    fn merged_requests_are_completed_together() {
        assert_eq!(responses(&[(0, 8), (16, 8), (8, 8), (24, 8)], &[(0, 24)]), [100, 99, 98, -1]);
    }

    #[test]
    fn requests_with_recorded_merges_are_emitted_as_one() {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        // The second behind the first; the fourth before the third, then both behind the first two; the fifth adjoins
        // nothing.
        for (time, (offset, merged)) in [
            (0, None),
            (8, Some(MergeSide::Behind)),
            (24, None),
            (16, Some(MergeSide::Before)),
            (80, Some(MergeSide::Behind)),
        ]
        .into_iter()
        .enumerate()
        {
            pairing.queued(request(time as u64, offset, 8), &mut out);
            if let Some(side) = merged {
                pairing.merged(DEVICE, RequestKind::Read, Bytes(offset), Bytes(8), side);
            }
        }
        pairing.merged(DEVICE, RequestKind::Read, Bytes(16), Bytes(16), MergeSide::Behind);
        pairing.completed(DEVICE, RequestKind::Read, Bytes(80), Bytes(8), Nanos(50), &mut out);
        assert!(out.is_empty(), "the first still waits");
        pairing.completed(DEVICE, RequestKind::Read, Bytes(0), Bytes(16), Nanos(60), &mut out);
        pairing.completed(DEVICE, RequestKind::Read, Bytes(16), Bytes(16), Nanos(70), &mut out);
        let seen: Vec<_> =
            out.iter().map(|record| (record.arrival.0, record.offset.0, record.length.0, record.response)).collect();
        assert_eq!(seen, [(0, 0, 32, Some(Nanos(70))), (4, 80, 8, Some(Nanos(46)))]);
        pairing.queued(request(80, 0, 8), &mut out);
        pairing.merged(DeviceId(0), RequestKind::Read, Bytes(0), Bytes(8), MergeSide::Behind);
        pairing.merged(DEVICE, RequestKind::Read, Bytes(64), Bytes(8), MergeSide::Before);
        pairing.drain(&mut out);
        assert_eq!(out.len(), 3, "what was never queued merges nothing");
    }

    #[test]
    fn the_same_bytes_twice_are_completed_twice() {
        assert_eq!(responses(&[(0, 8), (0, 8), (0, 8)], &[(0, 8), (0, 8)]), [100, 100, -1]);
    }

    #[test]
    fn a_split_request_is_complete_with_its_last_part() {
        assert_eq!(responses(&[(0, 24)], &[(8, 8), (16, 8)]), [-1]);
        assert_eq!(responses(&[(0, 24)], &[(16, 8), (0, 8), (8, 8)]), [102]);
        assert_eq!(
            responses(&[(0, 16), (16, 8)], &[(0, 8), (8, 16)]),
            [101, 100],
            "the rest of one, merged with another"
        );
    }

    #[test]
    fn a_request_in_the_midst_of_a_longer_one_has_its_own_completion() {
        assert_eq!(responses(&[(0, 64), (8, 8)], &[(8, 8), (0, 64)]), [101, 99]);
        assert_eq!(responses(&[(0, 8), (0, 64)], &[(0, 64), (0, 8)]), [101, 99]);
    }

    #[test]
    fn kinds_and_devices_are_kept_apart() {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        pairing.queued(request(0, 0, 8), &mut out);
        pairing.queued(Record { kind: RequestKind::Flush, ..request(1, 0, 0) }, &mut out);
        pairing.completed(DEVICE, RequestKind::Write, Bytes(0), Bytes(8), Nanos(5), &mut out);
        pairing.completed(DeviceId(0), RequestKind::Read, Bytes(0), Bytes(8), Nanos(5), &mut out);
        pairing.completed(DEVICE, RequestKind::Flush, Bytes(0), Bytes(0), Nanos(7), &mut out);
        assert!(out.is_empty(), "the read is first, and still waits");
        pairing.completed(DEVICE, RequestKind::Read, Bytes(0), Bytes(8), Nanos(9), &mut out);
        assert_eq!(out.iter().map(|record| record.response).collect::<Vec<_>>(), [Some(Nanos(9)), Some(Nanos(6))]);
    }

    #[test]
    fn a_request_that_never_completes_delays_no_more_than_the_bound() {
        let (mut pairing, mut out) = (Pairing { queued_max: 4, ..Pairing::default() }, Vec::new());
        pairing.queued(request(0, 1000, 8), &mut out);
        for time in 1..=4 {
            assert!(out.is_empty());
            pairing.queued(request(time, time * 8, 8), &mut out);
            if time < 4 {
                pairing.completed(DEVICE, RequestKind::Read, Bytes(time * 8), Bytes(8), Nanos(10), &mut out);
            }
        }
        let responses: Vec<_> = out.iter().map(|record| record.response.map(|response| response.0)).collect();
        assert_eq!(responses, [None, Some(9), Some(8), Some(7)]);
        pairing.completed(DEVICE, RequestKind::Read, Bytes(1000), Bytes(8), Nanos(20), &mut out);
        pairing.drain(&mut out);
        assert_eq!((out.len(), out[4].response), (5, None));
    }

    proptest! {
        /// For any events, every queued request is emitted once, in order, and nothing panics at extreme offsets.
        #[test]
        fn every_request_is_emitted_once(
            events in proptest::collection::vec((0u8..8, 0u64..40, 0u64..20, any::<bool>()), 0..300),
            queued_max in 1usize..20,
        ) {
            let (mut pairing, mut out) = (Pairing { queued_max, ..Pairing::default() }, Vec::new());
            let (mut queued, mut bytes) = (0, 0);
            for (time, &(event, offset, length, is_far)) in events.iter().enumerate() {
                let (offset, time) = (if is_far { u64::MAX - offset } else { offset }, time as u64);
                match event {
                    0..4 => {
                        queued += 1;
                        bytes += length;
                        pairing.queued(request(time, offset, length), &mut out);
                    }
                    4 => pairing.merged(DEVICE, RequestKind::Read, Bytes(offset), Bytes(length), MergeSide::Behind),
                    5 => pairing.merged(DEVICE, RequestKind::Read, Bytes(offset), Bytes(length), MergeSide::Before),
                    _ => pairing.completed(DEVICE, RequestKind::Read, Bytes(offset), Bytes(length), Nanos(time), &mut out),
                }
                prop_assert!(pairing.queue.len() <= queued_max);
                let waiting: usize = pairing.lanes.values().map(|lane| lane.waiting.len()).sum();
                prop_assert!(waiting <= pairing.queue.len());
            }
            pairing.drain(&mut out);
            prop_assert!(out.len() <= queued);
            prop_assert_eq!(out.iter().map(|record| record.length.0).sum::<u64>(), bytes);
            prop_assert!(out.is_sorted_by_key(|record| record.arrival));
        }

        /// If all queued bytes are completed in pieces that do not overlap, all requests have a response.
        #[test]
        fn all_requests_complete_however_they_were_merged_and_split(
            cuts in proptest::collection::btree_set(1u64..1000, 0..30),
            pieces in proptest::collection::btree_set(1u64..1000, 0..30),
        ) {
            let ranges = |cuts: &std::collections::BTreeSet<u64>| -> Vec<(u64, u64)> {
                let ends: Vec<u64> = [0].into_iter().chain(cuts.iter().copied()).chain([1000]).collect();
                ends.windows(2).map(|ends| (ends[0], ends[1] - ends[0])).collect()
            };
            let responses = responses(&ranges(&cuts), &ranges(&pieces));
            prop_assert!(responses.iter().all(|&response| response >= 0), "{responses:?}");
        }
    }
}
