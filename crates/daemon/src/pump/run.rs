//! The daemon from start to end: the loop, and the survey's events for the watch.

use super::drives::SmartQueue;
use super::hours::IdleHours;
use super::messengers::Messengers;
use super::news::{self, DaemonNews};
use super::observation::{self, Observation};
use super::options::{
    DaemonError, DaemonOptions, PAGE_GROUP, STATUS_GROUP, group_number, host_name, lock_folder, open_channels,
    run_number, secret,
};
use super::state::{Daemon, DaemonEnd, KeptRows, Outgoings, SeenMachine, is_called, is_called_permanently, mark_of};
use super::surveyor::Surveyor;
use crate::config::WatchConfig;
use crate::control::{ControlAccess, ControlServer, PendingAnswer, past};
use crate::discovery::{CheckWay, HostSurvey, SeenDisk, SystemRoot, UeventSocket};
use crate::history::MarkPlaces;
use crate::history::standing::{self, OpenedHistory};
use crate::sessions::{SessionMessage, SessionPool};
use crate::smartctl::run::Smartctl;
use crate::time::WatchClock;
use scrubjay_control::zone::ZonedCalendar;
use scrubjay_control::{WatchAnswer, WatchRequest};
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::detector::failed::FailureDetector;
use scrubjay_device::links::LinkLog;
use scrubjay_device::md;
use scrubjay_device::target::TargetIdentity;
use scrubjay_watch::Watch;
use scrubjay_watch::events::{PersonCommand, WatchEvent, WatchOp};
use scrubjay_watch::facts::{ArrayActivity, DiskKey, SessionSubject, SubjectKey};
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::loss::HistoryLoss;
use scrubjay_words::counted;
use signal_hook::consts::SIGHUP;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The interval of surveys, if the kernel reports no change.
const SURVEY_EVERY: Duration = Duration::from_secs(30);
/// The interval at which sessions are checked, and reported to the watch.
const GLANCE_EVERY: Duration = Duration::from_secs(20);
/// The shortest wait before a turn, so that time passes even if the watch asks for one at once.
const TURN_MIN: Duration = Duration::from_millis(10);
/// The age at which a survey is out of date.
const SURVEY_AGE_MAX: Duration = Duration::from_secs(600);
/// Seconds of a suspend that are worth a report: the clock may deviate by days without one.
const SUSPEND_MIN: u64 = 10;
/// How long the daemon waits at its end for sessions to save their progress.
const END_MAX: Duration = Duration::from_secs(20);

impl<'s> Daemon<'s> {
    /// Runs until a signal ends it. `say` receives lines for the journal.
    ///
    /// # Errors
    /// The daemon could not start; then nothing was sent or read.
    pub fn run(options: DaemonOptions, say: &mut dyn FnMut(&str)) -> Result<(), DaemonError> {
        while Daemon::run_once(options.clone(), &mut *say)? {}
        Ok(())
    }

