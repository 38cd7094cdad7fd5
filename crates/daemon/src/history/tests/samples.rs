//! Rows for tests: plain ones, and arbitrary ones.

use crate::history::HistoryDatabase;
use proptest::prelude::*;
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::calendar::UtcCalendar;
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::counters::{CounterHistory, CounterKind};
use scrubjay_watch::facts::{
    ArrayActivity, ArrayFacts, ArrayMember, DiskFacts, DiskKey, MediaKind, ScsiSense, SubjectKey,
};
use scrubjay_watch::forecast::{ForecastErrors, IdleWeek, PassForecast};
use scrubjay_watch::health::DriveReport;
use scrubjay_watch::incident::{
    Condition, IncidentKey, IncidentKind, IncidentRow, IncidentSubject, MessageId, MessageReason, PastIncident, Urgency,
};
use scrubjay_watch::letter::{Letter, LetterContent, ToldIncident};
use scrubjay_watch::links::LinkResets;
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::passes::{ArrayFlaws, PassHistory};
use scrubjay_watch::pool::{LastScrub, MemberGroup, PoolLack, PoolLosses, PoolScan, ZpoolFacts};
use scrubjay_watch::problem::{ArrayCard, Problem};
use scrubjay_watch::rows::{DiskRow, HostRow, MessageRow, ReadingRow, SessionRefusal, WatchRow};
use scrubjay_watch::slowness::Slowness;
use scrubjay_words::Wording;
use tempfile::TempDir;

pub const NOW: UnixSeconds = UnixSeconds(1_773_000_000);

/// A data base in an empty folder.
pub fn database() -> (TempDir, HistoryDatabase) {
    let folder = tempfile::tempdir().unwrap();
    let database = HistoryDatabase::open(&folder.path().join("history.db")).unwrap();
    (folder, database)
}

pub fn key(disk: &str) -> DiskKey {
    DiskKey(disk.to_owned())
}

pub fn later(seconds: u64) -> UnixSeconds {
    UnixSeconds(NOW.0 + seconds)
}

/// A disk that was just seen.
pub fn disk(key: &str, name: &str) -> DiskRow {
    let facts = DiskFacts {
        key: DiskKey(key.to_owned()),
        name: name.to_owned(),
        model: "ST16000NM001G".to_owned(),
        serial: None,
        bay: None,
        place: None,
        controller: None,
        media: MediaKind::Spinning,
        sectors: 31_251_759_104,
    };
    DiskRow {
        facts,
        counters: Default::default(),
        word: DriveReport::default(),
        smart_read: UnixSeconds(0),
        unknown_since: UnixSeconds(0),
        service_last: 0,
        slowness: Slowness::default(),
        link_resets: LinkResets::default(),
    }
}

/// The reading row of a disk of which `done` sectors are read.
pub fn reading_row(key: &str, done: u64) -> WatchRow {
    let passes = PassHistory { done, ..PassHistory::new(31_251_759_104, NOW) };
    let reading = ReadingRow { passes, failed_sessions: 0, refused: None, forecast: None };
    WatchRow::Reading(SubjectKey::Disk(DiskKey(key.to_owned())), Box::new(reading))
}

pub fn disk_row(key: &str, name: &str) -> WatchRow {
    WatchRow::Disk(Box::new(disk(key, name)))
}

pub fn array_row(disks: &[&str]) -> WatchRow {
    let member = |name: &&str| ArrayMember { disk: Some((*name).to_owned()), is_in_sync: true, data_start: 2048 };
    WatchRow::Array(ArrayFacts {
        key: "6e7a".to_owned(),
        name: "tank".to_owned(),
        level: "RAID5".to_owned(),
        redundancy: 1,
        members: disks.iter().map(member).collect(),
        activity: ArrayActivity::Idle,
        layout: None,
        check_sectors: None,
        pool: None,
        lost_stripes: None,
    })
}

