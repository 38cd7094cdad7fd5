//! A pump for tests: it carries out operations at once.

use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::Watch;
use scrubjay_watch::calendar::{DAY, HOUR, UtcCalendar};
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::events::{WatchEvent, WatchOp};
use scrubjay_watch::facts::*;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::{IncidentKind, IncidentRow};
use scrubjay_watch::rows::{MessageRow, ReadingRow, RowKey, WatchRow};
use scrubjay_watch::settings::{AlertChannel, WatchSettings};
use scrubjay_watch::status::{DiskStanding, LightColour, LightName, StatusLight};
use scrubjay_words::{MessageTexts, Wording};
use std::collections::{BTreeMap, VecDeque};

/// The start of the tests: a Monday.
pub const START: u64 = 20_520 * DAY + 4 * DAY;
pub const SECTORS: u64 = 1 << 30;

/// A message that was sent.
#[derive(Clone, Debug)]
pub struct SentMessage {
    pub row: MessageRow,
    pub subject: String,
    pub body: String,
}

impl SentMessage {
    pub fn of(row: MessageRow, texts: &MessageTexts) -> SentMessage {
        let text = texts.of(row.number);
        SentMessage { row, subject: text.subject().to_owned(), body: text.body().to_owned() }
    }
}

impl std::ops::Deref for SentMessage {
    type Target = MessageRow;

    fn deref(&self) -> &MessageRow {
        &self.row
    }
}

/// A light in words.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownLight {
    pub name: LightName,
    pub colour: LightColour,
    pub words: String,
}

/// A pump that carries out operations at once.
pub struct Rig {
    pub watch: Watch,
    pub now: UnixSeconds,
    pub rows: BTreeMap<RowKey, WatchRow>,
    pub sent: Vec<SentMessage>,
    pub texts: MessageTexts,
    /// Running sessions, by the name of the disk.
    pub running: Vec<String>,
    pub begun: Vec<String>,
    /// The latest report of each disk's session.
    pub passes: BTreeMap<String, PassReport>,
    pub stopped: Vec<(String, HoldBack)>,
    pub heartbeats: u32,
    /// Do channels accept messages?
    pub is_up: bool,
    /// The channel that does not, whatever the others do.
    pub down_channel: Option<String>,
    pub smart: SmartReading,
}

pub fn channel(name: &str) -> AlertChannel {
    AlertChannel { name: name.into(), fingerprint: 1, proven_elsewhere: None }
}

pub fn settings() -> WatchSettings {
    WatchSettings { host: "nas1".into(), channels: vec![channel("email")], ..WatchSettings::default() }
}

pub fn good_reading() -> SmartReading {
    let attributes = vec![AtaAttribute::usual(5, 0), AtaAttribute::usual(197, 0)];
    SmartReading::Facts(SmartFacts { passed: Some(true), attributes, celsius: Some(35), ..SmartFacts::default() })
}

pub fn pending(count: u64) -> SmartReading {
    let attributes = vec![AtaAttribute::usual(197, count)];
    SmartReading::Facts(SmartFacts { passed: Some(true), attributes, ..SmartFacts::default() })
}

pub fn disk(name: &str, serial: &str) -> DiskFacts {
    DiskFacts {
        key: DiskKey(serial.into()),
        name: name.into(),
        model: "ST1".into(),
        serial: None,
        bay: None,
        place: None,
        controller: Some("hba0".into()),
        media: MediaKind::Spinning,
        sectors: SECTORS,
    }
}

pub fn array(names: &[&str]) -> ArrayFacts {
    let member = |name: &&str| ArrayMember { disk: Some((*name).into()), is_in_sync: true, data_start: 0 };
    let shape = Shape { data: names.len() - 1, parity: 1 };
    ArrayFacts {
        key: "uuid".into(),
        name: "tank".into(),
        level: "RAID5".into(),
        redundancy: 1,
        members: names.iter().map(member).collect(),
        activity: ArrayActivity::Idle,
        layout: Layout::new(LayoutKind::Raid5Ls, shape, names.len()).ok().map(|layout| (layout, 1024)),
        check_sectors: None,
        pool: None,
        lost_stripes: None,
    }
}

/// The rig's name for a subject: the disk's name, or the array's UUID.
fn name_of(subject: &SessionSubject) -> String {
    match subject {
        SessionSubject::Disk(name) | SessionSubject::Array(name) => name.clone(),
    }
}

/// The subject that has this name in the rig.
pub fn on(name: &str) -> SessionSubject {
    match name.starts_with("sd") {
        true => SessionSubject::Disk(name.into()),
        false => SessionSubject::Array(name.into()),
    }
}

