//! Lists inside a row: JSON where a person may want to read them, bytes where each bit matters.

use super::values::not_understood;
use rusqlite::Result;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::facts::{ArrayMember, DiskKey, SubjectKey};
use scrubjay_watch::incident::{IncidentKey, IncidentKind, IncidentSubject, MessageReason};
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

fn to_json(value: &impl Serialize) -> String {
    // Numbers, strings and lists of them can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| not_understood(format!("the list {text} ({error})")))
}

/// Numbers as JSON: `[0,1773000000]`.
pub fn numbers(numbers: &[u64]) -> String {
    to_json(&numbers)
}

/// Reads [`numbers`].
pub fn numbers_of(text: &str) -> Result<Vec<u64>> {
    from_json(text)
}

/// Dates as JSON numbers, in seconds since 1970.
pub fn dates(dates: &[UnixSeconds]) -> String {
    let seconds: Vec<u64> = dates.iter().map(|date| date.0).collect();
    numbers(&seconds)
}

/// Reads [`dates`], however many there are.
pub fn dates_list_of(text: &str) -> Result<Vec<UnixSeconds>> {
    Ok(numbers_of(text)?.into_iter().map(UnixSeconds).collect())
}

/// Reads [`dates`]; there must be `N`.
pub fn dates_of<const N: usize>(text: &str) -> Result<[UnixSeconds; N]> {
    let dates: Vec<UnixSeconds> = numbers_of(text)?.into_iter().map(UnixSeconds).collect();
    dates.try_into().map_err(|_| not_understood(format!("a list of other than {N} dates, {text},")))
}

/// Runs of sectors as JSON: `[[start,end],…]`, the end being one past the last sector.
pub fn runs(runs: &[SectorRange]) -> String {
    let pairs: Vec<(u64, u64)> = runs.iter().map(|run| (run.start.0, run.end.0)).collect();
    to_json(&pairs)
}

/// Reads [`runs`].
pub fn runs_of(text: &str) -> Result<Vec<SectorRange>> {
    let pairs: Vec<(u64, u64)> = from_json(text)?;
    let range = |(start, end): (u64, u64)| {
        (start <= end).then(|| SectorRange::new(start, end)).ok_or_else(|| not_understood(format!("the run {text}")))
    };
    pairs.into_iter().map(range).collect()
}

/// Signs with their amounts as JSON: `[["pending",8]]`.
pub fn amounts(amounts: &[(String, u64)]) -> String {
    to_json(&amounts)
}

/// Reads [`amounts`].
pub fn amounts_of(text: &str) -> Result<Vec<(String, u64)>> {
    from_json(text)
}

/// Pairs of texts as JSON.
pub fn pairs(pairs: &[(String, String)]) -> String {
    to_json(&pairs)
}

/// Reads [`pairs`].
pub fn pairs_of(text: &str) -> Result<Vec<(String, String)>> {
    from_json(text)
}

/// Lines of text as JSON.
pub fn lines(lines: &[String]) -> String {
    to_json(&lines)
}

/// Reads [`lines`].
pub fn lines_of(text: &str) -> Result<Vec<String>> {
    from_json(text)
}

/// Shares as four bytes each, little-endian: every bit is restored, even of values that are not numbers.
pub fn shares<'a>(shares: impl IntoIterator<Item = &'a f32>) -> Vec<u8> {
    shares.into_iter().flat_map(|share| share.to_le_bytes()).collect()
}