    /// Runs until a signal ends it. True: it is to begin anew.
    fn run_once(mut options: DaemonOptions, say: &'s mut dyn FnMut(&str)) -> Result<bool, DaemonError> {
        let config = WatchConfig::read(&options.config, options.is_config_required)?;
        let channels = open_channels(&options.config, &config)?;
        let clock = WatchClock::new(options.calendar);
        let is_observing = options.observe || config.observe;
        let real_folder = options.folder.clone();
        match is_observing {
            true => options.folder = observation::folder_in(&real_folder),
            false => observation::put_aside(&observation::folder_in(&real_folder)),
        }
        let locked = lock_folder(&options.folder)?;
        // If a scrub of an array was killed, md's settings are still narrowed to what it checked; they are restored.
        md::put_back_all(&real_folder).iter().for_each(|line| say(line));
        let (news_sender, news) = mpsc::channel();
        let (requests, folder) = (news_sender.clone(), options.folder.clone());
        let on_request = move |pending: PendingAnswer| match &pending.request {
            // A page would show passes that never were.
            WatchRequest::Past { .. } | WatchRequest::PastOfDisk { .. } if is_observing => {
                pending.answer(WatchAnswer::Past(Box::default()));
            }
            WatchRequest::Past { .. } | WatchRequest::PastOfDisk { .. } => answer_past(pending, &folder, clock),
            // If it is dropped, the client is told that the watch ends.
            _ => drop(requests.send(DaemonNews::Request(pending))),
        };
        let control = ControlServer::listen(&options.socket, ControlAccess::Verbs, on_request.clone())?;
        // Disks are watched even without a page.
        let page = ControlAccess::Page(group_number(PAGE_GROUP));
        let page = ControlServer::listen(&options.page_socket, page, on_request.clone())
            .map_err(|error| say(&format!("the web page cannot ask here: {error}")))
            .ok();
        // Without the group it is left to root, who has the verbs' socket.
        let status = group_number(STATUS_GROUP).and_then(|group| {
            ControlServer::listen(&options.status_socket, ControlAccess::Status(Some(group)), on_request)
                .map_err(|error| say(&format!("the group {STATUS_GROUP} cannot ask here: {error}")))
                .ok()
        });
        // The one beside the socket is the real history's.
        let beside = (!is_observing).then(|| options.socket.with_file_name("history.mark"));
        let marks_of_history = MarkPlaces(iter::once(options.folder.join("history.mark")).chain(beside).collect());
        let OpenedHistory { history, rows, loss, upgrade } =
            standing::open(&options.folder.join("history.db"), &marks_of_history)?;
        if let Some(upgrade) = upgrade {
            say(&upgrade.described());
        }
        let mut settings = config.settings(&host_name(), secret());
        settings.channels = if is_observing { vec![observation::channel(clock.now())] } else { channels.for_watch() };
        settings.pace = clock.pace();
        settings.run = run_number();
        let marks = rows.iter().filter_map(mark_of).collect();
        let zone = ZonedCalendar::system();
        let zone_name = zone.name().map(str::to_owned);
        let watch = Watch::restore(clock.now(), settings.clone(), Box::new(zone), rows);
        let (session_sender, session_messages) = mpsc::channel::<SessionMessage>();
        news::forward(session_messages, news_sender.clone(), DaemonNews::Session);
        let smartctl = options.smartctl.iter().fold(Smartctl::default(), |smartctl, path| smartctl.with_program(path));
        let surveyor = Surveyor::new(config.also.clone(), clock.period(SURVEY_EVERY), news_sender.clone());
        let mut daemon = Daemon {
            sessions: SessionPool::new(options.folder.clone(), options.is_full_speed, session_sender),
            drives: SmartQueue::new(smartctl, news_sender.clone()),
            observation: is_observing.then(|| Observation::restore(&options.folder, clock.now())),
            machine: SeenMachine {
                surveyor,
                survey: HostSurvey::default(),
                surveyed_at: Instant::now(),
                root: SystemRoot::default(),
                is_ready: false,
                excluded: Vec::new(),
                is_told_blind: false,
                failures_lost: 0,
                log_losses: 0,
                ended_sessions: Vec::new(),
                is_class_seen: false,
                suspended: clock.suspended(),
                is_synchronised: None,
                zone: zone_name,
                placed: BTreeMap::new(),
                is_pass_over: false,
                speeds_due: Some(Instant::now()),
                news: news_sender.clone(),
            },
            kept: KeptRows {
                database: history,
                places: marks_of_history,
                pages_due: Instant::now(),
                passes: marks,
                ops: VecDeque::new(),
                retry_keep_at: None,
            },
            outgoing: Outgoings {
                messengers: Messengers::new(channels, news_sender.clone()),
                deliveries: BTreeMap::new(),
            },
            say,
            clock,
            watch,
            settings,
            config,
            hours: IdleHours::default(),
            troubles: BTreeMap::new(),
            ending: DaemonEnd::default(),
            options,
        };
        news::on_signals(news_sender.clone()).map_err(DaemonError::Signals)?;
        daemon.machine.surveyor.request();
        match FailureDetector::open() {
            Ok(failures) => {
                daemon.machine.is_class_seen = failures.is_class_seen();
                news::on_failures(failures, news_sender.clone());
            }
            Err(error) => (daemon.say)(&format!("errors that programs meet are not told: {error}")),
        }
        match LinkLog::open() {
            Ok(log) => news::on_link_resets(log, news_sender.clone()),
            Err(error) => (daemon.say)(&format!("resets of links are not seen: /dev/kmsg: {error}")),
        }
        news::on_md_events(news_sender.clone());
        if let Ok(uevents) = UeventSocket::open() {
            news::on_uevents(uevents, news_sender);
        }
        let is_to_begin_anew = daemon.run_loop(&news, loss);
        drop((control, page, status, locked));
        Ok(is_to_begin_anew)
    }

