//! Rounds that make things durable: one round serves all tasks that asked before it began.

/// How many rounds of one kind were requested, and how many are done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// The number of the latest round that was requested.
    pub wanted: u64,
    done: u64,
    /// Is a round running? `metadata` sets it, too, to keep rounds from running meanwhile.
    pub is_running: bool,
}

impl Rounds {
    /// Requests one more round that begins from now on, and returns its number.
    pub fn request(&mut self) -> u64 {
        self.wanted += 1;
        self.wanted
    }

    /// For a task that needs round `wanted`: is it over, and if not, should that task run a round?
    pub fn take(&mut self, wanted: u64) -> RoundRole {
        if self.done >= wanted {
            return RoundRole::Over;
        }
        match std::mem::replace(&mut self.is_running, true) {
            true => RoundRole::Wait,
            false => RoundRole::Run,
        }
    }

    /// Ends the running round: it served all requests up to `covered`.
    pub fn end(&mut self, covered: u64) {
        (self.done, self.is_running) = (covered, false);
    }
}

/// Whose turn it is to run a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundRole {
    /// No round is needed: the one requested is done.
    Over,
    /// Another task runs a round: wait for its end, and ask again.
    Wait,
    /// The asking task runs it.
    Run,
}
