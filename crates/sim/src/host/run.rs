//! Runs a modelled host: drives the shipped watch with the host's events, and reports both to an observer.

use super::calendar::DaylightCalendar;
use super::disk::HostDisk;
use super::fact::{HostFact, HostObserver};
use super::life::{self, HostEvent};
use super::setup::{EPOCH, HostSetup, name_of};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::Watch;
use scrubjay_watch::calendar::{Calendar, DAY, HOUR};
use scrubjay_watch::events::{PersonCommand, WatchEvent, WatchOp};
use scrubjay_watch::facts::{ArrayFacts, SessionNews, SessionSubject, SmartReading};
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::rows::{RowKey, WatchRow};
use scrubjay_watch::settings::AlertChannel;
use scrubjay_words::{MessageTexts, Wording};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Seconds until a watch that was killed is started again.
const RESTART: u64 = 30;
/// Seconds from a start until a host that forgets the time learns it.
const CLOCK_FOUND: u64 = 60;
/// One in this many sessions cannot begin.
const REFUSED_ONE_IN: u64 = 100;

/// A host that runs, in virtual time.
pub struct ModelledHost<'o> {
    pub(super) setup: HostSetup,
    pub(super) observer: &'o mut dyn HostObserver,
    pub(super) rng: Rng,
    /// True time, in seconds since 1970.
    pub(super) now: u64,
    /// Seconds by which the host's clock is ahead of true time.
    pub(super) ahead: i64,
    /// When it was started without knowing the time: its clock began in 1970 then. `None`: it knows the time.
    pub(super) lost_since: Option<u64>,
    pub(super) watch: Option<Watch>,
    /// The watch's durable rows.
    pub(super) rows: BTreeMap<RowKey, WatchRow>,
    /// All disks that ever were, by number.
    pub(super) disks: Vec<HostDisk>,
    /// The number of the disk in each place.
    pub(super) places: Vec<usize>,
    /// The disk numbers of each array's members.
    pub(super) members: Vec<Vec<usize>>,
    pub(super) queue: BinaryHeap<Reverse<(u64, u64, HostEvent)>>,
    pub(super) sequence: u64,
    /// How many times the watch was started.
    pub(super) starts: u64,
    pub(super) accepts: Vec<bool>,
    /// Channels and codes that people have read.
    pub(super) codes: Vec<(String, String)>,
    /// What the messages that wait say.
    pub(super) texts: MessageTexts,
    /// One more than the greatest number of a message written so far.
    pub(super) written: u64,
    /// How often a disk that came back got another name.
    pub(super) renames: usize,
}

/// Counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSummary {
    /// Starts of the watch.
    pub starts: u64,
    /// Disks, including those that were put in later.
    pub disks: u64,
    /// Messages that were written.
    pub messages: u64,
}

impl<'o> ModelledHost<'o> {
    /// Runs a host to the end of its days.
    pub fn run(setup: HostSetup, observer: &'o mut dyn HostObserver) -> HostSummary {
        let events = life::draw(&setup);
        let mut host = ModelledHost {
            rng: Rng::stream(setup.seed, 4),
            disks: setup.disks.clone(),
            places: (0..setup.disks.len()).collect(),
            members: setup.arrays.iter().map(|array| members_of(&setup, array)).collect(),
            accepts: vec![true; setup.settings.channels.len()],
            setup,
            observer,
            now: EPOCH,
            ahead: 0,
            lost_since: None,
            watch: None,
            rows: BTreeMap::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            starts: 0,
            codes: Vec::new(),
            written: 0,
            renames: 0,
            texts: MessageTexts::default(),
        };
        events.into_iter().for_each(|(at, event)| host.plan(at, event));
        host.begin();
        let end = EPOCH + host.setup.seconds();
        while let Some(at) = host.queue.peek().map(|Reverse((at, ..))| *at).filter(|at| *at < end) {
            // A turn of the watch may cause an answer that comes before this event.
            if !host.tick_before(at)
                && let Some(Reverse((at, _, event))) = host.queue.pop()
            {
                host.now = host.now.max(at);
                host.happen(event);
            }
        }
        let waiting: Vec<u64> = host
            .rows
            .keys()
            .filter_map(|key| if let RowKey::Message(number) = key { Some(*number) } else { None })
            .collect();
        host.observer.observe(end, &HostFact::End(&waiting));
        HostSummary { starts: host.starts, disks: host.disks.len() as u64, messages: host.written }
    }