    fn run_loop(mut self, news: &Receiver<DaemonNews>, loss: Option<HistoryLoss>) -> bool {
        let glance_every = self.clock.period(GLANCE_EVERY);
        let mut glanced = Instant::now();
        self.feed_clock_state(); // before all other events
        if let Some(loss) = loss {
            self.tell_loss(loss);
        }
        while !self.ending.is_ending {
            let wait = [
                self.clock.until(self.watch.poll_timeout()).max(TURN_MIN),
                glance_every.saturating_sub(glanced.elapsed()),
                self.kept.retry_keep_at.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now())),
            ];
            let received = news.recv_timeout(wait.into_iter().min().unwrap_or_default());
            self.feed_suspend();
            match received {
                Ok(first) => std::iter::once(first).chain(news.try_iter()).for_each(|item| self.handle_news(item)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break, // the daemon holds a sender itself
            }
            if glanced.elapsed() >= glance_every {
                glanced = Instant::now();
                self.glance();
                self.judge_speeds();
                let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
            }
            if self.is_blind() {
                let words = "nothing was seen of this machine for ten minutes: what is shown is old".to_owned();
                self.set_trouble("looking for disks", Some(words));
            }
            self.feed_blindness();
            // No turn of its own before the first survey, nor while rows cannot be kept. (A person's command is taken all the same.)
            if self.machine.is_ready
                && self.kept.retry_keep_at.is_none()
                && self.clock.now() >= self.watch.poll_timeout()
            {
                self.feed(WatchEvent::Tick);
            }
            self.act();
        }
        self.save_observation();
        self.shut_down(news)
    }

    /// Is the last survey too old? The kernel, or a volume's server, may block the surveyor.
    pub(super) fn is_blind(&self) -> bool {
        self.machine.surveyed_at.elapsed() > SURVEY_AGE_MAX
    }

    /// Reports to the watch since when nothing is seen, or that it is seen again, if that has changed.
    fn feed_blindness(&mut self) {
        let is_blind = self.is_blind();
        if is_blind != self.machine.is_told_blind {
            self.machine.is_told_blind = is_blind;
            let passed = self.machine.surveyed_at.elapsed().as_secs().saturating_mul(self.clock.pace());
            let since = UnixSeconds(self.clock.now().0.saturating_sub(passed));
            self.feed(WatchEvent::Blind(is_blind.then_some(since)));
        }
    }

    /// Reports to the watch that the machine was suspended: by that much the clock is ahead.
    fn feed_suspend(&mut self) {
        let suspended = self.clock.suspended();
        let more = suspended.saturating_sub(self.machine.suspended);
        if more > SUSPEND_MIN {
            self.machine.suspended = suspended;
            (self.say)(&format!("the machine was suspended for {} s", more / self.clock.pace()));
            self.feed(WatchEvent::Suspended(more));
        }
    }

    /// Reports to the watch whether the clock is synchronised, if that has changed.
    fn feed_clock_state(&mut self) {
        if let Some(is_synchronised) =
            self.clock.is_synchronised().filter(|now| self.machine.is_synchronised != Some(*now))
        {
            self.machine.is_synchronised = Some(is_synchronised);
            self.feed(WatchEvent::ClockSynchronised(is_synchronised));
        }
    }

    /// Ends the daemon: sessions save their progress; messages under way may be sent again, and are marked. True: it is to begin anew.
    fn shut_down(mut self, news: &Receiver<DaemonNews>) -> bool {
        // systemd ends for good what once said that it stops.
        if !self.ending.is_to_begin_anew {
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        }
        self.sessions.stop_all();
        let begun = Instant::now();
        while !self.sessions.is_empty() && begun.elapsed() < END_MAX {
            match news.recv_timeout(Duration::from_millis(100)) {
                Ok(item @ (DaemonNews::Session(_) | DaemonNews::Delivered { .. } | DaemonNews::Placed(..))) => {
                    self.handle_news(item)
                }
                Ok(DaemonNews::Request(pending)) => drop(pending),
                Ok(DaemonNews::Signal(signal)) if signal != SIGHUP => self.ending.is_to_begin_anew = false,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // Only rows are kept: nothing is begun or sent any more.
        self.kept.ops.retain(|op| matches!(op, WatchOp::Keep(..)));
        self.act();
        (self.say)(if self.ending.is_to_begin_anew { "begins anew" } else { "ended" });
        self.ending.is_to_begin_anew
    }

    /// Forgets disks that the settings exclude from now on, so that they are not reported missing.
    fn forget_excluded(&mut self, disks: Vec<SeenDisk>) {
        let names: Vec<String> = disks.iter().map(|disk| format!("{} ({})", disk.facts.name, disk.facts.key)).collect();
        if names != self.machine.excluded {
            (self.say)(&format!("left alone, as the settings say: {}", names.join(", ")));
            self.machine.excluded = names;
        }
        // A kernel name may belong to another disk tomorrow, so a disk excluded by such a name is not forgotten.
        let never = &self.config.never;
        let is_excluded_permanently = |disk: &SeenDisk| never.iter().any(|name| is_called_permanently(disk, name));
        let is_marked = |key: &DiskKey| self.kept.passes.contains_key(&SubjectKey::Disk(key.clone()));
        let is_to_be_forgotten = |disk: &SeenDisk| is_marked(&disk.facts.key) && is_excluded_permanently(disk);
        let keys: Vec<DiskKey> = disks.into_iter().filter(is_to_be_forgotten).map(|disk| disk.facts.key).collect();
        for key in keys {
            self.kept.passes.remove(&SubjectKey::Disk(key.clone()));
            self.feed(WatchEvent::Command(PersonCommand::Forget(IncidentSubject::Disk(key))));
        }
    }

    /// Leaves the checkers of those pools of ZFS that the settings name: they are scrubbed by the watch.
    fn choose_pools(&mut self, seen: &mut HostSurvey) {
        let absent: Vec<&str> =
            self.config.zfs.scrub.iter().filter(|name| !seen.pools.contains(name)).map(String::as_str).collect();
        let absent = (!absent.is_empty()).then(|| format!("{}: no such pool is imported", absent.join(", ")));
        self.set_trouble("zfs.scrub", absent);
        for array in seen.arrays.iter_mut().filter(|array| array.pool.is_some()) {
            let is_chosen = self.config.zfs.scrub.contains(&array.name) && self.observation.is_none();
            if !is_chosen {
                array.check_sectors = None;
            } else if array.check_sectors.is_some() {
                let identity = TargetIdentity::new(&array.key, String::new(), false);
                let way = CheckWay { target: PathBuf::from(&array.name), identity };
                seen.checks.insert(array.key.clone(), way);
            }
        }
    }

    /// Reports the changes of a survey to the watch.
    pub(super) fn handle_survey(&mut self, mut seen: HostSurvey) {
        self.machine.surveyed_at = Instant::now();
        self.check_history();
        self.set_trouble("looking for disks", None);
        let never = &self.config.never;
        let is_watched = |disk: &SeenDisk| !never.iter().any(|name| is_called(disk, name));
        let (watched, excluded) = seen.disks.into_iter().partition(is_watched);
        seen.disks = watched;
        if self.observation.is_some() {
            // Nobody imagines another's checker: arrays are observed as their disks.
            seen.checks.clear();
            seen.arrays.iter_mut().for_each(|array| array.check_sectors = None);
        }
        self.choose_pools(&mut seen);
        // A check by one of the daemon's own sessions counts as idle.
        for array in seen.arrays.iter_mut().filter(|array| array.activity == ArrayActivity::Checking) {
            if self.sessions.is_running(&SessionSubject::Array(array.key.clone())) {
                array.activity = ArrayActivity::Idle;
            }
        }
        let zone = ZonedCalendar::system();
        if zone.name().map(str::to_owned) != self.machine.zone {
            self.machine.zone = zone.name().map(str::to_owned);
            self.watch.change_calendar(Box::new(zone));
        }
        self.feed_clock_state();
        let events = crate::discovery::changes(&self.machine.survey, &seen);
        let key_of = |name: &str| self.key_of(name).cloned();
        let name_and_key = |disk: &SeenDisk| {
            let name = disk.facts.name.clone();
            let key = key_of(&name).unwrap_or_else(|| disk.facts.key.clone());
            (name, key)
        };
        let keys: BTreeMap<String, DiskKey> = self.machine.survey.disks.iter().map(name_and_key).collect();
        // An array's checker may be known later than the array.
        let checked = self.machine.survey.arrays.iter().filter(|array| array.check_sectors.is_some());
        let checked: BTreeSet<SessionSubject> = checked.map(|array| SessionSubject::Array(array.key.clone())).collect();
        self.machine.survey = seen;
        for event in events {
            if let WatchEvent::DiskGone(name) | WatchEvent::DiskPulled(name) = &event {
                let subject = SessionSubject::Disk(name.clone());
                self.sessions.forget(&subject);
                self.hours.forget(&subject);
                if let Some(key) = keys.get(name) {
                    let written = self.kept.database.note_presence(self.clock.now(), key, false);
                    self.report_history(written);
                }
            }
            if let WatchEvent::ArrayGone(key) = &event {
                let subject = SessionSubject::Array(key.clone());
                self.sessions.forget(&subject);
                self.hours.forget(&subject);
            }
            let array = match &event {
                WatchEvent::ArraySeen(facts) => Some(SessionSubject::Array(facts.key.clone())),
                _ => None,
            };
            let seen = if let WatchEvent::DiskSeen(facts) = &event { Some(facts.clone()) } else { None };
            self.feed(event);
            self.act();
            let name = seen.map(|facts| {
                let key = self.key_of(&facts.name).cloned().unwrap_or_else(|| facts.key.clone());
                let written = self.kept.database.note_presence(self.clock.now(), &key, true);
                self.report_history(written);
                facts.name
            });
            // The progress that a session kept while the watch was down. (A disk is also seen again if its facts changed.)
            let disk = name.filter(|name| !keys.contains_key(name)).map(SessionSubject::Disk);
            let array = array.filter(|array| !checked.contains(array));
            let subject = disk.or(array).filter(|subject| !self.sessions.is_running(subject));
            if let Some(event) = subject.and_then(|subject| self.kept(&subject)) {
                self.feed(event);
            }
        }
        self.forget_excluded(excluded);
        let warnings = self.machine.survey.warnings.join("; ");
        self.set_trouble("survey", (!warnings.is_empty()).then_some(warnings));
        if !std::mem::replace(&mut self.machine.is_ready, true) {
            (self.say)(&watching(self.machine.survey.disks.len(), self.machine.survey.arrays.len()));
            if self.observation.is_some() {
                (self.say)("only observing: no disk is read, and nothing is sent");
            }
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        }
    }
}

/// What is watched, in words.
fn watching(disks: usize, arrays: usize) -> String {
    format!("watching {} and {}", counted(disks as u64, "disk"), counted(arrays as u64, "array"))
}

/// Answers from the history, in the thread of the connection.
fn answer_past(pending: PendingAnswer, folder: &Path, clock: WatchClock) {
    let answer = match &pending.request {
        WatchRequest::Past { since } => past(folder, clock, None, UnixSeconds(*since)),
        WatchRequest::PastOfDisk { disk, since } => past(folder, clock, Some(disk), UnixSeconds(*since)),
        _ => return pending.answer(WatchAnswer::Refused { why: "that is nothing of the past".to_owned() }),
    };
    pending.answer(match answer {
        Ok(past) => WatchAnswer::Past(Box::new(past)),
        Err(error) => WatchAnswer::Refused { why: error.to_string() },
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disk_is_no_disks() {
        assert_eq!(watching(1, 0), "watching 1 disk and 0 arrays");
        assert_eq!(watching(8, 2), "watching 8 disks and 2 arrays");
    }
}
