//! How the reading of a disk, or of an array by its own checker, stands.

use crate::calendar::{HOUR, MINUTE};
use crate::facts::MediaKind;
use crate::forecast::IdleWeek;
use crate::passes::PassHistory;
use crate::rows::ReadingRow;
use scrubjay_core::units::UnixSeconds;

/// A session that runs is to tell something once an hour; one of which nothing was heard for so long hangs;
const SILENT_MAX: u64 = 6 * HOUR;
/// and so does one that was told to end, and does not.
const STOPPING_MAX: u64 = HOUR;

/// What a subject's session is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPhase {
    /// There is none.
    None,
    /// It reads.
    Running,
    /// It was told to end, and has not said that it did.
    Stopping,
    /// Somebody else reads it.
    Foreign,
}

/// What is known of the reading only while the subject is there.
#[derive(Clone, Debug)]
pub(crate) struct ReadingLive {
    /// Its session.
    pub session: SessionPhase,
    /// For so many seconds nothing was heard of the session.
    pub silence: u64,
    /// Something was, since the last turn.
    pub is_heard: bool,
    /// Sectors with a verdict when the session was begun.
    pub done_before: u64,
    /// The session was begun for another size.
    pub is_resized: bool,
    /// After reads failed: not before this.
    pub reads_again: UnixSeconds,
    /// Why the last session could not begin, and when the next attempt is.
    pub refusal: Option<(String, UnixSeconds)>,
    /// Seconds that a whole pass takes, most likely; none: more than a year.
    pub need: Option<u64>,
    /// The next pass must begin then, to be over in time.
    pub begin_by: UnixSeconds,
    /// A person wants this pass now: it comes before those of others.
    pub is_wanted: bool,
}

/// How its reading stands.
#[derive(Clone, Debug)]
pub(crate) struct ReadingState {
    pub row: ReadingRow,
    pub idle: IdleWeek,
    pub live: ReadingLive,
}

impl ReadingState {
    pub fn new(sectors: u64, media: MediaKind, now: UnixSeconds) -> ReadingState {
        let row =
            ReadingRow { passes: PassHistory::new(sectors, now), failed_sessions: 0, refused: None, forecast: None };
        ReadingState::restored(row, IdleWeek::new(media))
    }

    /// Nobody has seen the subject yet.
    pub fn restored(row: ReadingRow, idle: IdleWeek) -> ReadingState {
        let live = ReadingLive {
            session: SessionPhase::None,
            silence: 0,
            is_heard: false,
            done_before: 0,
            is_resized: false,
            reads_again: UnixSeconds(0),
            refusal: None,
            need: None,
            begin_by: UnixSeconds(0),
            is_wanted: false,
        };
        ReadingState { row, idle, live }
    }

    /// Does its session not answer? What waits for it goes on.
    pub fn hangs(&self) -> bool {
        match self.live.session {
            SessionPhase::Running => self.live.silence >= SILENT_MAX,
            SessionPhase::Stopping => self.live.silence >= STOPPING_MAX,
            SessionPhase::None | SessionPhase::Foreign => false,
        }
    }

    /// Is it being read, as far as anybody knows?
    pub fn is_busy(&self) -> bool {
        self.live.session != SessionPhase::None && !self.hangs()
    }

    /// So much time has passed since the last turn. What a clock that is set adds says nothing, so no turn adds much.
    pub fn note_silence(&mut self, passed: u64) {
        if std::mem::take(&mut self.live.is_heard) {
            self.live.silence = 0;
            return;
        }
        match self.live.session {
            SessionPhase::None => self.live.silence = 0,
            SessionPhase::Stopping => self.live.silence += passed.min(15 * MINUTE),
            SessionPhase::Running | SessionPhase::Foreign => self.live.silence += passed.min(2 * HOUR),
        }
        if self.live.session == SessionPhase::Foreign && self.live.silence >= SILENT_MAX {
            self.live.session = SessionPhase::None; // nobody said that it ended
        }
    }

    /// The subject has another size. Gives whether it had.
    pub fn resize(&mut self, sectors: u64, now: UnixSeconds) -> bool {
        let is_other = self.row.passes.sectors != sectors;
        if is_other {
            self.row.passes.resize(sectors, now);
            self.row.forecast = None;
            self.live.is_resized = self.live.session == SessionPhase::Running;
        }
        is_other
    }
}
