//! The code of a stripe: encoding, updating in place, and decoding from any `data` survivors.

use crate::error::CodeError;
use crate::field;
use crate::kernel::{self, Summing};
use crate::matrix::{self, PARITIES_MAX};
use crate::path::{self, Path};
use crate::product::Product;

/// The maximum number of slots of a stripe.
const SLOTS_MAX: usize = 255;

/// The code of a stripe of k data and m parity slots. Slots 0..k are data, k..k+m parity. Any k slots determine the
/// others.
///
/// Parity 0 is the XOR of the data, and parity 1 is Linux's RAID-6 syndrome; for the others see [`Code::coefficient`].
#[derive(Clone, Debug)]
pub struct Code {
    product: Product,
    path: Path,
}

impl Code {
    /// The code of `data` (at least 1) and `parity` (0 to 6) slots, at most 255 together.
    ///
    /// # Errors
    /// When one of the numbers is out of range.
    pub fn new(data: usize, parity: usize) -> Result<Code, CodeError> {
        if data == 0 {
            return Err(CodeError::NoData);
        }
        if parity > PARITIES_MAX {
            return Err(CodeError::TooManyParities { parity });
        }
        if data.saturating_add(parity) > SLOTS_MAX {
            return Err(CodeError::TooManySlots { slots: data.saturating_add(parity) });
        }
        Ok(Code { product: Product::new(parity, data, matrix::coefficient), path: path::path() })
    }

    /// The number of data slots.
    pub fn data(&self) -> usize {
        self.product.columns
    }

    /// The number of parity slots.
    pub fn parity(&self) -> usize {
        self.product.rows
    }

    /// The number of slots, data and parity.
    pub fn slots(&self) -> usize {
        self.data() + self.parity()
    }

    /// The factor of data slot `column` in parity slot `row` (counted from the first parity slot).
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn coefficient(&self, row: usize, column: usize) -> u8 {
        assert!(row < self.parity() && column < self.data(), "the code has that slot");
        self.product.factor(row, column)
    }

    /// Makes the parity of a stripe. Chunks may have any length, and need no alignment.
    ///
    /// # Panics
    /// Unless there is one chunk for each slot, all of one length.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) {
        kernel::multiply(self.path, &self.product, data, parity, Summing::Nothing);
    }

    /// Makes the parity of a stripe and the CRC-32C of all its chunks, data first, in one pass.
    ///
    /// # Panics
    /// Unless there is one chunk and one sum for each slot, all chunks of one length.
    pub fn encode_summed(&self, data: &[&[u8]], parity: &mut [&mut [u8]], sums: &mut [u32]) {
        kernel::multiply(self.path, &self.product, data, parity, Summing::All(sums));
    }

    /// Updates the parity when data slot `column` changes from `old` to `new`.
    ///
    /// # Panics
    /// Unless the code has that slot, there is one chunk for each parity slot, and all are of one length.
    pub fn update(&self, column: usize, old: &[u8], new: &[u8], parity: &mut [&mut [u8]]) {
        kernel::update(self.path, &self.product, column, old, new, parity);
    }

    /// A decoder that rebuilds `missing` slots (data or parity, any) from exactly [`Code::data`] surviving slots,
    /// `using`.
    ///
    /// # Errors
    /// If the code lacks one of the slots, if one is named twice (once in each list included), or if the number of
    /// survivors is not the number of data slots.
    pub fn decoder(&self, missing: &[usize], using: &[usize]) -> Result<Decoder, CodeError> {
        self.check_slots(missing, using)?;
        let lost: Vec<usize> = (0..self.data()).filter(|slot| !using.contains(slot)).collect();
        let rows: Vec<usize> = using.iter().filter_map(|slot| slot.checked_sub(self.data())).collect();
        // Among the k survivors are as many parities as there are lost data slots. Subtract from these parities what
        // the surviving data contribute: that leaves as many equations as there are lost data slots.
        let equations: Vec<u8> = rows
            .iter()
            .flat_map(|&row| lost.iter().map(move |&slot| (row, slot)))
            .map(|(r, s)| self.product.factor(r, s))
            .collect();
        let solution = matrix::invert(&equations, lost.len()).expect("every square part of the matrix has an inverse");
        let restored = Restored { product: &self.product, using, lost: &lost, rows: &rows, solution: &solution };
        let product = Product::new(missing.len(), using.len(), |out, source| restored.factor(missing[out], source));
        Ok(Decoder { product, path: self.path })
    }

    /// The same code on another path, for tests and measurements.
    ///
    /// # Panics
    /// If this machine lacks the path.
    pub fn with_path(self, path: Path) -> Code {
        assert!(path.is_available(), "the machine has that path");
        Code { path, ..self }
    }

    fn check_slots(&self, missing: &[usize], using: &[usize]) -> Result<(), CodeError> {
        let mut is_named = [false; SLOTS_MAX];
        for &slot in missing.iter().chain(using) {
            if slot >= self.slots() {
                return Err(CodeError::NoSuchSlot { slot });
            }
            if std::mem::replace(&mut is_named[slot], true) {
                return Err(CodeError::NamedTwice { slot });
            }
        }
        if using.len() != self.data() {
            return Err(CodeError::SurvivorCount { given: using.len(), needed: self.data() });
        }
        Ok(())
    }
}

