//! Runs a piece of a batch: issues and times requests; after a failed write, puts the contents back or reports them lost.

use super::requests::{Number, ProbeCompletion, ProbeRequests};
use crate::clock;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::probe::io::{ProbeAccess, ProbeRequest, RequestTiming};
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::member::DiskFault;
use std::io;

/// Reads before a rewrite that are in flight together, at most, so that a stop waits for no more.
const READS_AHEAD: usize = 64;
/// Attempts to repeat a failed write: no other copy of the block's contents exists.
const PUT_BACK_TRIES: usize = 3;

/// Byte offset and former contents of a block on the device.
pub type Block = (u64, Vec<u8>);

/// Why a piece failed.
#[derive(Debug)]
pub enum Trouble {
    /// Nothing is changed.
    Io(io::Error),
    /// The contents at this byte changed between two reads.
    Changing(u64),
    /// These blocks may have lost their contents.
    Lost {
        /// The reason, for people.
        reason: String,
        /// At least one.
        blocks: Vec<Block>,
    },
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

/// Progress of a piece.
struct PieceProgress {
    /// The number of its first request.
    first: Number,
    /// The time of the batch at which the piece begins.
    begun: Nanos,
    /// For each issued request: when it was issued, and how it ended.
    ends: Vec<(Nanos, Option<RequestTiming>)>,
}

/// Runs pieces.
pub struct Runner<R> {
    requests: R,
    /// The number of the next request.
    next: Number,
    /// The time after which a request counts as hanging.
    patience: Nanos,
}

impl<R: ProbeRequests> Runner<R> {
    /// Made with no request in flight.
    pub fn new(requests: R, patience: Nanos) -> Runner<R> {
        Runner { requests, next: 0, patience }
    }

    /// Whether a request that has not ended is in flight.
    pub fn is_busy(&self) -> bool {
        self.requests.is_busy()
    }

