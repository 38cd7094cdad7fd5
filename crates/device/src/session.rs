//! A scrub session: claims one subject, loads its state, and runs until the pass ends or a stop.

use crate::claim::{self, ClaimError, DiskClaim};
use crate::control::SessionControl;
use crate::detector::{self, Detector};
use crate::output::{Existing, OutputError, OutputFile};
use crate::pump;
use crate::pump::Steering;
use crate::run_recorder::RunRecorder;
use crate::saver::Saver;
use crate::standstill::Standstill;
use crate::store::{SaveMethod, StateStore, StoreError};
use crate::subject::Subject;
use crate::verify::{self, VerifierError};
use crate::{clock, ioprio};
use scrubjay_core::finding::FoundList;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::idle::{Goal, Pacing, PolicyConfig, SavedObservations};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::{Config, Pass, Scrub, ScrubReport, ScrubState};
use scrubjay_core::surface::slow::slow_places;
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES, SectorRange, UnixSeconds};
use std::io::BufWriter;
use std::ops::Range;
use std::path::PathBuf;

/// The part of a disk that is left to the end, at most: of a disk that stalls everywhere nothing is gained by that.
const SPARED_SHARE: u64 = 100;
/// A pass that goes on is called old if it was begun at least this many days ago.
const AGE_TOLD_DAYS: u64 = 2;
const DAY_SECONDS: u64 = 86_400;

/// What a user asks of a scrub, the same for each target of a command.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// When to read: the idle policy.
    pub policy: PolicyConfig,
    /// The order of the tour.
    pub order: OrderKind,
    /// The size of a region.
    pub region: Bytes,
    /// The size of a segment.
    pub segment: Bytes,
    /// The verifier.
    pub verify: verify::VerifierKind,
    /// The bytes of the target to scrub; `None`: all.
    pub range: Option<Range<u64>>,
    /// The folder for the state.
    pub state_folder: PathBuf,
    /// Whether to forget the pass that was under way.
    pub fresh: bool,
    /// The best detector to try; `None`: the best that works.
    pub detector: Option<detector::DetectorKind>,
    /// The file for a recording of the run, to be replayed in the simulator.
    pub record: Option<PathBuf>,
}

/// Why a session cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The options do not fit the target.
    #[error("{path}: {message}")]
    Usage {
        /// The target as named.
        path: PathBuf,
        /// What does not fit.
        message: String,
    },
    /// Another process scrubs this disk, or it cannot be claimed.
    #[error("{path} {source}")]
    Claim {
        /// The target as named.
        path: PathBuf,
        /// The error of the system or library below.
        source: ClaimError,
    },
    /// The state cannot be kept or is not usable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The verifier does not work on this target.
    #[error("{path}: {}", .source.in_words())]
    Verifier {
        /// The target as named.
        path: PathBuf,
        /// The error of the system or library below.
        source: VerifierError,
    },
    /// The recording cannot be written.
    #[error("no record can be written: {0}")]
    Record(#[from] OutputError),
}

/// Facts about a session, known before it runs.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// The target as named.
    pub path: PathBuf,
    /// Its identity, which does not depend on its current name.
    pub id: String,
    /// Size of the range to scrub.
    pub bytes: Bytes,
    /// The smallest piece that has an outcome of its own: a logical block, or a volume's chunk.
    pub block: Bytes,
    /// Name of the verifier, such as `read`.
    pub verifier: &'static str,
    /// Scrub requests at the disk at the same time, at most.
    pub depth: usize,
    /// Which detector is used and what it sees, for people.
    pub detector: String,
    /// The kind of the detector.
    pub detector_kind: detector::DetectorKind,
    /// The detector that the user wished for, if any.
    pub detector_wish: Option<detector::DetectorKind>,
    /// Name of the order.
    pub order: &'static str,
    /// Name of the policy.
    pub policy: &'static str,
    /// The goal, for a policy that has one.
    pub goal: Option<Goal>,
    /// Whether it resumes a pass that was under way.
    pub resumed: bool,
    /// When that pass was begun, if it was some days ago.
    pub resumed_from: Option<UnixSeconds>,
    /// Anything else a user should know.
    pub notes: Vec<String>,
}

/// What the scrub is made of when it starts.
struct ScrubParts {
    /// Without its time and date, which are those of the start.
    config: Config,
    order: OrderKind,
    policy: PolicyConfig,
    coverage: Coverage,
    pass: Pass,
}

