//! The state of reading a disk, or an array by its own checker.

use crate::calendar::{HOUR, MINUTE};
use crate::facts::MediaKind;
use crate::forecast::IdleWeek;
use crate::hold::SessionFault;
use crate::passes::PassHistory;
use crate::rows::ReadingRow;
use scrubjay_core::units::UnixSeconds;

/// Seconds without news after which a running session hangs; it is to report once an hour.
const SILENT_MAX: u64 = 6 * HOUR;
/// Seconds after which a session hangs that was told to end and did not.
const STOPPING_MAX: u64 = HOUR;

/// The phase of a subject's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPhase {
    /// There is none.
    None,
    /// The watch's session reads.
    Running,
    /// It was told to end, and has not reported its end.
    Stopping,
    /// A session of others reads.
    Foreign,
}

/// The state of reading that is known only while the subject is present.
#[derive(Clone, Debug)]
pub(crate) struct ReadingLive {
    /// The phase of its session.
    pub session: SessionPhase,
    /// Seconds since the last news of the session.
    pub silence: u64,
    /// Was there news since the last turn?
    pub has_news: bool,
    /// Sectors with a verdict when the session began.
    pub done_before: u64,
    /// Was the session begun for another size?
    pub is_resized: bool,
    /// No new session before this time, because reads failed.
    pub retry_reads_at: UnixSeconds,
    /// Why the last session could not begin, and when the next attempt is.
    pub refusal: Option<(SessionFault, UnixSeconds)>,
    /// The most likely seconds of a whole pass; `None`: more than a year.
    pub pass_seconds: Option<u64>,
    /// When the next pass must begin, at the latest, to end in time.
    pub begin_by: UnixSeconds,
    /// Does a person want this pass now? Then it comes before others.
    pub is_wanted: bool,
}

/// The state of reading a subject.
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

    /// The state of a subject that has not been seen since a start.
    pub fn restored(row: ReadingRow, idle: IdleWeek) -> ReadingState {
        let live = ReadingLive {
            session: SessionPhase::None,
            silence: 0,
            has_news: false,
            done_before: 0,
            is_resized: false,
            retry_reads_at: UnixSeconds(0),
            refusal: None,
            pass_seconds: None,
            begin_by: UnixSeconds(0),
            is_wanted: false,
        };
        ReadingState { row, idle, live }
    }

    /// Does its session give no answer? Then subjects that wait for it go on.
    pub fn hangs(&self) -> bool {
        match self.live.session {
            SessionPhase::Running => self.live.silence >= SILENT_MAX,
            SessionPhase::Stopping => self.live.silence >= STOPPING_MAX,
            SessionPhase::None | SessionPhase::Foreign => false,
        }
    }

    /// Is it being read, as far as is known?
    pub fn is_busy(&self) -> bool {
        self.live.session != SessionPhase::None && !self.hangs()
    }

    /// Adds the time since the last turn. It is capped, because a clock that is set adds time that did not pass.
    pub fn note_silence(&mut self, passed: u64) {
        if std::mem::take(&mut self.live.has_news) {
            self.live.silence = 0;
            return;
        }
        match self.live.session {
            SessionPhase::None => self.live.silence = 0,
            SessionPhase::Stopping => self.live.silence += passed.min(15 * MINUTE),
            SessionPhase::Running | SessionPhase::Foreign => self.live.silence += passed.min(2 * HOUR),
        }
        if self.live.session == SessionPhase::Foreign && self.live.silence >= SILENT_MAX {
            self.live.session = SessionPhase::None; // its end was not reported
        }
    }

    /// Takes the subject's size. Returns whether it has changed.
    pub fn resize(&mut self, sectors: u64, now: UnixSeconds) -> bool {
        let is_changed = self.row.passes.sectors != sectors;
        if is_changed {
            self.row.passes.resize(sectors, now);
            self.row.forecast = None;
            self.live.is_resized = self.live.session == SessionPhase::Running;
        }
        is_changed
    }
}