pub fn incident(disk: &str, level: u64, urgency: Urgency) -> IncidentRow {
    let key = IncidentKey { subject: IncidentSubject::Disk(key(disk)), kind: IncidentKind::Health };
    let problem = Problem::Recorded(key.kind, format!("{level} pending sectors"));
    IncidentRow::new(key, NOW, Condition::of(urgency, problem).with_amounts(vec![("pending".into(), level)]))
}

/// What the words of rows are made with.
pub const WORDING: Wording<'static> = Wording { calendar: &UtcCalendar, host: "host" };

/// A message of several lines.
pub fn long_message(number: u64) -> MessageRow {
    let incident = |condition| ToldIncident { condition, opened: NOW, is_accepted: false };
    let incidents = scrubjay_words::example_conditions().into_iter().take(4).map(incident).collect();
    let letter = Letter { content: LetterContent::Open { now: NOW, incidents }, blind_since: None };
    MessageRow { letter: Some(Box::new(letter)), ..message(number) }
}

/// A test with the code `number`.
fn test_letter(number: u64) -> Letter {
    let content = LetterContent::Test { channel: "email".to_owned(), code: number.to_string() };
    Letter { content, blind_since: None }
}

pub fn message(number: u64) -> MessageRow {
    MessageRow {
        number,
        channel: "email".to_owned(),
        id: format!("<scrubjay-{number}.email@host>"),
        reply_to: None,
        reason: MessageReason::Test,
        about: Vec::new(),
        urgency: Urgency::Notice,
        letter: Some(Box::new(test_letter(number))),
        written: NOW,
        attempts: 0,
        next_attempt: NOW,
        is_under_way: false,
        may_be_repeated: false,
    }
}

/// Arbitrary values, one after the other, repeatedly.
#[derive(Clone, Debug)]
pub struct Draw {
    numbers: Vec<u64>,
    texts: Vec<String>,
    at: usize,
}

const ODD: &[&str] = &[
    "",
    "'; DROP TABLE disk; --",
    "\"",
    "\\",
    "\u{1}\u{8}\u{7f}\r\n\t",
    "a\0b",
    "\u{feff}\u{202e}ß漢🦜",
    "NULL",
    "1e3",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![2 => any::<String>(), 1 => proptest::sample::select(ODD).prop_map(str::to_owned)]
}

pub fn draws() -> impl Strategy<Value = Draw> {
    let number = prop_oneof![any::<u64>(), 0..100_u64, Just(u64::MAX), Just(1 << 63), Just(NOW.0)];
    let numbers = proptest::collection::vec(number, 61..64);
    let texts = proptest::collection::vec(texts(), 17..20);
    (numbers, texts).prop_map(|(numbers, texts)| Draw { numbers, texts, at: 0 })
}

impl Draw {
    /// The same values in every version of the program: files of older versions were made of them.
    pub fn of_seed(seed: u64) -> Draw {
        let mut rng = Rng::new(seed);
        let number = |rng: &mut Rng| match rng.below(4) {
            0 => [u64::MAX, 1 << 63, (1 << 63) - 1, NOW.0][rng.below(4) as usize],
            1 => rng.below(100),
            _ => rng.bits(),
        };
        let numbers = (0..61).map(|_| number(&mut rng)).collect();
        let texts = (0..17).map(|_| ODD[rng.below(ODD.len() as u64) as usize].to_owned()).collect();
        Draw { numbers, texts, at: 0 }
    }

    pub fn number(&mut self) -> u64 {
        self.at += 1;
        // Mixed by the round, so that values do not recur in the same places.
        self.numbers[self.at % self.numbers.len()].rotate_left((self.at / self.numbers.len()) as u32)
    }

    fn text(&mut self) -> String {
        self.at += 1;
        self.texts[self.at % self.texts.len()].clone()
    }

    fn date(&mut self) -> UnixSeconds {
        UnixSeconds(self.number())
    }

    fn small(&mut self, below: u64) -> usize {
        (self.number() % below) as usize
    }

    fn flag(&mut self) -> bool {
        self.small(2) == 1
    }