/// A session that is ready to run.
pub struct ScrubSession {
    facts: SessionInfo,
    subject: Box<dyn Subject>,
    parts: ScrubParts,
    verifier: verify::OpenedVerifier,
    detector: Box<dyn Detector>,
    store: StateStore,
    learnt: Option<SavedObservations>,
    /// Where requests of the last pass stalled the drive.
    stalls: Vec<SectorRange>,
    record: Option<BufWriter<OutputFile>>,
    _claims: Vec<DiskClaim>,
}

/// How a session ended.
#[derive(Clone, Debug)]
pub struct SessionEnded {
    /// The last report.
    pub report: ScrubReport,
    /// What the pass has found, in all its runs, beyond what is unreadable.
    pub findings: FoundList,
    /// Whether it was stopped before the pass was complete.
    pub paused: bool,
    /// Problems other than those of the disk, such as a state that could not be saved.
    pub troubles: Vec<String>,
    /// Whether the state could be saved at the end.
    pub is_saved: bool,
    /// Whether the requested recording, if any, is in its place, and whole.
    pub is_recorded: bool,
    /// Foreground requests that the detector could not count.
    pub foreground_lost: u64,
}

impl ScrubSession {
    /// Claims the subject and opens all that is needed. Reads nothing of it, except what a verifier reads to try itself.
    ///
    /// # Errors
    /// [`SessionError`]; nothing of the subject has been scrubbed then.
    pub fn prepare(subject: Box<dyn Subject>, options: &SessionOptions) -> Result<ScrubSession, SessionError> {
        let range = check_sizes(&*subject, options)?;
        let claims = claims(&*subject)?;
        let part = options.range.as_ref().map(|_| range);
        let store = StateStore::open(&options.state_folder, &subject.id().key(), part)?;
        let mut notes = Vec::new();
        let grid = Grid::new(subject.sectors(), options.region.sectors(), options.segment.sectors());
        let (coverage, pass) = load(&store, &*subject, grid, options.fresh, &mut notes)?;
        subject.resume(&pass.tallies);
        let age_days = clock::today().0.saturating_sub(pass.begun.0) / DAY_SECONDS;
        let is_old = pass.done.count() > 0 && age_days >= AGE_TOLD_DAYS;
        let verifier = open_verifier(&*subject, options)?;
        let depth = usize::from(verifier.depth);
        // Before the detector is opened: the subject may read its own labels, which is no request of others.
        notes.extend(subject.notes());
        let watched = subject.open_detector(options.detector);
        let config = Config {
            range,
            granule: subject.block().sectors(),
            depth,
            held_max: subject.held_max(),
            started: Nanos::ZERO,
            today: UnixSeconds(0),
        };
        // Only a new file: an existing one might hold data, or be the target itself.
        let record = options.record.as_ref().map(|file| OutputFile::create(file, Existing::Kept)).transpose()?;
        let record = record.map(BufWriter::new);
        if watched.kind == detector::DetectorKind::Blind && options.policy.kind().pacing == Pacing::IdleTime {
            notes.push(
                "requests of others cannot be seen here, so they cannot be spared; the policy `delay` limits the rate"
                    .into(),
            );
        }
        notes.extend(verifier.note.clone());
        let facts = SessionInfo {
            path: subject.path().to_owned(),
            id: subject.id().name.clone(),
            bytes: range.bytes(),
            block: subject.block(),
            verifier: verifier.name,
            depth,
            detector: watched.why,
            detector_kind: watched.kind,
            detector_wish: options.detector,
            order: options.order.name(),
            policy: options.policy.kind().name,
            goal: options.policy.goal(),
            resumed: pass.done.count() > 0,
            resumed_from: is_old.then_some(pass.begun),
            notes,
        };
        let parts = ScrubParts { config, order: options.order, policy: options.policy, coverage, pass };
        let detector = watched.detector;
        // A recording must be replayable without the state.
        let is_recalled = !options.fresh && record.is_none() && subject.id().is_certain;
        let learnt = is_recalled.then(|| store.load_learnt()).flatten().map(|learnt| learnt.by(&clock::name()));
        let is_spared = record.is_none() && subject.id().is_certain && part.is_none();
        let stalls = if is_spared { stalls(&store) } else { Vec::new() };
        Ok(ScrubSession { facts, subject, parts, verifier, detector, store, learnt, stalls, record, _claims: claims })
    }

    /// The facts known before it runs.
    pub fn facts(&self) -> &SessionInfo {
        &self.facts
    }