    fn begin(&mut self) {
        let names: Vec<String> = self.setup.settings.channels.iter().map(|channel| channel.name.clone()).collect();
        self.observe(&HostFact::Channels(&names));
        for number in 0..self.disks.len() {
            let facts = self.disks[number].facts.clone();
            self.observe(&HostFact::DiskIn(number, &facts));
        }
        for array in 0..self.setup.arrays.len() {
            self.observe_members(array);
        }
        self.start();
    }

    /// Plans an event at random, from `soonest` seconds from now on and within `span` seconds more.
    pub(super) fn plan_within(&mut self, soonest: u64, span: u64, event: HostEvent) {
        let at = self.now + soonest + self.rng.below(span);
        self.plan(at, event);
    }

    pub(super) fn plan(&mut self, at: u64, event: HostEvent) {
        self.sequence += 1;
        self.queue.push(Reverse((at, self.sequence, event)));
    }

    pub(super) fn observe(&mut self, fact: &HostFact<'_>) {
        self.observer.observe(self.now, fact);
    }

    /// The time that the host's clock shows.
    pub(super) fn clock(&self) -> UnixSeconds {
        UnixSeconds((self.now as i64 + self.offset()) as u64)
    }

    /// Seconds by which the host's clock is ahead of true time.
    fn offset(&self) -> i64 {
        self.lost_since.map_or(self.ahead, |since| -(since as i64))
    }

    fn week_hour(&self) -> usize {
        DaylightCalendar.local(UnixSeconds(self.now)).week_hour()
    }

    /// Gives the watch a turn, if it wants one before `until`; returns whether it did.
    fn tick_before(&mut self, until: u64) -> bool {
        let Some(watch) = &self.watch else { return false };
        let wake = (watch.poll_timeout().0 as i64 - self.offset()).max(0) as u64;
        // What was due in a suspend happens at its end.
        if wake >= until || until <= self.now {
            return false;
        }
        // A watch that wants to be woken at once is woken in the next second: time must pass.
        self.now = wake.max(self.now + 1).min(until);
        self.send(WatchEvent::Tick);
        true
    }