impl Rig {
    pub fn new(settings: WatchSettings) -> Rig {
        let now = UnixSeconds(START);
        Rig {
            watch: Watch::restore(now, settings, Box::new(UtcCalendar), []),
            now,
            rows: BTreeMap::new(),
            sent: Vec::new(),
            texts: MessageTexts::default(),
            running: Vec::new(),
            begun: Vec::new(),
            passes: BTreeMap::new(),
            stopped: Vec::new(),
            heartbeats: 0,
            is_up: true,
            down_channel: None,
            smart: good_reading(),
        }
    }

    /// A rig with disks sda, sdb, ... with serials S0, S1, ...
    pub fn with_disks(count: u8) -> Rig {
        let mut rig = Rig::new(settings());
        for number in 0..count {
            let name = format!("sd{}", char::from(b'a' + number));
            rig.feed(WatchEvent::DiskSeen(disk(&name, &format!("S{number}"))));
        }
        rig
    }

    pub fn feed(&mut self, event: WatchEvent) {
        self.watch.handle(self.now, event);
        let mut answers = VecDeque::new();
        loop {
            while let Some(op) = self.watch.poll_op() {
                self.act(op, &mut answers);
            }
            let Some(answer) = answers.pop_front() else { return };
            self.watch.handle(self.now, answer);
        }
    }

    pub fn act(&mut self, op: WatchOp, answers: &mut VecDeque<WatchEvent>) {
        match op {
            WatchOp::Keep(rows, dropped) => {
                self.texts.word(&rows, &Wording { calendar: &UtcCalendar, host: "nas1" });
                self.rows.extend(rows.into_iter().map(|row| (row.key(), row)));
                dropped.iter().for_each(|key| drop(self.rows.remove(key)));
            }
            WatchOp::ReadSmart(name) => answers.push_back(WatchEvent::Smart(name, self.smart.clone())),
            WatchOp::BeginSession(subject, pass, begun, _) => {
                let name = name_of(&subject);
                let kept = self.passes.entry(name.clone()).or_default();
                if kept.pass != pass || kept.begun < begun {
                    *kept = PassReport { pass, begun, ..PassReport::default() };
                }
                self.begun.push(name.clone());
                self.running.push(name);
            }
            WatchOp::StopSession(subject, reason) => {
                let name = name_of(&subject);
                self.running.retain(|running| *running != name);
                self.stopped.push((name.clone(), reason));
                let report = self.passes.get(&name).cloned().unwrap_or_default();
                answers.push_back(WatchEvent::Session(subject, SessionNews::Stopped(report)));
            }
            WatchOp::Send(row) if self.is_up && self.down_channel.as_ref() != Some(&row.channel) => {
                answers.push_back(WatchEvent::MessageSent(row.number));
                self.sent.push(SentMessage::of(*row, &self.texts));
            }
            WatchOp::Send(row) => answers.push_back(WatchEvent::MessageFailed(row.number)),
            WatchOp::Heartbeat => self.heartbeats += 1,
        }
    }

    /// Lets time pass; the machine is ticked when it asks for it, and sessions report once an hour.
    pub fn wait(&mut self, seconds: u64) {
        let end = self.now.0 + seconds;
        self.feed(WatchEvent::Tick);
        while self.now.0 < end {
            let hour = (self.now.0 / HOUR + 1) * HOUR;
            self.now = UnixSeconds(self.watch.poll_timeout().0.clamp(self.now.0 + 1, end.min(hour)));
            let reporting = if self.now.0 == hour { self.running.clone() } else { Vec::new() };
            for name in reporting {
                let report = self.passes[&name].clone();
                self.feed(WatchEvent::Session(on(&name), SessionNews::Progress(report)));
            }
            self.feed(WatchEvent::Tick);
        }
    }

    /// The report of the session on a disk with this much done; if none runs, that of a person's session that begins now.
    pub fn report(&mut self, name: &str, done: u64, unreadable: &[SectorRange]) -> PassReport {
        let is_running = self.running.iter().any(|running| running == name);
        let session_report = self.passes.get_mut(name).filter(|_| is_running);
        let mut report = PassReport { begun: self.now, ..PassReport::default() };
        let kept = session_report.unwrap_or(&mut report);
        (kept.done, kept.unreadable) = (done, unreadable.to_vec());
        kept.clone()
    }

    pub fn progress(&mut self, name: &str, done: u64, unreadable: &[SectorRange]) {
        let report = self.report(name, done, unreadable);
        self.news(name, SessionNews::Progress(report));
    }

