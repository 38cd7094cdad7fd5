//! Things that are made durable in rounds: one round serves all who asked before it began.

/// How much of a thing that is made durable in rounds is wanted, and how much is done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// The number of the last one that somebody wants.
    pub wanted: u64,
    done: u64,
    /// Is one running? `metadata` sets it, too, to keep rounds from running meanwhile.
    pub is_running: bool,
}

impl Rounds {
    /// One more that begins from now on is wanted: its number.
    pub fn ask(&mut self) -> u64 {
        self.wanted += 1;
        self.wanted
    }

    /// Whoever wants this round: is it over, and if not, is it for the asker to run?
    pub fn take(&mut self, wanted: u64) -> RoundTurn {
        if self.done >= wanted {
            return RoundTurn::Over;
        }
        match std::mem::replace(&mut self.is_running, true) {
            true => RoundTurn::Others,
            false => RoundTurn::Mine,
        }
    }

    /// The round that was running is over: it served all that was wanted up to this number.
    pub fn end(&mut self, covered: u64) {
        (self.done, self.is_running) = (covered, false);
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundTurn {
    /// Nobody's: it is done.
    Over,
    /// Somebody runs a round: wait for its end, and ask again.
    Others,
    /// The asker's, who runs it.
    Mine,
}
