//! Which chunks of a product are summed (CRC-32C) in the same pass.

/// Which chunks are summed, and where the sums go.
pub enum Summing<'a> {
    /// None.
    Nothing,
    /// The outputs.
    Outs(&'a mut [u32]),
    /// The sources, then the outputs.
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

    /// The places for the sums of the sources, and those for the sums of the outs; each complete or empty.
    pub fn split(&mut self, sources: usize) -> (&mut [u32], &mut [u32]) {
        match self {
            Summing::Nothing => (&mut [], &mut []),
            Summing::Outs(sums) => (&mut [], sums),
            Summing::All(sums) => sums.split_at_mut(sources),
        }
    }
}