    /// Runs until all is verified, the disk is gone, or `control` requests a stop (a stop is a pause). Puts the calling thread into
    /// the idle I/O class. `publish` receives a report and the troubles so far, several times a second and at the end.
    /// A session that is recorded keeps its policy: a recording is replayed with the one it names.
    pub fn run(mut self, control: &SessionControl, publish: &mut dyn FnMut(&ScrubReport, &[String])) -> SessionEnded {
        let saver = Saver::new(self.store.clone());
        let class = ioprio::enter_idle_class();
        let ScrubParts { mut config, order, policy, coverage, pass } = self.parts;
        config.started = clock::now();
        config.today = clock::today();
        let record_head = record_head(&self.facts.id, &config, order, policy, coverage.grid());
        let order = order.order(&coverage.verified());
        let is_whole = config.range == coverage.grid().disk();
        let mut scrub = Scrub::new(config, order, policy.policy(), coverage, pass);
        if let Some(learnt) = &self.learnt {
            scrub.recall(learnt);
        }
        // Who does not regard others spares nobody.
        if policy.kind().pacing == Pacing::IdleTime {
            self.stalls.iter().for_each(|place| scrub.spare(*place));
        }
        let mut recorder = RunRecorder {
            subject: &*self.subject,
            store: &self.store,
            saver: None,
            record: self.record.take(),
            publish,
            saved_at: config.started,
            unsynced_at: Nanos::ZERO,
            saved_count: 0,
            is_measured: is_whole && self.subject.has_surface() && self.subject.id().is_certain,
            found_saved: (scrub.pass().findings.clone(), SaveMethod::Durably),
            corrected_before: scrub.pass().corrected,
            published_at: Nanos::ZERO,
            standstill: Standstill::new(config.started),
            control,
            troubles: Vec::new(),
            is_saved: true,
            is_recorded: true,
        };
        match saver {
            Ok(saver) => recorder.saver = Some(saver),
            Err(error) => recorder.trouble("the state is saved between reads, not beside them", &error),
        }
        if let Err(error) = class {
            recorder.trouble("idle I/O class refused", &error);
        }
        recorder.record(&record_head);
        let is_recording = recorder.record.is_some();
        let mut steer = |now: Nanos, scrub: &mut Scrub| {
            if let Some(policy) = control.take_policy().filter(|_| !is_recording) {
                scrub.change_policy(now, policy.policy());
            }
            match (control.is_stopped(), control.is_paused()) {
                (true, _) => Steering::Stop,
                (false, true) => Steering::Hold,
                (false, false) => Steering::GoOn,
            }
        };
        pump::run(&mut scrub, &mut *self.verifier.verifier, &mut *self.detector, &mut recorder, &mut steer);
        let report = recorder.report(&scrub, clock::now());
        recorder.save_last(&mut scrub);
        recorder.end_record();
        (recorder.publish)(&report, &recorder.troubles);
        SessionEnded {
            paused: report.state == ScrubState::Running,
            report,
            findings: scrub.pass().findings.clone(),
            troubles: recorder.troubles,
            is_saved: recorder.is_saved,
            is_recorded: recorder.is_recorded,
            foreground_lost: self.detector.lost(),
        }
    }
}

/// The places in which requests of the last whole pass stalled the drive.
fn stalls(store: &StateStore) -> Vec<SectorRange> {
    let maps = store.speed().maps();
    let Some(newest) = maps.last() else { return Vec::new() };
    let mut left = (newest.sectors / SPARED_SHARE).max(newest.region_sectors);
    let stalling = slow_places(newest).places.into_iter().filter(|place| place.is_stalling).map(|place| place.sectors);
    let is_room = |place: &SectorRange| {
        let is_room = place.count() <= left;
        left -= if is_room { place.count() } else { 0 };
        is_room
    };
    stalling.filter(is_room).collect()
}

/// Checks that all sizes fit the subject; returns the range to scrub.
fn check_sizes(subject: &dyn Subject, options: &SessionOptions) -> Result<SectorRange, SessionError> {
    let (block, kind) = (subject.block(), subject.block_name());
    let usage = |message: String| Err(SessionError::Usage { path: subject.path().to_owned(), message });
    let size = options.policy.size_max();
    if size > verify::REQUEST_MAX {
        return usage(format!("the request size {size} is too large: {} is the most", verify::REQUEST_MAX));
    }
    for (name, bytes) in [("region", options.region), ("segment", options.segment), ("request", size)] {
        if bytes.0 == 0 {
            return usage(format!("the {name} size must be more than 0"));
        }
        if !bytes.0.is_multiple_of(block.0) {
            return usage(format!("the {name} size {bytes} is not a multiple of its {kind} of {block}"));
        }
    }
    if options.segment > options.region {
        return usage(format!(
            "the segment size {} is greater than the region size {}",
            options.segment, options.region
        ));
    }
    let bytes = subject.sectors() * SECTOR_BYTES;
    let regions = bytes.div_ceil(options.region.0);
    if regions > Grid::REGIONS_MAX {
        let least = Bytes(bytes.div_ceil(Grid::REGIONS_MAX).next_power_of_two());
        return usage(format!("the region size {} makes {regions} regions: use {least} or more", options.region));
    }
    let Some(range) = &options.range else { return Ok(SectorRange::at(0, subject.sectors())) };
    let (start, end) = (range.start, range.end);
    if start >= bytes {
        return usage(format!("the range begins at {} (byte {start}), outside its {bytes} bytes", Bytes(start)));
    }
    if end > bytes {
        return usage(format!("the range ends at {} (byte {end}), outside its {bytes} bytes", Bytes(end)));
    }
    if start >= end {
        return usage(format!("the range {start}..{end} is empty"));
    }
    if !start.is_multiple_of(block.0) || !end.is_multiple_of(block.0) {
        return usage(format!(
            "the range {start}..{end} does not begin and end at a multiple of its {kind} of {block}"
        ));
    }
    Ok(SectorRange::new(range.start / SECTOR_BYTES, range.end / SECTOR_BYTES))
}