/// The factors that give every slot from the survivors.
struct Restored<'a> {
    product: &'a Product,
    using: &'a [usize],
    /// The data slots that are not among the survivors.
    lost: &'a [usize],
    /// The parity rows that are among the survivors.
    rows: &'a [usize],
    /// The matrix that gives the lost data from those rows less the contribution of the surviving data; a row for each
    /// lost slot.
    solution: &'a [u8],
}

impl Restored<'_> {
    /// The factor of survivor number `source` in slot `slot`.
    fn factor(&self, slot: usize, source: usize) -> u8 {
        let data = self.product.columns;
        if let Some(lost) = self.lost.iter().position(|&lost| lost == slot) {
            return self.lost_factor(lost, self.using[source]);
        }
        // A parity slot is the sum of the surviving data and of the lost data, the latter expressed by the survivors.
        let (row, survivor) = (slot - data, self.using[source]);
        let direct = if survivor < data { self.product.factor(row, survivor) } else { 0 };
        self.lost.iter().enumerate().fold(direct, |sum, (lost, &column)| {
            sum ^ field::multiply(self.product.factor(row, column), self.lost_factor(lost, survivor))
        })
    }

    /// The factor of slot `survivor` in lost data slot number `lost`.
    fn lost_factor(&self, lost: usize, survivor: usize) -> u8 {
        let solution = &self.solution[lost * self.rows.len()..][..self.rows.len()];
        let of_row = |&row: &usize| match survivor.checked_sub(self.product.columns) {
            Some(parity) => u8::from(parity == row),
            None => self.product.factor(row, survivor),
        };
        solution.iter().zip(self.rows).fold(0, |sum, (&a, row)| sum ^ field::multiply(a, of_row(row)))
    }
}

/// Rebuilds slots of any number of stripes; made by [`Code::decoder`].
#[derive(Clone, Debug)]
pub struct Decoder {
    product: Product,
    path: Path,
}

impl Decoder {
    /// Rebuilds `out`, in the order of `missing`, from `survivors`, in the order of `using`.
    ///
    /// # Panics
    /// Unless there is one chunk for each slot named, all of one length.
    pub fn decode(&self, survivors: &[&[u8]], out: &mut [&mut [u8]]) {
        kernel::multiply(self.path, &self.product, survivors, out, Summing::Nothing);
    }

    /// Rebuilds `out` like [`Decoder::decode`], and makes the CRC-32C of each `out`, in one pass.
    ///
    /// # Panics
    /// Unless there is one chunk for each slot named, all of one length, and one sum for each `out`.
    pub fn decode_summed(&self, survivors: &[&[u8]], out: &mut [&mut [u8]], sums: &mut [u32]) {
        kernel::multiply(self.path, &self.product, survivors, out, Summing::Outs(sums));
    }
}
