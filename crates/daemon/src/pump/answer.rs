//! Requests of verbs and their answers.

use super::observation;
use super::options::{host_name, open_channels};
use super::state::{Daemon, is_called};
use crate::config::WatchConfig;
use crate::control::PendingAnswer;
use scrubjay_control::{WatchAnswer, WatchRequest};
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::SubjectKey;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::status::{DiskStanding, ReadingStanding};
use scrubjay_words::{headline, hold_back, show_time};

/// How the watch's own history is called where it is accepted that it was lost.
const HISTORY: &str = "history";

impl Daemon<'_> {
    /// Answers a request.
    pub(super) fn answer(&mut self, pending: PendingAnswer) {
        let is_observing = self.observation.is_some();
        let answer = match pending.request.clone() {
            WatchRequest::Pause { .. }
            | WatchRequest::Resume
            | WatchRequest::ScrubNow { .. }
            | WatchRequest::Accept { .. }
            | WatchRequest::Forget { .. }
            | WatchRequest::TestAlerts
            | WatchRequest::Confirm { .. }
                if is_observing =>
            {
                refused(
                    "this watch only observes: it reads and sends nothing. To let it: sudo scrubjay set observe false",
                )
            }
            WatchRequest::Status => WatchAnswer::Status(Box::new(self.picture())),
            WatchRequest::Alerts => WatchAnswer::Alerts(self.alerts()),
            WatchRequest::Pause { seconds } => {
                self.command(PersonCommand::PauseFor(seconds));
                match self.watch.status(self.clock.now()).paused_until.filter(|_| seconds < 100 * 366 * DAY) {
                    Some(until) => {
                        let until = show_time(self.watch.calendar(), until);
                        done(&format!("nothing is read until {until}; to go on sooner: sudo scrubjay resume"))
                    }
                    None => done("nothing is read until `sudo scrubjay resume`"),
                }
            }
            WatchRequest::Resume => {
                self.command(PersonCommand::Resume);
                done("disks are read again as they are due")
            }
            WatchRequest::ScrubNow { subject } => self.scrub_now(&subject),
            WatchRequest::Accept { subject } => self.accept(&subject),
            WatchRequest::Forget { subject } => self.forget(&subject),
            WatchRequest::TestAlerts if self.settings.channels.is_empty() => {
                refused("there is no channel for alerts: set one up, see `scrubjay watch --help`")
            }
            WatchRequest::TestAlerts => {
                self.command(PersonCommand::TestAlerts);
                WatchAnswer::Alerts(self.alerts())
            }
            WatchRequest::Confirm { code } => self.confirm(&code),
            WatchRequest::Past { .. } | WatchRequest::PastOfDisk { .. } => refused("that is asked of the history"),
            WatchRequest::Reload => self.reload().map_or_else(|why| WatchAnswer::Refused { why }, |text| done(&text)),
        };
        pending.answer(answer);
    }

    /// Carries out a person's command, and the operations that follow, at once.
    fn command(&mut self, command: PersonCommand) {
        self.feed(WatchEvent::Command(command));
        self.feed(WatchEvent::Tick);
        self.act();
    }

    /// The subjects of this name; may be empty.
    fn subjects(&self, name: &str) -> Vec<IncidentSubject> {
        let status = self.watch.status(self.clock.now());
        let bare = name.strip_prefix("/dev/").unwrap_or(name);
        let disks = status.disks.iter().filter(|disk| {
            let by_survey =
                disk.name.as_deref().and_then(|kernel| self.disk(kernel)).is_some_and(|seen| is_called(seen, name));
            by_survey || disk.key.0.eq_ignore_ascii_case(bare) || disk.name.as_deref() == Some(bare)
        });
        let disks: Vec<&DiskStanding> = disks.collect();
        // An absent disk keeps its last name; if another disk has that name now, the user must say which one is meant.
        let is_open = |disk: &DiskStanding| {
            status.incidents.iter().any(|row| row.key.subject == IncidentSubject::Disk(disk.key.clone()))
        };
        let had_name = |disk: &&DiskStanding| disk.name.is_none() && disk.facts.name == bare;
        let gone = status.disks.iter().filter(had_name).filter(|disk| disks.is_empty() || is_open(disk));
        let arrays =
            status.arrays.iter().map(|array| &array.facts).filter(|array| array.key == name || array.name == bare);
        let channels = status.channels.iter().filter(|channel| channel.name == name);
        disks
            .iter()
            .copied()
            .chain(gone)
            .map(|disk| IncidentSubject::Disk(disk.key.clone()))
            .chain(arrays.map(|array| IncidentSubject::Array(array.key.clone())))
            .chain(channels.map(|channel| IncidentSubject::Channel(channel.name.clone())))
            .chain((name == HISTORY).then_some(IncidentSubject::Watch))
            .collect()
    }

    /// The one subject of this name, or the answer that there is none or several.
    fn subject(&self, name: &str) -> Result<IncidentSubject, WatchAnswer> {
        let mut found = self.subjects(name);
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(refused(&format!("{name}: no such disk, array or channel: `sudo scrubjay status` lists them"))),
            _ => Err(refused(&format!("{name}: several are called so: use a serial number or UUID"))),
        }
    }

    /// The status of reading a subject; `None`: nothing reads it.
    fn reading_of(&self, key: &SubjectKey) -> Option<ReadingStanding> {
        let status = self.watch.status(self.clock.now());
        match key {
            SubjectKey::Disk(key) => status.disks.into_iter().find(|disk| disk.key == *key).map(|disk| disk.reading),
            SubjectKey::Array(key) => status.arrays.into_iter().find(|array| array.facts.key == *key)?.reading,
        }
    }

    /// Brings the turn of a disk or array forward, and answers what the watch decided.
    fn scrub_now(&mut self, name: &str) -> WatchAnswer {
        let key = match self.subject(name) {
            Ok(IncidentSubject::Disk(key)) => SubjectKey::Disk(key),
            Ok(IncidentSubject::Array(key)) => SubjectKey::Array(key),
            Ok(IncidentSubject::Watch) => return refused(&format!("{name} is no disk: name a disk or an array")),
            Ok(IncidentSubject::Channel(_)) => {
                return refused(&format!("{name} is a channel: name a disk or an array"));
            }
            Err(refusal) => return refusal,
        };
        let Some(before) = self.reading_of(&key) else {
            return refused(&format!("{name}: its own check cannot be driven from here: name its disks instead"));
        };
        if before.held == Some(HoldBack::Missing) {
            return refused(&format!("{name} is not there: nothing can be read of it"));
        }
        if before.is_read {
            let share =
                before.pass_share.map(|share| format!(": {:.0} % of this pass is read", (share * 100.0).floor()));
            return done(&format!("{name} is being read already{}", share.unwrap_or_default()));
        }
        self.command(PersonCommand::ScrubNow(key.clone()));
        let after = self.reading_of(&key);
        let held = after.as_ref().and_then(|reading| reading.held.as_ref());
        match held {
            _ if after.as_ref().is_some_and(|reading| reading.is_read) => {
                done(&format!("{name}: it is read from now on, within its budget, while nothing else uses it"))
            }
            Some(held @ HoldBack::NotDue(_)) => {
                refused(&format!("{name}: nothing is decided just now: {}", hold_back(held, self.watch.calendar())))
            }
            Some(held) => done(&format!(
                "{name} is next, and is read as soon as nothing is in its way; now: {}",
                hold_back(held, self.watch.calendar())
            )),
            None => done(&format!("{name} is next, and is read as soon as its session can begin")),
        }
    }

    fn accept(&mut self, name: &str) -> WatchAnswer {
        let subject = match self.subject(name) {
            Ok(subject) => subject,
            Err(refusal) => return refusal,
        };
        let open: Vec<String> = (self.watch.status(self.clock.now()).incidents.into_iter())
            .filter(|incident| incident.key.subject == subject)
            .map(|incident| headline(&incident.condition, self.watch.calendar()).into())
            .collect();
        if open.is_empty() {
            return refused(&format!("{name}: nothing is open that could be accepted"));
        }
        self.command(PersonCommand::Accept(subject));
        done(&format!("silent until it grows: {}", open.join("; ")))
    }

    fn forget(&mut self, name: &str) -> WatchAnswer {
        let subject = match self.subject(name) {
            Ok(subject) => subject,
            Err(refusal) => return refusal,
        };
        let status = self.watch.status(self.clock.now());
        let is_present = match &subject {
            IncidentSubject::Disk(key) => status.disks.iter().any(|disk| disk.key == *key && disk.name.is_some()),
            IncidentSubject::Array(key) => status.arrays.iter().any(|array| array.facts.key == *key && array.is_there),
            IncidentSubject::Channel(_) => {
                return refused(&format!("{name} is a channel: take it out of the settings instead"));
            }
            IncidentSubject::Watch => return refused("its loss is taken note of by: sudo scrubjay accept history"),
        };
        if is_present {
            return refused(&format!("{name} is still there: only what was taken out for good can be forgotten"));
        }
        self.command(PersonCommand::Forget(subject));
        done("forgotten; its history stays")
    }

    fn confirm(&mut self, code: &str) -> WatchAnswer {
        let codes_of_channels = |daemon: &Self| -> Vec<_> {
            let status = daemon.watch.status(daemon.clock.now());
            status.channels.into_iter().map(|channel| (channel.name, channel.proven, channel.code)).collect()
        };
        let before = codes_of_channels(self);
        let name = before.iter().find(|(.., sent)| sent.as_deref() == Some(code.trim())).map(|(name, ..)| name.clone());
        // Wrong codes are passed on, too, because the watch counts them.
        self.command(PersonCommand::Confirm(code.to_owned()));
        if let Some(name) = name {
            return done(&format!("{name} is proven: messages arrive that way"));
        }
        let has_code = |all: &[(_, _, Option<String>)]| all.iter().filter(|(.., sent)| sent.is_some()).count();
        if has_code(&codes_of_channels(self)) < has_code(&before) {
            return refused("too many wrong codes: what was sent is void; send new ones: `scrubjay alert test`");
        }
        refused("no channel was sent this code, or a newer one was sent since: `scrubjay alert test`")
    }

    /// Reads the settings again. A file with an error in it is refused as a whole.
    pub(super) fn reload(&mut self) -> Result<String, String> {
        let path = self.options.config.clone();
        let config = WatchConfig::read(&path, self.options.is_config_required).map_err(|error| error.to_string())?;
        let channels = open_channels(&path, &config).map_err(|error| error.to_string())?;
        let is_observing = self.observation.is_some();
        if is_observing != (self.options.observe || config.observe) {
            (self.ending.is_ending, self.ending.is_to_begin_anew) = (true, true);
            let what = if is_observing { "it reads and sends from now on" } else { "it only observes from now on" };
            return Ok(format!("{what}: settings read from {}", path.display()));
        }
        let mut settings = config.settings(&host_name(), self.settings.secret);
        settings.channels =
            if is_observing { vec![observation::channel(self.clock.now())] } else { channels.for_watch() };
        (settings.pace, settings.run) = (self.settings.pace, self.settings.run);
        self.outgoing.messengers.change(channels);
        self.outgoing.deliveries.clear();
        (self.config, self.settings) = (config, settings.clone());
        self.feed(WatchEvent::Settings(Box::new(settings)));
        self.machine.surveyor.request_with(self.config.also.clone());
        self.feed(WatchEvent::Tick);
        Ok(format!("settings read from {}", path.display()))
    }
}

fn done(text: &str) -> WatchAnswer {
    WatchAnswer::Done { said: text.to_owned() }
}

fn refused(why: &str) -> WatchAnswer {
    WatchAnswer::Refused { why: why.to_owned() }
}
