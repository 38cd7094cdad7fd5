//! A year of a modelled host as a table: month by month, and every message.

use super::fact::{HostFact, HostObserver};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{Calendar, HOUR, UtcCalendar};
use scrubjay_watch::incident::MessageReason;

/// Points whose ages are followed on each disk, evenly spaced.
const POINTS: usize = 64;

/// A month of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMonth {
    /// Year and month, 1 to 12, in UTC.
    pub month: (i64, u32),
    /// Passes that ended.
    pub passes: u64,
    /// Incidents reported for the first time.
    pub opened: u64,
    /// Incidents reported as over.
    pub resolved: u64,
    /// Messages that arrived, by all channels.
    pub messages: u64,
    /// The longest time between two reads of a sector, in seconds; at the end also the time since the last read.
    pub age_max: u64,
}

/// A message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMessage {
    /// When it arrived.
    pub at: UnixSeconds,
    /// The channel by which it came.
    pub channel: String,
    /// Its first line.
    pub subject: String,
    /// May it be a copy of an earlier one?
    pub may_be_repeated: bool,
}

/// All that a table shows of a host.
#[derive(Clone, Debug, Default)]
pub struct HostTable {
    /// The months, in order.
    pub months: Vec<HostMonth>,
    /// The messages that arrived, in order.
    pub messages: Vec<HostMessage>,
    /// Passes with a forecast that ended.
    pub forecasts: u64,
    /// Of these forecasts, those that held, to the hour.
    pub held: u64,
    disks: Vec<TableDisk>,
    /// Time and subject of the message written last.
    last_written: Option<(u64, String)>,
}

#[derive(Clone, Debug)]
struct TableDisk {
    is_seen: bool,
    last: [u64; POINTS],
    forecast: Option<(u64, u64)>,
}

impl HostTable {
    fn month(&mut self, at: u64) -> &mut HostMonth {
        let (year, month, _) = UtcCalendar.local(UnixSeconds(at)).day.civil();
        if self.months.last().is_none_or(|last| last.month != (year, month)) {
            self.months.push(HostMonth { month: (year, month), ..HostMonth::default() });
        }
        let last = self.months.len() - 1;
        &mut self.months[last]
    }

    fn note_age(&mut self, at: u64, age: u64) {
        let month = self.month(at);
        month.age_max = month.age_max.max(age);
    }
}

impl HostObserver for HostTable {
    fn observe(&mut self, at: u64, fact: &HostFact<'_>) {
        match *fact {
            HostFact::DiskIn(..) => self.disks.push(TableDisk { is_seen: true, last: [at; POINTS], forecast: None }),
            HostFact::DiskOut(disk) => self.disks[disk].is_seen = false,
            HostFact::DiskBack(disk) => self.disks[disk].is_seen = true,
            HostFact::Read(disk, from, to, begin, end) => {
                let mut age_max = 0;
                for (point, last) in self.disks[disk].last.iter_mut().enumerate() {
                    let place = (point as f64 + 0.5) / POINTS as f64;
                    if (from..to).contains(&place) {
                        let read = begin + ((place - from) / (to - from) * (end - begin) as f64) as u64;
                        age_max = age_max.max(read - *last);
                        *last = read;
                    }
                }
                self.note_age(at, age_max);
            }
            HostFact::Forecast(disk, low, high) => self.disks[disk].forecast = Some((low, high)),
            HostFact::PassOver(disk) => {
                self.month(at).passes += 1;
                if let Some((low, high)) = self.disks[disk].forecast.take() {
                    self.forecasts += 1;
                    self.held += u64::from(at >= low && at <= high + HOUR);
                }
            }
            // Each channel reports an incident: messages written at one time with one subject are one.
            HostFact::Written(row, text) => {
                let message = (at, text.subject().to_owned());
                if self.last_written.as_ref() != Some(&message) {
                    let month = self.month(at);
                    match row.reason {
                        MessageReason::Opened => month.opened += row.about.len() as u64,
                        MessageReason::Resolved => month.resolved += 1,
                        _ => {}
                    }
                    self.last_written = Some(message);
                }
            }
            HostFact::Delivered(row, text) => {
                self.month(at).messages += 1;
                self.messages.push(HostMessage {
                    at: UnixSeconds(at),
                    channel: row.channel.clone(),
                    subject: text.subject().to_owned(),
                    may_be_repeated: row.may_be_repeated,
                });
            }
            HostFact::End(_) => {
                let present = self.disks.iter().filter(|disk| disk.is_seen);
                let age_max = present.flat_map(|disk| disk.last).map(|last| at - last).max().unwrap_or(0);
                self.note_age(at - 1, age_max);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::ModelledHost;
    use super::super::setup::HostSetup;
    use super::*;
    use scrubjay_watch::calendar::DAY;

    #[test]
    fn a_year_is_twelve_months_with_passes_and_a_report_in_each_but_the_first() {
        let mut table = HostTable::default();
        ModelledHost::run(HostSetup::usual(3, 2, 365), &mut table);
        assert_eq!(table.months.iter().map(|month| month.month.1).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        let passes: u64 = table.months.iter().map(|month| month.passes).sum();
        assert!((22..=40).contains(&passes), "{passes}");
        assert!(table.months[1..].iter().all(|month| month.messages > 0), "{:?}", table.months);
        assert!(table.months.iter().all(|month| month.age_max < 35 * DAY), "{:?}", table.months);
        assert!(table.held * 10 >= table.forecasts * 6, "{} of {}", table.held, table.forecasts);
    }
}