    /// Runs a piece to its end. After a stop, waits for the issued requests only, and returns `None`. `held` has the contents for
    /// rewrites, by the index of the request. Times continue from `begun`.
    ///
    /// # Errors
    /// [`Trouble`]: it has all blocks whose contents are not proven to be as before.
    pub fn run(
        &mut self,
        piece: &[ProbeRequest],
        held: &[Option<Buffer>],
        begun: Nanos,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<RequestTiming>>, Trouble> {
        let mut progress =
            PieceProgress { first: self.numbers(piece.len()), begun, ends: Vec::with_capacity(piece.len()) };
        let ended = self.issue(piece, held, is_stopped, &mut progress);
        let blocks_where = |is_selected: fn(&Option<RequestTiming>) -> bool| -> Vec<Block> {
            // Reads have no held contents.
            let all = piece.iter().zip(held).zip(&progress.ends).filter(|(_, (_, end))| is_selected(end));
            all.filter_map(|((request, held), _)| Some((request.offset, held.as_ref()?.to_vec()))).collect()
        };
        let failed = blocks_where(|end| end.is_some_and(|timing| timing.is_failed));
        let mut lost = blocks_where(Option::is_none);
        let first_failed = failed.first().map(|(offset, _)| *offset);
        lost.extend(self.put_back(failed));
        if !lost.is_empty() {
            let reason = match (ended, first_failed) {
                (Err(error), _) => error.to_string(),
                (Ok(()), at) => format!("writing at byte {} failed", at.unwrap_or(lost[0].0)),
            };
            return Err(Trouble::Lost { reason, blocks: lost });
        }
        ended?;
        if let Some(at) = first_failed {
            let message =
                format!("a write at byte {at} failed; all blocks hold what they held, and nothing more is written");
            return Err(io::Error::other(message).into());
        }
        let timings: Vec<RequestTiming> = progress.ends.into_iter().map_while(|(_, end)| end).collect();
        Ok((timings.len() == piece.len()).then_some(timings))
    }

    /// Issues requests when they are due, and waits until all that were issued have ended.
    ///
    /// # Errors
    /// When a request does not end.
    fn issue(
        &mut self,
        piece: &[ProbeRequest],
        held: &[Option<Buffer>],
        is_stopped: &dyn Fn() -> bool,
        progress: &mut PieceProgress,
    ) -> io::Result<()> {
        let (start, begun) = (clock::now(), progress.begun);
        let since_start = || begun.saturating_add(clock::now().since(start));
        let (mut ended, mut has_failed) = (0, false);
        while ended < piece.len() {
            let elapsed = since_start();
            let is_cut = is_stopped() || has_failed;
            if is_cut && ended == progress.ends.len() {
                break;
            }
            let is_due = |request: &&ProbeRequest| request.at <= elapsed && !is_cut;
            while let Some(request) = piece.get(progress.ends.len()).filter(is_due).filter(|_| self.requests.room() > 0)
            {
                let index = progress.ends.len();
                let number = progress.first + index as Number;
                progress.ends.push((since_start(), None));
                match request.kind {
                    ProbeAccess::Read => {
                        self.requests.read(number, request.offset, Buffer::zeroed(request.len as usize));
                        self.requests.start(); // in the order of the batch, and each by itself
                    }
                    ProbeAccess::Rewrite => {
                        let held = held[index].as_ref().expect("it was read before");
                        self.requests.write(number, request.offset, Buffer::copy_of(held));
                    }
                }
            }
            let upcoming = piece.get(progress.ends.len()).filter(|request| !is_cut && request.at > elapsed);
            let patience = upcoming.map_or(self.patience, |request| request.at.since(since_start()));
            self.requests.wait(patience)?;
            let now = since_start();
            let before = ended;
            while let Some(ProbeCompletion { number, result, .. }) = self.requests.poll() {
                // A completion of an earlier piece comes too late to prove anything.
                let Some(index) = number.checked_sub(progress.first).map(|index| index as usize) else { continue };
                let issued = progress.ends[index].0;
                progress.ends[index].1 = Some(RequestTiming { issued, done: now, is_failed: result.is_err() });
                has_failed |= result.is_err() && piece[index].kind == ProbeAccess::Rewrite;
                ended += 1;
            }
            if ended == before && upcoming.is_none() && now.since(elapsed) >= self.patience {
                return Err(self.overdue("a request"));
            }
        }
        Ok(())
    }

    /// Reads the blocks to be rewritten twice, to see whether another program changes them. Returns their contents by the index of
    /// the request; `None` after a stop.
    ///
    /// # Errors
    /// When a block cannot be read, a request does not end, or contents change.
    pub fn read_twice(
        &mut self,
        piece: &[ProbeRequest],
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Option<Buffer>>>, Trouble> {
        let Some(held) = self.read(piece, is_stopped)? else { return Ok(None) };
        let Some(again) = self.read(piece, is_stopped)? else { return Ok(None) };
        match held.iter().zip(&again).position(|(first, second)| first.as_deref() != second.as_deref()) {
            Some(index) => Err(Trouble::Changing(piece[index].offset)),
            None => Ok(Some(held)),
        }
    }

    /// Reads the blocks to be rewritten.
    fn read(
        &mut self,
        piece: &[ProbeRequest],
        is_stopped: &dyn Fn() -> bool,
    ) -> io::Result<Option<Vec<Option<Buffer>>>> {
        let first = self.numbers(piece.len());
        let mut held: Vec<Option<Buffer>> = piece.iter().map(|_| None).collect();
        let rewrites = piece.iter().enumerate().filter(|(_, request)| request.kind == ProbeAccess::Rewrite);
        let mut rewrites = rewrites.peekable();
        let mut fault: Option<(u64, DiskFault)> = None;
        let mut in_flight = 0;
        loop {
            let is_cut = fault.is_some() || is_stopped();
            let has_room = self.requests.room() > 0;
            while let Some((index, request)) = rewrites.next_if(|_| !is_cut && has_room && in_flight < READS_AHEAD) {
                let number = first + index as Number;
                self.requests.read(number, request.offset, Buffer::zeroed(request.len as usize));
                in_flight += 1;
            }
            if in_flight == 0 {
                break;
            }
            let begun = clock::now();
            self.requests.wait(self.patience)?;
            let before = in_flight;
            while let Some(ProbeCompletion { number, buffer, result }) = self.requests.poll() {
                let Some(index) = number.checked_sub(first).map(|index| index as usize) else { continue };
                in_flight -= 1;
                match result {
                    Ok(()) => held[index] = buffer,
                    Err(error) => fault = Some((piece[index].offset, error)),
                }
            }
            if in_flight == before && clock::now().since(begun) >= self.patience {
                return Err(self.overdue("a read"));
            }
        }
        if let Some((offset, fault)) = fault {
            // A block that cannot be read is not written, nor is any other of this batch.
            let message = format!("byte {offset} cannot be read ({fault:?}), so nothing more is rewritten");
            return Err(io::Error::other(message));
        }
        Ok(rewrites.peek().is_none().then_some(held))
    }

    /// Repeats failed writes, after which a block may hold neither its old nor its new contents. Returns the blocks whose
    /// contents are not proven to be as before.
    pub fn put_back(&mut self, failed: Vec<Block>) -> Vec<Block> {
        let mut lost = Vec::new();
        let mut does_answer = true;
        for (offset, held) in failed {
            let mut is_back = false;
            for _ in 0..PUT_BACK_TRIES {
                if is_back || !does_answer {
                    break;
                }
                match self.write_and_check(offset, &held) {
                    Ok(was_written) => is_back = was_written,
                    // The device does not answer, so the other blocks are not tried.
                    Err(_) => does_answer = false,
                }
            }
            if !is_back {
                lost.push((offset, held));
            }
        }
        lost
    }

    /// Writes a block, and reads whether it is there.
    ///
    /// # Errors
    /// When a request does not end.
    fn write_and_check(&mut self, offset: u64, held: &[u8]) -> io::Result<bool> {
        let number = self.numbers(1);
        self.requests.write(number, offset, Buffer::copy_of(held));
        // Whether it failed or not, the read shows what is there.
        self.wait_for(number)?;
        let number = self.numbers(1);
        self.requests.read(number, offset, Buffer::zeroed(held.len()));
        let ProbeCompletion { buffer, result, .. } = self.wait_for(number)?;
        Ok(result.is_ok() && buffer.is_some_and(|read| read[..] == *held))
    }

    /// Waits for this request. Other completions come too late.
    fn wait_for(&mut self, number: Number) -> io::Result<ProbeCompletion> {
        let begun = clock::now();
        loop {
            while let Some(answer) = self.requests.poll() {
                if answer.number == number {
                    return Ok(answer);
                }
            }
            let left = self.patience.0.saturating_sub(clock::now().since(begun).0);
            if left == 0 {
                return Err(self.overdue("a request"));
            }
            self.requests.wait(Nanos(left))?;
        }
    }

    /// Reserves `count` consecutive numbers; returns the first.
    fn numbers(&mut self, count: usize) -> Number {
        let first = self.next;
        self.next += count as Number;
        first
    }

    fn overdue(&self, request: &str) -> io::Error {
        let message = format!("{request} did not come back within {} s", self.patience.as_secs_f64());
        io::Error::new(io::ErrorKind::TimedOut, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The result of a write.
    #[derive(Clone, Copy, PartialEq)]
    enum Fate {
        Done,
        /// Half of it is written, and it fails.
        Torn,
        /// It never ends.
        Hangs,
        /// It ends with the next request.
        Late,
    }

    /// A disk in memory. Writes end as listed; the last fate holds for all further ones.
    struct Disk {
        bytes: Vec<u8>,
        fates: VecDeque<Fate>,
        answers: VecDeque<ProbeCompletion>,
        late: Vec<ProbeCompletion>,
        hanging: usize,
        /// Another program changes the first byte after each read.
        is_shared: bool,
        /// Number of writes after which the ring breaks.
        breaks_after: usize,
        writes: usize,
    }

    const BLOCK: usize = 512;

    impl Disk {
        fn new(fates: &[Fate]) -> Disk {
            Disk {
                bytes: (0..16 * BLOCK).map(|at| (at / BLOCK) as u8 + 1).collect(),
                fates: fates.iter().copied().collect(),
                answers: VecDeque::new(),
                late: Vec::new(),
                hanging: 0,
                is_shared: false,
                breaks_after: usize::MAX,
                writes: 0,
            }
        }

        fn runner(self) -> Runner<Disk> {
            Runner::new(self, Nanos::from_millis(1))
        }
    }

    impl ProbeRequests for Disk {
        fn room(&self) -> usize {
            64
        }

        fn is_busy(&self) -> bool {
            self.hanging > 0
        }

        fn read(&mut self, number: Number, offset: u64, mut buffer: Buffer) {
            self.answers.extend(self.late.drain(..));
            let range = offset as usize..offset as usize + buffer.len();
            buffer.copy_from_slice(&self.bytes[range]);
            self.answers.push_back(ProbeCompletion { number, buffer: Some(buffer), result: Ok(()) });
            self.bytes[0] += u8::from(self.is_shared);
        }

        fn write(&mut self, number: Number, offset: u64, buffer: Buffer) {
            self.answers.extend(self.late.drain(..));
            self.writes += 1;
            let fate = if self.fates.len() > 1 { self.fates.pop_front().unwrap() } else { self.fates[0] };
            let (offset, result) = (offset as usize, if fate == Fate::Torn { Err(DiskFault::Medium) } else { Ok(()) });
            match fate {
                Fate::Done => self.bytes[offset..offset + buffer.len()].copy_from_slice(&buffer),
                Fate::Torn => self.bytes[offset..offset + buffer.len() / 2].fill(0xee),
                Fate::Hangs => return self.hanging += 1,
                Fate::Late => return self.late.push(ProbeCompletion { number, buffer: Some(buffer), result }),
            }
            self.answers.push_back(ProbeCompletion { number, buffer: Some(buffer), result });
        }

        fn start(&mut self) {}

        fn wait(&mut self, _: Nanos) -> io::Result<()> {
            if self.writes >= self.breaks_after { Err(io::Error::other("the ring broke")) } else { Ok(()) }
        }

        fn poll(&mut self) -> Option<ProbeCompletion> {
            self.answers.pop_front()
        }
    }

    /// Rewrites of `count` blocks.
    fn rewrites(count: usize) -> Vec<ProbeRequest> {
        let rewrite = |block| ProbeRequest {
            kind: ProbeAccess::Rewrite,
            ..ProbeRequest::read((block * BLOCK) as u64, BLOCK as u64)
        };
        (0..count).map(rewrite).collect()
    }

    fn rewritten(runner: &mut Runner<Disk>, count: usize) -> Result<Option<Vec<RequestTiming>>, Trouble> {
        let piece = rewrites(count);
        let held = runner.read_twice(&piece, &|| false)?.expect("nobody stops it");
        runner.run(&piece, &held, Nanos::ZERO, &|| false)
    }

    fn lost(trouble: Trouble) -> (String, Vec<Block>) {
        match trouble {
            Trouble::Lost { reason, blocks } => (reason, blocks),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn blocks_of_failed_and_of_unfinished_writes_are_all_reported_lost() {
        // The first write is torn, and so are all attempts to put it back; the second hangs meanwhile.
        let mut runner = Disk::new(&[Fate::Torn, Fate::Hangs, Fate::Torn]).runner();
        let (reason, mut blocks) = lost(rewritten(&mut runner, 2).unwrap_err());
        assert!(reason.contains("did not come back"), "{reason}");
        blocks.sort();
        assert_eq!(blocks, [(0, vec![1; BLOCK]), (BLOCK as u64, vec![2; BLOCK])]);
        assert!(runner.is_busy());
    }

    #[test]
    fn a_block_that_is_put_back_is_not_lost_though_another_write_hangs() {
        let mut runner = Disk::new(&[Fate::Torn, Fate::Hangs, Fate::Done]).runner();
        let (_, blocks) = lost(rewritten(&mut runner, 2).unwrap_err());
        assert_eq!(blocks, [(BLOCK as u64, vec![2; BLOCK])]);
        assert_eq!(runner.requests.bytes[..BLOCK], [1; BLOCK]);
    }

    #[test]
    fn when_the_ring_breaks_all_blocks_in_flight_are_reported_lost() {
        let mut disk = Disk::new(&[Fate::Hangs]);
        disk.breaks_after = 3;
        let (reason, blocks) = lost(rewritten(&mut disk.runner(), 3).unwrap_err());
        assert_eq!((reason.as_str(), blocks.len()), ("the ring broke", 3));
    }

    #[test]
    fn a_late_answer_proves_nothing() {
        // The first write is torn; the repeated writes end late: each just before the completion of the next request.
        let mut runner = Disk::new(&[Fate::Torn, Fate::Late]).runner();
        let (reason, blocks) = lost(rewritten(&mut runner, 1).unwrap_err());
        assert!(reason.contains("writing at byte 0 failed"), "{reason}");
        assert_eq!(blocks, [(0, vec![1; BLOCK])]);
        assert_eq!(runner.requests.bytes[0], 0xee, "it is not there");
        // Nor is it taken for the completion of the next request.
        let held = runner.read_twice(&rewrites(2), &|| false).unwrap().unwrap();
        assert_eq!((held[0].as_ref().unwrap()[0], held[1].as_ref().unwrap()[0]), (0xee, 2));
    }

    #[test]
    fn a_write_that_fails_once_is_repeated_and_ends_the_run() {
        let mut runner = Disk::new(&[Fate::Done, Fate::Torn, Fate::Done]).runner();
        let Trouble::Io(error) = rewritten(&mut runner, 3).unwrap_err() else { panic!("nothing is lost") };
        assert!(error.to_string().contains("byte 512 failed; all blocks hold what they held"), "{error}");
        assert!(runner.requests.bytes.iter().enumerate().all(|(at, byte)| *byte == (at / BLOCK) as u8 + 1));
    }

    #[test]
    fn a_block_that_changes_between_two_reads_is_not_written() {
        let mut disk = Disk::new(&[Fate::Done]);
        disk.is_shared = true;
        let mut runner = disk.runner();
        assert!(matches!(rewritten(&mut runner, 2), Err(Trouble::Changing(0))));
        assert_eq!(runner.requests.writes, 0);
    }
}