    pub fn finish(&mut self, name: &str, unreadable: &[SectorRange]) {
        let report = self.report(name, SECTORS, unreadable);
        self.running.retain(|running| running != name);
        self.feed(WatchEvent::Session(on(name), SessionNews::Finished(report)));
    }

    /// Sends news of a session, and lets time pass.
    pub fn news(&mut self, name: &str, news: SessionNews) {
        if news.is_end() {
            self.running.retain(|running| running != name);
        }
        self.feed(WatchEvent::Session(on(name), news));
        self.feed(WatchEvent::Tick);
    }

    /// Waits until the session on a disk runs.
    pub fn wait_for(&mut self, name: &str) {
        for _ in 0..60 * 24 {
            if self.running.iter().any(|running| running == name) {
                return;
            }
            self.wait(HOUR);
        }
        panic!("{name} is not read");
    }

    /// Ends every other session, until the one on this subject runs.
    pub fn finish_until(&mut self, name: &str) {
        for _ in 0..100 {
            if self.running.iter().any(|running| running == name) {
                return;
            }
            let names = self.running.clone();
            names.iter().for_each(|other| self.finish(other, &[]));
            self.wait(HOUR);
        }
        panic!("{name} is not read");
    }

    /// Kills the machine, and restores it from its rows with these settings.
    pub fn restart(&mut self, settings: WatchSettings) {
        self.running.clear();
        self.watch = Watch::restore(self.now, settings, Box::new(UtcCalendar), self.rows.values().cloned());
    }

    /// The open incidents.
    pub fn incidents(&self) -> Vec<IncidentRow> {
        self.watch.status(self.now).incidents
    }

    /// A channel.
    pub fn channel(&self, name: &str) -> ChannelRow {
        let channel = self.watch.status(self.now).channels.into_iter().find(|channel| channel.name == name);
        channel.expect("a channel of that name")
    }

    /// The messages that wait.
    pub fn waiting(&self) -> Vec<SentMessage> {
        let rows = self.watch.rows().into_iter();
        rows.filter_map(
            |row| if let WatchRow::Message(row) = row { Some(SentMessage::of(*row, &self.texts)) } else { None },
        )
        .collect()
    }

    /// What the watch keeps of reading the disk with this serial number.
    pub fn reading_row(&self, serial: &str) -> ReadingRow {
        let key = SubjectKey::Disk(DiskKey(serial.into()));
        let found = self.watch.rows().into_iter().find_map(|row| match row {
            WatchRow::Reading(of, row) if of == key => Some(*row),
            _ => None,
        });
        found.expect("a disk of that serial")
    }

    /// The lights now.
    pub fn lights(&self) -> Vec<ShownLight> {
        let shown = |light: &StatusLight| ShownLight {
            name: light.name,
            colour: light.colour,
            words: scrubjay_words::light(light, &UtcCalendar).into(),
        };
        self.watch.status(self.now).lights.iter().map(shown).collect()
    }

    /// The answer to "Am I safe?".
    pub fn sentence(&self) -> String {
        scrubjay_words::verdict(&self.watch.status(self.now).verdict, &UtcCalendar).into()
    }

    pub fn standing(&self, serial: &str) -> DiskStanding {
        let standing = self.watch.status(self.now).disks.into_iter().find(|disk| disk.key.0 == serial);
        standing.expect("a disk of that serial")
    }

    /// Subjects of the messages that were sent, without tests of alerts and monthly reports.
    pub fn subjects(&self) -> Vec<&str> {
        self.subjects_since(0)
    }

    /// The subjects of the messages after the first `before`, without tests, reports and those about channels.
    pub fn subjects_since(&self, before: usize) -> Vec<&str> {
        let messages = self.sent[before..].iter().filter(|row| !row.about.is_empty());
        messages
            .filter(|row| row.about.iter().all(|key| key.kind != IncidentKind::Unproven))
            .map(|row| &*row.subject)
            .collect()
    }

    /// The subjects of the messages after the first `before` about incidents of a kind.
    pub fn subjects_of(&self, before: usize, kind: IncidentKind) -> Vec<&str> {
        let messages = self.sent[before..].iter().filter(|row| row.about.iter().any(|key| key.kind == kind));
        messages.map(|row| &*row.subject).collect()
    }

    /// Sets the SMART counters, and reports them.
    pub fn report_smart(&mut self, name: &str, counters: &[(u8, u64)]) {
        let attributes = counters.iter().map(|&(id, raw)| AtaAttribute::usual(id, raw)).collect();
        self.smart = SmartReading::Facts(SmartFacts { passed: Some(true), attributes, ..SmartFacts::default() });
        self.feed(WatchEvent::Smart(name.into(), self.smart.clone()));
        self.feed(WatchEvent::Tick);
    }
}