    /// Passes an event to the watch and performs its operations; it may be killed before any of them.
    pub(super) fn send(&mut self, event: WatchEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let clock = self.clock();
            if self.watch.is_none() {
                return;
            }
            self.observe(&HostFact::Event(&event));
            let Some(watch) = &mut self.watch else { return };
            watch.handle(clock, event);
            while let Some(op) = self.watch.as_mut().and_then(Watch::poll_op) {
                let is_last = self.setup.kill_one_in.is_some_and(|one_in| self.rng.below(one_in) == 0);
                if is_last {
                    self.stop(RESTART);
                    return;
                }
                events.extend(self.act(op));
            }
        }
    }

    fn act(&mut self, op: WatchOp) -> Option<WatchEvent> {
        match op {
            WatchOp::Keep(rows, dropped) => {
                if let Some(watch) = &self.watch {
                    let wording = Wording { calendar: watch.calendar(), host: &self.setup.settings.host };
                    self.texts.word(&rows, &wording);
                }
                self.observe(&HostFact::Kept(&rows, &dropped));
                for row in rows {
                    if let WatchRow::Message(message) = &row
                        && message.number >= self.written
                    {
                        self.written = message.number + 1;
                        let text = self.texts.of(message.number);
                        self.observe(&HostFact::Written(message, &text));
                    }
                    self.rows.insert(row.key(), row);
                }
                dropped.iter().for_each(|key| drop(self.rows.remove(key)));
                self.texts.forget(&dropped);
                None
            }
            WatchOp::ReadSmart(name) => {
                let number = self.by_name(&name)?;
                let reading = self.disks[number].smart(self.week_hour());
                let is_real = matches!(reading, SmartReading::Facts(_));
                self.observe(&HostFact::Smart(number, is_real));
                let disk = &self.disks[number];
                if is_real && disk.has_evidence() {
                    let is_lasting = disk.has_lasting_evidence();
                    self.observe(&HostFact::Evidence(number, is_lasting));
                }
                Some(WatchEvent::Smart(name, reading))
            }
            WatchOp::BeginSession(subject, pass, begun, _) => {
                let number = self.by_subject(&subject)?;
                if self.rng.below(REFUSED_ONE_IN) == 0 {
                    self.observe(&HostFact::Refused(number));
                    let reason = "the state folder is full".to_owned();
                    return Some(WatchEvent::Session(subject, SessionNews::Refused(reason)));
                }
                let disk = &mut self.disks[number];
                let is_new = disk.pass != pass || disk.begun < begun;
                if is_new {
                    (disk.pass, disk.begun, disk.done) = (pass, begun, 0.0);
                    disk.found.clear();
                }
                self.begin_session(number, is_new);
                self.finish_if_done(number)
            }
            WatchOp::StopSession(subject, _) => {
                let number = self.by_subject(&subject)?;
                self.read(number);
                if let Some(finished) = self.finish_if_done(number) {
                    return Some(finished);
                }
                self.end_session(number);
                let report = self.report(number);
                Some(WatchEvent::Session(subject, SessionNews::Stopped(report)))
            }
            WatchOp::Send(row) => {
                let channels = &self.setup.settings.channels;
                let channel = channels.iter().position(|channel| channel.name == row.channel);
                // Now and then a server refuses a message for no visible reason.
                let is_up = channel.is_some_and(|channel| self.accepts[channel]);
                let is_accepted = is_up && self.rng.below(20) > 0;
                if is_up && !is_accepted {
                    self.observe(&HostFact::Bounced(&row.channel));
                }
                let is_at_once = self.rng.below(2) == 0;
                if is_accepted && is_at_once {
                    self.deliver(&row);
                }
                let answer = HostEvent::Answer(self.starts, row.number, is_accepted, is_at_once);
                self.plan_within(1, 20, answer);
                None
            }
            WatchOp::Heartbeat => {
                let status = self.watch.as_ref().map(|watch| watch.status(self.clock()));
                status.iter().for_each(|status| self.observe(&HostFact::Heartbeat(status)));
                None
            }
        }
    }

    fn happen(&mut self, event: HostEvent) {
        match event {
            HostEvent::Hour => self.hour(),
            HostEvent::PowerOff(span) if self.watch.is_some() => self.stop(span),
            HostEvent::PowerOff(_) => {}
            HostEvent::PowerOn => self.start(),
            HostEvent::Clock(step) => {
                self.ahead += step;
                self.observe(&HostFact::Clock(step));
                self.send(WatchEvent::Tick);
            }
            HostEvent::ClockFound(starts) => {
                if starts == self.starts && self.lost_since.take().is_some() {
                    self.send(WatchEvent::ClockSynchronised(true));
                    self.send(WatchEvent::Tick);
                }
            }
            HostEvent::Die(number, true) => {
                self.disks[number].fails_reads = true;
                self.read(number);
                if self.disks[number].session.is_some() {
                    self.plan(self.now + HOUR / 2, HostEvent::NoReads(number, self.starts));
                }
                self.plan_within(0, 10 * DAY, HostEvent::Die(number, false));
            }
            HostEvent::Die(number, false) => self.die(number),
            HostEvent::Sign(number) => {
                let disk = &mut self.disks[number];
                if self.rng.below(2) == 0 { disk.pending += 1 } else { disk.remapped += 1 + self.rng.below(20) }
            }
            HostEvent::Defect(number) => self.defect(number),
            HostEvent::Cable(number) => self.disks[number].cable_errors += 1 + self.rng.below(30),
            HostEvent::Touch(number, span) if self.disks[number].is_seen => {
                self.take_out(number);
                self.plan(self.now + span, HostEvent::Back(number));
            }
            HostEvent::Touch(..) => {}
            HostEvent::Heat(number, is_hot) => {
                self.disks[number].is_hot = is_hot;
                self.observe(&HostFact::Hot(number, is_hot));
            }
            HostEvent::Back(number) => self.bring_back(number),
            HostEvent::NoReads(number, start) => {
                if start == self.starts && self.disks[number].session.is_some() && self.disks[number].is_seen {
                    self.end_session(number);
                    self.observe(&HostFact::Evidence(number, false));
                    let (name, report) = (self.disks[number].facts.name.clone(), self.disks[number].report());
                    self.send(WatchEvent::Session(SessionSubject::Disk(name), SessionNews::Failed(report)));
                }
            }
            HostEvent::Replace(number) => self.replace(number),
            HostEvent::Forget(number) => {
                let subject = IncidentSubject::Disk(self.disks[number].facts.key.clone());
                if self.watch.is_some() {
                    self.observe(&HostFact::Forgotten(number));
                    self.send(WatchEvent::Command(PersonCommand::Forget(subject)));
                } else {
                    self.plan(self.now + DAY, HostEvent::Forget(number));
                }
            }
            HostEvent::Accept(number) if self.watch.is_some() => self.accept(number),
            HostEvent::Accept(_) => {}
            HostEvent::Rebuilt(array) => self.rebuilt(array),
            HostEvent::Accepts(channel, is_up) => {
                if let Some(accepts) = self.accepts.get_mut(channel) {
                    *accepts = is_up;
                    let name = self.setup.settings.channels[channel].name.clone();
                    self.observe(&HostFact::Accepts(&name, is_up));
                }
            }
            HostEvent::Answer(start, number, is_accepted, is_at_once) => {
                if start != self.starts || self.watch.is_none() {
                    return; // the connection ended with the program
                }
                let row = self.rows.get(&RowKey::Message(number)).cloned();
                if let (true, false, Some(WatchRow::Message(row))) = (is_accepted, is_at_once, row) {
                    self.deliver(&row);
                }
                let answer =
                    if is_accepted { WatchEvent::MessageSent(number) } else { WatchEvent::MessageFailed(number) };
                self.send(answer);
            }
            HostEvent::Confirm(index) => {
                let (channel, code) = self.codes[index].clone();
                let is_open =
                    |row: &WatchRow| matches!(row, WatchRow::Channel(row) if row.code.as_ref() == Some(&code));
                // A code that is typed after a newer one was sent is rejected.
                if self.watch.is_some() && self.rows.values().any(is_open) {
                    self.send(WatchEvent::Command(PersonCommand::Confirm(code.clone())));
                    match self.watch.is_some() || !self.rows.values().any(is_open) {
                        true => self.observe(&HostFact::Confirmed(&channel)),
                        false => self.plan(self.now + HOUR, HostEvent::Confirm(index)),
                    }
                }
            }
            HostEvent::Suspend(span) => self.suspend(span),
            HostEvent::LoseHistory(kind) => self.lose_history(kind),
            HostEvent::AcceptHistory => self.accept_history(),
            HostEvent::Recipients(channel, are_refused) => self.refuse_recipients(channel, are_refused),
            HostEvent::Test => self.send(WatchEvent::Command(PersonCommand::TestAlerts)),
            HostEvent::Pause(span) => self.pause(span),
            HostEvent::Check(array, is_on) => self.check(array, is_on),
            HostEvent::Rechannel if self.setup.settings.channels.len() > 1 => {
                self.setup.settings.channels.truncate(1);
                let names = [self.setup.settings.channels[0].name.clone()];
                self.accepts.truncate(1);
                self.observe(&HostFact::Channels(&names));
                self.send(WatchEvent::Settings(Box::new(self.setup.settings.clone())));
            }
            HostEvent::Rechannel => {}
            HostEvent::AddChannel => {
                self.setup.settings.channels.push(AlertChannel {
                    name: "pager".into(),
                    fingerprint: 1,
                    proven_elsewhere: None,
                });
                self.accepts.push(true);
                let channels = self.setup.settings.channels.iter();
                let names: Vec<String> = channels.map(|channel| channel.name.clone()).collect();
                self.observe(&HostFact::Channels(&names));
                self.send(WatchEvent::Settings(Box::new(self.setup.settings.clone())));
            }
        }
    }

    fn hour(&mut self) {
        self.plan(self.now + HOUR, HostEvent::Hour);
        if self.watch.is_none() {
            return;
        }
        let hour = self.now / HOUR - 1;
        let week_hour = DaylightCalendar.local(UnixSeconds(hour * HOUR)).week_hour();
        for place in 0..self.places.len() {
            let number = self.places[place];
            if !self.disks[number].is_seen {
                continue;
            }
            let share = self.disks[number].share(hour, week_hour) as f32;
            let subject = SessionSubject::Disk(self.disks[number].facts.name.clone());
            self.send(WatchEvent::IdleHour(subject.clone(), week_hour, share));
            if self.disks[number].session.is_none() || self.disks[number].fails_reads {
                continue;
            }
            self.read(number);
            let news = self.finish_if_done(number).unwrap_or_else(|| {
                let report = self.report(number);
                WatchEvent::Session(subject, SessionNews::Progress(report))
            });
            self.send(news);
        }
        self.send(WatchEvent::Tick);
        let status = self.watch.as_ref().filter(|_| self.now % DAY == DAY / 2).map(|watch| watch.status(self.clock()));
        status.iter().for_each(|status| self.observe(&HostFact::Noon(status)));
    }

    /// Stops the watch, which was killed or whose host is switched off; it loses all that is not durable.
    fn stop(&mut self, span: u64) {
        for number in self.places.clone() {
            self.read(number);
            self.end_session(number);
        }
        self.watch = None;
        self.observe(&HostFact::Power(false));
        // When a host was off for long, disks may get other names.
        if span > 2 * RESTART && self.places.len() > 1 && self.rng.below(4) == 0 {
            let (first, other) = (self.rng.below(self.places.len() as u64), self.rng.below(self.places.len() as u64));
            self.places.swap(first as usize, other as usize);
            for (place, &number) in self.places.iter().enumerate() {
                self.disks[number].facts.name = name_of(place);
            }
        }
        self.plan(self.now + span, HostEvent::PowerOn);
    }

    fn start(&mut self) {
        self.starts += 1;
        if self.setup.forgets_time {
            self.lost_since = Some(self.now);
            self.plan(self.now + CLOCK_FOUND, HostEvent::ClockFound(self.starts));
        }
        let rows = self.rows.values().cloned();
        let settings = self.setup.settings.clone();
        #[allow(unused_mut)] // without planted bugs nothing is changed
        let mut watch = Watch::restore(self.clock(), settings, Box::new(DaylightCalendar), rows);
        #[cfg(feature = "planted")]
        watch.plant(self.setup.bug);
        self.watch = Some(watch);
        self.observe(&HostFact::Power(true));
        let starts = self.starts;
        // Some pumps know that the clock is not yet synchronised; without them the watch must see it by itself.
        if self.lost_since.is_some() && self.setup.seed.is_multiple_of(2) {
            self.send(WatchEvent::ClockSynchronised(false));
        }
        for number in self.places.clone() {
            if self.disks[number].is_seen {
                self.observe(&HostFact::DiskBack(number));
                self.send(WatchEvent::DiskSeen(self.disks[number].told()));
                if self.disks[number].report().done > 0 {
                    let (name, report) = (self.disks[number].facts.name.clone(), self.report(number));
                    self.send(WatchEvent::Session(SessionSubject::Disk(name), SessionNews::Stopped(report)));
                }
            }
        }
        for array in 0..self.members.len() {
            let facts = self.array(array);
            self.observe_scrub(&facts);
            self.send(WatchEvent::ArraySeen(facts));
        }
        if starts == self.starts {
            self.send(WatchEvent::Tick);
        }
    }
}