    fn float(&mut self) -> f32 {
        f32::from_bits(self.number() as u32 ^ (self.number() >> 32) as u32)
    }

    fn maybe<T>(&mut self, value: impl Fn(&mut Draw) -> T) -> Option<T> {
        self.flag().then(|| value(self))
    }

    fn some<T>(&mut self, most: u64, value: impl Fn(&mut Draw) -> T) -> Vec<T> {
        let count = self.small(most + 1);
        (0..count).map(|_| value(self)).collect()
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.small(all.len() as u64)].clone()
    }

    fn amounts(&mut self) -> Vec<(String, u64)> {
        self.some(5, |draw| (draw.text(), draw.number()))
    }

    fn run(&mut self) -> SectorRange {
        // The sum of all must not overflow.
        let start = self.number() >> 1;
        SectorRange::at(start, self.number() >> 16)
    }

    pub fn host(&mut self) -> HostRow {
        HostRow {
            latest: self.date(),
            next_message: self.number(),
            paused_until: self.date(),
            paused_for: self.number(),
            reported_month: self.number().cast_signed(),
            checked: self.date(),
            errors: ForecastErrors { ratios: self.some(96, Draw::float).into() },
            history_lost: self.maybe(|draw| HistoryLoss {
                at: draw.date(),
                kind: draw.one_of(&LossKind::ALL),
                aside: draw.maybe(Draw::text),
                is_rebuilt: draw.flag(),
            }),
        }
    }

    fn counter(&mut self) -> (CounterKind, CounterHistory) {
        let kinds = [
            CounterKind::Reallocated,
            CounterKind::Reported,
            CounterKind::Pending,
            CounterKind::Uncorrectable,
            CounterKind::MediaErrors,
            CounterKind::TimedOut,
            CounterKind::CableErrors,
        ];
        let (value, growth, since, grew) = (self.number(), self.number(), self.date(), self.date());
        let (is_doubted, peak, zero_since) = (self.flag(), self.number(), self.date());
        (self.one_of(&kinds), CounterHistory { value, growth, since, grew, is_doubted, peak, zero_since })
    }

    pub fn disk(&mut self) -> DiskRow {
        DiskRow {
            facts: DiskFacts {
                key: DiskKey(self.text()),
                name: self.text(),
                model: self.text(),
                serial: self.maybe(Draw::text),
                bay: self.maybe(Draw::text),
                controller: self.maybe(Draw::text),
                media: self.one_of(&[MediaKind::Spinning, MediaKind::Flash]),
                sectors: self.number(),
                place: self.maybe(Draw::text),
            },
            counters: self.some(7, Draw::counter).into_iter().collect(),
            word: DriveReport {
                passed: self.maybe(Draw::flag),
                nvme_warning: self.number() as u8,
                spare_low: self.maybe(|draw| draw.number() as u8),
                used: self.number() as u8,
                is_self_test_failed: self.flag(),
                self_test_lba: self.maybe(Draw::number),
                is_self_test_old: self.flag(),
                sense: self.maybe(|draw| ScsiSense { asc: draw.number() as u8, ascq: draw.number() as u8 }),
                hot: self.maybe(|draw| draw.small(200) as i32 - 40),
            },
            smart_read: self.date(),
            unknown_since: self.date(),
            service_last: {
                drop(self.some(3, Draw::number)); // a field that older versions had
                self.number()
            },
            slowness: Slowness::default(),      // no column of version 3 has it
            link_resets: LinkResets::default(), // nor this
        }
    }

    fn flaws(&mut self) -> ArrayFlaws {
        ArrayFlaws { corrected: self.number(), mismatched: self.number() }
    }

    pub fn reading(&mut self) -> ReadingRow {
        ReadingRow {
            passes: PassHistory {
                sectors: self.number(),
                known_since: self.date(),
                begun: self.date(),
                done: self.number(),
                touched: std::array::from_fn(|_| self.date()),
                read: std::array::from_fn(|_| self.date()),
                finished: self.number() as u32,
                unreadable: self.some(256, Draw::run),
                unreadable_before: self.some(9, Draw::run),
                retries: self.number(),
                retries_before: self.number(),
                flaws: self.flaws(),
                flaws_before: self.flaws(),
                unjudged: self.number(),
                reported: self.date(),
            },
            refused: self.maybe(|draw| SessionRefusal {
                since: draw.date(),
                last: draw.date(),
                why: draw.text().into(),
            }),
            failed_sessions: self.number() as u32,
            forecast: self.maybe(|draw| {
                (PassForecast { low: draw.date(), likely: draw.date(), high: draw.date() }, draw.number())
            }),
        }
    }

    pub fn idle(&mut self) -> (SubjectKey, IdleWeek) {
        let week = IdleWeek {
            share: std::array::from_fn(|_| self.float()),
            weeks: std::array::from_fn(|_| self.number() as u16),
            bytes_per_second: self.number(),
        };
        let key = self.text();
        (if self.flag() { SubjectKey::Disk(DiskKey(key)) } else { SubjectKey::Array(key) }, week)
    }

    fn layout(&mut self) -> Layout {
        let mut all = Vec::new();
        for kind in LayoutKind::ALL {
            for (data, parity, disks) in (1..7).flat_map(|d| (0..4).flat_map(move |p| (1..9).map(move |n| (d, p, n)))) {
                all.extend(Layout::new(kind, Shape { data, parity }, disks));
            }
        }
        self.one_of(&all)
    }

    pub fn array(&mut self) -> ArrayFacts {
        ArrayFacts {
            key: self.text(),
            name: self.text(),
            level: self.text(),
            redundancy: self.number() as u32,
            members: self.some(9, |draw| ArrayMember {
                disk: draw.maybe(Draw::text),
                is_in_sync: draw.flag(),
                data_start: draw.number(),
            }),
            activity: self.one_of(&[ArrayActivity::Idle, ArrayActivity::Checking, ArrayActivity::Rebuilding]),
            layout: self.maybe(|draw| (draw.layout(), draw.number())),
            check_sectors: self.maybe(Draw::number),
            pool: self.maybe(Draw::pool),
            lost_stripes: self.maybe(Draw::number),
        }
    }

    fn pool(&mut self) -> ZpoolFacts {
        let losses = [
            PoolLosses::None,
            PoolLosses::Unknown(self.text()),
            PoolLosses::Lost { blocks: self.number(), files: self.some(4, Draw::text) },
        ];
        let scrubs = [LastScrub::Unknown, LastScrub::Never, LastScrub::Ended(UnixSeconds(self.number().max(1)))];
        ZpoolFacts {
            groups: self.some(3, |draw| MemberGroup {
                redundancy: draw.number() as u32,
                places: draw.some(5, |draw| draw.number() as usize),
            }),
            lack: self.one_of(&[PoolLack::Nothing, PoolLack::Filling, PoolLack::Amiss]),
            failed: self.maybe(Draw::text),
            losses: self.one_of(&losses),
            errors: self.some(4, |draw| (draw.text(), draw.number())),
            scrubbed: self.one_of(&scrubs),
            scan: {
                self.text(); // the older files have a text here
                PoolScan::Idle
            },
            since: UnixSeconds(self.number()),
        }
    }

    fn incident_key(&mut self) -> IncidentKey {
        let kinds = [
            IncidentKind::Health,
            IncidentKind::Missing,
            IncidentKind::Unknown,
            IncidentKind::Unread,
            IncidentKind::Degraded,
            IncidentKind::Stripes,
            IncidentKind::Lost,
            IncidentKind::Disagreement,
            IncidentKind::Stuck,
            IncidentKind::Unproven,
            IncidentKind::Undelivered,
            IncidentKind::Recipients,
            IncidentKind::History,
        ];
        let name = self.text();
        let subject = match self.small(3) {
            0 => IncidentSubject::Disk(DiskKey(name)),
            1 => IncidentSubject::Array(name),
            _ => IncidentSubject::Channel(name),
        };
        IncidentKey { subject, kind: self.one_of(&kinds) }
    }

    fn urgency(&mut self) -> Urgency {
        self.one_of(&[Urgency::Notice, Urgency::Replace, Urgency::Loss])
    }

    fn message_id(&mut self) -> MessageId {
        MessageId { number: self.number(), run: self.number() }
    }

    pub fn past(&mut self) -> PastIncident {
        PastIncident {
            key: self.incident_key(),
            ended: self.date(),
            returns: self.number() as u32,
            written: self.some(12, Draw::date),
            thread: self.maybe(Draw::message_id),
        }
    }

    /// One of each kind, and one with odd words.
    fn problem(&mut self) -> Problem {
        let odd = Problem::PoolUnknown(
            ArrayCard { name: self.text(), level: self.text(), members: self.number(), redundancy: 1 },
            self.text(),
        );
        let all = scrubjay_words::example_conditions();
        let problems: Vec<Problem> = all.into_iter().map(|condition| condition.problem).chain([odd]).collect();
        self.one_of(&problems)
    }

    pub fn incident(&mut self) -> IncidentRow {
        IncidentRow {
            key: self.incident_key(),
            opened: self.date(),
            condition: Condition {
                urgency: self.urgency(),
                amounts: self.amounts(),
                problem: self.problem(),
                controller: self.maybe(Draw::text),
                cause: None,
                held: Vec::new(),
                held_more: 0,
            },
            last_message: self.maybe(Draw::date),
            known: self.amounts(),
            known_urgency: self.urgency(),
            less_since: self.maybe(Draw::date),
            reminders: self.number() as u32,
            is_accepted: self.flag(),
            thread: self.maybe(Draw::message_id),
            written: self.some(12, Draw::date),
            returns: self.number() as u32,
            away_since: self.maybe(Draw::date),
            held_until: self.date(),
        }
    }

    pub fn message(&mut self) -> MessageRow {
        let reminder = self.number() as u32;
        let reasons = [
            MessageReason::Opened,
            MessageReason::Grown,
            MessageReason::Reminder(reminder),
            MessageReason::Resolved,
            MessageReason::Report,
            MessageReason::Test,
        ];
        MessageRow {
            number: self.number(),
            channel: self.text(),
            id: self.text(),
            reply_to: self.maybe(Draw::text),
            reason: self.one_of(&reasons),
            about: self.some(4, Draw::incident_key),
            urgency: self.urgency(),
            letter: None,
            written: self.date(),
            attempts: self.number() as u32,
            next_attempt: self.date(),
            is_under_way: self.flag(),
            may_be_repeated: self.flag(),
        }
    }

    pub fn channel(&mut self) -> ChannelRow {
        ChannelRow {
            name: self.text(),
            fingerprint: self.number(),
            known_since: self.date(),
            is_caught_up: self.flag(),
            refused: self.some(3, |draw| (draw.text(), draw.text())),
            code: self.maybe(Draw::text),
            proven: self.maybe(Draw::date),
            failing_since: self.maybe(Draw::date),
            delivered: self.maybe(Draw::date),
        }
    }

    /// A row of each kind.
    pub fn rows(&mut self) -> Vec<WatchRow> {
        let (key, week) = self.idle();
        vec![
            WatchRow::Host(self.host()),
            WatchRow::Disk(Box::new(self.disk())),
            WatchRow::Disk(Box::new(self.disk())),
            WatchRow::Reading(key.clone(), Box::new(self.reading())),
            WatchRow::Idle(key, Box::new(week)),
            WatchRow::Array(self.array()),
            WatchRow::Past(Box::new(self.past())),
            WatchRow::Incident(Box::new(self.incident())),
            WatchRow::Incident(Box::new(self.incident())),
            WatchRow::Message(Box::new(self.message())),
            WatchRow::Channel(self.channel()),
        ]
    }
}