/// Reads [`shares`].
pub fn shares_of(bytes: &[u8]) -> Result<Vec<f32>> {
    let (shares, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(not_understood("a list of shares that was cut"));
    }
    Ok(shares.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// Counts of weeks as two bytes each, little-endian.
pub fn weeks(weeks: &[u16]) -> Vec<u8> {
    weeks.iter().flat_map(|week| week.to_le_bytes()).collect()
}

/// Reads [`weeks`].
pub fn weeks_of(bytes: &[u8]) -> Result<Vec<u16>> {
    let (weeks, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(not_understood("a list of weeks that was cut"));
    }
    Ok(weeks.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect())
}

/// A member as JSON.
#[derive(Serialize, Deserialize)]
struct StoredMember {
    disk: Option<String>,
    is_in_sync: bool,
    data_start: u64,
}

/// The members of an array as JSON.
pub fn members(members: &[ArrayMember]) -> String {
    let stored = |member: &ArrayMember| {
        let ArrayMember { disk, is_in_sync, data_start } = member;
        StoredMember { disk: disk.clone(), is_in_sync: *is_in_sync, data_start: *data_start }
    };
    to_json(&members.iter().map(stored).collect::<Vec<_>>())
}

/// Reads [`members`].
pub fn members_of(text: &str) -> Result<Vec<ArrayMember>> {
    let stored: Vec<StoredMember> = from_json(text)?;
    let member = |StoredMember { disk, is_in_sync, data_start }| ArrayMember { disk, is_in_sync, data_start };
    Ok(stored.into_iter().map(member).collect())
}

/// What is read in passes: its kind in a word, and its key.
pub fn subject_key(subject: &SubjectKey) -> (&'static str, &str) {
    match subject {
        SubjectKey::Disk(key) => ("disk", &key.0),
        SubjectKey::Array(key) => ("array", key),
    }
}

/// Reads [`subject_key`].
pub fn subject_key_of(sort: &str, key: String) -> Result<SubjectKey> {
    match sort {
        "disk" => Ok(SubjectKey::Disk(DiskKey(key))),
        "array" => Ok(SubjectKey::Array(key)),
        _ => Err(not_understood(format!("the sort \"{sort}\""))),
    }
}

/// The subject of an incident: its kind in a word, and its key.
pub fn subject(subject: &IncidentSubject) -> (&'static str, &str) {
    match subject {
        IncidentSubject::Disk(key) => ("disk", &key.0),
        IncidentSubject::Array(key) => ("array", key),
        IncidentSubject::Channel(name) => ("channel", name),
        IncidentSubject::Watch => ("watch", ""),
    }
}

/// Reads [`subject`].
pub fn subject_of(sort: &str, key: String) -> Result<IncidentSubject> {
    match sort {
        "disk" => Ok(IncidentSubject::Disk(DiskKey(key))),
        "array" => Ok(IncidentSubject::Array(key)),
        "channel" => Ok(IncidentSubject::Channel(key)),
        "watch" => Ok(IncidentSubject::Watch),
        _ => Err(not_understood(format!("an incident about a \"{sort}\""))),
    }
}

/// The incidents that a message is about, as JSON: `[["disk","ZL2","health"],…]`.
pub fn about(keys: &[IncidentKey]) -> String {
    let triple = |IncidentKey { subject: incident_subject, kind }: &IncidentKey| {
        let (sort, key) = subject(incident_subject);
        (sort, key.to_owned(), kind.word())
    };
    to_json(&keys.iter().map(triple).collect::<Vec<_>>())
}

/// Reads [`about`].
pub fn about_of(text: &str) -> Result<Vec<IncidentKey>> {
    let triples: Vec<(String, String, String)> = from_json(text)?;
    let key = |(sort, key, word): (String, String, String)| {
        let kind = IncidentKind::of_word(&word).ok_or_else(|| not_understood(format!("\"{word}\" of a message")))?;
        Ok(IncidentKey { subject: subject_of(&sort, key)?, kind })
    };
    triples.into_iter().map(key).collect()
}

/// A loss of the history as JSON: `[1800000000,"deleted",null,true]`.
pub fn loss(loss: &HistoryLoss) -> String {
    to_json(&(loss.at.0, loss.kind.word(), &loss.aside, loss.is_rebuilt))
}

/// Reads [`loss`].
pub fn loss_of(text: &str) -> Result<HistoryLoss> {
    let (at, word, aside, is_rebuilt): (u64, String, Option<String>, bool) = from_json(text)?;
    let kind = LossKind::of_word(&word);
    let kind = kind.ok_or_else(|| not_understood(format!("the loss \"{word}\"")))?;
    Ok(HistoryLoss { at: UnixSeconds(at), kind, aside, is_rebuilt })
}

/// The reason for a message in a word, and the number of a reminder.
pub fn reason(reason: MessageReason) -> (&'static str, Option<u32>) {
    match reason {
        MessageReason::Opened => ("opened", None),
        MessageReason::Grown => ("grown", None),
        MessageReason::Reminder(number) => ("reminder", Some(number)),
        MessageReason::Resolved => ("resolved", None),
        MessageReason::Report => ("report", None),
        MessageReason::Test => ("test", None),
    }
}

/// Reads [`reason`].
pub fn reason_of(word: &str, reminder: Option<u32>) -> Option<MessageReason> {
    match (word, reminder) {
        ("opened", None) => Some(MessageReason::Opened),
        ("grown", None) => Some(MessageReason::Grown),
        ("reminder", Some(number)) => Some(MessageReason::Reminder(number)),
        ("resolved", None) => Some(MessageReason::Resolved),
        ("report", None) => Some(MessageReason::Report),
        ("test", None) => Some(MessageReason::Test),
        _ => None,
    }
}