/// The numbers of the disks that are an array's members at the beginning.
fn members_of(setup: &HostSetup, array: &ArrayFacts) -> Vec<usize> {
    let number = |name: &str| setup.disks.iter().position(|disk| disk.facts.name == name);
    array.members.iter().filter_map(|member| number(member.disk.as_deref()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_watch::hours::DailyHours;

    /// Counts facts.
    #[derive(Default)]
    struct Tally {
        passes: u64,
        delivered: Vec<String>,
        bytes: f64,
    }

    impl HostObserver for Tally {
        fn observe(&mut self, _: u64, fact: &HostFact<'_>) {
            match fact {
                HostFact::PassOver(_) => self.passes += 1,
                HostFact::Delivered(_, text) => self.delivered.push(text.subject().to_owned()),
                HostFact::Read(_, from, to, ..) => self.bytes += to - from,
                _ => {}
            }
        }
    }

    fn run(setup: HostSetup) -> (HostSummary, Tally) {
        let mut tally = Tally::default();
        (ModelledHost::run(setup, &mut tally), tally)
    }

    #[test]
    fn a_year_has_a_pass_a_month_and_a_report_a_month() {
        let (_, tally) = run(HostSetup::usual(1, 2, 365));
        assert!((22..=40).contains(&tally.passes), "{} passes of two disks", tally.passes);
        let reports = tally.delivered.iter().filter(|subject| subject.contains("monthly report")).count();
        assert!((20..=24).contains(&reports), "{reports} by two channels: {:?}", tally.delivered);
        assert!(tally.bytes >= tally.passes as f64);
    }

    #[test]
    fn a_pass_whose_last_session_was_cut_off_is_over_when_the_next_one_begins() {
        let mut setup = HostSetup { is_off_at_night: true, ..HostSetup::usual(1, 1, 85) };
        // 23:00 local time is 22:00 UTC, when the host is switched off before the hour is accounted for.
        setup.settings.between = Some(DailyHours { from: 22 * 60, to: 23 * 60 });
        let (_, tally) = run(setup);
        assert!(tally.bytes >= 1.0 && tally.passes >= 1, "{} passes, {} read", tally.passes, tally.bytes);
    }

    #[test]
    fn a_seed_gives_the_same_run_again_and_another_seed_a_different_run() {
        let run = |seed| {
            let (summary, tally) = run(HostSetup { days: 40, ..HostSetup::storm(seed) });
            (summary, tally.passes, tally.delivered)
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }
}
