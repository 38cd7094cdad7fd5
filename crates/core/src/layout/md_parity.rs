//! Which member of an md array with parities is wrong: pure judgements on the bytes at the same place of each member.
//!
//! ```text
//! P = d0 + d1 + ...          Q = d0 + 2 d1 + 4 d2 + ...       over GF(2^8), byte by byte (a column)
//! p = P as read + P as computed,  q = Q as read + Q as computed
//! p = q = 0: all fits    q = 0: P is wrong    p = 0: Q is wrong    q = 2^z p: data z is wrong, if only one is
//! ```
//! (H. P. Anvin, "The mathematics of RAID-6", 2004, section 4; Linux, drivers/md/raid5.c, `raid5_compute_sector` and
//! `set_syndrome_sources`.) Data are numbered in the order of the disks, beginning behind Q, as in the kernel.

use scrubjay_code::Code;

/// The positions of the parities in md's RAID-4, 5 and 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdParity {
    disks: usize,
    parities: usize,
    /// `md/layout`; for RAID-4: `ALGORITHM_PARITY_N`.
    algorithm: u64,
}

/// What the bytes at the same place of each member show about the members of one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdVerdict {
    /// All columns fit.
    Agrees,
    /// One wrong member explains all columns: its index.
    OneMember(usize),
    /// No single wrong member explains all columns.
    NoSingleMember,
    /// The only parity shows that something is wrong, but not which member.
    Undecided,
}

impl MdParity {
    /// The parities of an array of `disks` members with 1 or 2 `parities` and this `md/layout`. `None` where the layout
    /// is not one of md's own six (those of DDF, and of a RAID-6 that was a RAID-5 before, are not).
    pub fn new(disks: usize, parities: usize, layout: u64) -> Option<MdParity> {
        let is_known = layout <= 5 && matches!(parities, 1 | 2) && disks > parities + usize::from(parities == 1);
        is_known.then_some(MdParity { disks, parities, algorithm: layout })
    }

    /// The members that hold P, and Q if there is one, in the row of chunks `row`.
    pub fn places(&self, row: u64) -> (usize, Option<usize>) {
        let (disks, turn) = (self.disks, (row % self.disks as u64) as usize);
        let p = match self.algorithm {
            0 | 2 => disks - 1 - turn,
            1 | 3 => turn,
            4 => 0,
            _ => disks - self.parities,
        };
        (p, (self.parities == 2).then_some((p + 1) % disks))
    }

    /// The members that hold data, in the order of their powers in Q.
    pub fn data_places(&self, row: u64) -> Vec<usize> {
        let (p, q) = self.places(row);
        let from = q.unwrap_or(p) + 1;
        (0..self.disks).map(|step| (from + step) % self.disks).filter(|&place| place != p && Some(place) != q).collect()
    }

    /// Judges the bytes at the same place of each member, given in the order of the members.
    ///
    /// # Panics
    /// When there are not as many as members, or not equally many bytes of each.
    pub fn judge(&self, row: u64, members: &[&[u8]]) -> MdVerdict {
        assert!(members.len() == self.disks && members.iter().all(|bytes| bytes.len() == members[0].len()));
        let (p_place, q_place) = self.places(row);
        let data_places = self.data_places(row);
        let data: Vec<&[u8]> = data_places.iter().map(|&place| members[place]).collect();
        let mut p = vec![0; members[0].len()];
        let mut q = p.clone();
        let xor = |sum: &mut [u8], bytes: &[u8]| sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
        for bytes in &data {
            xor(&mut p, bytes);
        }
        xor(&mut p, members[p_place]);
        let Some(q_place) = q_place else {
            return if p.iter().all(|&byte| byte == 0) { MdVerdict::Agrees } else { MdVerdict::Undecided };
        };
        // Doubled again and again (Horner): the last data chunk has the greatest power.
        for bytes in data.iter().rev() {
            q.iter_mut().for_each(|byte| *byte = doubled(*byte));
            xor(&mut q, bytes);
        }
        xor(&mut q, members[q_place]);
        let mut explained: Option<usize> = None;
        for (&p, &q) in p.iter().zip(&q) {
            let place = match (p, q) {
                (0, 0) => continue,
                (_, 0) => Some(p_place),
                (0, _) => Some(q_place),
                (p, q) => power_between(p, q, data.len()).map(|z| data_places[z]),
            };
            match (place, explained) {
                (None, _) => return MdVerdict::NoSingleMember,
                (Some(place), Some(known)) if place != known => return MdVerdict::NoSingleMember,
                (place, _) => explained = place,
            }
        }
        explained.map_or(MdVerdict::Agrees, MdVerdict::OneMember)
    }
}

