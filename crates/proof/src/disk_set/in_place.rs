//! Faults that change rows in place, other than by the volume: junk over a whole row, or flipped bits.

use super::DiskSet;
use crate::fault_budget::DamageKind;
use crate::faults::InjectedFault;
use scrubjay_core::index::RowIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::integrity::tag;

impl DiskSet {
    /// Writes junk over a row of every `step`-th stripe, as far as the fault budget allows.
    pub fn plague(&mut self, now: Nanos, step: u64) {
        self.change_every(now, step, InjectedFault::Overwritten, |row, _, rng| row.fill_with(|| rng.bits() as u8));
    }

    /// Flips bits of a row of every `step`-th stripe, as far as the fault budget allows: in the content, in the fields of the
    /// appendix, or in both. Unlike junk, such a row still names its place, and may claim a newer version than the parities list.
    pub fn rot(&mut self, now: Nanos, step: u64) {
        self.change_every(now, step, InjectedFault::Rotten, |row, chunk_bytes, rng| {
            let (content, appendix) = row.split_at_mut(chunk_bytes);
            let first = appendix.len().saturating_sub(tag::VERSION);
            let [all, version] = [first..appendix.len(), first..appendix.len().min(first + 8)];
            let choices = [(true, 0..0), (true, version.clone()), (true, all.clone()), (false, version), (false, all)];
            let (is_content, fields) = choices[rng.below(5) as usize].clone();
            if is_content || fields.is_empty() {
                flip_bits(content, rng);
            }
            flip_bits(&mut appendix[fields], rng);
        });
    }

    /// Applies `change` to a row of every `step`-th stripe, as far as the fault budget allows; its arguments are the
    /// row, the number of content bytes in it, and the generator. The positions take turns, beginning with a random one.
    fn change_every(
        &mut self,
        now: Nanos,
        step: u64,
        fault: InjectedFault,
        change: impl Fn(&mut [u8], usize, &mut Rng),
    ) {
        let layout = self.geometry.layout;
        let first = self.rng.below(layout.shape().width() as u64);
        for stripe in (0..self.geometry.stripes).step_by(step as usize) {
            let place = layout.place(stripe, ((first + stripe / step) % layout.shape().width() as u64) as usize);
            let (row, offset) = ((place.disk, place.row), self.geometry.chunk_offset(RowIndex(place.row)));
            let (damages, disk) = ([(row, DamageKind::Corrupt)], &self.disks[place.disk]);
            let mut bytes = vec![0; self.geometry.row_bytes() as usize];
            // Bits that flip a second time may flip back.
            let is_rotten = |planted: &Vec<InjectedFault>| planted.contains(&InjectedFault::Rotten);
            if disk.is_gone
                || fault == InjectedFault::Rotten && self.planted.get(&row).is_some_and(is_rotten)
                || !self.fault_budget.allows(&self.disks, &damages)
                || disk.read(offset.get(), &mut bytes).is_err()
            {
                continue;
            }
            change(&mut bytes, self.geometry.chunk_bytes as usize, &mut self.rng);
            self.disks[place.disk].strike(offset.get(), &bytes);
            self.note_faults(now, &damages, &[(row, fault)]);
        }
    }
}

/// Flips one to three random bits (the same bit may be drawn twice), if there are any.
fn flip_bits(bytes: &mut [u8], rng: &mut Rng) {
    for _ in 0..(1 + rng.below(3)).min(8 * bytes.len() as u64) {
        bytes[rng.below(bytes.len() as u64) as usize] ^= 1 << rng.below(8);
    }
}
