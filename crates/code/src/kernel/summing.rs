//! Of which chunks a product makes the CRC-32C too.

/// Of which chunks, and where the sums go.
pub enum Summing<'a> {
    /// Of none.
    Nothing,
    /// Of those that come out.
    Outs(&'a mut [u32]),
    /// Of those that go in, then of those that come out.
    All(&'a mut [u32]),
}

impl Summing<'_> {
    /// # Panics
    /// Unless there is one place for each chunk.
    pub fn check(&self, sources: usize, outs: usize) {
        let is_right = match self {
            Summing::Nothing => true,
            Summing::Outs(sums) => sums.len() == outs,
            Summing::All(sums) => sums.len() == sources + outs,
        };
        assert!(is_right, "one sum for each chunk");
    }

    /// The places for the sums of the sources, and for those of the outs: of all, or empty.
    pub fn split(&mut self, sources: usize) -> (&mut [u32], &mut [u32]) {
        match self {
            Summing::Nothing => (&mut [], &mut []),
            Summing::Outs(sums) => (&mut [], sums),
            Summing::All(sums) => sums.split_at_mut(sources),
        }
    }
}