/// Twice a byte, in the field of [`Code`].
fn doubled(byte: u8) -> u8 {
    byte << 1 ^ if byte & 0x80 != 0 { 0x1d } else { 0 }
}

/// The least z below `count` with q = 2^z p.
fn power_between(p: u8, q: u8, count: usize) -> Option<usize> {
    let mut power = p;
    for z in 0..count.min(255) {
        if power == q {
            return Some(z);
        }
        power = doubled(power);
    }
    None
}

/// The parities that Linux would write for these data chunks, which are in the order of Q's powers: for tests.
///
/// # Panics
/// When the chunks are none, too many, or not equally long.
pub fn parities_of(data: &[&[u8]]) -> [Vec<u8>; 2] {
    let code = Code::new(data.len(), 2).expect("so many chunks");
    let mut parities = [vec![0; data[0].len()], vec![0; data[0].len()]];
    let [p, q] = &mut parities;
    code.encode(data, &mut [p, q]);
    parities
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random numbers, the same each time.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 33
        }
    }

    /// The members of one consistent stripe, in their order.
    fn members(parity: &MdParity, row: u64, numbers: &mut Numbers, bytes: usize) -> Vec<Vec<u8>> {
        let mut members: Vec<Vec<u8>> =
            (0..parity.disks).map(|_| (0..bytes).map(|_| numbers.next() as u8).collect()).collect();
        let data = parity.data_places(row);
        let chunks: Vec<&[u8]> = data.iter().map(|&place| members[place].as_slice()).collect();
        let [p, q] = parities_of(&chunks);
        let (p_place, q_place) = parity.places(row);
        members[p_place] = p;
        if let Some(q_place) = q_place {
            members[q_place] = q;
        }
        members
    }

    fn judged(parity: &MdParity, row: u64, members: &[Vec<u8>]) -> MdVerdict {
        let bytes: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
        parity.judge(row, &bytes)
    }

    #[test]
    fn places_are_those_of_the_kernel() {
        // raid5_compute_sector, left-symmetric: RAID-5 of 4, RAID-6 of 5.
        let raid5 = MdParity::new(4, 1, 2).unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|row| raid5.places(row).0), [3, 2, 1, 0, 3]);
        let raid6 = MdParity::new(5, 2, 2).unwrap();
        assert_eq!([0, 1, 4, 5].map(|row| raid6.places(row)), [(4, Some(0)), (3, Some(4)), (0, Some(1)), (4, Some(0))]);
        assert_eq!((raid6.data_places(0), raid6.data_places(1)), (vec![1, 2, 3], vec![0, 1, 2]));
        assert_eq!(MdParity::new(5, 2, 1).unwrap().data_places(1), [3, 4, 0]);
        assert_eq!(MdParity::new(4, 1, 5).unwrap().places(7), (3, None));
        assert_eq!((MdParity::new(5, 2, 8), MdParity::new(5, 2, 18), MdParity::new(2, 2, 2)), (None, None, None));
    }

    #[test]
    fn a_single_wrong_member_is_always_named_and_two_never() {
        let mut numbers = Numbers(7);
        let (mut named, mut misnamed) = (0, 0);
        for trial in 0..120_u64 {
            let disks = 4 + (trial % 9) as usize;
            let parity = MdParity::new(disks, 2, trial % 6).unwrap();
            let row = numbers.next();
            let mut stripe = members(&parity, row, &mut numbers, 4096);
            assert_eq!(judged(&parity, row, &stripe), MdVerdict::Agrees);
            let first = numbers.next() as usize % disks;
            let from = numbers.next() as usize % 4096;
            let to = if trial % 10 == 0 { from + 1 } else { 4096 };
            stripe[first][from..to].iter_mut().for_each(|byte| *byte ^= 1 + (numbers.next() % 255) as u8);
            if trial < 100 {
                named += usize::from(judged(&parity, row, &stripe) == MdVerdict::OneMember(first));
                continue;
            }
            let second = (first + 1 + numbers.next() as usize % (disks - 1)) % disks;
            stripe[second].iter_mut().for_each(|byte| *byte ^= 1 + (numbers.next() % 255) as u8);
            misnamed += usize::from(judged(&parity, row, &stripe) != MdVerdict::NoSingleMember);
        }
        assert_eq!((named, misnamed), (100, 0));
    }

    #[test]
    fn one_parity_shows_a_mismatch_and_not_the_wrong_member() {
        let parity = MdParity::new(3, 1, 2).unwrap();
        let stripe = [vec![1_u8, 2], vec![4, 8], vec![5, 10]];
        assert_eq!(judged(&parity, 0, &stripe), MdVerdict::Agrees);
        assert_eq!(judged(&parity, 0, &[stripe[0].clone(), vec![4, 9], stripe[2].clone()]), MdVerdict::Undecided);
    }
}
