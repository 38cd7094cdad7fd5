//! What is read in passes, and how its reading stands: of a disk, or of an array by its own checker.

use crate::calendar::{HOUR, MINUTE};
use crate::facts::{ArrayFacts, DiskKey, MediaKind, SessionSubject, SubjectKey};
use crate::forecast::IdleWeek;
use crate::passes::PassHistory;
use crate::rows::ReadingRow;
use crate::state::{ArrayState, DiskState};
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
}

/// How its reading stands.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub row: ReadingRow,
    pub idle: IdleWeek,
    pub live: ReadingLive,
}

impl Reading {
    pub fn new(sectors: u64, media: MediaKind, now: UnixSeconds) -> Reading {
        let row =
            ReadingRow { passes: PassHistory::new(sectors, now), failed_sessions: 0, refused: None, forecast: None };
        Reading::restored(row, IdleWeek::new(media))
    }

    /// Nobody has seen the subject yet.
    pub fn restored(row: ReadingRow, idle: IdleWeek) -> Reading {
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
        };
        Reading { row, idle, live }
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

/// Something that is read in passes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    Disk(&'a DiskState),
    /// By its own checker.
    Array(&'a ArrayState, &'a Reading),
}

impl<'a> Subject<'a> {
    /// None of an array whose checker cannot be driven.
    pub fn of_array(array: &'a ArrayState) -> Option<Subject<'a>> {
        array.reading.as_ref().map(|reading| Subject::Array(array, reading))
    }

    pub fn reading(self) -> &'a Reading {
        match self {
            Subject::Disk(disk) => &disk.reading,
            Subject::Array(_, reading) => reading,
        }
    }

    pub fn key(self) -> SubjectKey {
        match self {
            Subject::Disk(disk) => SubjectKey::Disk(disk.row.facts.key.clone()),
            Subject::Array(array, _) => SubjectKey::Array(array.facts.key.clone()),
        }
    }

    /// 0 to 1, the same for ever: so that not all passes begin at one time.
    pub fn spread(self) -> f64 {
        match self {
            Subject::Disk(disk) => disk.row.facts.key.spread(),
            Subject::Array(array, _) => DiskKey(array.facts.key.clone()).spread(),
        }
    }

    /// What the pump calls it; none: it is not there.
    pub fn name(self) -> Option<SessionSubject> {
        match self {
            Subject::Disk(disk) => disk.live.name.clone().map(SessionSubject::Disk),
            Subject::Array(array, _) => array.gone.is_none().then(|| SessionSubject::Array(array.facts.key.clone())),
        }
    }

    pub fn is_there(self) -> bool {
        match self {
            Subject::Disk(disk) => disk.live.name.is_some(),
            Subject::Array(array, _) => array.gone.is_none(),
        }
    }

    /// Does an array read what this one does?
    pub fn is_in(self, other: &ArrayFacts) -> bool {
        match self {
            Subject::Disk(disk) => disk.live.name.as_deref().is_some_and(|name| other.has(name)),
            Subject::Array(array, _) => {
                let mut names = array.facts.members.iter().filter_map(|member| member.disk.as_deref());
                array.facts.key == other.key || names.any(|name| other.has(name))
            }
        }
    }

    /// What people can find it by.
    pub fn label(self) -> String {
        match self {
            Subject::Disk(disk) => disk.label(),
            Subject::Array(array, _) => format!("array {}", array.facts.name),
        }
    }
}