/// The coverage map, and the pass to resume, if there is one.
fn load(
    store: &StateStore,
    subject: &dyn Subject,
    grid: Grid,
    fresh: bool,
    notes: &mut Vec<String>,
) -> Result<(Coverage, Pass), SessionError> {
    let saved = match store.load(&subject.id().key(), subject.sectors()) {
        Ok(saved) => saved,
        Err(error) if fresh => {
            notes.push(format!("put aside: {error}"));
            store.put_aside().map_err(|source| StoreError::Read { path: store.path().into(), source })?;
            None
        }
        Err(error) => return Err(error.into()),
    };
    let Some(saved) = saved else { return Ok((Coverage::new(grid), Pass::default())) };
    if !subject.id().is_certain {
        notes.push(
            "this target cannot be told from another one of its name, so what was read before is read again".into(),
        );
        return Ok((Coverage::new(grid), Pass::default()));
    }
    let mut coverage = saved.coverage.onto(grid);
    let is_to_repair = saved.pass.as_ref().is_some_and(|pass| pass.left_wrong() > 0) && subject.may_repair();
    match saved.pass {
        Some(mut pass) if !fresh && !is_to_repair => {
            pass.findings = store.load_found(pass.begun).unwrap_or_else(|error| {
                notes.push(format!("the list of what earlier runs of this pass found cannot be read ({error}): they are counted, and not named"));
                FoundList::default()
            });
            let again = if subject.may_repair_mismatches() { pass.revisit_mismatches() } else { 0 };
            if again > 0 {
                let bytes = Bytes(again * SECTOR_BYTES);
                notes.push(format!("{bytes} that an earlier run of this pass found to disagree are checked again, to repair them"));
            }
            return Ok((coverage, pass));
        }
        Some(_) if !fresh => notes.push(
            "an earlier run of this pass, which could repair nothing, found errors: the pass begins again, to repair them".into(),
        ),
        _ => {}
    }
    coverage.forget_touches();
    Ok((coverage, Pass::default()))
}

/// Claims the subject under its identity and under its further names.
fn claims(subject: &dyn Subject) -> Result<Vec<DiskClaim>, SessionError> {
    if !subject.is_claimed() {
        return Ok(Vec::new());
    }
    let by_name = claim::name_of(&subject.id().key());
    let path = || subject.path().to_owned();
    let take = |name: String| DiskClaim::take(&name).map_err(|source| SessionError::Claim { path: path(), source });
    subject.ways().into_iter().chain([by_name]).map(take).collect()
}

fn open_verifier(subject: &dyn Subject, options: &SessionOptions) -> Result<verify::OpenedVerifier, SessionError> {
    let opened = subject.open_verifier(options.verify, &options.policy);
    opened.map_err(|source| SessionError::Verifier { path: subject.path().to_owned(), source })
}

/// The head of a recording: comments with all that a replay needs to make the machine.
fn record_head(id: &str, config: &Config, order: OrderKind, policy: PolicyConfig, grid: &Grid) -> String {
    let Config { range, granule, depth, held_max, started, today } = config;
    let held = held_max.map_or(String::new(), |held| format!(" held {}", held.0));
    let (disk, region, segment) = (grid.disk(), grid.region_sectors(), grid.segment_sectors());
    format!(
        "# disk {id}\n# sectors {} range {range} granule {granule} depth {depth}{held}\n\
         # region {region} segment {segment} order {}\n# policy {policy:?}\n# started {} today {}",
        disk.count(),
        order.name(),
        started.0,
        today.0,
    )
}
