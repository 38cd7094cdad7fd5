//! Computes what a volume writes with a complete stripe: parities, checksums, appendices.

use super::speed::ChecksumWay;
use scrubjay_code::bench::BenchStripe;
use scrubjay_code::{Code, Path};
use scrubjay_core::index::{MemberIndex, RowIndex, StripePosition};
use scrubjay_core::units::SECTOR_BYTES;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::integrity::tag::{self, ListEntry, RowIdentity, Version};

/// The identity of the stripes' array, which does not exist.
const ARRAY: u64 = 0x7363_7275_626a_6179;

/// Seals stripes of one code under one scheme, and counts the writes.
pub struct Sealer {
    scheme: Scheme,
    /// Computes sums chunk by chunk: a code without parities, whose data are all chunks. `None`: sums are computed with
    /// the parities.
    sum_code: Option<Code>,
    sums: Vec<u32>,
    entries: Vec<ListEntry>,
    writes: u64,
}

impl Sealer {
    /// A sealer for stripes of `code`.
    pub fn new(code: &Code, scheme: Scheme, sums: ChecksumWay) -> Sealer {
        let plain = || Code::new(code.slots(), 0).expect("as many slots as a code has").with_path(Path::Scalar);
        Sealer {
            scheme,
            sum_code: (sums == ChecksumWay::Tables).then(plain),
            sums: vec![0; code.slots()],
            entries: vec![ListEntry::default(); code.data()],
            writes: 0,
        }
    }

    /// Bytes of the appendix of each chunk, in whole sectors.
    pub fn appendix_bytes(&self) -> usize {
        let need = tag::appendix_need(self.entries.len());
        if self.scheme.has_appendix() { need.next_multiple_of(SECTOR_BYTES as usize) } else { 0 }
    }

    /// Computes parities, checksums and appendices of one stripe.
    pub fn seal(&mut self, stripe: &mut BenchStripe) {
        let Sealer { scheme, sum_code, sums, entries, writes } = self;
        stripe.with_chunks(|code, data, parity| match sum_code {
            _ if !scheme.has_appendix() => code.encode(data, parity),
            None => code.encode_summed(data, parity, sums),
            Some(sum_code) => {
                code.encode(data, parity);
                let chunks: Vec<&[u8]> = data.iter().copied().chain(parity.iter().map(|chunk| &**chunk)).collect();
                sum_code.encode_summed(&chunks, &mut [], sums);
            }
        });
        if !scheme.has_appendix() {
            return;
        }
        *writes += 1;
        let version = Version(if scheme.has_versions() { *writes } else { 0 });
        entries.iter_mut().zip(&*sums).for_each(|(entry, &sum)| *entry = ListEntry { version, sum });
        for (slot, row) in stripe.rows.iter_mut().enumerate() {
            let identity = RowIdentity {
                array: ARRAY,
                member: MemberIndex(slot),
                row: RowIndex(*writes),
                position: StripePosition(slot),
            };
            match entries.get(slot) {
                Some(&entry) => {
                    let previous = entries[(slot + entries.len() - 1) % entries.len()].sum;
                    let neighbour = if scheme.has_buddies() { previous } else { 0 };
                    tag::seal_data(row, stripe.chunk, identity, entry, neighbour);
                }
                None => tag::seal_parity(row, stripe.chunk, identity, sums[slot], entries),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_code::bench::Memory;
    use scrubjay_code::crc32c;
    use scrubjay_core::volume::integrity::tag::{RowStatus, open_data, open_parity};

    const CHUNK: usize = 1024;

    /// All bytes of the last of three stripes.
    fn sealed(scheme: Scheme, sums: ChecksumWay) -> Vec<Vec<u8>> {
        let code = Code::new(4, 2).unwrap();
        let mut sealer = Sealer::new(&code, scheme, sums);
        let mut memory = Memory::new(1 << 20);
        let mut stripes = memory.stripes(code, CHUNK, sealer.appendix_bytes(), 0).unwrap();
        let mut rows = Vec::new();
        stripes.run(3, |stripe| {
            sealer.seal(stripe);
            rows = stripe.rows.iter().map(|row| row.to_vec()).collect();
        });
        rows
    }

    #[test]
    fn a_sealed_stripe_opens_as_sound() {
        for scheme in Scheme::ALL.into_iter().filter(|scheme| scheme.has_appendix()) {
            let rows = sealed(scheme, ChecksumWay::Instructions);
            assert!(rows == sealed(scheme, ChecksumWay::Tables), "{scheme}: the same bytes by other means");
            let mut listed = vec![ListEntry::default(); 4];
            for (slot, row) in rows.iter().enumerate().rev() {
                let (content, appendix) = row.split_at(CHUNK);
                let identity = RowIdentity {
                    array: ARRAY,
                    member: MemberIndex(slot),
                    row: RowIndex(3),
                    position: StripePosition(slot),
                };
                let sum = crc32c(content);
                if slot >= 4 {
                    let opened = open_parity(appendix, identity, Some(sum), &mut listed);
                    assert_eq!(opened, (RowStatus::Sound, true), "{scheme}");
                    continue;
                }
                let opened = open_data(appendix, identity, Some(sum));
                assert_eq!((opened.status, opened.entry), (RowStatus::Sound, listed[slot]), "{scheme}");
                let neighbour = if scheme.has_buddies() { crc32c(&rows[(slot + 3) % 4][..CHUNK]) } else { 0 };
                assert_eq!(opened.predecessor_sum, neighbour, "{scheme}");
            }
        }
    }

    #[test]
    fn a_bare_stripe_has_parities_and_nothing_else() {
        let rows = sealed(Scheme::None, ChecksumWay::Instructions);
        assert!(rows.iter().all(|row| row.len() == CHUNK));
        let parity: Vec<u8> = (0..CHUNK).map(|at| rows[..4].iter().fold(0, |sum, row| sum ^ row[at])).collect();
        assert_eq!(rows[4], parity);
    }
}
